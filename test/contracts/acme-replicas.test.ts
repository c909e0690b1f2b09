/** What replicas do about one another's work on ACME: who seeks a proof, and who an order. */

import { expect, setDefaultTimeout, test } from "bun:test";

import { systemLater } from "#adapters/system.ts";
import { caId } from "#core/ids.ts";
import { type Instant, instant } from "#core/time.ts";
import { OpenPlans } from "#domain/acme/open-plans.ts";
import type { Store } from "#domain/store.ts";
import { sharePostgres } from "#test/support/servers/postgres.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { certificate, issue, noon } from "#test/support/stores/records.ts";
import { postgresDatabase, sqliteDatabase } from "#test/support/stores/stores.ts";
import { until } from "#test/support/until.ts";

setDefaultTimeout(60_000);
const server = await sharePostgres();

const { later } = make;

const closeAll = (stores: readonly Store[]) => Promise.all(stores.map((store) => store.close()));

/** Takes what is due. */
const claimed = async (store: Store, at: Instant) => {
  const filter = { at, exceptAccounts: [], exceptHosts: [] };
  const { items } = await store.read.acme.dueChallenges(filter, 100);
  const claim = { ids: items.map(({ id }) => id), at, leaseUntil: later(60) };
  const jobs = await store.atomically((tx) => tx.acme.claimChallenges(claim));
  return jobs.map(({ challenge }) => challenge.id);
};

/** Orders, each with a challenge that is due. */
async function due(store: Store, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const { proofs } = await make.ordered(store);
    const id = proofs[0]?.challenges[0]?.id ?? "";
    await store.atomically((tx) => tx.acme.beginChallenge(id, noon));
    ids.push(id);
  }
  return ids;
}

test("what two replicas take of one queue is each taken by one of them", async () => {
  const database = await postgresDatabase(server);
  const [one, other] = [await database.open(), await database.open()];
  const ids = await due(one, 5);
  const taken = await Promise.all([claimed(one, noon), claimed(other, noon), claimed(one, noon)]);
  expect(taken.flat().toSorted()).toEqual(ids.toSorted());
  await closeAll([one, other]);
});

test("the lease of a replica that is gone is over, that of one that lives is not", async () => {
  const database = await postgresDatabase(server);
  const [one, dying] = [await database.open(), await database.open()];
  const [id = ""] = await due(one, 1);
  expect(await claimed(dying, noon)).toEqual([id]);
  expect(await claimed(one, later(1))).toEqual([]);
  await dying.close();
  // The server notices in its own time.
  let taken: readonly string[] = [];
  await until(async () => {
    taken = await claimed(one, later(1));
    return taken.length > 0;
  });
  expect(taken).toEqual([id]);
  // Its own lease is none of a replica that is gone.
  expect(await claimed(one, later(1))).toEqual([]);
  await one.close();
});

test("a replica writes what became of its own attempt and of no other's", async () => {
  const database = await postgresDatabase(server);
  const [one, other] = [await database.open(), await database.open()];
  const [id = ""] = await due(one, 1);
  await claimed(one, noon);
  const settle = (store: Store, attempt: number) =>
    store.atomically((tx) =>
      tx.acme.settleChallenge(id, attempt, { kind: "proved", at: noon, validUntil: later(9) }),
    );
  expect(await settle(other, 1)).toBe(false);
  await claimed(other, later(60));
  expect(await settle(one, 1)).toBe(false);
  expect(await settle(one, 2)).toBe(false);
  expect(await settle(other, 2)).toBe(true);
  await closeAll([one, other]);
});

test("FIN-1: of two replicas that claim an order one does, and tells the other nothing while it lives", async () => {
  const database = await postgresDatabase(server);
  const stores = [await database.open(), await database.open()] as const;
  const { order } = await make.ordered(stores[0], [{}], { status: "ready" });
  const claims = await Promise.all(
    stores.map((store) => store.atomically((tx) => tx.acme.claimOrder(order.id, noon))),
  );
  expect(claims.filter(Boolean)).toHaveLength(1);
  const [maker, reader] = claims[0] ? stores : [stores[1], stores[0]];
  const idsOf = async (store: Store, own: boolean) =>
    (await store.read.acme.processing(own, 10)).map(({ id }) => id);
  expect(await idsOf(maker, true)).toEqual([order.id]);
  expect(await idsOf(maker, false)).toEqual([]);
  expect(await idsOf(reader, false)).toEqual([]);
  expect(await idsOf(reader, true)).toEqual([]);
  await maker.close();
  // The server notices in its own time.
  await until(async () => (await idsOf(reader, false)).length > 0);
  expect(await idsOf(reader, false)).toEqual([order.id]);
  expect(await idsOf(reader, true)).toEqual([]);
  await reader.close();
});

test("a nonce works once across replicas, and so does the last use of a credential", async () => {
  const database = await postgresDatabase(server);
  const stores = [await database.open(), await database.open()] as const;
  const eab = make.eab({ maxUses: 1 });
  await stores[0].atomically((tx) => tx.acme.addEab(eab));
  const nonces = await Promise.all(
    stores.map((store) => store.atomically((tx) => tx.acme.useNonce("nonce", later(1)))),
  );
  const uses = await Promise.all(
    stores.map((store) => store.atomically((tx) => tx.acme.useEab(eab.id, noon))),
  );
  expect([nonces, uses].map((all) => all.filter(Boolean).length)).toEqual([1, 1]);
  await closeAll(stores);
});

test("what a process that is gone was at on SQLite is free at once for the next one", async () => {
  const database = sqliteDatabase();
  const first = await database.open();
  const [id = ""] = await due(first, 1);
  const { order } = await make.ordered(first, [{}], { status: "ready" });
  await first.atomically((tx) => tx.acme.claimOrder(order.id, noon));
  expect(await claimed(first, noon)).toEqual([id]);
  await first.close();
  const next = await database.open();
  const left = await next.read.acme.processing(false, 10);
  expect(left.map((one) => one.id)).toEqual([order.id]);
  expect(await next.read.acme.processing(true, 10)).toEqual([]);
  expect(await claimed(next, later(1))).toEqual([id]);
  expect(await claimed(next, later(1))).toEqual([]);
  await next.close();
});

test("replicas know how many they are, and each has a place of its own", async () => {
  const database = await postgresDatabase(server);
  const stores = [await database.open(), await database.open(), await database.open()] as const;
  const standings = await Promise.all(stores.map((store) => store.read.instance.standing()));
  expect(standings.map(({ count }) => count)).toEqual([3, 3, 3]);
  expect(standings.map(({ place }) => place).toSorted()).toEqual([0, 1, 2]);
  const [one, ...others] = stores;
  await closeAll(others);
  // The server notices in its own time.
  await until(async () => (await one.read.instance.standing()).count === 1);
  expect(await one.read.instance.standing()).toEqual({ place: 0, count: 1 });
  await one.close();
  const alone = await sqliteDatabase().open();
  expect(await alone.read.instance.standing()).toEqual({ place: 0, count: 1 });
  await alone.close();
});

test("two replicas together keep to the bound of a plan, and use all of it", async () => {
  const database = await postgresDatabase(server);
  const stores = [await database.open(), await database.open()] as const;
  const ca = caId(crypto.randomUUID());
  const row = certificate({ caId: ca, notAfter: later(1000) });
  await issue(stores[0], row);
  const plan = make.replacement({ perSecond: 5 });
  await stores[0].atomically(async (tx) => {
    await tx.replacements.addReplacement(plan);
    await tx.replacements.addItems([make.item(plan.id, { caId: ca, serial: row.serial })]);
  });
  // Both have been there for a while.
  let behind = 60_000;
  const clock = { now: () => instant(Date.now() - behind) };
  const plans = stores.map((store) => new OpenPlans({ store, clock, later: systemLater }));
  behind = 0;
  const coming = {
    account: "account",
    identifiers: [],
    replaces: { caId: ca, serial: row.serial },
  };
  const done: number[] = [];
  const begun = performance.now();
  await Promise.all(
    plans.flatMap((one) =>
      Array.from({ length: 10 }, () =>
        one.paced(coming, async () => void done.push(performance.now())),
      ),
    ),
  );
  expect(done).toHaveLength(20);
  for (const from of done) {
    const within = done.filter((at) => at >= from && at < from + 1000);
    expect(within.length).toBeLessThanOrEqual(5);
  }
  // Ten at two in a second are the most that one of them has.
  expect(performance.now() - begun).toBeGreaterThan(3900);
  await closeAll(stores);
});
