/**
 * A database that lacks acknowledged changes: an older SQLite file that was put back, and a
 * PostgreSQL standby that lagged when it was promoted.
 */

import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { HighWaterFile, highWaterPath } from "#adapters/db/history/high-water-file.ts";
import type { AuditEvent } from "#core/audit/chain.ts";
import { caId } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import { nothingWritten, type Store } from "#domain/store.ts";
import { sharePostgres } from "#test/support/servers/postgres.ts";
import { draft, ledgerDraft, noon, revocation } from "#test/support/stores/records.ts";
import {
  type DatabaseUnderTest,
  openPostgres,
  postgresDatabase,
  sqliteDatabase,
} from "#test/support/stores/stores.ts";
import { until } from "#test/support/until.ts";

setDefaultTimeout(120_000);
const folder = mkdtempSync(join(tmpdir(), "pkid-rollback-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ca = caId("ca");
const seconds = (after: number) => instant(noon + after * 1000);

/** Database with a copy of an earlier state. */
interface RevertibleDatabase {
  readonly database: DatabaseUnderTest;
  /** Copies the state as it is now. */
  copy(): Promise<void>;
  /** Replaces the database by the copy, and keeps the newer one. */
  revert(): Promise<void>;
  /** Brings the newer database back. */
  undo(): Promise<void>;
}

function revertibleSqlite(): RevertibleDatabase {
  const database = sqliteDatabase();
  const { target } = database;
  return {
    database,
    copy: async () => copyFileSync(target, `${target}.old`),
    revert: async () => {
      copyFileSync(target, `${target}.new`);
      copyFileSync(`${target}.old`, target);
    },
    undo: async () => copyFileSync(`${target}.new`, target),
  };
}

async function revertiblePostgres(): Promise<RevertibleDatabase> {
  const server = await sharePostgres();
  const database = await postgresDatabase(server);
  const name = database.target.split("/").at(-1) ?? "";
  const other = database.target.replace(name, "postgres");
  const connect = (allowed: boolean) => `alter database ${name} allow_connections ${allowed}`;
  const end = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`;
  const exclusively = async (...statements: string[]) => {
    for (const text of [connect(false), end, ...statements, connect(true)]) {
      await server.query(other, text);
    }
  };
  const rename = (from: string, to: string) => `alter database ${from} rename to ${to}`;
  const swap = (first: string, last: string) =>
    exclusively(rename(name, first), rename(last, name));
  return {
    database,
    copy: () => exclusively(`create database ${name}_old template ${name}`),
    revert: () => swap(`${name}_new`, `${name}_old`),
    undo: () => swap(`${name}_old`, `${name}_new`),
  };
}

const newFile = () => {
  const fail = (error: unknown) => {
    throw error;
  };
  return new HighWaterFile(highWaterPath(mkdtempSync(join(folder, "data-"))), fail);
};
const sameFile = (path: string) => new HighWaterFile(path, () => {});

/** Records the publication of a list in the store, and returns its number. */
async function publish(store: Store, scope = "full"): Promise<number> {
  return await store.atomically(async (tx) => {
    const number = (await tx.revocations.reserveCrl(ca, scope, moment, 0))?.number ?? 0;
    const target = { caId: ca, target: ca, targetName: scope };
    const detail = { number, kind: "base", entries: 0, sha256: "00" };
    const event = { ...draft({ action: "crl.publish" }), ...target, detail };
    await tx.audit.appendEvent(event, noon);
    return number;
  });
}

const moment = { at: noon, wanted: noon, believed: true };
/** Reserves the number of a list that is not published, as the CRL builder does. */
async function reserve(store: Store): Promise<void> {
  const reserved = await store.atomically((tx) => tx.revocations.reserveCrl(ca, "full", moment, 0));
  await store.recordCrlNumber(ca, "full", reserved?.number ?? 0);
}

/** Repeats the work until the connections of the store are back. */
async function retry<T>(work: () => Promise<T>): Promise<T> {
  const results: T[] = [];
  await until(() =>
    work().then(
      (result) => results.push(result) > 0,
      () => false,
    ),
  );
  return results[0] as T; // `until` returns after the first result.
}

const append = (store: Store) =>
  store.atomically((tx) => tx.audit.appendEvent(draft(), noon)).then(({ seq }) => seq);
const revoke = (store: Store) => store.atomically((tx) => tx.revocations.put(revocation()));
const accept = (store: Store, at = seconds(60)) =>
  store.acceptRollback(at, async (tx, { epoch, revocationSequence: sequence }) => {
    const detail = { reason: "test", sequence, epoch };
    await tx.audit.appendEvent({ ...draft({ action: "system.accept_rollback" }), detail }, noon);
  });
const readRefusal = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => undefined,
    (refused) => refused,
  );
  expect(error).toMatchObject({ code: "storage_unavailable" });
  expect(nothingWritten(error)).toBe(true);
  return String(error.message);
};

describe.each([
  ["SQLite", async () => revertibleSqlite()],
  ["PostgreSQL", revertiblePostgres],
])("%s: a database that is older at the start", (_name, create) => {
  const openOlder = async (change: (store: Store) => Promise<unknown>) => {
    const revertible = await create();
    const path = highWaterPath(mkdtempSync(join(folder, "data-")));
    const open = () => revertible.database.open({ highWater: sameFile(path) });
    const first = await open();
    await append(first);
    await publish(first);
    await first.close();
    await revertible.copy();
    const second = await open();
    const acknowledged = await change(second);
    await second.close();
    await revertible.revert();
    return { store: await open(), open, acknowledged, ...revertible };
  };

  test("the store refuses writes and OCSP data with the remedy, and reads continue", async () => {
    const { store } = await openOlder(append);
    expect(store.rollback()).toMatchObject({ reason: "event 3 is missing", found: { event: 2 } });
    expect(await readRefusal(append(store))).toContain("pkid db accept-rollback");
    expect(await readRefusal(Promise.resolve().then(() => store.read.revocations.sequence())));
    expect(await store.read.audit.eventHead()).toMatchObject({ seq: 2 });
    await store.ping();
    await store.close();
  });

  test.each([
    ["a revocation", revoke, "revocation 1 is missing"],
    ["a published CRL", publish, "event 3 is missing"],
    ["a reserved CRL number", reserve, "CRL number 2 of ca/full is missing"],
    [
      "a ledger entry",
      (store: Store) => store.atomically((tx) => tx.audit.appendLedger(ledgerDraft("intent", "a"))),
      "ledger entry 1 is missing",
    ],
  ])("the store detects that only %s is missing", async (_what, change, reason) => {
    const { store } = await openOlder(change);
    expect(store.rollback()?.reason).toBe(reason);
    await store.close();
  });

  test("the store continues above every acknowledged number after the rollback was accepted", async () => {
    const { store, open, acknowledged } = await openOlder(async (newer) => {
      await revoke(newer);
      for (let count = 0; count < 4; count++) await publish(newer);
      return await publish(newer);
    });
    expect(await accept(store)).toMatchObject({ reason: expect.stringContaining("missing") });
    expect(store.rollback()).toBeUndefined();
    expect(await accept(store)).toBeUndefined();
    const number = await publish(store);
    expect(number).toBeGreaterThan(Number(acknowledged) + 999_000);
    expect(await publish(store, "partition-7")).toBeGreaterThan(1_000_000);
    expect(await store.read.revocations.sequence()).toBeGreaterThan(1);
    await append(store);
    await store.close();
    const again = await open();
    expect(again.rollback()).toBeUndefined();
    expect(await publish(again)).toBe(number + 1);
    await again.close();
  });

  test("the store writes again when the newer database is back at the next start", async () => {
    const { store, open, undo } = await openOlder(append);
    await store.close();
    await undo();
    const again = await open();
    expect(again.rollback()).toBeUndefined();
    expect(await append(again)).toBe(4);
    await again.close();
  });

  test("the store detects a lower CRL number although both chains are whole", async () => {
    const { database } = await create();
    const path = highWaterPath(mkdtempSync(join(folder, "data-")));
    const store = await database.open({ highWater: sameFile(path) });
    await publish(store);
    await publish(store);
    await store.close();
    await database.tamper("update crl_reservations set number = 1");
    const again = await database.open({ highWater: sameFile(path) });
    expect(again.rollback()?.reason).toBe("CRL number 2 of ca/full is missing");
    await accept(again);
    expect(await publish(again)).toBeGreaterThan(1_000_000);
    await again.close();
  });
});

describe("replicas whose standby is promoted", () => {
  const replicas = async () => {
    const revertible = await revertiblePostgres();
    const open = () => revertible.database.open({ highWater: newFile() });
    const stores = [await open(), await open()] as const;
    await append(stores[0]);
    await publish(stores[0]);
    await revertible.copy();
    await until(() => append(stores[1]).then(Boolean, () => false));
    return { stores, ...revertible };
  };
  /** Waits until the connections of the store are back. */
  const awaitRollback = (store: Store) =>
    until(async () => {
      await append(store).catch(() => {});
      return store.rollback() !== undefined;
    });

  test("both replicas write nothing, also if another program has continued the older history", async () => {
    const { stores, database, revert } = await replicas();
    const [first, second] = stores;
    await retry(() => revoke(first));
    await second.read.revocations.sequence();
    // The second replica learns of the revocation with its next comparison.
    await until(async () => (await second.read.revocations.sequence()) === 1);
    // A program without a mark appends more events than are lost.
    const older = openPostgres(await sharePostgres(), `${database.target}_old`);
    const other = await older.open();
    for (let count = 0; count < 10; count++) await append(other);
    await other.close();
    await revert();
    for (const store of stores) {
      await awaitRollback(store);
      await until(() => store.rollback()?.reason.includes("has other content") === true);
      expect(await readRefusal(append(store))).toContain("accept-rollback");
      await readRefusal(Promise.resolve(store.read.revocations.sequence()));
    }
    await Promise.all(stores.map((store) => store.close()));
  });

  test("a replica that has not seen the lost changes writes nothing either, until another one has accepted the rollback", async () => {
    const { stores, database, revert } = await replicas();
    const [first] = stores;
    await retry(() => revoke(first));
    await revert();
    // The mark of this store is the older state.
    const late = await database.open({ highWater: newFile() });
    await awaitRollback(first);
    await until(() => late.rollback() !== undefined);
    expect(await readRefusal(append(late))).toContain("accept-rollback");
    await readRefusal(Promise.resolve(late.read.revocations.sequence()));
    await retry(() => accept(first));
    await until(() => late.rollback() === undefined);
    await retry(() => append(late));
    await Promise.all([...stores, late].map((store) => store.close()));
  });

  test("every replica resumes after one of them has accepted the rollback", async () => {
    const { stores, revert } = await replicas();
    const [first, second] = stores;
    const earlier = [await retry(() => publish(first)), await retry(() => publish(second))];
    const seen: AuditEvent[] = [];
    second.onEvents((events) => seen.push(...events));
    await revert();
    await Promise.all(stores.map(awaitRollback));
    await retry(() => accept(first));
    await until(() => second.rollback() === undefined);
    const numbers: number[] = [];
    for (const store of [second, first, second]) numbers.push(await retry(() => publish(store)));
    expect(new Set([...earlier, ...numbers]).size).toBe(5);
    expect(Math.min(...numbers)).toBeGreaterThan(Math.max(...earlier));
    await until(() => seen.filter(({ action }) => action === "crl.publish").length >= 3);
    expect(seen.some(({ action }) => action === "system.accept_rollback")).toBe(true);
    await Promise.all(stores.map((store) => store.close()));
  });

  test("a replica resumes without a restart when the newer database is back", async () => {
    const { stores, revert, undo } = await replicas();
    const [first] = stores;
    const last = await retry(() => append(first));
    await revert();
    await awaitRollback(first);
    let ended = 0;
    first.onRollbackEnd(() => {
      ended += 1;
    });
    await undo();
    await until(() => first.rollback() === undefined);
    expect(ended).toBe(1);
    await until(() => append(first).then(Boolean, () => false));
    const [next] = await first.read.audit.eventsAfter(last, 1);
    expect(next?.seq).toBe(last + 1);
    await Promise.all(stores.map((store) => store.close()));
  });
});
