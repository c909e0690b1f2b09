/** Caches a few waiting challenges of each address, so that a crowd cannot hide them. */

import { type Attempt, formatSourceKey } from "./attempt-places.ts";
import type { DueChallenge } from "./store.ts";

/** Challenge that may be attempted, with the client that has started it. */
export type ChallengeAttempt = DueChallenge & Attempt;

/** State of the attempts of this process. */
export interface WaitingChecks {
  /** Reserves a slot; false if there is none. */
  readonly reserve: (challenge: ChallengeAttempt) => boolean;
  /** Number of slots that the address of the challenge has. */
  readonly count: (challenge: ChallengeAttempt) => number;
  /** True for a challenge that has a slot. */
  readonly isBusy: (challenge: ChallengeAttempt) => boolean;
}

/**
 * Challenges that this process has started and that found no free slot. The store lists them
 * by age, where an attacker has thousands before the first challenge of another client.
 */
export class WaitingChallenges {
  /** Challenges by address, in the order of `add`. */
  readonly #queues = new Map<string, ChallengeAttempt[]>();

  /** Adds a challenge, unless its client is unknown or its address has too many. */
  add(challenge: ChallengeAttempt): void {
    const { source } = challenge;
    if (source === undefined) return;
    const key = formatSourceKey(source);
    const queue = this.#queues.get(key) ?? [];
    if (queue.length < perAddressMax) queue.push(challenge);
    const [oldest] = this.#queues.keys();
    if (this.#queues.size >= addressesMax && !this.#queues.has(key) && oldest !== undefined) {
      this.#queues.delete(oldest);
    }
    this.#queues.set(key, queue);
  }

  /**
   * Removes and returns the challenges that get a slot, one by one, each of the address with the
   * fewest slots. Challenges that have a slot already are only removed.
   */
  take({ reserve, count, isBusy }: WaitingChecks): ChallengeAttempt[] {
    const reserved: ChallengeAttempt[] = [];
    const open = new Map(this.#queues);
    for (;;) {
      const [key, queue] = findLowest(open, count) ?? [];
      const [next] = queue ?? [];
      if (key === undefined || queue === undefined || next === undefined) return reserved;
      if (!isBusy(next)) {
        // The address, the account or the host is full. The store has the others of this address.
        if (!reserve(next)) open.delete(key);
        else reserved.push(next);
      }
      if (!open.has(key)) continue;
      queue.shift();
      if (queue.length > 0) continue;
      open.delete(key);
      this.#queues.delete(key);
    }
  }
}

function findLowest(
  queues: ReadonlyMap<string, ChallengeAttempt[]>,
  count: (challenge: ChallengeAttempt) => number,
): readonly [string, ChallengeAttempt[]] | undefined {
  let lowest: readonly [string, ChallengeAttempt[]] | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const [key, queue] of queues) {
    const [first] = queue;
    const slots = first === undefined ? least : count(first);
    if (slots >= least) continue;
    lowest = [key, queue];
    least = slots;
  }
  return lowest;
}

const perAddressMax = 20;
const addressesMax = 1000;
