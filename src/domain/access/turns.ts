/**
 * The queues of those who present passwords or certificates: bounded, fair, and slow for whoever
 * keeps failing.
 */

import type { Later, Stopwatch } from "#domain/ports.ts";
import { type AddressTurnLimits, AddressTurns } from "./address-turns.ts";
import { FairTurns, type TurnLimits } from "./fair-turns.ts";

/** How queues wait. */
export interface Waiting extends Stopwatch {
  readonly later: Later;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** A queue for passwords with so many looks at once. */
export const openTurns = (
  { elapsedMs, later }: Waiting,
  atOnce: Pick<TurnLimits, "atOnce" | "atOncePerAddress" | "atOnceStrangers">,
): FairTurns =>
  new FairTurns({
    limits: {
      ...atOnce,
      waitingPerAddress: 128,
      waitingMax: 1024,
      longestMs: 30_000,
      failures: {
        known: { rate: 10, burst: 100 },
        address: { rate: 10, burst: 40 },
        account: { rate: 1, burst: 240 },
        accountToRevoke: { rate: 10, burst: 240 },
      },
    },
    elapsedMs,
    later,
  });

/** A queue for certificates with so many looks at once, of all and of one address. */
export const openAddressTurns = (
  { elapsedMs, sleep }: Waiting,
  atOnce: Pick<AddressTurnLimits, "atOnce" | "atOncePerLane">,
): AddressTurns =>
  new AddressTurns({
    limits: { ...atOnce, waitingPerLane: 128, waitingMax: 1024, failures: { rate: 10, burst: 40 } },
    elapsedMs,
    sleep,
  });
