/**
 * When lists begin: strictly one after the other, and never in the future, wherever the clock has
 * been (CRL-2).
 */

import { type Instant, instant, wholeSecond } from "#core/time.ts";
import type { CrlHead } from "./store.ts";

/** What was given out as the beginning of a list. */
interface Begun {
  readonly thisUpdate: Instant;
  /**
   * What the clock said that made it or one it had to follow; undefined in rows of older releases.
   */
  readonly madeAt: Instant | undefined;
}

/** True for what begins in the future of the clock and was made there, as far as is known. */
export function fromTheFuture({ thisUpdate, madeAt }: Begun, now: Instant): boolean {
  return thisUpdate > now && (madeAt ?? thisUpdate) > now + stepMsMax;
}

/** The same of a published list. */
export const isFromTheFuture = ({ thisUpdate, publishedAt }: CrlHead, now: Instant): boolean =>
  fromTheFuture({ thisUpdate, madeAt: publishedAt }, now);

/** Until when the next list of a scope has to wait, so that it need not begin in the future. */
export function soonestAfter(newest: readonly (CrlHead | undefined)[]): number {
  return Math.max(0, ...newest.map((head) => (head === undefined ? 0 : head.thisUpdate + 1000)));
}

/**
 * When a list is said to have become visible: not before `madeAt`, and in a later second than the
 * one it takes the place of, also by a clock that was set back or is another replica's. Who goes by
 * that time must not take the old one for it.
 */
export function publishedAfter(
  before: CrlHead | undefined,
  list: { readonly thisUpdate: Instant; readonly madeAt: Instant },
  now: Instant,
): Instant {
  const soonest = Math.max(now, list.madeAt);
  if (before?.publishedAt === undefined) return instant(soonest);
  const next = wholeSecond(before.publishedAt) + 1000;
  // Who has not asked for as long as the old one was to live has no use for its time.
  if (next - now > before.nextUpdate - before.thisUpdate) return instant(soonest);
  // One that begins ahead of the clock, because many follow each other, must not pass for made by a
  // clock that was.
  const latest = list.thisUpdate > now ? now + stepMsMax : next;
  return instant(Math.max(soonest, Math.min(next, latest)));
}

/** The largest step of a clock that is no fault. */
export const stepMsMax = 5000;
