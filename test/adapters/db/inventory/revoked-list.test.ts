/**
 * The list of revocations answers as the plain model does, whether few rows are sorted or many are
 * walked.
 */

import { Database } from "bun:sqlite";
import { beforeAll, expect, test } from "bun:test";
import fc from "fast-check";

import { revokedList } from "#adapters/db/inventory/revoked-list.ts";
import { type CaId, caId, type Serial } from "#core/ids.ts";
import type { PageKey } from "#domain/page.ts";
import type { RevocationRecord } from "#domain/revocation/store.ts";
import { revocation } from "#test/support/stores/records.ts";
import { matchesSerialPrefix } from "#test/support/stores/row-model.ts";
import { sqliteDatabase, connectionOn } from "#test/support/stores/stores.ts";

const home = caId("home");
const database = sqliteDatabase();
const serials = Array.from({ length: 60 }, (_, at) =>
  String(at < 30 ? BigInt(at + 1) ** 7n : 2n ** 126n / BigInt(at)),
) as Serial[];

/** Serials that the CA lists, the one that changed last at the end. */
const listed = new Set<Serial>();

beforeAll(async () => {
  const stored = await database.open();
  const put = async (ca: CaId, serial: Serial) => {
    await stored.atomically((tx) => tx.revocations.put(revocation({ caId: ca, serial })));
    listed.delete(serial);
    if (ca === home) listed.add(serial);
  };
  for (const [at, serial] of serials.entries()) {
    await put(at % 7 === 0 ? caId("other") : home, serial);
  }
  // Changed again, so that it moves to the front; and released.
  for (const serial of serials.slice(3, 6)) await put(home, serial);
  for (const serial of serials.slice(10, 13)) {
    await stored.atomically((tx) => tx.revocations.remove(home, serial));
    listed.delete(serial);
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
        const matching = [...listed].filter((one) => matchesSerialPrefix(one, serialPrefix ?? ""));
        const found: string[] = [];
        let after: PageKey | undefined;
        do {
          const { items, total, next } = await page(filter, limit, after);
          expect(total).toBe(matching.length);
          found.push(...items.map(({ serial }) => serial));
          after = next;
        } while (after !== undefined);
        expect(found).toEqual(matching.toReversed());
      }),
      { numRuns: 200 },
    );
  },
);
