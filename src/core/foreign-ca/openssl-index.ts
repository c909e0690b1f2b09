/**
 * The database of `openssl ca`, which EasyRSA keeps too: one line for each certificate, six fields
 * between tabs (ca(1), "CRL and index file formats" of its source).
 */

import { type Serial, toListedSerial } from "#core/ids.ts";
import { type Instant, parseTimestamp } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";

import { describeOutOfRange, type ForeignRevocation, type OutOfRange } from "./entry.ts";

/** One line. */
export interface IndexLine {
  readonly serial: Serial;
  /** The serial as it is written, which is the name of the certificate's file. */
  readonly name: string;
  readonly revoked: ForeignRevocation | undefined;
  /** False for one that has expired, whose file is often gone. */
  readonly valid: boolean;
}

/** Reads a line without its end; undefined for an empty one, and the error of any other. */
export function parseIndexLine(
  line: string,
): IndexLine | OutOfRange | { readonly fault: string } | undefined {
  if (line.trim() === "") return undefined;
  const fields = line.split("\t");
  if (fields.length !== 6) return { fault: `has ${fields.length} fields, and not 6` };
  const [status = "", expiry = "", revocation = "", name = ""] = fields;
  if (!/^[VRE]$/.test(status)) return { fault: "has a status that is neither V, R nor E" };
  const number = parseNumber(name);
  if (number === undefined) return { fault: "has no serial in hexadecimal digits" };
  const serial = toListedSerial(number);
  if (serial === undefined) return describeOutOfRange(number);
  if (instantOf(expiry) === undefined) return { fault: "has no time of expiry" };
  const valid = status === "V";
  if (status !== "R") {
    if (revocation !== "") return { fault: "is not revoked, and has a time of revocation" };
    return { serial, name, revoked: undefined, valid };
  }
  const revoked = revocationOf(revocation);
  return revoked === undefined
    ? { fault: "is revoked, and says not when, or why in words nobody knows" }
    : { serial, name, revoked, valid };
}

/** Hexadecimal digits, behind a minus sign for a negative number. */
function parseNumber(name: string): bigint | undefined {
  const [, sign, digits] = /^(-?)([0-9A-Fa-f]{1,200})$/.exec(name) ?? [];
  if (digits === undefined) return undefined;
  const magnitude = BigInt(`0x${digits}`);
  return sign === "-" ? -magnitude : magnitude;
}

/** A time, and after a comma a reason, which may carry a value of its own after another. */
function revocationOf(field: string): ForeignRevocation | undefined {
  const [time = "", reason, ...more] = field.split(",");
  const at = instantOf(time);
  if (at === undefined || more.length > 1) return undefined;
  if (reason === undefined) return { at, reason: "unspecified" };
  const known = reasons.get(reason.toLowerCase());
  return known && { at, reason: known };
}

/** UTCTime or GeneralizedTime as ASN.1 writes them; years as RFC 5280 §4.1.2.5.1 reads them. */
function instantOf(text: string): Instant | undefined {
  const parts = /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/.exec(text);
  if (parts === null) return undefined;
  const [, year = "", month, day, hour, minute, second] = parts;
  const whole = year.length === 4 ? year : `${Number(year) < 50 ? "20" : "19"}${year}`;
  const at = parseTimestamp(`${whole}-${month}-${day}T${hour}:${minute}:${second}Z`);
  // The runtime reads 31 February as a day of March.
  const same =
    at !== undefined && new Date(at).toISOString().startsWith(`${whole}-${month}-${day}`);
  return same ? at : undefined;
}

/** The words of `openssl ca`; those of its options `-crl_hold` and `-crl_compromise` among them. */
const reasons: ReadonlyMap<string, RevocationReason> = new Map([
  ["unspecified", "unspecified"],
  ["keycompromise", "keyCompromise"],
  ["cacompromise", "cACompromise"],
  ["affiliationchanged", "affiliationChanged"],
  ["superseded", "superseded"],
  ["cessationofoperation", "cessationOfOperation"],
  ["certificatehold", "certificateHold"],
  // It belongs to a delta CRL alone, and the certificate is revoked all the same.
  ["removefromcrl", "unspecified"],
  ["holdinstruction", "certificateHold"],
  ["keytime", "keyCompromise"],
  ["cakeytime", "cACompromise"],
  ["privilegewithdrawn", "privilegeWithdrawn"],
  ["aacompromise", "aACompromise"],
]);
