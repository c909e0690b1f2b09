/** The API description: every operation served, nothing else, on a page that runs no script. */

import { afterAll, beforeAll, expect, test } from "bun:test";

import { integer, optional, text } from "#core/shape.ts";
import { handler } from "#domain/access/call.ts";
import { descriptionHandlers } from "#http/docs.ts";
import type { Handlers } from "#http/public.ts";
import { operationOf, operations, routeOf, routesOf, type OperationName } from "#operations";

import { startStub, stubHandlers, type StubServer } from "#test/support/stub-server.ts";

let server: StubServer;

beforeAll(async () => {
  const issue = handler({
    summary: "Issues <a> certificate.",
    path: { id: text() },
    query: { limit: optional(integer(1, 9)) },
    body: { csr: text({ min: 1 }) },
    run: async () => ({ status: 201, body: {} }),
  });
  const handlers: Handlers = {
    ...stubHandlers(),
    ...descriptionHandlers(() => handlers, "1.2.3"),
    "cert.issue": issue,
  };
  server = await startStub({}, { handlers });
});
afterAll(() => server.stop());

test("the document has every operation of the table under its route, but those of this machine only", async () => {
  const answer = await fetch(`${server.origin}/openapi.json`);
  expect(answer.headers.get("content-type")).toBe("application/json");
  const document = await answer.json();
  expect(document).toMatchObject({ openapi: "3.1.0", info: { version: "1.2.3" } });
  for (const name of Object.keys(operations) as OperationName[]) {
    const { method, path } = routeOf(name); // The table's own keys.
    const described = document.paths[path.replace("*}", "}")]?.[method.toLowerCase()];
    if (operationOf(name).local) {
      expect(described).toBeUndefined();
      continue;
    }
    expect(described).toMatchObject({ operationId: name });
    expect(described.security).toEqual(
      operations[name].needs === "pub"
        ? []
        : [{ basic: [] }, { token: [] }, { session: [] }, { certificate: [] }],
    );
  }
});

test("an alias is described with its operation's guards, and names it", async () => {
  const { paths } = await (await fetch(`${server.origin}/openapi.json`)).json();
  for (const name of Object.keys(operations) as OperationName[]) {
    const [own, ...aliases] = routesOf(name); // The table's own keys.
    for (const { method, path } of aliases) {
      const verb = method.toLowerCase();
      const { operationId, ...same } = paths[own?.path ?? ""][verb];
      expect(operationId).toBe(name);
      expect(paths[path][verb]).toEqual({ ...same, "x-alias-of": name });
    }
  }
});

test("shapes become parameters and schemas, problems the error", async () => {
  const document = await (await fetch(`${server.origin}/openapi.json`)).json();
  const { parameters, requestBody } = document.paths["/api/ca/{id}/issue"].post;
  expect(parameters).toEqual([
    { name: "id", in: "path", required: true, schema: text().schema },
    { name: "limit", in: "query", required: false, schema: integer(1, 9).schema },
  ]);
  expect(requestBody.required).toBe(true);
  expect(requestBody.content["application/json"].schema).toMatchObject({ required: ["csr"] });
  expect(document.components.schemas.Problem.properties.code.enum).toContain("shutting_down");
});

test("the page escapes what it shows and allows its one style sheet by digest", async () => {
  const answer = await fetch(`${server.origin}/docs`);
  const page = await answer.text();
  const style = /<style>(.*)<\/style>/.exec(page)?.[1] ?? "";
  const digest = new Bun.CryptoHasher("sha256").update(style).digest("base64");
  const policy = answer.headers.get("content-security-policy") ?? "";
  expect(policy).toContain(`'sha256-${digest}'`);
  expect(policy).not.toContain("unsafe");
  expect(page).not.toContain("<script");
  expect(page).toContain("Issues &#60;a&#62; certificate.");
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
});
