/** What several answers show in the same way. */

import { type ProblemCode, problems } from "#core/problems.ts";
import { integer, oneOf, shape, words } from "#core/shape.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { type KeyType, keyTypes } from "#core/x509/algorithms.ts";
import { revocationReasons } from "#core/x509/reasons.ts";
import { providerNames } from "#domain/key-ref.ts";

/** A time of the wire: RFC 3339, UTC, six decimals (API-6). */
export const time = words({ format: "date-time" });

/** Decimal digits. */
export const serialText = words({ pattern: "^[0-9]+$" });

/** One certificate, or several of them, in PEM (RFC 7468). */
export const pemText = words();

/** Lower hex, or octets in hex with colons. */
export const fingerprintText = words();

/** How many there are of something. */
export const count = integer(0, Number.MAX_SAFE_INTEGER);

// Keys of the table, none of them empty.
const reasonNames = Object.keys(revocationReasons) as (keyof typeof revocationReasons)[];

/** The answer to a simple change: what was done, or what had been done already. */
export const simpleChange = <const W extends string>(...done: readonly W[]) =>
  shape({ status: oneOf(done) });

/** Why a certificate was revoked, by name (RFC 5280 §5.3.1). */
export const reasonText = oneOf(reasonNames);

/** Why something was refused (API-3). */
export const codeText = oneOf(Object.keys(problems) as ProblemCode[]); // Keys of the table.

/** The kind of a key. */
export const keyTypeText = oneOf(Object.keys(keyTypes) as KeyType[]); // Keys of the table.

/** Where a key is held. */
export const providerText = oneOf(providerNames);

/** A time as answers show it, where there is one. */
export const timeText = (at: Instant | undefined): string | undefined =>
  at === undefined ? undefined : timestamp(at);

/** The members that have a value: answers leave the others out. */
export const present = <T extends object>(members: T): T =>
  // Only an optional member can be undefined.
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
