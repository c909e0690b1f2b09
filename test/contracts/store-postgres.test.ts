/** The store contract, kept by PostgreSQL, and what only replicas and a server can do to it. */

import { afterAll, expect, setDefaultTimeout, spyOn, test } from "bun:test";

import fc from "fast-check";

import { openStore } from "#adapters/db/open.ts";
import { Metrics } from "#adapters/telemetry/families.ts";
import { eventCounters } from "#adapters/telemetry/projections.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import type { PageKey } from "#domain/page.ts";
import type { Store } from "#domain/store.ts";
import {
  fillInventory,
  inventoryFilters,
  inventoryModel,
} from "#test/support/stores/inventory-model.ts";
import { openWire } from "#test/support/servers/postgres-wire.ts";
import { startPostgres } from "#test/support/servers/postgres.ts";
import {
  certificate,
  draft,
  intend,
  intentFor,
  issue,
  noon,
  revocation,
} from "#test/support/stores/records.ts";
import { postgresDatabase, postgresLimits } from "#test/support/stores/stores.ts";

import { until } from "#test/support/until.ts";
import { storeContract } from "./store.suite.ts";
import { durableStoreContract, wholeChain, wholeLedger } from "./store-durable.suite.ts";

setDefaultTimeout(120_000);
const server = await startPostgres();
afterAll(() => server.stop());

storeContract("PostgreSQL", async () => (await postgresDatabase(server)).open());
durableStoreContract("PostgreSQL", () => postgresDatabase(server));

const two = async () => {
  const database = await postgresDatabase(server);
  return [await database.open(), await database.open()] as const;
};
const closeAll = (stores: readonly Store[]) => Promise.all(stores.map((store) => store.close()));

test("every filter of the inventory finds the rows of the model, and counters follow every change", async () => {
  const database = await postgresDatabase(server);
  const store = await database.open();
  await fillInventory(store);
  await fc.assert(
    fc.asyncProperty(inventoryFilters, fc.integer({ min: 5, max: 60 }), async (filter, limit) => {
      const expected = await inventoryModel.certificates.page(filter, 500);
      const found: string[] = [];
      let after: PageKey | undefined;
      do {
        const { items, total, next } = await store.read.certificates.page(filter, limit, after);
        expect(total).toBe(expected.total);
        found.push(...items.map(({ id }) => id));
        after = next;
      } while (after !== undefined);
      expect(found).toEqual(expected.items.map(({ id }) => id));
    }),
    { numRuns: 200 },
  );
  await database.tamper("delete from certificates where profile = 'none'");
  const counted = await database.query(
    "select ca_id, status, day, profile, number from certificate_counts where number > 0 order by 1, 2, 3, 4",
  );
  const real = await database.query(
    "select ca_id, status, not_after / 86400000 as day, profile, count(*) as number from certificates where kind = 'leaf' group by 1, 2, 3, 4 order by 1, 2, 3, 4",
  );
  expect(counted).toEqual(real);
  await store.close();
});

test("two replicas append without gap or fork", async () => {
  const [a, b] = await two();
  await Promise.all(
    Array.from({ length: 200 }, (_, index) => issue(index % 2 === 0 ? a : b, certificate())),
  );
  expect(await wholeChain(a)).toHaveLength(200);
  expect(await wholeLedger(b)).toHaveLength(400);
  await closeAll([a, b]);
});

test("a replica starts beside one that appends between any two of its questions", async () => {
  const database = await postgresDatabase(server);
  const busy = await database.open();
  const wire = await openWire(Number(new URL(database.target).port));
  wire.delayAnswers(20);
  let over = false;
  const appending = (async () => {
    while (!over) await busy.atomically((tx) => tx.audit.appendEvent(draft(), noon));
  })();
  const dsn = Object.assign(new URL(database.target), { port: wire.port }).href;
  const options = { driver: "postgres", dsn, ...postgresLimits, migrate: true } as const;
  const late = await openStore(options, { clock: systemClock, random: systemRandom });
  over = true;
  await appending;
  expect(await wholeChain(late)).toEqual(await wholeChain(busy));
  await closeAll([busy, late]);
  wire.close();
});

test("a serial taken by one replica is refused to the other", async () => {
  const [a, b] = await two();
  const rows = Array.from({ length: 20 }, () => certificate());
  const taken = await Promise.all(
    rows.flatMap((row) =>
      [a, b].map((store) => store.atomically((tx) => tx.certificates.intend(intentFor(row)))),
    ),
  );
  expect(taken.filter((won) => won)).toHaveLength(20);
  await closeAll([a, b]);
});

test("a replica hears the events of the other, in order and each once", async () => {
  const [a, b] = await two();
  const heard: number[] = [];
  b.onEvents((events) => {
    heard.push(...events.map((event) => event.seq));
  });
  const append = (store: Store) => store.atomically((tx) => tx.audit.appendEvent(draft(), noon));
  await Promise.all(Array.from({ length: 100 }, (_, index) => append(index % 3 === 0 ? b : a)));
  await until(() => heard.length >= 100);
  expect(heard).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  await closeAll([a, b]);
});

test("a replica is told apart of the events it committed itself, so that a sum over replicas counts each once", async () => {
  const [a, b] = await two();
  const metrics = [new Metrics(), new Metrics()] as const;
  a.onOwnEvents(eventCounters(metrics[0]));
  b.onOwnEvents(eventCounters(metrics[1]));
  let heard = 0;
  a.onEvents((events) => {
    heard += events.length;
  });
  const append = (store: Store) =>
    store.atomically((tx) => tx.audit.appendEvent(draft({ action: "cert.revoke" }), noon));
  await Promise.all(Array.from({ length: 90 }, (_, at) => append(at % 3 === 0 ? b : a)));
  await until(() => heard >= 90);
  const counted = metrics.map(async (one) => {
    const { text } = await one.exposition();
    const line = /^pki_certificates_total\{operation="revoke",result="success"\} (\d+)$/m;
    return Number(line.exec(text)?.[1]);
  });
  expect(await Promise.all(counted)).toEqual([60, 30]);
  await closeAll([a, b]);
});

test("the revocation sequence is right on every replica the instant a change is acknowledged", async () => {
  const [a, b] = await two();
  for (let round = 1; round <= 50; round++) {
    const [writer, reader] = round % 2 === 0 ? [a, b] : [b, a];
    const asked = reader.read.revocations.sequence();
    const sequence = await writer.atomically((tx) => tx.revocations.put(revocation()));
    expect(sequence).toBe(round);
    expect(await reader.read.revocations.sequence()).toBe(round);
    expect(await asked).toBeLessThanOrEqual(round);
  }
  await closeAll([a, b]);
});

test("a replica's start orphans what dead replicas left open, and nothing of the living", async () => {
  const database = await postgresDatabase(server);
  const [living, dead] = [await database.open(), await database.open()];
  const [kept, left] = [intentFor(certificate()), intentFor(certificate())];
  await living.atomically((tx) => intend(tx, kept));
  await dead.atomically((tx) => intend(tx, left));
  await dead.close();
  const starting = await database.open();
  const open = await starting.read.audit.openLedgerIntents(10);
  expect(open.map(({ opId }) => opId)).toEqual([left.opId]);
  const orphans = await starting.atomically((tx) => tx.certificates.orphanOpenIntents());
  expect(orphans.map(({ opId }) => opId)).toEqual([left.opId]);
  await closeAll([living, starting]);
});

test("V-28: pending migrations are refused until they are asked for", async () => {
  const dsn = await server.createDatabase();
  const deps = { clock: systemClock, random: systemRandom };
  const open = (migrate: boolean) =>
    openStore({ driver: "postgres", dsn, ...postgresLimits, migrate }, deps);
  await expect(open(false)).rejects.toMatchObject({ reason: "migration_pending" });
  await (await open(true)).close();
  await (await open(false)).close();
});

test("two replicas that migrate at once do it once", async () => {
  const [a, b] = await Promise.all(
    await postgresDatabase(server).then((database) => [database.open(), database.open()]),
  );
  expect(await a?.read.audit.ledgerHead()).toEqual(await b?.read.audit.ledgerHead());
  await closeAll([a, b].filter((store) => store !== undefined));
});

test("V-6: a server that would lose an acknowledged commit is refused", async () => {
  const database = await postgresDatabase(server);
  await database.tamper("alter role pkid set synchronous_commit = off");
  await expect(database.open()).rejects.toMatchObject({ reason: "unsafe_settings" });
  await database.tamper("alter role pkid reset synchronous_commit");
});

test("a server that does not answer keeps the store from opening", async () => {
  const dsn = "postgres://pkid:secret@127.0.0.1:1/pkid";
  const deps = { clock: systemClock, random: systemRandom };
  const opening = openStore({ driver: "postgres", dsn, ...postgresLimits, migrate: false }, deps);
  await expect(opening).rejects.toMatchObject({ reason: "unreachable" });
});

test("a unit whose transaction was given up for its slowness is refused, and the next one is kept", async () => {
  const database = await postgresDatabase(server);
  const store = await database.open();
  const { setTimeout } = globalThis;
  let giveUp: (() => void) | undefined;
  // The only timer of this length is the one that watches a batch.
  const timers = spyOn(globalThis, "setTimeout").mockImplementation(((
    work: () => void,
    milliseconds: number,
  ) => {
    if (milliseconds === 15_000) giveUp = work;
    return setTimeout(work, milliseconds);
  }) as typeof setTimeout);
  const unit = (value: string, meanwhile: () => void) =>
    store.atomically(async (tx) => {
      meanwhile();
      await tx.instance.setValue("unit", value);
    });
  const slow = unit("slow", () => giveUp?.());
  await expect(slow).rejects.toMatchObject({ code: "storage_unavailable" });
  timers.mockRestore();
  expect(await store.read.instance.value("unit")).toBeUndefined();
  await unit("next", () => {});
  expect(await store.read.instance.value("unit")).toBe("next");
  await store.close();
});

test("a crash of the server refuses units, loses none that was acknowledged, and heals by itself", async () => {
  const database = await postgresDatabase(server);
  const store = await database.open();
  const heard: number[] = [];
  store.onEvents((events) => {
    heard.push(...events.map((event) => event.seq));
  });
  const [issued, refused]: [string[], string[]] = [[], []];
  let running = true;
  const work = async () => {
    while (running) {
      const row = certificate();
      await issue(store, row).then(
        () => issued.push(row.serial),
        (error) => refused.push(error.code),
      );
      if (refused.length > 0) await Bun.sleep(5);
    }
  };
  const workers = Array.from({ length: 8 }, work);
  await until(() => issued.length > 50);
  await server.crash();
  const before = issued.length;
  await until(() => issued.length > before + 50);
  running = false;
  await Promise.all(workers);
  expect(new Set(refused)).toEqual(new Set(["storage_unavailable"]));
  const events = await wholeChain(store);
  await wholeLedger(store);
  const serials = new Set(events.map(({ serial }) => serial));
  for (const serial of issued) expect(serials.has(serial)).toBe(true);
  await until(() => heard.length >= events.length);
  expect(heard).toEqual(events.map(({ seq }) => seq));
  await store.close();
});
