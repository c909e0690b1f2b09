/**
 * PostgreSQL that falls silent: what waits is refused, what comes is refused at once, and all goes
 * on when it is back.
 */

import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";

import { openStore } from "#adapters/db/open.ts";
import type { Patience } from "#adapters/db/engine/postgres-link.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { nothingWritten, type Store } from "#domain/store.ts";
import { type FrozenPath, openPath } from "#test/support/servers/frozen-path.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";
import { draft, noon } from "#test/support/stores/records.ts";
import { until } from "#test/support/until.ts";
import { postgresLimits } from "#test/support/stores/stores.ts";

setDefaultTimeout(120_000);

let server: PostgresServer;
let path: FrozenPath;
let store: Store;
let direct: Store;
let dsn: string;
const faults: string[] = [];

/** Short enough for a test, long enough for a busy machine. */
const patience: Patience = {
  connectMs: 1000,
  statementMs: 4000,
  beatEveryMs: 200,
  beatMs: 1500,
  unconfirmedMs: 5000,
  leaseMs: 60_000,
};

beforeAll(async () => {
  server = await startPostgres();
  dsn = await server.createMigratedDatabase();
  path = await openPath(Number(new URL(dsn).port));
  const through = new URL(dsn);
  through.port = String(path.port);
  direct = await opened(dsn);
  store = await opened(through.href);
});

afterEach(async () => {
  path.thaw();
  await until(async () => served(store));
});

afterAll(async () => {
  await store.close();
  await direct.close();
  path.close();
  await server.stop();
});

test("over a frozen path every kind of work is refused as unavailable, and the next one at once", async () => {
  await write("before");
  path.freeze();
  const work = [
    store.read.instance.value("name"),
    write("during"),
    store.read.revocations.sequence(),
    store.exclusively("lease", async () => {}),
    store.ping(),
  ];
  const settled = await Promise.allSettled(work);
  expect(settled.map(({ status }) => status)).toEqual(work.map(() => "rejected"));
  await until(() => faults.includes("the database does not answer"));
  const began = performance.now();
  for (let asked = 0; asked < 20; asked++) {
    await expect(store.read.instance.value("name")).rejects.toMatchObject(unavailable);
    await expect(write("later")).rejects.toMatchObject(unavailable);
  }
  // Forty refusals take less than one of them would have to wait.
  expect(performance.now() - began).toBeLessThan(patience.beatMs);
});

test("a unit that is under way when the path freezes is refused, and so is who waits for a lease", async () => {
  const held = Promise.withResolvers<void>();
  const has = Promise.withResolvers<void>();
  const holding = direct.exclusively("wanted", () => {
    has.resolve();
    return held.promise;
  });
  await has.promise;
  const waits = refusalOf(store.exclusively("wanted", async () => {}));
  let froze = false;
  const slow = store.atomically(async (tx) => {
    path.freeze();
    froze = true;
    await tx.instance.setValue("name", "slow");
  });
  await expect(slow).rejects.toMatchObject(unavailable);
  expect(froze).toBe(true);
  expect(await waits).toMatchObject(unavailable);
  held.resolve();
  await holding;
});

test("who waits too long for a lease works beside its holder, which is counted", async () => {
  const impatient = await opened(dsn, { ...patience, leaseMs: 100 });
  const done = Promise.withResolvers<void>();
  const holds = Promise.withResolvers<void>();
  const holding = direct.exclusively("long", () => {
    holds.resolve();
    return done.promise;
  });
  await holds.promise;
  expect(await impatient.exclusively("long", async () => "beside")).toBe("beside");
  expect(impatient.leaseTroubles()).toEqual({ shared: 1, lost: 0 });
  expect(direct.leaseTroubles()).toEqual({ shared: 0, lost: 0 });
  done.resolve();
  await holding;
  await impatient.close();
});

test("after the path is back the same store reads, writes, leases and hears events again", async () => {
  path.freeze();
  await expect(write("lost")).rejects.toMatchObject(unavailable);
  await expect(store.ping()).rejects.toThrow();
  path.thaw();
  await until(() => served(store));
  await write("back");
  expect(await store.read.instance.value("name")).toBe("back");
  expect(await store.exclusively("lease", async () => "had")).toBe("had");
  await store.ping();
  await hears();
});

test("one connection that dies by itself costs its statement alone", async () => {
  await Promise.all(Array.from({ length: 5 }, () => store.read.instance.value("name")));
  let ended = 0;
  // Statements of the heartbeat name the table as well, next to that of the heads.
  path.freeze((said) => said.includes("instance") && !said.includes("heads") && ended++ < 2);
  const answers = await Promise.allSettled(
    Array.from({ length: 12 }, () => store.read.instance.value("name")),
  );
  expect(answers.filter(({ status }) => status === "rejected").length).toBeLessThanOrEqual(2);
  for (let asked = 0; asked < 10; asked++) await store.read.instance.value("name");
});

test("a writing connection that dies in a unit keeps the head row from nobody: the next unit is kept at once", async () => {
  const stuck = store.atomically(async (tx) => {
    path.freeze((said) => said.includes("for update"));
    await tx.instance.setValue("name", "stuck");
  });
  const refusal = await refusalOf(stuck);
  expect(refusal).toMatchObject(unavailable);
  // It was lost before it was told to commit.
  expect(nothingWritten(refusal)).toBe(true);
  await write("next");
  await direct.atomically((tx) => tx.instance.setValue("name", "other"));
  expect(await store.read.instance.value("name")).toBe("other");
});

test("events are heard while the connection that listens is dead", async () => {
  path.freeze((said) => /listen/i.test(said));
  await hears();
});

test("a server that is stopped is unavailable, and serves when it goes on", async () => {
  await write("standing");
  server.pause();
  try {
    const work = [store.read.instance.value("name"), write("never"), store.ping()];
    for (const { status } of await Promise.allSettled(work)) expect(status).toBe("rejected");
    await until(async () => !(await served(store)));
    const began = performance.now();
    await expect(store.read.instance.value("name")).rejects.toMatchObject(unavailable);
    expect(performance.now() - began).toBeLessThan(patience.beatMs);
  } finally {
    server.resume();
  }
  await until(() => served(store));
  await write("on");
  expect(await store.read.instance.value("name")).toBe("on");
});

test("a store closes while its path is frozen, and while a unit waits", async () => {
  const through = new URL(await server.createMigratedDatabase());
  through.port = String(path.port);
  const doomed = await opened(through.href);
  path.freeze();
  const waiting = doomed.atomically((tx) => tx.instance.setValue("name", "waits"));
  const refused = refusalOf(waiting);
  await doomed.close();
  expect(await refused).toMatchObject(unavailable);
});

test("a database that is silent while the store opens keeps it from opening", async () => {
  const through = new URL(await server.createMigratedDatabase());
  through.port = String(path.port);
  path.freeze();
  await expect(opened(through.href)).rejects.toMatchObject({ reason: "unreachable" });
});

test("a store opens although nobody answers the connection that listens, and hears events all the same", async () => {
  const through = new URL(await server.createMigratedDatabase());
  const straight = await opened(through.href);
  through.port = String(path.port);
  path.freezeWhoSays((said) => /listen/i.test(said));
  const began = performance.now();
  const deaf = await opened(through.href);
  expect(performance.now() - began).toBeLessThan(2 * patience.statementMs);
  let heard = 0;
  deaf.onEvents((events) => {
    heard += events.length;
  });
  await straight.atomically((tx) => tx.audit.appendEvent(draft(), noon));
  await until(() => heard > 0);
  await deaf.close();
  await straight.close();
});

/** What work was refused with; asked for before it is, as an expectation cannot be. */
const refusalOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error) => error,
  );

const unavailable = { code: "storage_unavailable" };

const opened = (address: string, waits: Patience = patience) =>
  openStore(
    { driver: "postgres", dsn: address, ...postgresLimits, migrate: true, patience: waits },
    {
      clock: systemClock,
      random: systemRandom,
      onFault: (sentence) => faults.push(sentence),
    },
  );

const write = (value: string) => store.atomically((tx) => tx.instance.setValue("name", value));

const served = (asked: Store) =>
  asked.read.instance.value("name").then(
    () => true,
    () => false,
  );

/** What another store appends reaches the listeners of this one. */
async function hears(): Promise<void> {
  let heard = 0;
  const stop = store.onEvents((events) => {
    heard += events.length;
  });
  await direct.atomically((tx) => tx.audit.appendEvent(draft(), noon));
  await until(() => heard > 0);
  stop();
}
