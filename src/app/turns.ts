/** The queues of those who present passwords: bounded, fair between addresses and accounts, and slow for whoever keeps failing. */

import { FairTurns, type TurnLimits } from "#domain/access/fair-turns.ts";
import { systemLater, systemStopwatch } from "#adapters/system.ts";

/** A queue with so many looks at once. */
export const openTurns = (
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
    elapsedMs: systemStopwatch.elapsedMs,
    later: systemLater,
  });
