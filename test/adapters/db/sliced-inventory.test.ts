/** The sliced inventory of SQLite answers as the plain model does, whatever is asked, by index and by walk. */

import { Database } from "bun:sqlite";
import { beforeAll, expect, test } from "bun:test";

import fc from "fast-check";

import { slicedInventory } from "#adapters/db/sliced-inventory.ts";
import { serialRanges } from "#adapters/db/serial-ranges.ts";
import { sqliteSession } from "#adapters/db/sqlite.ts";
import { caId, type Serial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { PageKey } from "#domain/authorities/store.ts";
import type { CertificateFilter, CertificateRecord } from "#domain/certificates/store.ts";
import type { Store } from "#domain/store.ts";
import { openMemoryStore } from "#test/support/memory-store.ts";
import * as make from "#test/support/records.ts";
import { sqliteDatabase } from "#test/support/stores.ts";

const home = caId("home");
const model = openMemoryStore();
const database = sqliteDatabase();
const rows: CertificateRecord[] = Array.from({ length: 90 }, (_, at) =>
  make.certificate({
    ...{ caId: at % 7 === 0 ? caId("other") : home, kind: at % 11 === 0 ? "responder" : "leaf" },
    serial: String(at < 45 ? BigInt(at + 1) ** 7n + 1n : 2n ** 126n / BigInt(at)) as Serial,
    ...{ subject: `CN=Host-${at}.a.example`, commonName: `Host-${at}.a.example`, sans: [] },
    ...{ profile: at % 4 === 0 ? "rare" : "server", spkiSha256: `${at % 5}`.repeat(64) },
    notAfter: instant(make.noon + ((at * 37) % 10) * 1000),
  }),
);

const gone = make.certificate({ caId: caId("other"), profile: "none" });

beforeAll(async () => {
  const stored = await database.open();
  await fill(stored);
  await fill(model);
  await stored.close();
});

const filters = fc.record<CertificateFilter>(
  {
    caId: fc.constant(home),
    now: fc.integer({ min: -1, max: 11 }).map((second) => instant(make.noon + second * 1000)),
    status: fc.constantFrom("good", "expired", "held", "revoked"),
    profile: fc.constantFrom("server", "rare", "none"),
    text: fc.oneof(
      fc.constantFrom("host-1", "HOST", "a", "-1", ".a.ex", "zzz", "example", '"', "cn=host-22."),
      fc.constantFrom(...rows.map(({ serial }) => serial)),
    ),
    serialPrefix: fc.oneof(
      fc.constantFrom("1", "12", "2", "0x1", "0xa", "0x2f", "9", "0xffff", "%", "0"),
      fc.constantFrom(...rows.map(({ serial }) => serial.slice(0, 3))),
      fc.constantFrom(...rows.map(({ serial }) => `0x${BigInt(serial).toString(16).slice(0, 3)}`)),
    ),
    expiresBefore: fc.integer({ min: 0, max: 11 }).map((s) => instant(make.noon + s * 1000)),
    spkiSha256: fc.constantFrom("0".repeat(64), "3".repeat(64), "f".repeat(64)),
  },
  { requiredKeys: ["caId", "now"] },
);

test.each([
  ["few rows by index", { few: 5000, indexed: 65_536, scanned: 2048, counted: 20_000 }],
  ["many rows by walk", { few: 0, indexed: 7, scanned: 5, counted: 3 }],
])("%s: every filter finds the rows of the model, page after page", async (_, limits) => {
  const page = slicedInventory(sqliteSession(new Database(database.target)), limits);
  await fc.assert(
    fc.asyncProperty(filters, fc.integer({ min: 1, max: 40 }), async (filter, limit) => {
      const expected = await model.read.certificates.page(filter, 500);
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
  const session = sqliteSession(new Database(database.target));
  const asked: string[] = [];
  // Every query takes longer than a slice should, as one of many trigrams does.
  const slow = new Proxy(session.db, {
    get: (db, name) => {
      if (name !== "values") return Reflect.get(db, name, db);
      asked.push(name);
      Bun.sleepSync(10);
      return db.values.bind(db);
    },
  });
  const limits = { few: 0, indexed: 10, scanned: 10, counted: 10 };
  const page = slicedInventory({ ...session, db: slow }, limits);
  for (const filter of [{ text: "no such name" }, { text: "zz" }]) {
    asked.length = 0;
    expect((await page({ caId: home, now: make.noon, ...filter }, 5, undefined)).total).toBe(0);
    expect(asked.length).toBeLessThanOrEqual(rows.length / 10 + 3);
  }
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
            ({ low, high, digits }) =>
              low <= text && text < high && (digits ?? text.length) === text.length,
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
    "select ca_id, profile, status, number from certificate_counts where number > 0 order by 1, 2, 3",
  );
  const real = await database.query(
    "select ca_id, profile, status, count(*) as number from certificates where kind = 'leaf' group by 1, 2, 3",
  );
  expect(counted).toEqual(real);
});

async function fill(store: Store): Promise<void> {
  for (const row of rows) await make.issue(store, row);
  for (const [at, { caId: ca, serial }] of rows.entries()) {
    if (at % 9 === 0) await set(store, ca, serial, "held");
    if (at % 9 === 4 || at % 18 === 0) await set(store, ca, serial, "revoked");
  }
  await make.issue(store, gone);
}

const set = (
  store: Store,
  ca: CertificateRecord["caId"],
  serial: Serial,
  status: "held" | "revoked",
) =>
  store.atomically((tx) =>
    tx.certificates.setStatus(ca, serial, status, make.noon, "certificateHold"),
  );
