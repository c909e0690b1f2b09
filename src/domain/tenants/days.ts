/** UTC days, numbered from 1970-01-01 as day 0, and what was done on each of them. */

import { type Instant, secondsPerDay } from "#core/time.ts";
import type { DayUsage } from "./store.ts";

/** The day of an instant. */
export const dayOf = (at: Instant): number => Math.floor(at / (secondsPerDay * 1000));

/** A day as a date: `2026-11-27`. */
export const dateOf = (day: number): string =>
  new Date(day * secondsPerDay * 1000).toISOString().slice(0, 10);

/** So many days up to and with the last, latest first: also those on which nothing was done. */
export function everyDay(
  done: readonly DayUsage[],
  lastDay: number,
  count: number,
): readonly DayUsage[] {
  const known = new Map(done.map((one) => [one.day, one]));
  const days = Array.from({ length: count }, (_, ago) => lastDay - ago);
  return days.map((day) => known.get(day) ?? { day, issued: 0, revoked: 0 });
}
