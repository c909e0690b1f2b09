/**
 * The small ports: time, randomness, names in the DNS, paths of certificates and the process log,
 * so that a test can hold them still.
 */

import type { Asker } from "#core/fair-queue.ts";
import type { Lookup } from "#core/dns/answer.ts";
import type { RecordType } from "#core/dns/records.ts";
import type { PathAnswer, PathQuestion } from "#core/policy/path-work.ts";
import type { Instant } from "#core/time.ts";

/** Wall-clock time. */
export interface Clock {
  now(): Instant;
}

/** Time that only passes: nobody sets it, and it says nothing about the date. */
export interface Stopwatch {
  /** Milliseconds since some moment of this process. */
  elapsedMs(): number;
}

/** How long somebody waits. */
export interface Patience {
  /**
   * What comes of `work`, or undefined when that takes longer; the work itself goes on. Rejects as
   * `work` does.
   */
  within<T>(seconds: number, work: Promise<T>): Promise<T | undefined>;
}

/**
 * Does something after so many milliseconds, unless what it gives is called before; keeps no
 * process running.
 */
export type Later = (milliseconds: number, act: () => void) => () => void;

/** Answers what certificates of strangers ask for, where it keeps nobody else waiting. */
export interface PathWork {
  /**
   * As `answerPath`; undefined when the answer takes longer than any honest question, whose work is
   * then given up. Askers have their turns. Refuses `overloaded` for who has most waiting while too
   * many wait.
   */
  ask<Q extends PathQuestion>(question: Q, asker: Asker): Promise<PathAnswer<Q> | undefined>;
}

/** Unpredictable octets from the operating system's CSPRNG. */
export interface Random {
  bytes(length: number): Uint8Array;
  /** A version 4 UUID. */
  uuid(): string;
}

/** The DNS, as its validating resolver tells it. */
export interface Resolver {
  /**
   * What there is of this type at the name, aliases followed for at most eight links. Absence, of
   * the name or of the type, is an answer without records; whatever kept the resolver from saying
   * is a failure, never an absence. One lookup ends within twice `timeoutSeconds` and is remembered
   * by nobody.
   */
  lookup(name: string, type: RecordType, timeoutSeconds: number): Promise<Lookup>;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

/**
 * Where the process says what it does; a message is a short closed word, and no fact is ever a
 * secret or a body.
 */
export interface Log {
  write(level: LogLevel, message: string, facts?: Readonly<Record<string, unknown>>): void;
}
