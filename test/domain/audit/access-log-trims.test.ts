/** The event about access log rows that were deleted for lack of space. */

import { beforeEach, expect, test } from "bun:test";

import { AccessLogTrims } from "#domain/audit/access-log-trims.ts";
import { type MemoryStore, createMemoryStore } from "#test/support/stores/memory-store.ts";
import { type TestClock, testClock } from "#test/support/ports.ts";

let store: MemoryStore;
let clock: TestClock;
/** Rows that were deleted since the last call. */
let deleted: number;
beforeEach(() => {
  store = createMemoryStore();
  clock = testClock();
  deleted = 0;
});

function createTrims(): AccessLogTrims {
  const takeAccessLogTrims = () => {
    const rows = deleted;
    deleted = 0;
    return rows;
  };
  return new AccessLogTrims({ store: { ...store, takeAccessLogTrims }, clock });
}

const details = () => store.listEvents().map(({ action, detail }) => `${action} ${detail}`);

test("rows deleted from the access log are one event per day, also across a restart", async () => {
  const trims = createTrims();
  await trims.record();
  expect(details()).toEqual([]);
  deleted = 500;
  await trims.record();
  expect(details()).toEqual(["access_log.trim rows=500"]);
  for (let hour = 0; hour < 23; hour++) {
    deleted = 1000;
    clock.advance(3600);
    await trims.record();
  }
  expect(details()).toHaveLength(1);
  clock.advance(3600);
  await trims.record();
  expect(details()).toEqual(["access_log.trim rows=500", "access_log.trim rows=23000"]);
  deleted = 1;
  await createTrims().record();
  expect(details()).toHaveLength(2);
});

test("a clock that was set back does not silence the event", async () => {
  const trims = createTrims();
  deleted = 1;
  await trims.record();
  clock.advance(-7200);
  deleted = 1;
  await trims.record();
  expect(details()).toHaveLength(2);
});
