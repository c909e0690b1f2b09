/** A clock that stands still and randomness that repeats itself, for tests. */

import { createHash } from "node:crypto";

import { type Instant, instant } from "#core/time.ts";
import type { Clock, Random, Stopwatch } from "#domain/ports.ts";

/** A clock set by the test. */
export interface TestClock extends Clock {
  at: Instant;
  /** Moves the clock forward as time does: the stopwatch goes with it. */
  advance(seconds: number): void;
  /** Sets the clock forward or back; no time passes. */
  step(seconds: number): void;
  readonly stopwatch: Stopwatch;
}

/** A clock that stands at `start` (RFC 3339) until it is moved. */
export function testClock(start = "2026-06-01T12:00:00Z"): TestClock {
  let elapsedMs = 0;
  const clock: TestClock = {
    at: instant(Date.parse(start)),
    now: () => clock.at,
    advance: (seconds) => {
      clock.step(seconds);
      elapsedMs += seconds * 1000;
    },
    step: (seconds) => {
      clock.at = instant(clock.at + seconds * 1000);
    },
    stopwatch: { elapsedMs: () => elapsedMs },
  };
  return clock;
}

/** Octets from a hash of seed and counter: the same in every run, never repeated within one. */
export function seededRandom(seed = "pkid"): Random {
  let counter = 0;
  const bytes = (length: number): Uint8Array => {
    const out = new Uint8Array(length);
    for (let offset = 0; offset < length; offset += 32) {
      const block = createHash("sha256").update(`${seed}/${counter++}`).digest();
      out.set(block.subarray(0, Math.min(32, length - offset)), offset);
    }
    return out;
  };
  return { bytes, uuid: () => uuidFrom(bytes(16)) };
}

function uuidFrom(octets: Uint8Array): string {
  octets[6] = ((octets[6] ?? 0) & 0x0f) | 0x40;
  octets[8] = ((octets[8] ?? 0) & 0x3f) | 0x80;
  const hex = octets.toHex();
  const parts = [0, 8, 12, 16, 20, 32].map((end, index, ends) =>
    hex.slice(ends[index - 1] ?? 0, end),
  );
  return parts.slice(1).join("-");
}
