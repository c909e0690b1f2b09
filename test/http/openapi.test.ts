/** The API description: every operation served, nothing else, on a page that runs no script. */

import { afterAll, beforeAll, expect, test } from "bun:test";

import { readChapter } from "#core/manual/markdown.ts";
import { manualPage } from "#http/manual-page.ts";
import { manualChapters } from "#app/manual.ts";
import { anything, integer, optional, text } from "#core/shape.ts";
import { parkedShape } from "#api/approval-json.ts";
import { operation } from "#domain/access/operation.ts";
import { theCa } from "#domain/access/targets.ts";
import type { Catalog } from "#http/catalog.ts";
import { descriptionHandlers } from "#http/docs.ts";
import { openapiDocument } from "#http/openapi.ts";
import { operationOf, operations, routeOf, routesOf, type OperationName } from "#operations";

import { stubOf } from "#test/support/worlds/asking.ts";
import { describedCatalog } from "#test/support/worlds/described-catalog.ts";
import type { Json } from "#test/support/worlds/governed-world.ts";
import { startStub, stubCatalog, type StubServer } from "#test/support/worlds/stub-server.ts";

let server: StubServer;

beforeAll(async () => {
  const issue = operation({
    summary: "Issues <a> certificate.",
    target: theCa,
    input: { csr: text({ min: 1 }) },
    output: anything(),
    run: async () => ({}),
  });
  const list = operation({
    summary: "Lists.",
    target: theCa,
    input: { limit: optional(integer(1, 9)) },
    output: anything(),
    run: async () => ({}),
  });
  const handlers = {
    ...descriptionHandlers(() => catalog, "1.2.3", parkedShape, manualChapters),
    "health.live": stubOf("health.live"),
    "cert.issue": issue,
    "cert.list": list,
  };
  const catalog: Catalog = stubCatalog(handlers);
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

test("the document is sent compressed to clients that accept it, and is built in many ticks", async () => {
  const url = `${server.origin}/openapi.json`;
  const [compressed, plain] = await Promise.all(
    ["gzip", "identity"].map((coding) =>
      fetch(url, { headers: { "accept-encoding": coding }, decompress: false }),
    ),
  );
  expect(compressed?.headers.get("content-encoding")).toBe("gzip");
  expect(plain?.headers.get("content-encoding")).toBeNull();
  const body = Bun.gunzipSync((await compressed?.bytes()) ?? new Uint8Array());
  expect(Buffer.from(body).toString()).toBe((await plain?.text()) ?? "");

  let ticks = 0;
  const count = () => {
    ticks++;
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  await openapiDocument(describedCatalog(), "1", parkedShape);
  clearImmediate(immediate);
  expect(ticks).toBeGreaterThan(10);
});

test("an alias is described with its operation's guards, and names it", async () => {
  const { paths } = await (await fetch(`${server.origin}/openapi.json`)).json();
  for (const name of Object.keys(operations) as OperationName[]) {
    const [own, ...aliases] = routesOf(operationOf(name)); // The table's own keys.
    for (const { method, path } of aliases) {
      const verb = method.toLowerCase();
      const { operationId, ...same } = paths[own?.path ?? ""][verb];
      expect(operationId).toBe(name);
      expect(paths[path][verb]).toEqual({
        ...same,
        operationId: `${name}.alias`,
        "x-alias-of": name,
      });
    }
  }
});

test("shapes become parameters and schemas, problems the error", async () => {
  const document = await (await fetch(`${server.origin}/openapi.json`)).json();
  const id = { name: "id", in: "path", required: true, schema: text().schema };
  const { parameters, requestBody } = document.paths["/api/ca/{id}/issue"].post;
  expect(parameters).toEqual([id]);
  expect(document.paths["/api/ca/{id}/certificates"].get.parameters).toEqual([
    id,
    { name: "limit", in: "query", required: false, schema: integer(1, 9).schema },
  ]);
  expect(requestBody.required).toBe(true);
  expect(requestBody.content["application/json"].schema).toMatchObject({ required: ["csr"] });
  expect(document.components.schemas.Problem.properties.code.enum).toContain("shutting_down");
});

test("every operation has an id of its own, a media type for its answer and the refusals of its gates", async () => {
  const { paths } = await (await fetch(`${server.origin}/openapi.json`)).json();
  const described: Described[] = Object.values<Record<string, Described>>(paths).flatMap((item) =>
    Object.values(item),
  );
  const ids = described.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => typeof id !== "string")).toEqual([]);
  const issued = paths["/api/ca/{id}/issue"].post;
  const codes = (status: number, { responses } = issued) =>
    responses[status].content["application/json"].schema.allOf[1].properties.code.enum;
  expect(codes(401)).toContain("unauthenticated");
  expect(codes(403)).toEqual(["no_access", "csrf_failed", "forbidden", "tenant_suspended"]);
  expect(codes(400, paths["/api/ca/{id}/certificates"].get).slice(0, 2)).toEqual([
    "bad_query",
    "unknown_parameter",
  ]);
  expect(codes(400)).toEqual([
    "unknown_parameter",
    "malformed_json",
    "unknown_field",
    "invalid_field",
    "missing_field",
  ]);
  expect(Object.keys(paths["/healthz"].get.responses)).toEqual(["500", "503", "2XX", "default"]);
});

interface Described {
  readonly operationId: string;
}

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

test("the page shows what an operation takes, its refusals, and how to authenticate", async () => {
  const page = await (await fetch(`${server.origin}/docs`)).text();
  const [, issue = ""] = /<details id="cert.issue">(.*?)<\/details>/s.exec(page) ?? [];
  expect(issue).toContain("<code>POST /api/ca/{id}/issue</code>");
  expect(issue).toContain("<tr><td><code>id</code><td>path<td>text");
  const [, list = ""] = /<details id="cert.list">(.*?)<\/details>/s.exec(page) ?? [];
  expect(list).toContain("<tr><td><code>limit</code><td>query<td>integer (1 to 9)");
  expect(issue).toContain("<tr><td><code>csr</code><td><td>text (1 to 4096)<td>required");
  expect(issue).toContain('<a href="#e-tenant_suspended">tenant_suspended</a>');
  expect(issue).toContain('<a href="/console/manual/interface/cert.issue">Try it');
  expect(issue).toContain("a credential with <code>issue</code>");
  expect(page).toContain('<code id="e-tenant_suspended">tenant_suspended</code>');
  expect(page).toContain("Authorization: Token pki_pat_");
  for (const name of Object.keys(operations) as OperationName[]) {
    if (operationOf(name).local) continue; // The table's own keys.
    expect(page).toContain(`<details id="${name}">`);
  }
  const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
  expect(links.filter((id) => !page.includes(`id="${id}"`))).toEqual([]);
});

test("what takes two answers that it waits, by the shape of every such answer", async () => {
  const described = (await openapiDocument(describedCatalog(), "1", parkedShape)) as Json;
  const guarded = Object.entries(operations).filter(
    // What runs on this machine only is in no document.
    ([, row]) => "takesTwo" in row && !("local" in row),
  );
  for (const [name, row] of guarded) {
    const [method = "", path = ""] = row.route.split(" ");
    const { responses } = described.paths[path][method.toLowerCase()];
    const { schema } = responses["202"].content["application/json"];
    expect([name, schema]).toEqual([name, { $ref: "#/components/schemas/Parked" }]);
  }
  expect(described.components.schemas.Parked).toEqual(parkedShape.schema);
  const { responses } = described.paths["/api/ca/{id}/revoke"].post;
  expect(responses["202"]).toBeUndefined();
});

test("the manual is a page with every chapter, escaped, under the same policy as the operations", async () => {
  const [page, docs] = [
    await fetch(`${server.origin}/docs/manual`),
    await fetch(`${server.origin}/docs`),
  ];
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const policy = page.headers.get("content-security-policy") ?? "";
  expect(policy).toBe(docs.headers.get("content-security-policy") ?? "none");
  expect(policy).toStartWith("default-src 'none'; style-src 'sha256-");
  const html = await page.text();
  for (const { name, title } of manualChapters()) {
    expect(html).toContain(`<a href="#${name}">${title}</a>`);
    expect(html).toContain(`<h2 id="${name}">${title}</h2>`);
  }
  expect(html).not.toContain("<script");
  expect(html).toContain("--cn &#34;Example Root&#34;");
  expect(await docs.text()).toContain('<a href="/docs/manual">');
});

test("what a chapter says is text in the page, whatever it looks like", () => {
  const markdown = '# A <b>\n\n- `x<y>` & "z"\n\n3. three\n4. four\n\n```sh\n<script>\n```\n';
  const html = manualPage([readChapter("a", markdown)], "");
  expect(html).toContain('<h2 id="a">A &#60;b&#62;</h2>');
  expect(html).toContain("<li><code>x&#60;y&#62;</code> &#38; &#34;z&#34;");
  expect(html).toContain('<ol start="3">\n<li>three\n<li>four\n</ol>');
  expect(html).toContain("<pre><code>&#60;script&#62;</code></pre>");
  expect(() => readChapter("b", "no title")).toThrow(
    "The chapter b does not begin with its title.",
  );
  expect(() => readChapter("c", "# c\n\n```\nopen")).toThrow("A block of code has no end.");
});
