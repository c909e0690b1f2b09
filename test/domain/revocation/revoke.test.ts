/** Revoke, suspend and release: what changes, what is recorded, and what is refused. */

import { beforeEach, expect, test } from "bun:test";

import { parseSerial, type Serial } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { addSeconds, timestamp } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let small: SmallCa;
beforeEach(async () => {
  small = await smallCa();
});

const asked = (serial: Serial, mayManageCa = true) => ({
  ca: small.ca,
  serial,
  origin: rootOrigin,
  mayManageCa,
});
const events = () => small.store.listEvents();
const codeOf = async (promise: Promise<unknown>): Promise<string> => {
  const error = await promise.then(
    () => "accepted",
    (thrown) => thrown,
  );
  return error instanceof Problem ? error.code : String(error);
};

test("a revocation is in both tables and in one event", async () => {
  const { serial } = await small.issue();
  const result = await small.revoker.revoke(asked(serial), "superseded");
  expect(result).toEqual({
    caId: small.ca.id,
    status: "revoked",
    serial,
    revokedAt: small.clock.at,
    reason: "superseded",
  });
  const row = await small.store.read.certificates.bySerial(small.ca.id, serial);
  expect([row?.status, row?.reason]).toEqual(["revoked", "superseded"]);
  expect(await small.store.read.revocations.bySerial(small.ca.id, serial)).toMatchObject({
    known: true,
    expiresAt: row?.notAfter,
    sequence: 1,
    reason: "superseded",
  });
  expect(events()).toHaveLength(1);
  expect(events()[0]).toMatchObject({
    action: "cert.revoke",
    result: "success",
    actor: "root",
    actorRoles: "root",
    target: small.ca.id,
    targetName: serial,
    caId: small.ca.id,
    serial,
    detail: "reason=superseded sequence=1",
    ip: "192.0.2.1",
    tenant: "default",
  });
});

test("revoking twice keeps the first time and reason and writes one event", async () => {
  const { serial } = await small.issue();
  const first = await small.revoker.revoke(asked(serial), "superseded");
  small.clock.advance(60);
  const again = await small.revoker.revoke(asked(serial), "keyCompromise");
  expect(again).toEqual({ ...first, status: "already-revoked" });
  expect(events()).toHaveLength(1);
  expect(await small.store.read.revocations.sequence()).toBe(1);
});

test("an unknown serial becomes a bare entry, and stays what it first was", async () => {
  const serial = parseSerial("0xabcdef");
  await small.revoker.revoke(asked(serial), "unspecified");
  expect(events()[0]?.detail).toBe("reason=unspecified known=false sequence=1");
  const entry = await small.store.read.revocations.bySerial(small.ca.id, serial);
  expect(entry).toMatchObject({ known: false, expiresAt: undefined });
  small.clock.advance(5);
  const again = await small.revoker.revoke(asked(serial), "superseded");
  expect(again).toMatchObject({ status: "already-revoked", reason: "unspecified" });
  expect(await codeOf(small.revoker.suspend(asked(serial)))).toBe("already_revoked");
});

test("a hold can be repeated, released, and taken again", async () => {
  const { serial } = await small.issue();
  const held = await small.revoker.suspend(asked(serial));
  expect(held).toMatchObject({ status: "held", reason: "certificateHold" });
  small.clock.advance(30);
  expect(await small.revoker.revoke(asked(serial), "certificateHold")).toEqual({
    ...held,
    status: "already-held",
  });
  expect((await small.revoker.release(asked(serial))).status).toBe("released");
  expect(await small.store.read.revocations.bySerial(small.ca.id, serial)).toBeUndefined();
  expect(await codeOf(small.revoker.release(asked(serial)))).toBe("not_held");
  expect((await small.revoker.suspend(asked(serial))).status).toBe("held");
  expect(events().map(({ action, detail }) => `${action} ${detail}`)).toEqual([
    "cert.suspend reason=certificateHold sequence=1",
    "cert.release held_since=2026-06-01T12:00:00.000000Z sequence=2",
    "cert.suspend reason=certificateHold sequence=3",
  ]);
});

test("revoking a held certificate is permanent, with a new time and reason", async () => {
  const { serial } = await small.issue();
  await small.revoker.suspend(asked(serial));
  small.clock.advance(30);
  const result = await small.revoker.revoke(asked(serial), "keyCompromise");
  expect(result).toMatchObject({ status: "revoked", revokedAt: small.clock.at });
  expect(events()[1]?.detail).toBe("reason=keyCompromise previous=held sequence=2");
  expect(await codeOf(small.revoker.release(asked(serial)))).toBe("not_held");
  expect(await codeOf(small.revoker.suspend(asked(serial)))).toBe("already_revoked");
});

test("an expired certificate can be revoked but not held", async () => {
  const { serial } = await small.issue({ validitySeconds: 10 });
  small.clock.advance(11);
  expect(await codeOf(small.revoker.suspend(asked(serial)))).toBe("certificate_expired");
  expect((await small.revoker.revoke(asked(serial), "superseded")).status).toBe("revoked");
});

test("an unknown serial cannot be held, and a serial not held cannot be released", async () => {
  const serial = parseSerial("77");
  expect(await codeOf(small.revoker.suspend(asked(serial)))).toBe("not_found");
  expect(await codeOf(small.revoker.release(asked(serial)))).toBe("not_held");
  expect(events()).toHaveLength(0);
});

test("a certificate of a public profile can be revoked but not held", async () => {
  const { serial } = await small.issue({ profile: "public" });
  expect(await codeOf(small.revoker.suspend(asked(serial)))).toBe("hold_not_permitted");
  expect((await small.revoker.revoke(asked(serial), "superseded")).status).toBe("revoked");
});

test("a CA certificate needs ca:manage, retires its CA, and cannot be held", async () => {
  const subject = await small.addCa();
  const { serial } = await small.issue({ kind: "ca" });
  const change = "update cas set parent = ?, serial = ? where id = ?";
  await small.store.tamper(change, small.ca.id, serial, subject.id);
  expect(await codeOf(small.revoker.revoke(asked(serial, false), "superseded"))).toBe("forbidden");
  expect(await codeOf(small.revoker.suspend(asked(serial)))).toBe("hold_not_permitted");
  await small.revoker.revoke(asked(serial), "superseded");
  expect((await small.store.read.cas.byId(subject.id))?.status).toBe("retired");
  expect(small.woken.kinds).toEqual(["delta", "base"]);
});

test("when the event cannot be appended the revocation does not happen", async () => {
  const { serial } = await small.issue();
  small.store.checkWrite = (operation) => {
    if (operation === "audit.appendEvent") throw new Error("audit is down");
  };
  expect(small.revoker.revoke(asked(serial), "superseded")).rejects.toThrow("audit is down");
  expect((await small.store.read.certificates.bySerial(small.ca.id, serial))?.status).toBe("good");
  expect(await small.store.read.revocations.certStatus(small.ca.id, serial)).toMatchObject({
    status: "good",
  });
});

const urgency: readonly [RevocationReason, number][] = [
  ["superseded", 0],
  ["keyCompromise", 1],
  ["cACompromise", 1],
];
for (const [reason, times] of urgency) {
  test(`revoking for ${reason} asks for a delta, and for a base at once ${times} times`, async () => {
    const { serial } = await small.issue();
    await small.revoker.revoke(asked(serial), reason);
    expect(small.woken.kinds).toEqual(["delta", ...Array<string>(times).fill("base")]);
  });
}

test("what an older list says of the past is an event of now, with the block of the key", async () => {
  const { serial } = await small.issue({ facts: { spkiSha256: "ab".repeat(32) } });
  const revokedAt = addSeconds(small.clock.at, -400 * 86_400);
  const now = timestamp(small.clock.at);
  await small.revoker.revoke({ ...asked(serial), revokedAt }, "keyCompromise");
  expect(events().map(({ action, timestamp: at }) => [action, at])).toEqual([
    ["cert.revoke", now],
    ["key.block", now],
  ]);
});
