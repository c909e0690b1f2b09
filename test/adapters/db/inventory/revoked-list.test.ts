/**
 * The list of revocations answers as the plain model does, whether few rows are sorted or many are
 * walked.
 */

import { Database } from "bun:sqlite";
import { beforeAll, expect, test } from "bun:test";
import fc from "fast-check";

import { revokedList } from "#adapters/db/inventory/revoked-list.ts";
import { caId, type Serial } from "#core/ids.ts";
import type { PageKey } from "#domain/page.ts";
import type { RevocationRecord } from "#domain/revocation/store.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { revocation } from "#test/support/stores/records.ts";
import { sqliteDatabase, connectionOn } from "#test/support/stores/stores.ts";

const home = caId("home");
const model = createMemoryStore();
const database = sqliteDatabase();
const serials = Array.from({ length: 60 }, (_, at) =>
  String(at < 30 ? BigInt(at + 1) ** 7n : 2n ** 126n / BigInt(at)),
) as Serial[];

beforeAll(async () => {
  const stored = await database.open();
  for (const store of [stored, model]) {
    for (const [at, serial] of serials.entries()) {
      const ca = at % 7 === 0 ? caId("other") : home;
      await store.atomically((tx) => tx.revocations.put(revocation({ caId: ca, serial })));
    }
    // Changed again, so that it moves to the front; and released.
    for (const serial of serials.slice(3, 6)) {
      await store.atomically((tx) => tx.revocations.put(revocation({ caId: home, serial })));
    }
    for (const serial of serials.slice(10, 13)) {
      await store.atomically((tx) => tx.revocations.remove(home, serial));
    }
  }
  await stored.close();
});

const prefixes = fc.option(
  fc.oneof(
    fc.constantFrom("1", "2", "9", "0x1", "0xf", "%", "0", "77"),
    fc.constantFrom(...serials.map((serial) => serial.slice(0, 3))),
    fc.constantFrom(...serials.map((serial) => `0x${BigInt(serial).toString(16).slice(0, 2)}`)),
  ),
  { nil: undefined },
);

test.each([5000, 0])(
  "%i rows sorted at most: every prefix finds the rows of the model",
  async (few) => {
    const connection = connectionOn(new Database(database.target));
    const page = revokedList(connection, (row) => row as RevocationRecord, few);
    await fc.assert(
      fc.asyncProperty(prefixes, fc.integer({ min: 1, max: 40 }), async (serialPrefix, limit) => {
        const filter = { caId: home, serialPrefix };
        const expected = await model.read.revocations.page(filter, 500);
        const found: string[] = [];
        let after: PageKey | undefined;
        do {
          const { items, total, next } = await page(filter, limit, after);
          expect(total).toBe(expected.total);
          found.push(...items.map(({ serial }) => serial));
          after = next;
        } while (after !== undefined);
        expect(found).toEqual(expected.items.map(({ serial }) => serial));
      }),
      { numRuns: 200 },
    );
  },
);
