/** The small ports: time, randomness, identifiers and the process log, so that a test can hold them still. */

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

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Where the process says what it does; a message is a short closed word, and no fact is ever a secret or a body. */
export interface Log {
  write(level: LogLevel, message: string, facts?: Readonly<Record<string, unknown>>): void;
}
