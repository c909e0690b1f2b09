/** New rows are taken into indexes at rest, when many wait, at start and at close. */

import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";

import type { Connection } from "#adapters/db/engine/connection.ts";
import { foldSome } from "#adapters/db/engine/folds.ts";
import { Folding } from "#adapters/db/engine/folding.ts";
import { refuse } from "#core/problems.ts";
import { unfoldedStore } from "#test/support/stores/folded.ts";
import * as make from "#test/support/stores/records.ts";
import {
  connectionOn,
  type DatabaseUnderTest,
  sqliteDatabase,
} from "#test/support/stores/stores.ts";
import { until } from "#test/support/until.ts";

setDefaultTimeout(120_000);

const left = `select (select count(*) from certificates where not folded)
  + (select count(*) from events where not folded) as n`;

test("at rest nothing is left unfolded, and a clean close leaves nothing either", async () => {
  const database = sqliteDatabase();
  const store = await database.open();
  for (let n = 0; n < 3; n++) await make.issue(store, make.certificate());
  await until(() => allFolded(database));
  for (let n = 0; n < 40; n++) await make.issue(store, make.certificate());
  await store.close();
  expect(await allFolded(database)).toBe(true);
});

test("what an ended process has left is folded after the next start", async () => {
  const { store, database } = await unfoldedStore();
  for (let n = 0; n < 3; n++) await make.issue(store, make.certificate());
  await store.close();
  expect(await database.query(left)).toEqual([{ n: 6 }]);
  const next = await database.open();
  await until(() => allFolded(database));
  await next.close();
});

test("what is committed while a round finds that nothing waits is looked for all the same", async () => {
  const looks: PromiseWithResolvers<readonly unknown[]>[] = [];
  const row = () => {
    const look = Promise.withResolvers<readonly unknown[]>();
    looks.push(look);
    return look.promise;
  };
  const reader = { row } as unknown as Connection; // Nothing else of it is used.
  const run = () => Promise.reject(new Error("nothing waits"));
  const folds = new Folding({
    reader,
    writer: reader,
    run,
    scarce: () => false,
    onFault: () => {},
  });
  folds.committed(5000);
  looks[0]?.resolve([7, 7]);
  await until(() => looks.length === 2);
  folds.committed(1);
  looks[1]?.resolve([7, 7]);
  await until(() => looks.length === 3);
});

const allFolded = async (database: Pick<DatabaseUnderTest, "query">) =>
  Bun.deepEquals(await database.query(left), [{ n: 0 }]);

/** Folding over a database of its own; `run` fails as told, and counts. */
async function folding(facts: { rows: number; scarce?: boolean; fails?: Error }) {
  const { store, database } = await unfoldedStore();
  await store.atomically(async (tx) => {
    for (let n = 0; n < facts.rows; n++) await tx.audit.appendEvent(make.draft({}), make.noon);
  });
  const own = new Database(database.target);
  const connection = connectionOn(own);
  const faults: unknown[] = [];
  const waits: number[] = [];
  let running = false;
  const folds = new Folding({
    reader: connection,
    writer: connection,
    run: async (unit) => {
      if (facts.fails !== undefined) throw facts.fails;
      expect(running).toBe(false);
      running = true;
      own.run("begin immediate");
      const value = await unit();
      own.run("commit");
      running = false;
      const [row] = (await database.query(left)) as { n: number }[];
      waits.push(row?.n ?? 0);
      return value;
    },
    scarce: () => facts.scarce === true,
    onFault: (_, error) => faults.push(error),
  });
  return { folds, faults, waits, store, own, database };
}

test("when many wait they are folded at once, unit by unit, a part of them each", async () => {
  const { folds, waits, store, own } = await folding({ rows: 1500 });
  folds.committed(1023);
  folds.committed(1);
  await until(() => waits.at(-1) === 0);
  expect(waits.length).toBeGreaterThan(4);
  expect(waits.slice(0, -1).every((rows) => rows > 0)).toBe(true);
  await folds.close();
  own.close();
  await store.close();
});

test("where the disk is nearly full nothing is folded, and nothing is lost with it", async () => {
  const { folds, waits, faults, store, own, database } = await folding({ rows: 5, scarce: true });
  folds.committed(5000);
  await folds.close();
  expect([waits, faults]).toEqual([[], []]);
  expect(await database.query(left)).toEqual([{ n: 5 }]);
  expect(
    (await store.read.audit.events({ reach: "platform", actor: make.draft({}).actor }, 9)).total,
  ).toBe(5);
  own.close();
  await store.close();
});

test.each([
  [
    "a database that refuses has told so itself",
    refuse("storage_unavailable", { retry_after: 2 }),
    0,
  ],
  ["a unit that breaks is told", new Error("broken"), 1],
])("%s, and the rows wait", async (_, fails, told) => {
  const { folds, faults, store, own, database } = await folding({ rows: 5, fails });
  folds.committed(1024);
  await folds.close();
  expect(faults.length).toBeGreaterThanOrEqual(told);
  expect(faults.every((error) => error === fails)).toBe(true);
  expect(told > 0 || faults.length === 0).toBe(true);
  expect(await database.query(left)).toEqual([{ n: 5 }]);
  own.close();
  await store.close();
});

test("a unit asked for a quota folds first where many rows wait, and is exact", async () => {
  const { store, database } = await unfoldedStore();
  const ca = make.ca();
  await store.atomically((tx) => tx.cas.insert(ca));
  const issue = () => make.issue(store, make.certificate({ caId: ca.id, tenant: ca.tenant }));
  const waiting = "select count(*) as n from certificates where not folded";
  const used = () => store.atomically((tx) => tx.tenants.used(ca.tenant, make.noon));
  for (let n = 0; n < 64; n++) await issue();
  expect(await used()).toEqual({ today: 64, active: 64 });
  expect(await database.query(waiting)).toEqual([{ n: 64 }]);
  await issue();
  expect(await used()).toEqual({ today: 65, active: 65 });
  expect(await database.query(waiting)).toEqual([{ n: 0 }]);
  expect(await store.read.tenants.used(ca.tenant, make.noon)).toEqual({ today: 65, active: 65 });
  await store.close();
});

test("many rows are folded in statements that each hold the thread for a moment", async () => {
  const { store, database } = await unfoldedStore();
  for (let round = 0; round < 4; round++) {
    await Promise.all(Array.from({ length: 256 }, () => make.issue(store, make.certificate())));
  }
  const own = new Database(database.target);
  const connection = connectionOn(own);
  let statements = 0;
  const changes: number[] = [];
  const counting = {
    ...connection,
    run: async (text: string, values: Parameters<typeof connection.run>[1]) => {
      statements += 1;
      const changed = await connection.run(text, values);
      changes.push(changed);
      return changed;
    },
  };
  own.run("begin immediate");
  expect(await foldSome(counting, 256)).toBe(true);
  own.run("commit");
  // However many rows: so many statements, and none changes more rows than it may.
  expect(statements).toBeLessThan(12);
  expect(Math.max(...changes)).toBeLessThanOrEqual(256);
  own.close();
  await store.close();
});
