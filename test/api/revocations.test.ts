/** Revocation in JSON, through the pipeline: answers, spellings of a serial, and refusals. */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { beforeEach, expect, test } from "bun:test";

import { Problem } from "#core/problems.ts";
import { revocationHandlers } from "#api/revocations.ts";
import type { Origin } from "#domain/actor.ts";
import type { Perform } from "#domain/access/perform.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

type Handlers = ReturnType<typeof revocationHandlers>;

let small: SmallCa;
let handlers: Handlers;
let perform: Perform;
beforeEach(async () => {
  small = await smallCa();
  handlers = revocationHandlers(small);
  perform = openPipeline({ ...small });
});

interface Asked {
  readonly body?: unknown;
  readonly serial?: string;
  readonly query?: string;
  readonly origin?: Origin;
}

async function call(operation: keyof Handlers, asked: Asked = {}) {
  const path = { id: small.ca.id, ...(asked.serial ? { serial: asked.serial } : {}) };
  const query = new URLSearchParams(asked.query ?? "");
  const origin = asked.origin ?? rootOrigin;
  const body = async () => asked.body;
  const answer = await askJson(
    perform,
    { operation, origin, path, query, body },
    handlers[operation],
  );
  return JSON.parse(JSON.stringify(answer.body));
}

const refusalOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error) => (error instanceof Problem ? error.code : String(error)),
  );
const issuer: Origin = {
  ...rootOrigin,
  principal: { ...rootOrigin.principal, isRoot: false, subject: "ina", roles: ["issuer"] },
};
const noon = "2026-06-01T12:00:00.000000Z";

test("revoke answers the serial in decimal, the time and the reason", async () => {
  const body = { serial: "0x07", reason: "KEYCOMPROMISE" };
  expect(await call("cert.revoke", { body })).toEqual({
    ca_id: small.ca.id,
    status: "revoked",
    serial: "7",
    revoked_at: noon,
    reason: "keyCompromise",
  });
  expect(await call("cert.revoke", { body: { serial: "007" } })).toMatchObject({
    status: "already-revoked",
    serial: "7",
    reason: "keyCompromise",
  });
});

test("the reason is unspecified when none is given, and certificateHold suspends", async () => {
  const [one, two] = [await small.issue(), await small.issue()];
  const revoked = await call("cert.revoke", { body: { serial: one.serial } });
  expect(revoked).toMatchObject({ status: "revoked", reason: "unspecified" });
  const held = await call("cert.revoke", {
    body: { serial: two.serial, reason: "certificateHold" },
  });
  expect(held).toMatchObject({ status: "held", reason: "certificateHold" });
});

test("suspend and release need no body and answer in their words", async () => {
  const { serial } = await small.issue();
  expect(await call("cert.suspend", { serial })).toEqual({
    ca_id: small.ca.id,
    status: "held",
    serial,
    revoked_at: noon,
    reason: "certificateHold",
  });
  expect(await call("cert.suspend", { serial })).toMatchObject({ status: "already-held" });
  expect(await call("cert.release", { serial })).toEqual({
    ca_id: small.ca.id,
    status: "released",
    serial,
  });
  expect(await refusalOf(call("cert.release", { serial }))).toBe("not_held");
});

test("a serial or reason that is none is refused by its own code", async () => {
  expect(await refusalOf(call("cert.revoke", { body: { serial: "-1" } }))).toBe("bad_serial");
  expect(await refusalOf(call("cert.suspend", { serial: "0" }))).toBe("bad_serial");
  const removal = { serial: "1", reason: "removeFromCRL" };
  expect(await refusalOf(call("cert.revoke", { body: removal }))).toBe("bad_reason");
  expect(await refusalOf(call("cert.revoke", { body: {} }))).toBe("missing_field");
  expect(await refusalOf(call("cert.revoke", { body: { serial: "1", x: 1 } }))).toBe(
    "unknown_field",
  );
});

test("REV-3: neither a suspended tenant nor a full disk keeps a certificate from being revoked", async () => {
  const [one, two] = [await small.issue(), await small.issue()];
  const row = await small.store.read.tenants.named("default");
  if (row === undefined) throw new Error("the built-in tenant is there");
  await small.store.atomically((tx) => tx.tenants.update({ ...row, status: "suspended" }));
  perform = openPipeline({ ...small, hasRoom: () => false, onDecision: () => {} });
  const { serial } = one;
  expect(await call("cert.suspend", { serial })).toMatchObject({ status: "held" });
  expect(await call("cert.release", { serial })).toMatchObject({ status: "released" });
  expect(await call("cert.revoke", { body: { serial } })).toMatchObject({ status: "revoked" });
  small.keys.checkTicket = () => {
    throw new Error("no signature is needed");
  };
  const last = { body: { serial: two.serial, reason: "keyCompromise" } };
  expect(await call("cert.revoke", last)).toMatchObject({ status: "revoked" });
});

test("an issuer revokes leaves but not the certificate of a CA, which is recorded as denied", async () => {
  const [leaf, ca] = [await small.issue(), await small.issue({ kind: "ca" })];
  const asked = (serial: string) => ({ body: { serial }, origin: issuer });
  expect(await call("cert.revoke", asked(leaf.serial))).toMatchObject({ status: "revoked" });
  expect(await refusalOf(call("cert.revoke", asked(ca.serial)))).toBe("forbidden");
  expect(small.store.listEvents().at(-1)).toMatchObject({
    action: "cert.revoke",
    result: "denied",
    actor: "ina",
  });
});

test("the list shows revoked and held, newest first, by prefix and page", async () => {
  for (const serial of ["11", "12", "21"]) {
    await call("cert.revoke", { body: { serial, reason: "superseded" } });
  }
  const first = await call("revocation.list", { query: "limit=2" });
  expect(first).toMatchObject({ has_more: true, total: 3 });
  expect(first.items[0]).toEqual({
    ca_id: small.ca.id,
    serial: "21",
    revoked_at: noon,
    revocation_reason: 4,
    reason: "superseded",
    known: false,
    revocation_seq: 3,
  });
  const rest = await call("revocation.list", { query: `limit=2&cursor=${first.next_cursor}` });
  expect(rest.items.map(({ serial }: { serial: string }) => serial)).toEqual(["11"]);
  const prefixed = await call("revocation.list", { query: "serial_prefix=1" });
  expect(prefixed.total).toBe(2);
  expect(await refusalOf(call("revocation.list", { query: "serial_prefix=x" }))).toBe("bad_query");
});
