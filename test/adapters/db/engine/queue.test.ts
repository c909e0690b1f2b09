/** Who shares a commit: units that arrive turn after turn of the event loop, but not endlessly. */

import { expect, test } from "bun:test";

import { nextTurn } from "#core/turns.ts";
import type { Store } from "#domain/store.ts";
import { heardStatements } from "#test/support/stores/statements.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";

/** A new unit in each of so many turns; resolves when all are committed. */
async function arriving(store: Store, turns: number): Promise<void> {
  const all: Promise<void>[] = [];
  for (let turn = 0; turn < turns; turn++) {
    // Asked for first, so that each unit is there when the queue looks.
    const next = nextTurn();
    all.push(store.atomically(async () => {}));
    await next;
  }
  await Promise.all(all);
}

async function commitsOf(turns: number): Promise<number> {
  const store = await sqliteDatabase().open();
  const { sent, deaf } = heardStatements();
  await arriving(store, turns);
  deaf();
  await store.close();
  return sent.filter((text) => text === "commit").length;
}

test("units that arrive turn after turn share one commit", async () => {
  expect(await commitsOf(5)).toBe(1);
});

test("nobody waits for endless arrivals: after eight turns the batch begins", async () => {
  expect(await commitsOf(60)).toBeGreaterThan(5);
});
