/** A chain of any length is walked in turns with whoever else waits. */

import { expect, test } from "bun:test";

import { instant } from "#core/time.ts";
import { verifyChain } from "#domain/audit/verify.ts";
import { openMemoryStore } from "#test/support/memory-store.ts";

test("a long chain is verified page by page, with a turn for others after each", async () => {
  const store = openMemoryStore();
  await store.atomically(async (tx) => {
    for (let at = 0; at < 2600; at++) {
      await tx.audit.appendEvent(
        { action: "auth.logout", result: "success", actor: "a" },
        instant(at),
      );
    }
  });
  let [turns, over] = [0, false];
  const count = () => {
    turns++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  expect(await verifyChain(store.read)).toMatchObject({ valid: true, events: 2600 });
  over = true;
  expect(turns).toBeGreaterThanOrEqual(10);
});
