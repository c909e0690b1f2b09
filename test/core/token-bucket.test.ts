/** Token buckets: bursts, growth, what is given back, and how much is remembered. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { TokenBuckets } from "#core/token-bucket.ts";

const limits = { maxKeys: 1000, idleMs: 600_000 };
const slow = { rate: 2, burst: 3 };

describe("a bucket", () => {
  test("lets its burst through at once, then what grows back", () => {
    const buckets = new TokenBuckets();
    const take = (at: number) => buckets.take("a", slow, at, limits);
    expect([take(0), take(0), take(0)]).toEqual([0, 0, 0]);
    expect(take(0)).toBeCloseTo(0.5);
    expect(take(499)).toBeGreaterThan(0);
    expect(take(500)).toBe(0);
    expect(take(500)).toBeGreaterThan(0);
  });

  test("of one key says nothing about another", () => {
    const buckets = new TokenBuckets();
    for (let n = 0; n < 3; n += 1) buckets.take("a", slow, 0, limits);
    expect(buckets.take("a", slow, 0, limits)).toBeGreaterThan(0);
    expect(buckets.take("b", slow, 0, limits)).toBe(0);
  });

  test("takes a token back, and never holds more than its burst", () => {
    const buckets = new TokenBuckets();
    buckets.giveBack("never seen", slow);
    for (let n = 0; n < 3; n += 1) buckets.take("a", slow, 0, limits);
    buckets.giveBack("a", slow);
    expect(buckets.take("a", slow, 0, limits)).toBe(0);
    for (let n = 0; n < 9; n += 1) buckets.giveBack("a", slow);
    const after = Array.from({ length: 4 }, () => buckets.take("a", slow, 0, limits));
    expect(after.map((wait) => wait === 0)).toEqual([true, true, true, false]);
  });

  test("is cut to a burst lowered since", () => {
    const buckets = new TokenBuckets();
    buckets.take("a", { rate: 1, burst: 100 }, 0, limits);
    expect(buckets.take("a", { rate: 1, burst: 1 }, 0, limits)).toBe(0);
    expect(buckets.take("a", { rate: 1, burst: 1 }, 0, limits)).toBeGreaterThan(0);
  });

  test("stands still while the clock does not move forward", () => {
    const buckets = new TokenBuckets();
    for (let n = 0; n < 3; n += 1) buckets.take("a", slow, 1000, limits);
    expect(buckets.take("a", slow, 0, limits)).toBeGreaterThan(0);
  });
});

describe("memory", () => {
  test("stays bounded under a flood of keys, and the key in use keeps its bucket", () => {
    const buckets = new TokenBuckets();
    const few = { maxKeys: 50, idleMs: 600_000 };
    for (let n = 0; n < 3; n += 1) buckets.take("busy", slow, 0, few);
    for (let n = 0; n < 5000; n += 1) {
      buckets.take(`flood ${n}`, slow, 0, few);
      expect(buckets.size).toBeLessThanOrEqual(50);
      expect(buckets.take("busy", slow, 0, few)).toBeGreaterThan(0);
    }
  });

  test("forgets who is idle for long enough", () => {
    const buckets = new TokenBuckets();
    for (let n = 0; n < 40; n += 1) buckets.take(`a ${n}`, slow, 0, limits);
    for (let n = 0; n < 20; n += 1) buckets.take(`b ${n}`, slow, 600_000, limits);
    expect(buckets.size).toBe(20);
  });
});

test("no history lets more through than burst plus rate times the time it took", () => {
  const history = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 300 });
  const filling = fc.record({
    rate: fc.double({ min: 0.1, max: 50, noNaN: true }),
    burst: fc.integer({ min: 1, max: 20 }),
  });
  fc.assert(
    fc.property(history, filling, (pauses, of) => {
      const buckets = new TokenBuckets();
      let now = 0;
      let admitted = 0;
      for (const pause of pauses) {
        now += pause;
        const wait = buckets.take("a", of, now, limits);
        if (wait === 0) admitted += 1;
        else expect(wait).toBeLessThanOrEqual(1 / of.rate + 1e-9);
      }
      expect(admitted).toBeLessThanOrEqual(of.burst + (of.rate * now) / 1000 + 1e-6);
    }),
  );
});
