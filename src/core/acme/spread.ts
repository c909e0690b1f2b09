/** How the renewal of many certificates is spread over a time: windows of plans (RFC 9773 §4.2). */

import { addSeconds, type Instant } from "#core/time.ts";

/** The time a plan has; whole seconds, since clients are told no fractions. */
export interface PlannedTime {
  readonly start: Instant;
  readonly end: Instant;
}

/** No plan is shorter: clients need a moment to ask, and another to come. */
export const planSecondsMin = 30;

/**
 * The least whole seconds in which so many certificates can begin to be replaced, when at most
 * `perSecond` of them, above 0, may begin in any second.
 */
export function leastSeconds(count: number, perSecond: number): number {
  const slots = Math.max(1, Math.ceil(count / perSecond));
  // No window is wider than a quarter of the time, where that is more than the least.
  let seconds = Math.max(planSecondsMin, slots + Math.max(widthMin, Math.ceil(slots / 3)));
  while (seconds > planSecondsMin && slotsIn(seconds - 1) >= slots) seconds--;
  return seconds;
}

/**
 * What one of several processes may do of a bound they share: whole ones, as long as there is one
 * for each, so that all of them together never do more in any second. Of less than that each does
 * its part of the mean.
 */
export function shareOf(
  perSecond: number,
  { place, count }: { readonly place: number; readonly count: number },
): number {
  const whole = Math.floor(perSecond);
  if (whole < count) return perSecond / count;
  return Math.floor(whole / count) + (place < whole % count ? 1 : 0);
}

/**
 * The window of the certificate at `index` of `count`, both ends whole seconds after the start of
 * the time. The windows begin evenly over the time, and none ends after it. Where the time is no
 * shorter than `leastSeconds(count, perSecond)`, at most `perSecond` of them, rounded up, begin in
 * any second.
 */
export function windowAt(index: number, count: number, { start, end }: PlannedTime): PlannedTime {
  const seconds = Math.floor((end - start) / 1000);
  const slot = Math.floor((index * slotsIn(seconds)) / count);
  const own = addSeconds(start, slot);
  return { start: own, end: addSeconds(own, widthOf(seconds)) };
}

/**
 * A quarter of the time: the longer it is, the less often clients have to ask. Never shorter than
 * the most often that clients are told to ask.
 */
const widthOf = (seconds: number): number => Math.max(widthMin, Math.floor(seconds / 4));

/** The seconds in which windows may begin. */
const slotsIn = (seconds: number): number => Math.max(1, seconds - widthOf(seconds));

const widthMin = 10;
