/**
 * When CRLs are signed anew: after revocations, at half of their life, after a crash, and again
 * after a failure.
 */

import { beforeEach, expect, test } from "bun:test";

import { refuse } from "#core/problems.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { CrlRefresh } from "#domain/revocation/refresh.ts";
import type { CrlKind } from "#domain/revocation/store.ts";
import {
  revocationDefaults,
  rootOrigin,
  type SmallCa,
  smallCa,
} from "#test/support/worlds/small-ca.ts";

let small: SmallCa;
async function open(options?: Parameters<typeof smallCa>[0]) {
  small = await smallCa(options);
  await small.refresh.renewals();
  await small.refresh.afterRevocations();
}
beforeEach(() => open());

const head = (kind: CrlKind = "base", scope = "full") =>
  small.store.read.revocations.crlHead(small.ca.id, scope, kind);
const numbers = async () => [(await head())?.number, (await head("delta"))?.number];

async function revoke(reason: RevocationReason = "superseded") {
  const { serial } = await small.issue();
  const request = { ca: small.ca, serial, origin: rootOrigin, mayManageCa: true };
  await small.revoker.revoke(request, reason);
}

test("a new CA gets its first CRL and delta by itself", async () => {
  expect(await numbers()).toEqual([1, 2]);
});

test("a revocation is on the delta at once, and on the base a minute later", async () => {
  await revoke();
  await small.refresh.afterRevocations();
  expect(await head("delta")).toMatchObject({ number: 3, base: 1, entries: 1 });
  small.clock.advance(59);
  await revoke();
  await small.refresh.afterRevocations();
  expect(await head("delta")).toMatchObject({ number: 4, base: 1, entries: 2 });
  expect(await head()).toMatchObject({ number: 1 });
  small.clock.advance(1);
  await small.refresh.afterRevocations();
  expect(await head()).toMatchObject({ number: 5, entries: 2 });
  expect(await head("delta")).toMatchObject({ number: 6, base: 5, entries: 0 });
  small.clock.advance(120);
  await small.refresh.afterRevocations();
  expect(await numbers()).toEqual([5, 6]);
});

test("revocations within half a second share one delta", async () => {
  await revoke();
  await small.refresh.deltas();
  await revoke();
  await revoke();
  await small.refresh.deltas();
  expect(await head("delta")).toMatchObject({ number: 3, entries: 1 });
  small.clock.advance(0.5);
  await small.refresh.deltas();
  expect(await head("delta")).toMatchObject({ number: 4, entries: 3 });
});

test("a compromised key is on the base at once", async () => {
  await revoke();
  await revoke("keyCompromise");
  await small.refresh.bases();
  expect(await head()).toMatchObject({ number: 3, entries: 2 });
});

test("without delay every revocation is on the base at once", async () => {
  await open({ crl: { refresh_after_revocation_seconds: 0 } });
  await revoke();
  expect(small.woken.kinds).toEqual(["delta", "base"]);
  await small.refresh.afterRevocations();
  expect(await head()).toMatchObject({ entries: 1 });
});

test("a release is published like a revocation", async () => {
  const { serial } = await small.issue();
  const request = { ca: small.ca, serial, origin: rootOrigin, mayManageCa: true };
  await small.revoker.suspend(request);
  small.clock.advance(60);
  await small.refresh.afterRevocations();
  expect(await head()).toMatchObject({ entries: 1 });
  await small.revoker.release(request);
  small.clock.advance(1);
  await small.refresh.deltas();
  expect(await head("delta")).toMatchObject({ entries: 1 });
  small.clock.advance(60);
  await small.refresh.afterRevocations();
  expect([(await head())?.entries, (await head("delta"))?.entries]).toEqual([0, 0]);
});

test("a CRL that could not be signed is tried again", async () => {
  await revoke("keyCompromise");
  small.keys.checkTicket = () => {
    throw refuse("key_unavailable", { retry_after: 2 });
  };
  await small.refresh.afterRevocations();
  expect(small.failures).toHaveLength(2);
  small.keys.checkTicket = () => {};
  small.clock.advance(5);
  await small.refresh.afterRevocations();
  expect(await head()).toMatchObject({ entries: 1 });
});

const otherProcess = () =>
  new CrlRefresh({
    store: small.store,
    clock: small.clock,
    scopes: small.scopes,
    publisher: small.publisher,
    wake: () => {},
    config: revocationDefaults,
    onFailure: () => {},
  });

test("what this process revoked before a crash is published too", async () => {
  await revoke();
  const after = otherProcess();
  await after.afterRevocations();
  expect(await head("delta")).toMatchObject({ number: 3, entries: 1 });
  small.clock.advance(60);
  await after.afterRevocations();
  expect(await head()).toMatchObject({ number: 4, entries: 1 });
});

test("what another replica took is left to it for a while, and then published", async () => {
  const other = otherProcess();
  await other.afterRevocations();
  await revoke();
  await other.deltas();
  expect(await numbers()).toEqual([1, 2]);
  await small.refresh.deltas();
  small.clock.advance(2);
  await other.deltas();
  expect(await numbers()).toEqual([1, 3]);
  await revoke();
  await other.deltas();
  small.clock.advance(2);
  await other.deltas();
  expect(await head("delta")).toMatchObject({ number: 4, entries: 2 });
});

test("BLK-5: what a bulk run does is published at its end, and not while it runs", async () => {
  const run = {
    lineage: small.ca.lineage,
    id: "run",
    caId: small.ca.id,
    reason: "superseded" as const,
    digest: "",
    filter: "",
    batchSize: 2,
    startedAt: small.clock.at,
    actor: "root",
    actorName: "",
    actorRoles: "",
    ip: "",
    requestId: "",
    approval: "",
    maker: undefined,
  };
  const { serial } = await small.issue();
  const entry = { caId: small.ca.id, serial, revokedAt: small.clock.at, reason: run.reason };
  await small.store.atomically(async (tx) => {
    await tx.bulkRevocations.claim(run);
    await tx.bulkRevocations.start(run, 1);
    await tx.revocations.put({ ...entry, known: true, expiresAt: undefined });
  });
  small.clock.advance(90);
  await small.refresh.afterRevocations();
  expect(await numbers()).toEqual([1, 2]);
  await small.store.atomically((tx) => tx.bulkRevocations.settle(run, "finished"));
  await small.refresh.afterRevocations();
  small.clock.advance(2);
  await small.refresh.afterRevocations();
  expect(await head("delta")).toMatchObject({ number: 3, entries: 1 });
});

test("a base is renewed at half of its life, a delta at half of its own, and not before", async () => {
  small.clock.advance(1800 - 150);
  await small.refresh.renewals();
  expect(await numbers()).toEqual([1, 2]);
  small.clock.advance(1);
  await small.refresh.renewals();
  expect(await numbers()).toEqual([1, 3]);
  small.clock.advance(84 * 3600 - 151 - 1651);
  await small.refresh.renewals();
  expect(await numbers()).toEqual([1, 4]);
  small.clock.advance(1);
  await small.refresh.renewals();
  expect(await numbers()).toEqual([5, 6]);
});

test("only the partitions that list a change are signed anew", async () => {
  await open({ crl: { shards: 4, base_url: "http://crl.example" } });
  await small.publisher.publishAll(small.ca, rootOrigin);
  await small.refresh.afterRevocations();
  const before = await Promise.all([0, 1, 2, 3].map((n) => head("delta", `partition-${n}`)));
  await revoke();
  await small.refresh.deltas();
  const after = await Promise.all([0, 1, 2, 3].map((n) => head("delta", `partition-${n}`)));
  const anew = after.filter((crl, n) => crl?.number !== before[n]?.number);
  expect(anew).toMatchObject([{ entries: 1 }]);
  expect(await head("delta")).toMatchObject({ entries: 1 });
});

test("one CA whose key is away does not keep another from publishing", async () => {
  const other = await small.addCa();
  small.keys.checkTicket = (ticket) => {
    if (ticket.caId === small.ca.id) throw refuse("key_unavailable", { retry_after: 2 });
  };
  await revoke();
  await small.refresh.renewals();
  await small.refresh.afterRevocations();
  const published = await small.store.read.revocations.crlHead(other.id, "full", "base");
  expect(published).toMatchObject({ number: 1 });
});

/** Lets one read of the store fail once, as a connection that broke does. */
function failOnce(name: "byId" | "crlHead" | "value") {
  const { cas, revocations, instance } = small.store.read;
  const reads = { byId: cas, crlHead: revocations, value: instance }[name] as unknown as Record<
    string,
    (...args: unknown[]) => Promise<unknown>
  >;
  const read = reads[name];
  reads[name] = async () => {
    reads[name] = read ?? (async () => undefined);
    throw refuse("storage_unavailable");
  };
}

test.each(["byId", "crlHead", "value"] as const)(
  "a list that is due stays due when a read of the store (%s) fails",
  async (name) => {
    await revoke();
    if (name !== "value") await small.refresh.deltas();
    small.clock.advance(60);
    failOnce(name);
    await expect(small.refresh.bases()).rejects.toMatchObject({ code: "storage_unavailable" });
    await small.refresh.afterRevocations();
    expect(await head()).toMatchObject({ entries: 1 });
  },
);

test("a change nobody noted is found by the renewals, on every list that lacks it", async () => {
  await open({ crl: { shards: 2, base_url: "http://crl.example" } });
  const { serial } = await small.issue();
  await revoke();
  await small.refresh.afterRevocations();
  // From here on nothing tells of a change.
  const seen = await small.store.read.revocations.sequence();
  Reflect.set(small.store.read.revocations, "sequence", () => seen);
  await small.store.atomically((tx) =>
    tx.revocations.put({
      caId: small.ca.id,
      serial,
      revokedAt: small.clock.at,
      reason: "superseded",
      known: true,
      expiresAt: undefined,
    }),
  );
  await small.refresh.deltas();
  expect(await head("delta")).toMatchObject({ entries: 1 });
  await small.refresh.renewals();
  await small.refresh.deltas();
  expect(await head("delta")).toMatchObject({ entries: 2 });
  small.clock.advance(60);
  await small.refresh.bases();
  expect(await head()).toMatchObject({ entries: 2 });
});

test("CRL-11: a partition that is served no more says nothing about what is covered", async () => {
  await open({ crl: { shards: 4, base_url: "http://crl.example" } });
  await small.publisher.publishAll(small.ca, rootOrigin);
  const fewer = small.reopen({ shards: 2 });
  await revoke();
  await fewer.publisher.publishAll(small.ca, rootOrigin);
  const covered = await fewer.scopes.covered(small.ca.id);
  expect(covered).toBe(await small.store.read.revocations.sequence());
  expect(await small.scopes.covered(small.ca.id)).toBeLessThan(covered);
});
