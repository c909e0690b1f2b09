/** Continues CRL numbers after a loss of data, so that no number is published twice (RES-2). */

import type { Instant } from "#core/time.ts";

/** Jump of every CRL number at one restore or accepted rollback. */
export interface CrlNumberJump {
  /** Increase over the last stored number of a scope. */
  readonly step: number;
  /** Lowest number after the jump. */
  readonly floor: number;
}

/**
 * Computes a jump past every number that was published since the stored state was current. Two
 * restores of one archive get different numbers, because step and floor grow with the time.
 *
 * @param since time of the stored state; a time after `now` counts as `now`
 */
export function computeCrlNumberJump(since: Instant, now: Instant): CrlNumberJump {
  const step = crlNumberStep + Math.max(0, now - since) * numbersPerMillisecond;
  return { step, floor: Math.max(0, now - epoch) * numbersPerMillisecond };
}

/** Returns the number that a scope continues from. */
export const applyCrlNumberJump = (number: number, { step, floor }: CrlNumberJump): number =>
  Math.max(number + step, floor);

/** Least increase of a CRL number (RES-2). */
export const crlNumberStep = 1_000_000;
/** More numbers than a scope can use up in that time, so that a later jump always exceeds it. */
const numbersPerMillisecond = 1000;
/** 2026-01-01T00:00:00Z; numbers remain exact in a double for 285 years from then. */
const epoch = 1_767_225_600_000;
