/**
 * The queues of those who present passwords: bounded, fair between addresses, and slow for whoever
 * keeps failing.
 */

import { FairTurns, type TurnLimits } from "#domain/access/fair-turns.ts";
import { systemStopwatch } from "#adapters/system.ts";

/** A queue with so many looks at once, of all and of one address. */
export const openTurns = (atOnce: Pick<TurnLimits, "atOnce" | "atOncePerLane">): FairTurns =>
  new FairTurns({
    limits: { ...atOnce, waitingPerLane: 128, waitingMax: 1024, failures: { rate: 10, burst: 40 } },
    elapsedMs: systemStopwatch.elapsedMs,
    sleep: (milliseconds) => Bun.sleep(milliseconds),
  });
