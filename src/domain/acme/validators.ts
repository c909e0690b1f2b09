/**
 * The port through which control over an identifier is proven over the network (RFC 8555 §8, 8737,
 * 8738).
 */

import type { ChallengeType } from "#core/acme/challenges.ts";
import type { Identifier } from "#core/acme/identifiers.ts";
import type { Instant } from "#core/time.ts";

/** Attempts to prove control over identifiers, each on its own (P-10). */
export interface Validators {
  /**
   * One attempt, from the first question to a name server to the last octet. A name is resolved
   * once and only addresses that were judged are connected to. Never throws, unless the system
   * lacks a thread: any other result is an outcome, within the time of the settings.
   */
  attempt(task: ValidationTask): Promise<ValidationOutcome>;
}

/** What is to be proven, and by what. */
export interface ValidationTask {
  readonly type: ChallengeType;
  /** A name in lower-case A-labels without `*.`, or an address in canonical text. */
  readonly identifier: Identifier;
  readonly wildcard: boolean;
  /** Empty for dns-persist-01, which has none. */
  readonly token: string;
  /** RFC 8555 §8.1: the token, a dot and the thumbprint of the account key. */
  readonly keyAuthorization: string;
  readonly accountUrl: string;
  /** For dns-persist-01, which cannot be attempted without it. */
  readonly persist?: PersistTerms;
}

/** What a persistent record is held against. */
export interface PersistTerms {
  /** The address that the hash of an account is appended to. */
  readonly accountHashPrefix: string;
  readonly issuerDomainNames: readonly string[];
  /** Of every key that the account may have had when its record was made, its own first. */
  readonly thumbprints: readonly string[];
}

/** What came of an attempt. */
export type ValidationOutcome =
  | Proved
  | { readonly proved: false; readonly problem: ValidationProblem };

/** Control is proven. */
export interface Proved {
  readonly proved: true;
  /** Those that were connected to, in order; none where only the DNS was asked. */
  readonly addresses: readonly string[];
  /** Until when the proof may be relied on, where it says so itself. */
  readonly until?: Instant;
}

/** Why control is not proven, in the words of RFC 8555 §6.7; the detail is for the subscriber. */
export interface ValidationProblem {
  readonly type:
    | "connection"
    | "dns"
    | "tls"
    | "unauthorized"
    | "incorrectResponse"
    | "rejectedIdentifier";
  /** A sentence without internals, and at most a short printable part of what was received. */
  readonly detail: string;
}
