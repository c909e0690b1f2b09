/** What the running server says of itself in /openapi.json and /docs is what it serves. */

import { afterAll, beforeAll, expect, test } from "bun:test";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";

let instance: Instance;
// biome-ignore lint/suspicious/noExplicitAny: a document read member by member, as a tool reads it.
let paths: any;
beforeAll(async () => {
  instance = await Instance.start();
  paths = (await (await instance.fetch("/openapi.json")).json()).paths;
}, 30_000);
afterAll(() => instance.dispose());

test("octets are described with their media types, and formats as parameters", () => {
  const { requestBody, responses } = paths["/api/ca/{id}/ocsp"].post;
  expect(Object.keys(requestBody.content)).toEqual(["application/ocsp-request"]);
  expect(Object.keys(responses["2XX"].content)).toEqual(["application/ocsp-response"]);
  for (const path of ["/api/ca/{id}/crl", "/api/ca/{id}/crl/partition/{shard}/delta"]) {
    const { parameters } = paths[path].get;
    expect(parameters).toContainEqual(
      expect.objectContaining({ name: "format", in: "query", required: false }),
    );
  }
  const key = paths["/api/ca/{id}/public-key"].get.responses["2XX"].content;
  expect(Object.keys(key)).toEqual(["application/x-pem-file", "text/plain"]);
  for (const path of Object.keys(paths).filter((one) => one.startsWith("/api/keys"))) {
    for (const { operationId } of Object.values<{ operationId: string }>(paths[path])) {
      expect(operationId).toEndWith(".alias");
    }
  }
});

test("what is described as a media type is what is sent", async () => {
  const chain = await createChain(instance, "ecdsa-p256");
  const token = await instance.token(["admin"], { scope: "platform" });
  for (const path of Object.keys(paths)) {
    const described = paths[path].get;
    if (described === undefined || !path.startsWith("/api/ca/{id}") || path.includes("ocsp"))
      continue;
    const at = path.replace("{id}", chain.intermediateId).replace(/\{[a-z_]+\}/, "0");
    const answer = await instance.fetch(at, { headers: { authorization: `Token ${token}` } });
    const type = answer.headers.get("content-type")?.split(";")[0] ?? "";
    const [usual] = Object.keys(described.responses["2XX"].content);
    if (answer.ok) expect([path, type]).toEqual([path, usual ?? ""]);
    else expect([path, type]).toEqual([path, "application/json"]);
  }
}, 60_000);

test("a page above 500 is a page of 500, and the description forbids nothing that is taken", async () => {
  const token = await instance.token(["admin"], { scope: "platform" });
  const headers = { authorization: `Token ${token}` };
  expect((await instance.fetch("/api/ca?limit=501", { headers })).status).toBe(200);
  const limit = paths["/api/ca"].get.parameters.find(
    ({ name }: { name: string }) => name === "limit",
  );
  expect(limit.schema).toMatchObject({ type: "integer", minimum: 1, default: 100 });
  expect(limit.schema).not.toHaveProperty("maximum");
});
