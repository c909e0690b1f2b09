/** Certificates that expired long ago leave the inventory, and nobody who asks can tell. */

import { beforeEach, expect, test } from "bun:test";
import fc from "fast-check";

import type { Serial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import { Retention, type RetentionSections } from "#domain/retention/retention.ts";
import { systemOrigin } from "#domain/revocation/system-origin.ts";
import { refusalOf } from "#test/support/worlds/access.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

const day = 86_400;
const origin = systemOrigin("retention");

let small: SmallCa;
let settings: RetentionSections;
let retention: Retention;
beforeEach(async () => {
  small = await smallCa();
  settings = {
    retention: {
      enabled: true,
      mode: "archive",
      min_age_days: 90,
      prune_after_days: 0,
      batch_size: 3,
      schedule: { interval_hours: 24 },
    },
    crl: { keep_expired: false },
  };
  retention = new Retention({ store: small.store, clock: small.clock, config: () => settings });
});

const set = (more: Partial<RetentionSections["retention"]>) => {
  settings = { ...settings, retention: { ...settings.retention, ...more } };
};
const run = async () => {
  const { archived, pruned, held_back } = await retention.run(origin, false);
  return [archived, pruned, held_back];
};
let count = 0;
/** Over after a day, with octets and a key of its own. */
const issued = () => {
  const mark = (++count).toString(16).padStart(2, "0");
  const facts = { certificate: Buffer.from(mark.repeat(20)), spkiSha256: mark.repeat(32) };
  return small.issue({ validitySeconds: day, facts });
};
const later = (days: number) => small.clock.advance(days * day);
const asked = (serial: Serial) => ({
  ca: small.ca,
  serial,
  origin: rootOrigin,
  mayManageCa: true,
});
const publish = () => small.publisher.publish(small.ca, rootOrigin);
const shown = (serial: Serial) => small.store.read.certificates.bySerial(small.ca.id, serial);
const events = () => small.store.listEvents();
const told = () => events().filter(({ action }) => action === "inventory.retention");

test("RET-1: a certificate leaves when it has been over for so many days, not a second before", async () => {
  const { serial, certificate } = await issued();
  later(91);
  expect(await run()).toEqual([0, 0, 0]);
  small.clock.advance(1);
  const before = events().length;
  expect((await retention.run(origin, true)).archived).toBe(1);
  expect(events().length).toBe(before);
  expect(await run()).toEqual([1, 0, 0]);
  expect(await run()).toEqual([0, 0, 0]);
  expect((await shown(serial))?.certificate).toEqual(certificate);
});

test("RET-1: of a revoked one the lists decide: it stays until a list was made after its end, and another", async () => {
  const { serial } = await issued();
  await small.revoker.revoke(asked(serial), "superseded");
  await publish();
  later(200);
  // The last list is no longer good for anybody, and none has appeared since its end.
  await publish();
  expect(await run()).toEqual([0, 0, 1]);
  later(1);
  await publish();
  expect(await run()).toEqual([1, 0, 0]);
});

test("RET-1: with crl.keep_expired what was revoked stays where it is", async () => {
  const { serial } = await issued();
  await small.revoker.revoke(asked(serial), "superseded");
  settings = { ...settings, crl: { keep_expired: true } };
  for (let n = 0; n < 3; n++) {
    later(100);
    await publish();
  }
  expect(await run()).toEqual([0, 0, 1]);
});

const runDetails = {
  reason: "superseded",
  digest: "ab".repeat(32),
  filter: "all",
  batchSize: 500,
  startedAt: instant(0),
  actor: "root",
  actorName: "",
  actorRoles: "root",
  ip: "192.0.2.1",
  requestId: "r",
  approval: "",
  maker: undefined,
} as const;

test("RET-1: what is held stays, and so does everything of a CA that somebody is at work on", async () => {
  const held = await issued();
  await small.revoker.suspend(asked(held.serial));
  await issued();
  later(200);
  const key = { lineage: small.ca.lineage, id: "run" };
  await small.store.atomically(async (tx) => {
    await tx.bulkRevocations.claim({ ...runDetails, ...key, caId: small.ca.id });
    await tx.bulkRevocations.start(key, 1);
  });
  expect(await run()).toEqual([0, 0, 1]);
  await small.store.atomically((tx) => tx.bulkRevocations.settle(key, "finished"));
  expect(await run()).toEqual([1, 0, 0]);
  expect((await shown(held.serial))?.certificate).toEqual(held.certificate);
});

test("RET-2: each batch is one unit with an event that carries the digest of what left", async () => {
  for (let n = 0; n < 7; n++) await issued();
  later(200);
  expect(await run()).toEqual([7, 0, 0]);
  expect(told().map(({ detail }) => detail.replace(/[0-9a-f]{64}/, "…"))).toEqual([
    "mode=archive sha256=… count=3",
    "mode=archive sha256=… count=3",
    "mode=archive sha256=… count=1",
  ]);
  expect(told().every((event) => event.caId === small.ca.id)).toBe(true);
  small.store.checkWrite = (operation) => {
    if (operation === "audit.appendEvent") throw new Error("the disk is full");
  };
  await issued();
  later(200);
  expect(await refusalOf(run())).toContain("the disk is full");
  small.store.checkWrite = () => {};
  expect((await retention.last())?.result).toBe("error");
  // What had no event has not left.
  expect(await run()).toEqual([1, 0, 0]);
});

test("RET-1: what is to be pruned leaves a tombstone, from the archive or from where it was", async () => {
  const first = await issued();
  later(120);
  expect(await run()).toEqual([1, 0, 0]);
  set({ mode: "prune", prune_after_days: 365 });
  expect(await run()).toEqual([0, 0, 0]);
  later(300);
  const second = await issued();
  expect(await run()).toEqual([0, 1, 0]);
  later(400);
  expect(await run()).toEqual([0, 1, 0]);
  for (const { serial, spkiSha256, notAfter } of [first, second]) {
    expect(await shown(serial)).toMatchObject({ spkiSha256, notAfter, subject: "" });
    expect((await shown(serial))?.certificate.length).toBe(0);
  }
});

test("a run is due when the last one is as long ago as the schedule says, over a restart too", async () => {
  await retention.runDue(origin);
  const first = await retention.last();
  small.clock.advance(86_399);
  await new Retention({ store: small.store, clock: small.clock, config: () => settings }).runDue(
    origin,
  );
  expect(await retention.last()).toEqual(first);
  small.clock.advance(1);
  await retention.runDue(origin);
  expect(await retention.last()).not.toEqual(first);
});

test("RET-2: status, key search, revocation and uniqueness answer as if nothing had left", async () => {
  type Step = "issue" | "revoke" | "later" | "publish" | "archive" | "prune";
  const steps = fc.array(
    fc.constantFrom<Step>("issue", "revoke", "later", "publish", "archive", "prune"),
    { maxLength: 25 },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      small = await smallCa();
      const leaving = new Retention({
        store: small.store,
        clock: small.clock,
        config: () => settings,
      });
      const model = new Map<Serial, { row: CertificateRecord; revoked: boolean }>();
      for (const step of all) {
        if (step === "issue") {
          const row = await issued();
          model.set(row.serial, { row, revoked: false });
        } else if (step === "later") later(100);
        else if (step === "publish") await publish();
        else if (step === "revoke") {
          const one = [...model.values()].find(({ revoked }) => !revoked);
          if (one === undefined) continue;
          await small.revoker.revoke(asked(one.row.serial), "superseded");
          one.revoked = true;
        } else {
          set(step === "prune" ? { mode: "prune", prune_after_days: 90 } : { mode: "archive" });
          await leaving.run(origin, false);
        }
        for (const [serial, { row, revoked }] of model) await asBefore(serial, row, revoked);
      }
    }),
    { numRuns: 40 },
  );
});

async function asBefore(serial: Serial, row: CertificateRecord, revoked: boolean): Promise<void> {
  const { read } = small.store;
  const status = await read.revocations.certStatus(small.ca.id, serial);
  expect(status.status).toBe(revoked ? "revoked" : "good");
  const { spkiSha256 } = row;
  const filter = { caId: small.ca.id, now: small.clock.now(), spkiSha256 };
  const found = await read.certificates.page(filter, 100);
  expect(found.items.some((one) => one.serial === serial)).toBe(true);
  const intent = { opId: crypto.randomUUID(), caId: small.ca.id, serial } as const;
  const facts = {
    purpose: "certificate",
    tbsDigest: "",
    requestedBy: "",
    state: "intended",
  } as const;
  const again = { ...intent, ...facts, createdAt: small.clock.now() };
  expect(await small.store.atomically((tx) => tx.certificates.intend(again))).toBe(false);
}
