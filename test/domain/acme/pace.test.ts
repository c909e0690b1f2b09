/** The pace of a plan: no second has more in it than the plan says, however clients come. */

import { expect, test } from "bun:test";

import fc from "fast-check";

import { Pace } from "#domain/acme/pace.ts";
import { expectRefusal } from "#test/support/expect-refusal.ts";

/** Timers that a test turns by hand. */
function handTimers() {
  let now = 0;
  let due: { readonly at: number; readonly act: () => void }[] = [];
  return {
    now: () => now,
    later: (milliseconds: number, act: () => void) => {
      const one = { at: now + milliseconds, act };
      due.push(one);
      return () => {
        due = due.filter((other) => other !== one);
      };
    },
    /** Runs everything until then, in order. */
    turn: async (until: number) => {
      for (;;) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        const next = due.toSorted((a, b) => a.at - b.at)[0];
        if (next === undefined || next.at > until) break;
        due = due.filter((other) => other !== next);
        now = next.at;
        next.act();
      }
      now = until;
    },
  };
}

test("no window of a second, wherever it begins, has more done in it than the bound", async () => {
  const jobs = fc.array(fc.record({ at: fc.nat(3000), takes: fc.nat(900) }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(jobs, fc.integer({ min: 3, max: 9 }), async (given, perSecond) => {
      const timers = handTimers();
      const pace = new Pace(timers.later);
      const done: number[] = [];
      const refused: unknown[] = [];
      const work = (takes: number) =>
        new Promise<void>((resolve) => {
          timers.later(takes, () => {
            done.push(timers.now());
            resolve();
          });
        });
      for (const { at, takes } of given) {
        timers.later(at, () => {
          pace
            .within({ id: "plan", perSecond: () => perSecond }, () => work(takes))
            .catch((why) => refused.push(why));
        });
      }
      await timers.turn(120_000);
      expect(done.length + refused.length).toBe(given.length);
      for (const from of done) {
        const within = done.filter((at) => at >= from && at < from + 1000);
        expect(within.length).toBeLessThanOrEqual(perSecond);
      }
    }),
    { numRuns: 40 },
  );
});

test("a bound below one leaves so long between two", async () => {
  const timers = handTimers();
  const pace = new Pace(timers.later);
  const done: number[] = [];
  const all = [1, 2, 3].map(() =>
    pace.within({ id: "plan", perSecond: () => 0.5 }, async () => void done.push(timers.now())),
  );
  await timers.turn(10_000);
  await Promise.all(all);
  expect(done).toHaveLength(3);
  expect((done[1] ?? 0) - (done[0] ?? 0)).toBeGreaterThanOrEqual(2000);
});

test("plans do not wait for one another", async () => {
  const pace = new Pace(handTimers().later);
  const paced = ["one", "other"].map((id) =>
    pace.within({ id, perSecond: () => 1 }, async () => id),
  );
  expect(await Promise.all(paced)).toEqual(["one", "other"]);
});

test("whoever would wait too long is told to come again", async () => {
  const timers = handTimers();
  const pace = new Pace(timers.later);
  const plan = { id: "plan", perSecond: () => 1 };
  const all = Array.from({ length: 12 }, () => pace.within(plan, async () => {}));
  const [last, ...others] = all.reverse();
  await expectRefusal(last ?? Promise.resolve(), "rate_limited", { retry_after: 10 });
  await timers.turn(20_000);
  await Promise.all(others);
});

test("what fails has had its place, and the next one gets it", async () => {
  const timers = handTimers();
  const pace = new Pace(timers.later);
  const plan = { id: "plan", perSecond: () => 1 };
  const failing = pace.within(plan, async () => {
    throw new Error("no");
  });
  expect(failing).rejects.toThrow("no");
  const next = pace.within(plan, async () => timers.now());
  await timers.turn(5000);
  expect(await next).toBeGreaterThanOrEqual(1000);
});

test("when the process ends, those who wait are let go and nobody is let in", async () => {
  const timers = handTimers();
  const pace = new Pace(timers.later);
  const plan = { id: "plan", perSecond: () => 1 };
  await pace.within(plan, async () => {});
  const waiting = pace.within(plan, async () => {});
  pace.halt();
  await expectRefusal(waiting, "shutting_down", {});
  await expectRefusal(
    pace.within(plan, async () => {}),
    "shutting_down",
    {},
  );
});

test("those who wait keep to a bound that has become smaller, and to one that has grown", async () => {
  const timers = handTimers();
  const pace = new Pace(timers.later);
  let most = 8;
  const done: number[] = [];
  const perSecond = () => most;
  const all = Array.from({ length: 40 }, () =>
    pace.within({ id: "plan", perSecond }, async () => void done.push(timers.now())),
  );
  await timers.turn(1500);
  expect(done).toHaveLength(16);
  most = 2;
  await timers.turn(4500);
  const later = done.filter((at) => at > 2500);
  expect(later).toHaveLength(4);
  most = 10;
  await timers.turn(20_000);
  await Promise.all(all);
  for (const from of done) {
    const within = done.filter((at) => at >= from && at < from + 1000);
    expect(within.length).toBeLessThanOrEqual(from < 2000 ? 8 : 10);
  }
});
