/** The small ports: time, randomness, and identifiers, so that a test can hold them still. */

import type { Instant } from "#core/time.ts";

/** Wall-clock time. */
export interface Clock {
  now(): Instant;
}

/** Unpredictable octets from the operating system's CSPRNG. */
export interface Random {
  bytes(length: number): Uint8Array;
  /** A version 4 UUID. */
  uuid(): string;
}
