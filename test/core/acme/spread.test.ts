/** Spreading the renewal of many certificates over a time. */

import { expect, test } from "bun:test";

import fc from "fast-check";

import { leastSeconds, planSecondsMin, shareOf, windowAt } from "#core/acme/spread.ts";
import { addSeconds, instant } from "#core/time.ts";

const start = instant(Date.UTC(2026, 0, 1));

const windowsOf = (count: number, seconds: number) => {
  const time = { start, end: addSeconds(start, seconds) };
  return Array.from({ length: count }, (_, index) => windowAt(index, count, time));
};

const counts = fc.integer({ min: 1, max: 3000 });
const rates = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.constantFrom(0.1, 0.25, 0.5));

test("no second sees more windows begin than the bound, in the least time and in any longer one", () => {
  fc.assert(
    fc.property(counts, rates, fc.integer({ min: 0, max: 1000 }), (count, perSecond, more) => {
      const windows = windowsOf(count, leastSeconds(count, perSecond) + more);
      const begun = new Map<number, number>();
      for (const window of windows) begun.set(window.start, (begun.get(window.start) ?? 0) + 1);
      return [...begun.values()].every((many) => many <= Math.ceil(perSecond));
    }),
  );
});

test("windows lie in the time, in their order, on whole seconds, and are as wide as a poll", () => {
  fc.assert(
    fc.property(counts, fc.integer({ min: planSecondsMin, max: 100_000 }), (count, seconds) => {
      const end = addSeconds(start, seconds);
      let last = start;
      return windowsOf(count, seconds).every((window) => {
        const inOrder = window.start >= last && window.start >= start && window.end <= end;
        const whole = window.start % 1000 === 0 && window.end % 1000 === 0;
        last = window.start;
        return inOrder && whole && window.end - window.start >= 10_000;
      });
    }),
  );
});

test("the least time is the least: one second less begins more than the bound in some second", () => {
  fc.assert(
    fc.property(counts, fc.integer({ min: 1, max: 300 }), (count, perSecond) => {
      const least = leastSeconds(count, perSecond);
      if (least === planSecondsMin) return true;
      const begun = new Map<number, number>();
      for (const { start: at } of windowsOf(count, least - 1)) {
        begun.set(at, (begun.get(at) ?? 0) + 1);
      }
      return Math.max(...begun.values()) > perSecond;
    }),
  );
});

test("a bound below one leaves so many seconds between two", () => {
  const windows = windowsOf(20, leastSeconds(20, 0.25));
  const gaps = windows.slice(1).map((window, at) => window.start - (windows[at]?.start ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(4000);
});

test("what several processes do of a bound is the bound, in whole ones where it suffices", () => {
  const many = fc.integer({ min: 1, max: 12 });
  fc.assert(
    fc.property(rates, many, (perSecond, count) => {
      const shares = Array.from({ length: count }, (_, place) =>
        shareOf(perSecond, { place, count }),
      );
      const sum = shares.reduce((all, share) => all + share, 0);
      expect(Math.abs(sum - perSecond)).toBeLessThan(1e-9);
      expect(Math.min(...shares)).toBeGreaterThan(0);
      return perSecond < count || shares.every((share) => Number.isInteger(share));
    }),
  );
});
