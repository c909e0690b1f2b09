/**
 * The sliced inventory of SQLite answers as the plain model does, whatever is asked, by index and
 * by walk.
 */

import { Database } from "bun:sqlite";
import { beforeAll, expect, test } from "bun:test";
import fc from "fast-check";

import { slicedInventory } from "#adapters/db/inventory/sliced-inventory.ts";
import { serialRanges } from "#adapters/db/inventory/serial-ranges.ts";
import { caId } from "#core/ids.ts";
import type { PageKey } from "#domain/page.ts";
import type { CertificateFilter, CertificateRecord } from "#domain/certificates/store.ts";
import {
  fillInventory,
  home,
  inventoryFilters as filters,
  inventoryModel,
  inventoryRows as rows,
} from "#test/support/stores/inventory-model.ts";
import * as make from "#test/support/stores/records.ts";
import { sqliteDatabase, connectionOn } from "#test/support/stores/stores.ts";

const database = sqliteDatabase();

beforeAll(async () => {
  const stored = await database.open();
  await fillInventory(stored);
  await stored.close();
});

test.each([
  ["few rows by index", { few: 5000, indexed: 65_536, scanned: 2048, counted: 20_000 }],
  ["many rows by walk", { few: 0, indexed: 7, scanned: 5, counted: 3 }],
])("%s: every filter finds the rows of the model, page after page", async (_, limits) => {
  const page = slicedInventory(connectionOn(new Database(database.target)), limits);
  await fc.assert(
    fc.asyncProperty(filters, fc.integer({ min: 1, max: 40 }), async (filter, limit) => {
      const expected = await inventoryModel.certificates.page(filter, 500);
      const found: string[] = [];
      let after: PageKey | undefined;
      do {
        const { items, total, next } = await page(filter, limit, after);
        expect(total).toBe(expected.total);
        found.push(...items.map(({ id }) => id));
        after = next;
      } while (after !== undefined);
      expect(found).toEqual(expected.items.map(({ id }) => id));
    }),
    { numRuns: 400 },
  );
});

test("slow slices do not become ever narrower ones", async () => {
  const connection = connectionOn(new Database(database.target));
  const asked: string[] = [];
  // Every query takes longer than a slice should, as one of many trigrams does.
  const slow = new Proxy(connection.db, {
    get: (db, name) => {
      if (name !== "values") return Reflect.get(db, name, db);
      asked.push(name);
      Bun.sleepSync(10);
      return db.values.bind(db);
    },
  });
  const limits = { few: 0, indexed: 10, scanned: 10, counted: 10 };
  const page = slicedInventory({ ...connection, db: slow }, limits);
  for (const filter of [{ text: "no such name" }, { text: "zz" }]) {
    asked.length = 0;
    expect((await page({ caId: home, now: make.noon, ...filter }, 5, undefined)).total).toBe(0);
    expect(asked.length).toBeLessThanOrEqual(rows.length / 10 + 3);
  }
});

test("a total that was counted once follows what is stored and removed after", async () => {
  const grown = sqliteDatabase();
  const store = await grown.open();
  const page = slicedInventory(connectionOn(new Database(grown.target)));
  const total = async (filter: Partial<CertificateFilter>) => {
    const found = await page({ caId: home, now: make.noon, ...filter }, 1, undefined);
    return found.total;
  };
  const add = (subject: string, more: Partial<CertificateRecord> = {}) =>
    make.issue(
      store,
      make.certificate({ caId: home, subject, commonName: "x", sans: [], ...more }),
    );
  const totals = async () => [
    await total({ text: "Needle" }),
    await total({ text: "needle", profile: "rare" }),
    await total({ text: "ne" }),
  ];
  for (let n = 0; n < 5; n++) await add("CN=needle");
  expect(await totals()).toEqual([5, 0, 5]);
  await add("CN=other");
  await add("CN=needle", { caId: caId("other") });
  await add("CN=needle", { profile: "rare" });
  expect(await totals()).toEqual([6, 1, 6]);
  // Also between two pages of one walk, which itself shows no row that came later.
  const first = await page({ caId: home, now: make.noon, text: "needle" }, 4, undefined);
  await add("CN=needle");
  const rest = await page({ caId: home, now: make.noon, text: "needle" }, 4, first.next);
  expect([first.total, first.items.length, rest.total, rest.items.length]).toEqual([6, 4, 7, 2]);
  await grown.tamper("delete from certificates where ordinal = 9");
  await grown.tamper("delete from certificates where ordinal in (1, 2)");
  expect(await totals()).toEqual([4, 1, 4]);
  await grown.tamper("delete from certificates where ordinal = 3");
  await add("CN=needle");
  expect(await totals()).toEqual([4, 1, 4]);
  await store.close();
});

test("the ranges of a prefix hold exactly the serials whose spelling begins with it", () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 1n, max: 2n ** 160n - 1n }),
      fc.bigInt({ min: 1n, max: 2n ** 160n - 1n }),
      fc.integer({ min: 1, max: 40 }),
      fc.boolean(),
      (one, other, length, hex) => {
        const spelled = (serial: bigint) => (hex ? `0x${serial.toString(16)}` : String(serial));
        const prefix = spelled(one).slice(0, (hex ? 2 : 0) + length);
        for (const serial of [one, other]) {
          const text = String(serial);
          const within = serialRanges(prefix).filter(
            ({ low, last, digits }) =>
              low <= text && text <= last && (digits ?? text.length) === text.length,
          );
          expect(within).toHaveLength(spelled(serial).startsWith(prefix) ? 1 : 0);
        }
      },
    ),
  );
});

test("counters follow every change of status and every removal", async () => {
  await database.tamper("delete from certificates where profile = 'none'");
  const counted = await database.query(
    "select ca_id, status, day, profile, number from certificate_counts where number > 0 order by 1, 2, 3, 4",
  );
  const real = await database.query(
    "select ca_id, status, not_after / 86400000 as day, profile, count(*) as number from certificates where kind = 'leaf' group by 1, 2, 3, 4",
  );
  expect(counted).toEqual(real);
});
