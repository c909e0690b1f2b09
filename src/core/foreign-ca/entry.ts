/** What the records of another CA come to, whichever program has kept them. */

import { type Serial, listedSerialRange } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import { type RevocationReason, revocationReasons } from "#core/x509/reasons.ts";

/** That a certificate was revoked. */
export interface ForeignRevocation {
  readonly at: Instant;
  readonly reason: RevocationReason;
}

/** A certificate, a revocation, or both. */
export interface ForeignEntry {
  /** DER. */
  readonly certificate: Uint8Array | undefined;
  readonly serial: Serial | undefined;
  readonly revoked: ForeignRevocation | undefined;
}

/** Record whose serial pkid cannot store, in decimal. */
export interface OutOfRange {
  readonly fault: string;
  readonly serial: string;
}

/** Describes the error of a serial that pkid cannot store. */
export function describeOutOfRange(number: bigint): OutOfRange {
  const serial = number.toString(10);
  const range = `only ${listedSerialRange} can`;
  return { serial, fault: `carries the serial ${serial}, which cannot be stored: ${range}` };
}

/** A record that was read, that says nothing (`undefined`), or what is wrong with it. */
export type ForeignRecord = ForeignEntry | OutOfRange | { readonly fault: string } | undefined;

/**
 * The reason a number stands for; what RFC 5280 §5.3.1 does not know, and what is no reason for
 * good (8, removeFromCRL), is `unspecified`.
 */
export const reasonOfCode = (code: number): RevocationReason => byCode.get(code) ?? "unspecified";

const byCode: ReadonlyMap<number, RevocationReason> = new Map(
  Object.entries(revocationReasons).map(([reason, code]) => [
    code,
    reason as RevocationReason, // A key of the table.
  ]),
);
