/** What was issued and revoked on each day is counted once, before the migration and after it. */

import { describe, expect, setDefaultTimeout, test } from "bun:test";

import { caId } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Store } from "#domain/store.ts";
import { bothDatabases } from "#test/support/stores/both.ts";
import { daysIn, withoutDayCounts } from "#test/support/stores/day-counts.ts";
import { unfoldedStore } from "#test/support/stores/folded.ts";
import * as make from "#test/support/stores/records.ts";

setDefaultTimeout(60_000);

const databases = bothDatabases();
const [, [, emptyPostgres]] = databases;

describe.each(databases)("on %s", (_, create) => {
  test("the migration counts what was there, and what comes is added to it", async () => {
    const database = await create();
    const filled = await database.open();
    await fill(filled);
    await filled.close();
    const before = await daysIn(database);
    expect(before.kept).toEqual(before.real);
    expect(before.real.length).toBeGreaterThan(10);
    await withoutDayCounts(database);

    const store = await database.open();
    expect((await daysIn(database)).kept).toEqual(before.kept);
    await make.issue(store, rowAt(1));
    await revoke(store, rows[7], 5);
    await store.close();
    const { kept, real } = await daysIn(database);
    expect(kept).toEqual(real);
    expect(kept).not.toEqual(before.kept);
  });

  test("what was revoked before it was adopted counts on the day of its revocation", async () => {
    const database = await create();
    const store = await database.open();
    const revokedAt = instant(make.noon - 40 * dayMs);
    const adopted = { ...rowAt(8), status: "revoked", revokedAt, reason: "superseded" } as const;
    await store.atomically(async (tx) => {
      expect(await tx.certificates.adopt(adopted)).toBe(true);
    });
    const day = Math.floor(make.noon / dayMs);
    expect(
      [...(await store.read.certificates.days([home], 0))].sort((a, b) => a.day - b.day),
    ).toEqual([
      { day: day - 40, issued: 0, revoked: 1 },
      { day, issued: 1, revoked: 0 },
    ]);
    await store.close();
    const { kept, real } = await daysIn(database);
    expect(kept).toEqual(real);
  });
});

test("on PostgreSQL the migration takes back what was counted as living and was revoked", async () => {
  const database = await emptyPostgres();
  const filled = await database.open();
  await fill(filled);
  await filled.close();
  const living = `select tenant, slot, number from tenant_counts where kind = 'living' order by 1, 2`;
  const revoked = `select tenant, slot, number from tenant_counts where kind = 'revoked' order by 1, 2`;
  const before = { living: await database.query(living), revoked: await database.query(revoked) };
  expect([before.living.length, before.revoked.length]).not.toContain(0);
  // As the binary before left it, where certificates had been adopted that were revoked already.
  await database.tamper("update tenant_counts set number = number + 3 where kind = 'living'");
  await database.tamper("update tenant_counts set number = number - 1 where kind = 'revoked'");
  await withoutDayCounts(database);
  await (await database.open()).close();
  expect(await database.query(living)).toEqual(before.living);
  expect(await database.query(revoked)).toEqual(before.revoked);
});

test("what is not folded yet is counted once, before the migration and after it", async () => {
  const { store, fold, database } = await unfoldedStore();
  await fill(store);
  const days = async (of: Store) =>
    [...(await of.read.certificates.days([home, other], 0))].sort((a, b) => a.day - b.day);
  const all = await days(store);
  expect((await daysIn(database)).kept).toEqual([]);
  await fold(20);
  expect(await days(store)).toEqual(all);
  await store.close();
  expect(await database.query("select 1 from certificates where not folded")).toHaveLength(20);
  await withoutDayCounts(database);
  const migrated = await database.open();
  expect(await days(migrated)).toEqual(all);
  await migrated.close(); // Which folds what is left.
  const { kept, real } = await daysIn(database);
  expect(kept).toEqual(real);
});

const dayMs = 86_400_000;
const home = caId("home");
const other = caId("other");
const rowAt = (at: number): CertificateRecord =>
  make.certificate({
    caId: at % 3 === 0 ? other : home,
    kind: at % 10 === 9 ? "responder" : "leaf",
    createdAt: instant(make.noon + (at % 8) * dayMs),
  });
const rows = Array.from({ length: 40 }, (_, at) => rowAt(at));

async function fill(store: Store): Promise<void> {
  for (const row of rows) await make.issue(store, row);
  for (const [at, row] of rows.entries()) if (at % 4 === 0) await revoke(store, row, at % 6);
}

const revoke = (store: Store, row: CertificateRecord | undefined, days: number) =>
  store.atomically(async (tx) => {
    if (row === undefined) return;
    const at = instant(make.noon + days * dayMs);
    await tx.certificates.setStatus(row.caId, row.serial, "revoked", at, "superseded");
  });
