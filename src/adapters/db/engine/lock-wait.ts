/**
 * Waiting for another program's lock on a SQLite file without holding the thread: SQLite itself
 * would sleep.
 */

import { isLocked } from "./faults.ts";

/**
 * Does `work`, which must not wait for locks itself, and again with growing pauses while somebody
 * else has the lock, for at most `waitMs` milliseconds; then throws what SQLite said. What else
 * `work` throws is thrown at once.
 */
export async function whenUnlocked<T>(work: () => T, waitMs: number): Promise<T> {
  const until = performance.now() + waitMs;
  for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
    try {
      return work();
    } catch (error) {
      const left = until - performance.now();
      if (!isLocked(error) || left <= 0) throw error;
      await Bun.sleep(Math.min(pause, left));
    }
  }
}

const firstPauseMs = 1;
const longestPauseMs = 50;
