/** The audit chain: any change of any byte, order or tail is found. */

import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import fc from "fast-check";

import { detailText } from "#core/audit/actions.ts";
import {
  type AuditEvent,
  type ChainHead,
  eventHash,
  genesis,
  violation,
} from "#core/audit/chain.ts";
import { type LedgerEntry, ledgerHash } from "#core/audit/ledger.ts";
import { systemPrincipal } from "#core/access/principal.ts";
import { verifyChain } from "#domain/audit/verify.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { testClock } from "#test/support/ports.ts";

const texts = [
  "id",
  "timestamp",
  "actor",
  "actorName",
  "actorRoles",
  "action",
  "result",
  "tenant",
  "caId",
  "serial",
  "target",
  "targetName",
  "detail",
  "ip",
] as const;

test("canonical bytes, built here by hand, are those that are hashed", () => {
  const event = sample(7, "ab".repeat(32));
  const parts = [Buffer.from("pkid/audit/1\0"), Buffer.from("0000000000000007", "hex")];
  for (const text of [event.prevHash, ...texts.map((name) => event[name])]) {
    const octets = Buffer.from(text);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(octets.length);
    parts.push(length, octets);
  }
  expect(eventHash(event)).toBe(createHash("sha256").update(Buffer.concat(parts)).digest("hex"));
});

test("changing any hashed field breaks the event, changing request_id does not", () => {
  fc.assert(
    fc.property(fc.constantFrom(...texts), fc.string({ minLength: 1 }), (field, suffix) => {
      const event = sealed(sample(1, genesis.hash));
      expect(violation(genesis, event)).toBeUndefined();
      expect(violation(genesis, { ...event, [field]: event[field] + suffix })).toBe("hash");
      expect(violation(genesis, { ...event, requestId: suffix })).toBeUndefined();
    }),
  );
});

test("text moved from one field to the next changes the hash", () => {
  const event = sample(1, genesis.hash);
  const moved = { ...event, actor: "roo", actorName: `t${event.actorName}` };
  expect(eventHash(moved)).not.toBe(eventHash(event));
});

test("a gap, a swap and a foreign link are named", () => {
  const first = sealed(sample(1, genesis.hash));
  const head: ChainHead = { seq: 1, hash: first.hash };
  const second = sealed(sample(2, first.hash));
  expect(violation(head, second)).toBeUndefined();
  expect(violation(genesis, second)).toBe("gap");
  expect(violation(head, first)).toBe("gap");
  expect(violation(head, sealed(sample(2, "00".repeat(32))))).toBe("link");
});

test("verify names the first bad sequence after any single edit of a stored chain", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 20 }),
      fc.constantFrom("edit", "drop", "swap", "truncate", "rehash"),
      async (seq, attack) => {
        const store = await chainOf(20);
        const attacked = store.listEvents()[seq - 1];
        const other = store.listEvents()[seq % 20];
        if (attacked === undefined || other === undefined) throw new Error("no such event");
        const edited = { ...attacked, actor: "mallory" };
        const replace =
          "update events set id = ?, actor = ?, prev_hash = ?, hash = ? where seq = ?";
        const put = ({ id, actor, prevHash, hash }: AuditEvent) =>
          store.tamper(replace, id, actor, prevHash, hash, seq);
        if (attack === "edit") await put(edited);
        if (attack === "rehash") await put(sealed(edited));
        if (attack === "swap") await put(other);
        if (attack === "drop") await store.tamper("delete from events where seq = ?", seq);
        if (attack === "truncate") await store.tamper("delete from events where seq >= ?", seq);
        const verdict = await verifyChain(store.read);
        expect(verdict.valid).toBe(false);
        const where = verdict.valid ? 0 : verdict.brokenAtSeq;
        expect(where === seq || (attack === "rehash" && where === seq + 1)).toBe(true);
      },
    ),
  );
});

test("an untouched chain verifies and names its head", async () => {
  const store = await chainOf(3);
  expect(await verifyChain(store.read)).toMatchObject({ valid: true, events: 3, headSeq: 3 });
  expect(await verifyChain(createMemoryStore().read)).toMatchObject({ valid: true, events: 0 });
});

test("detail pairs keep the table's order, leave absent ones out and quote what could be misread", () => {
  const detail = { known: false, reason: "keyCompromise", bulk_op: 'a b"c=d' };
  expect(detailText({ action: "cert.revoke", detail })).toBe(
    'reason=keyCompromise known=false bulk_op="a b\\"c=d"',
  );
  expect(detailText({ action: "cert.revoke" })).toBe("");
});

test("a ledger entry hashes every member", () => {
  const entry = { ...emptyEntry, prevHash: genesis.hash };
  const hash = ledgerHash(entry);
  for (const name of Object.keys(emptyEntry) as (keyof typeof emptyEntry)[]) {
    const changed = { ...entry, [name]: name === "number" ? 2 : "x" };
    expect(ledgerHash(changed)).not.toBe(hash);
  }
});

async function chainOf(length: number) {
  const store = createMemoryStore();
  const now = testClock().now();
  await store.atomically(async (tx) => {
    const actor = systemPrincipal("test").subject;
    for (let n = 0; n < length; n++) {
      await tx.audit.appendEvent({ action: "config.load", result: "success", actor }, now);
    }
  });
  return store;
}

function sample(seq: number, prevHash: string): Omit<AuditEvent, "hash"> {
  return {
    seq,
    prevHash,
    id: "e1",
    timestamp: "2026-06-01T12:00:00.000000Z",
    actor: "root",
    actorName: "Ünï",
    actorRoles: "root",
    action: "cert.issue",
    result: "success",
    tenant: "default",
    caId: "c1",
    serial: "12",
    target: "c1",
    targetName: "12",
    detail: "profile=server",
    ip: "192.0.2.1",
    requestId: "r1",
  };
}

const sealed = (event: Omit<AuditEvent, "hash">): AuditEvent => ({
  ...event,
  hash: eventHash(event),
});

const emptyEntry: Omit<LedgerEntry, "hash" | "prevHash"> = {
  number: 1,
  timestamp: "",
  kind: "intent",
  opId: "",
  provider: "",
  deviceSerial: "",
  keyLabel: "",
  signerFingerprint: "",
  role: "",
  operation: "",
  algorithm: "",
  digest: "",
  purpose: "",
  caId: "",
  artifact: "",
  result: "",
  signatureSha256: "",
  error: "",
  count: "",
  total: "",
};
