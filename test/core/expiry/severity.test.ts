/** Severities by the plain rule, at every boundary, and the words for the time that is left. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  alarmOf,
  lastEndOf,
  secondsLeft,
  severities,
  severityOf,
  timeLeft,
} from "#core/expiry/severity.ts";
import { addSeconds, instant } from "#core/time.ts";
import { noon } from "#test/support/stores/records.ts";

const day = 86_400;
const thresholds = { warningDays: 30, criticalDays: 7 };

/** EXP-1 in its own words. */
function plain(leftMs: number, warningDays: number, criticalDays: number): string {
  if (leftMs <= 0) return "expired";
  if (leftMs <= criticalDays * day * 1000) return "critical";
  return leftMs <= warningDays * day * 1000 ? "warning" : "ok";
}

describe("the severity of an end", () => {
  test("EXP-1: follows the time that is left, whatever the thresholds", () => {
    const days = fc.integer({ min: 1, max: 60 });
    fc.assert(
      fc.property(
        days,
        days,
        fc.integer({ min: -3, max: 65 }),
        fc.integer({ min: -1, max: 1 }),
        (a, b, whole, more) => {
          const [criticalDays, warningDays] = a < b ? [a, b] : [b, a];
          const left = whole * day * 1000 + more;
          expect(severityOf(instant(noon + left), noon, { warningDays, criticalDays })).toBe(
            plain(left, warningDays, criticalDays) as never,
          );
        },
      ),
    );
  });

  // Columns: seconds left, severity.
  // biome-ignore format: the table is read by column.
  test.each([
    [30 * day + 1, "ok"], [30 * day, "warning"], [7 * day + 1, "warning"],
    [7 * day, "critical"], [1, "critical"], [0, "expired"], [-1, "expired"],
  ] as const)("with %i seconds left it is %s", (left, severity) => {
    expect(severityOf(addSeconds(noon, left), noon, thresholds)).toBe(severity);
  });

  test("the last end of a severity is of that severity, and a millisecond on it is not", () => {
    for (const severity of ["warning", "critical", "expired"] as const) {
      const last = lastEndOf(severity, noon, thresholds) ?? noon;
      expect(severityOf(last, noon, thresholds)).toBe(severity);
      expect(severityOf(instant(last + 1), noon, thresholds)).not.toBe(severity);
    }
    expect(lastEndOf("ok", noon, thresholds)).toBeUndefined();
  });

  test("somebody is told of all but what is well", () => {
    expect(severities.filter((severity) => alarmOf(severity) === undefined)).toEqual(["ok"]);
  });
});

describe("the time that is left", () => {
  // Columns: seconds left, words.
  // biome-ignore format: the table is read by column.
  test.each([
    [400 * day, "400d"], [2 * day, "2d"], [2 * day - 1, "47h"], [3600, "1h"],
    [3599, "59m"], [59, "0m"], [0, "expired"], [-5, "expired"],
  ])("of %i seconds reads %s", (left, words) => {
    expect(timeLeft(addSeconds(noon, left), noon)).toBe(words);
    expect(secondsLeft(addSeconds(noon, left), noon)).toBe(left);
  });
});
