/**
 * Remote calls come through the front door: same credentials, same request ids, same records, on
 * the main listener only.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";

import { healthMethods } from "#api/rpc/health.ts";
import { pkiSchema } from "#api/rpc/messages.ts";
import { rpcMethods } from "#api/rpc/methods.ts";
import { refuse } from "#core/problems.ts";
import { Outcome } from "#domain/access/outcome.ts";
import type { Perform } from "#domain/access/perform.ts";
import { RpcDoor } from "#http/rpc/door.ts";
import { startStub, stubCatalog, type StubServer } from "#test/support/worlds/stub-server.ts";

const perform: Perform = async ({ given, origin }) => {
  const { serial } = given.named;
  if (serial === "1") throw new Error("SELECT secret FROM table");
  if (serial === "4") throw Object.assign(new Error("open /a/path"), { code: "EMFILE" });
  if (serial === "2") throw refuse("key_unavailable", { retry_after: 2 });
  if (serial === "3") {
    return new Outcome("parked", { approval_id: "apr_1" }, { approval: "apr_1" });
  }
  return new Outcome("done", { serial, requested_by: origin?.principal.subject });
};
let ready = true;
const rpc = new RpcDoor({
  service: "pki.v1.PKIService",
  schema: pkiSchema,
  catalog: stubCatalog(),
  streams: {},
  perform,
  methods: rpcMethods({ crl: { base_url: "" }, ocsp: { nonce_enabled: true, delegated: true } }),
  open: healthMethods(["pki.v1.PKIService"], async () => ready),
  bodyBytesMax: 65_536,
});
let server: StubServer;
beforeAll(async () => {
  server = await startStub({ publicHttp: { host: "127.0.0.1", port: 0 } }, { rpc });
});
afterAll(() => server.stop());

test("a call is answered to its credential, and is a row of the access log under its method", async () => {
  const answer = await call(server.origin, "9", { ...credential, "x-request-id": "rpc-1" });
  expect(await answer.json()).toEqual({ certificate: { serial: "9", requestedBy: "root" } });
  expect(answer.headers.get("x-request-id")).toBe("rpc-1");
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(server.rows.at(-1)).toMatchObject({
    requestId: "rpc-1",
    subject: "root",
    method: "POST",
    route: path,
    status: 200,
  });
});

test("without a credential, or with a wrong one, the message is not even read", async () => {
  for (const headers of [{}, { authorization: `Basic ${btoa("root:wrong")}` }]) {
    const answer = await call(server.origin, "9", headers, "{ not json");
    expect([answer.status, (await answer.json()).code]).toEqual([401, "unauthenticated"]);
  }
});

test("a fault is internal outside and a stack inside; a shortage is 503; a parked call names its approval", async () => {
  const fault = await call(server.origin, "1", { ...credential, "x-request-id": "rpc-2" });
  expect(fault.status).toBe(500);
  expect(await fault.text()).not.toContain("SELECT");
  const line = server.lines.find(({ facts }) => facts.request_id === "rpc-2");
  expect(String(line?.facts.stack)).toContain("SELECT secret");
  const busy = await call(server.origin, "2", credential);
  expect([busy.status, busy.headers.get("retry-after")]).toEqual([503, "2"]);
  const short = await call(server.origin, "4", credential);
  expect([short.status, short.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await short.text()).not.toContain("/a/path");
  const parked = await (await call(server.origin, "3", credential)).json();
  expect(parked.code).toBe("failed_precondition");
  expect(atob(parked.details[0].value)).toContain('{"approval_id":"apr_1"}');
});

test("a body that is nothing but tiny fields or padded pieces is refused, not worked through", async () => {
  const send = async (type: string, body: Uint8Array) => {
    const headers = { ...credential, "content-type": type };
    const at = `${server.origin}/pki.v1.PKIService/PreviewCertificate`;
    const answer = await fetch(at, {
      method: "POST",
      headers,
      body: body as Uint8Array<ArrayBuffer>,
    });
    return answer.text();
  };
  const fields = Buffer.from("3a00".repeat(30_000), "hex");
  const { details } = JSON.parse(await send("application/proto", fields));
  expect(atob(details[0].value)).toContain("has too many fields");
  const pieces = Buffer.from("AA==".repeat(15_000));
  expect(
    Buffer.from(await send("application/grpc-web-text", pieces), "base64").toString(),
  ).toContain("grpc-status: 3");
});

test("a load balancer learns without a credential whether to send calls here, also while the server drains", async () => {
  const check = async (body: object, origin = server.origin) => {
    const init = { method: "POST", headers: { "content-type": "application/json" } };
    const at = `${origin}/grpc.health.v1.Health/Check`;
    return (await fetch(at, { ...init, body: JSON.stringify(body) })).json();
  };
  expect(await check({})).toEqual({ status: "SERVING" });
  expect(await check({ service: "pki.v1.PKIService" })).toEqual({ status: "SERVING" });
  expect((await check({ service: "pki.v1.Other" })).code).toBe("not_found");
  expect((await check({ service: "x".repeat(5000) })).code).toBe("resource_exhausted");
  expect(server.rows.at(-1)).toMatchObject({ route: "/grpc.health.v1.Health/Check", subject: "" });
  const leaving = await startStub({}, { rpc });
  await leaving.front.traffic.drain(0);
  ready = false;
  expect(await check({}, leaving.origin)).toEqual({ status: "NOT_SERVING" });
  ready = true;
  await leaving.stop();
});

test("the cleartext listener and a server without remote calls know no such path", async () => {
  const open = `http://127.0.0.1:${server.listeners.addresses.public}`;
  expect((await call(open, "9", credential)).status).toBe(404);
  const off = await startStub();
  const answer = await call(off.origin, "9", credential);
  expect([answer.status, (await answer.json()).code]).toEqual([404, "not_found"]);
  await off.stop();
});

const path = "/pki.v1.PKIService/GetCertificate";
const credential = { authorization: `Basic ${btoa("root:secret")}` };

const call = (
  origin: string,
  serial: string,
  headers: Readonly<Record<string, string>>,
  body = JSON.stringify({ caId: "c", serial }),
) =>
  fetch(`${origin}${path}`, {
    method: "POST",
    body,
    headers: { ...headers, "content-type": "application/json" },
  });
