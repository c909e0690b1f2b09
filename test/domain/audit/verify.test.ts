/** A chain of any length is walked in turns with whoever else waits. */

import { expect, test } from "bun:test";

import { refuse } from "#core/problems.ts";
import { instant } from "#core/time.ts";
import { verifyChain } from "#domain/audit/verify.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";

test("a long chain is verified page by page, with a turn for others after each", async () => {
  const store = createMemoryStore();
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

test("a page that cannot be read is told with the first event of it, and a passing fault as itself", async () => {
  const store = createMemoryStore();
  await store.atomically(async (tx) => {
    for (let at = 0; at < 600; at++) {
      await tx.audit.appendEvent(
        { action: "auth.logout", result: "success", actor: "a" },
        instant(at),
      );
    }
  });
  const damaged = (from: number, passing: boolean) => {
    const eventsAfter = async (after: number, limit: number) => {
      const wanted = passing ? limit > 1 && after + limit > from : after + limit > from;
      if (wanted && after < 600) throw refuse("storage_unavailable", {}, "A page is damaged.");
      return store.read.audit.eventsAfter(after, limit);
    };
    return { ...store.read, audit: { ...store.read.audit, eventsAfter } };
  };
  await expect(verifyChain(damaged(333, false))).rejects.toMatchObject({
    code: "storage_unavailable",
    message: "Event 334 cannot be read; those before it were. A page is damaged.",
  });
  await expect(verifyChain(damaged(333, true))).rejects.toMatchObject({
    message: "A page is damaged.",
  });
});
