/** Jobs that have not succeeded for two intervals and a minute are late, from the start on. */

import { expect, test } from "bun:test";

import { JobWatch } from "#jobs/job-watch.ts";
import { testClock } from "#test/support/ports.ts";

test("a job is late two intervals and a minute after its last success, and one that only fails is too", () => {
  const clock = testClock();
  const jobs = [
    { name: "often", everySeconds: 10 },
    { name: "seldom", everySeconds: 3600 },
  ];
  const watch = new JobWatch({ jobs, stopwatch: clock.stopwatch, clock });
  clock.advance(80);
  expect(watch.late()).toEqual([]);
  watch.ran("often", "the key is away");
  clock.advance(1);
  expect(watch.late()).toEqual(["often"]);
  watch.ran("often", undefined);
  expect(watch.late()).toEqual([]);
  clock.advance(7180);
  expect(watch.late()).toEqual(["often", "seldom"]);
});

test("what has succeeded last, whichever job it was, says how long nothing was done", () => {
  const clock = testClock();
  const jobs = ["one", "other"].map((name) => ({ name, everySeconds: 10 }));
  const watch = new JobWatch({ jobs, stopwatch: clock.stopwatch, clock });
  clock.advance(30);
  expect(watch.idleSeconds()).toBe(30);
  watch.ran("other", undefined);
  clock.advance(7);
  watch.ran("one", "the database is away");
  expect(watch.idleSeconds()).toBe(7);
});

test("a clock that is set makes no job late", () => {
  const clock = testClock();
  const watch = new JobWatch({
    jobs: [{ name: "often", everySeconds: 10 }],
    stopwatch: clock.stopwatch,
    clock,
  });
  clock.step(365 * 86_400);
  expect(watch.late()).toEqual([]);
});

test("a job shows when it last succeeded, and what it failed with until it succeeds again", () => {
  const clock = testClock();
  const jobs = [{ name: "often", everySeconds: 10 }];
  const watch = new JobWatch({ jobs, stopwatch: clock.stopwatch, clock });
  const never = { succeededAt: undefined, failedAt: undefined, failure: undefined, late: false };
  expect(watch.looks()).toEqual([{ name: "often", everySeconds: 10, ...never }]);
  const first = clock.now();
  watch.ran("often", undefined);
  clock.advance(10);
  watch.ran("often", "the key is away");
  expect(watch.looks()).toMatchObject([
    { succeededAt: first, failedAt: clock.now(), failure: "the key is away" },
  ]);
  watch.ran("often", undefined);
  expect(watch.looks()).toMatchObject([{ failedAt: undefined, failure: undefined }]);
});
