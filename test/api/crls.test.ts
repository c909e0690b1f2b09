/** CRLs in JSON, through the pipeline: the state of every list, and signing them all. */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { beforeEach, expect, test } from "bun:test";

import { encodePem } from "#core/asn1/pem.ts";
import { crlListHandlers } from "#api/crl-list.ts";
import { crlAdministration } from "#api/crls.ts";
import type { Origin } from "#domain/actor.ts";
import type { Perform } from "#domain/access/perform.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";
import { parseSerial } from "#core/ids.ts";

type Handlers = ReturnType<typeof crlAdministration>;

let small: SmallCa;
let handlers: Handlers;
let perform: Perform;
async function open(options?: Parameters<typeof smallCa>[0]) {
  small = await smallCa(options);
  handlers = crlAdministration(small);
  perform = openPipeline({ ...small });
}
beforeEach(() => open());

async function call(
  operation: keyof Handlers,
  {
    origin = rootOrigin,
    query = "",
    body,
  }: { origin?: Origin; query?: string; body?: unknown } = {},
) {
  const asked = { path: { id: small.ca.id }, query: new URLSearchParams(query) };
  const read = async () => body;
  const answer = await askJson(
    perform,
    { operation, origin, ...asked, body: read },
    handlers[operation],
  );
  return JSON.parse(JSON.stringify(answer.body));
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error) => error.code,
  );
const issuer: Origin = {
  ...rootOrigin,
  principal: { ...rootOrigin.principal, isRoot: false, subject: "ina", roles: ["issuer"] },
};
const revoke = (serial: string) =>
  small.revoker.revoke(
    { ca: small.ca, serial: parseSerial(serial), origin: rootOrigin, mayManageCa: true },
    "superseded",
  );

test("the status follows publication and expiry", async () => {
  const none = { available: false, expired: false, revoked_count: 0 };
  expect(await call("crl.status")).toEqual({
    ca_id: small.ca.id,
    sharded: false,
    shard_count: 0,
    base: none,
    delta: none,
    scopes: [{ scope: "full", base: none, delta: none }],
  });
  await revoke("5");
  expect(await call("crl.publish")).toEqual({
    scopes: [{ scope: "full", number: 1, delta_number: 2 }],
  });
  const status = await call("crl.status");
  expect(status.base).toEqual({
    available: true,
    number: 1,
    this_update: "2026-06-01T11:55:00.000000Z",
    next_update: "2026-06-08T12:00:00.000000Z",
    published_at: "2026-06-01T12:00:00.000000Z",
    expired: false,
    revoked_count: 1,
  });
  expect(status.delta).toEqual({
    available: true,
    number: 2,
    this_update: "2026-06-01T11:55:01.000000Z",
    next_update: "2026-06-01T13:00:00.000000Z",
    published_at: "2026-06-01T12:00:00.000000Z",
    expired: false,
    revoked_count: 0,
    base_crl_number: 1,
  });
  small.clock.advance(169 * 3600);
  expect((await call("crl.status")).base).toMatchObject({ available: false, expired: true });
});

test("every partition is signed and told, each with numbers of its own", async () => {
  await open({ crl: { shards: 2, base_url: "http://crl.example" } });
  await call("crl.publish");
  expect(await call("crl.publish")).toEqual({
    scopes: ["full", "partition-0", "partition-1"].map((scope) => ({
      scope,
      number: 3,
      delta_number: 4,
    })),
  });
  const status = await call("crl.status");
  expect(status).toMatchObject({ sharded: true, shard_count: 2 });
  expect(status.scopes).toHaveLength(3);
  const one = await call("crl.status", { query: "shard=1" });
  expect(one.scopes).toEqual([status.scopes[2]]);
  expect(one.base).toEqual(status.scopes[2].base);
  expect(await codeOf(call("crl.status", { query: "shard=2" }))).toBe("bad_partition");
});

test("publishing needs ca:manage and names its caller", async () => {
  expect(await codeOf(call("crl.publish", { origin: issuer }))).toBe("forbidden");
  await call("crl.publish");
  expect(small.store.listEvents().at(-1)).toMatchObject({
    action: "crl.publish",
    result: "success",
    actor: "root",
  });
});

test("a list is imported as PEM or base64, and only by who manages the CA", async () => {
  await revoke("8");
  const der = await small.publisher.der(await small.publisher.current(small.ca));
  const body = { crl: encodePem("X509 CRL", der) };
  expect(await call("crl.import", { body })).toEqual({ imported: 0, already_revoked: 1 });
  const base64 = { crl: der.toBase64() };
  expect(await call("crl.import", { body: base64 })).toEqual({ imported: 0, already_revoked: 1 });
  expect(await codeOf(call("crl.import", { body, origin: issuer }))).toBe("forbidden");
  for (const crl of ["", "no list", "-----BEGIN X509 CRL-----", "MAA="]) {
    expect(await codeOf(call("crl.import", { body: { crl } }))).toBe("invalid_field");
  }
  expect(await codeOf(call("crl.import", { body: {} }))).toBe("missing_field");
});

test("what each CA publishes is told at once, with its responder", async () => {
  await call("crl.publish");
  const list = crlListHandlers({ ...small, presigns: false });
  const asked = async () => {
    const answer = await askJson(
      perform,
      {
        operation: "crl.list",
        origin: rootOrigin,
        path: {},
        query: new URLSearchParams(),
        body: async () => undefined,
      },
      list["crl.list"],
    );
    return JSON.parse(JSON.stringify(answer.body));
  };
  const answer = await asked();
  expect(answer).toMatchObject({ total: 1, presigned: { enabled: false, answers: 0 } });
  const [one] = answer.items;
  const { base, delta } = await call("crl.status");
  expect(one).toMatchObject({ ca_id: small.ca.id, ca_label: small.ca.label, base, delta });
});
