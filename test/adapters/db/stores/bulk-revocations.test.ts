/** What only SQLite could get wrong about bulk revocations: it works on the thread that serves. */

import { expect, test } from "bun:test";

import { caId, parseSerial } from "#core/ids.ts";
import { certificate, issue, revocation } from "#test/support/stores/records.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";

test("looking for certificates, and changing many of them, lets others run in between", async () => {
  const store = await sqliteDatabase().open();
  const ca = caId("ca");
  const serials = Array.from({ length: 250 }, (_, at) => parseSerial(String(at + 1)));
  for (const serial of serials) await issue(store, certificate({ caId: ca, serial }));
  const { candidates, named } = store.read.bulkRevocations;
  const at = certificate().createdAt;
  const to = { status: "revoked", revokedAt: at, reason: "superseded" } as const;
  const entries = serials.map((serial) => revocation({ caId: ca, serial }));
  const works: readonly (readonly [number, () => Promise<unknown>])[] = [
    [1, () => candidates({ caId: ca, after: 0, upTo: 300 }, 300)],
    [1, () => named(ca, serials)],
    // A hundred rows at once, and a turn before the unit begins.
    [4, () => store.atomically((tx) => tx.certificates.setStatuses(ca, serials, to))],
    // As above, sixty-four at once.
    [4, () => store.atomically((tx) => tx.revocations.putMany(ca, entries))],
  ];
  for (const [least, work] of works) {
    const counted = turns();
    await work();
    expect(counted.stop()).toBeGreaterThanOrEqual(least);
  }
  await store.close();
});

/** Counts the turns of the event loop. */
function turns() {
  let [count, going] = [0, true];
  const turn = () => {
    count++;
    if (going) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    stop: () => {
      going = false;
      return count;
    },
  };
}
