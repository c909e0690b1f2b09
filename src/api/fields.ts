/** Fields that several nouns take in the same way. */

import { parseSerial, readSerial, toListedSerial } from "#core/ids.ts";
import { Problem, refuse } from "#core/problems.ts";
import { parsed, refusing, WrongValue } from "#core/shape.ts";
import {
  addSeconds,
  type Instant,
  parseTimestamp,
  parseTimestampOrDay,
  secondsPerDay,
  timestamp,
} from "#core/time.ts";
import { parseFingerprint } from "#core/x509/public-keys.ts";
import { parseReason, revocationReasons } from "#core/x509/reasons.ts";

const listedPattern = /^[0-9]{1,50}$/;

/** A serial: digits alone are decimal, hex has `0x`, colons or a letter (REC-2). */
export const serialField = refusing(
  parsed({ type: "string", examples: ["1234567890"] }, parseSerial),
  "bad_serial",
);

/** A serial of a list whose `serial_format` decides its base. */
export const listedTextField = refusing(
  parsed(
    { type: "string", examples: ["1234567890"] },
    (text) => {
      const readings = readSerial(text);
      if (readings.decimal === undefined && readings.hex === undefined) throw refuse("bad_serial");
      return readings;
    },
    ({ text }) => text,
  ),
  "bad_serial",
);

/** A serial of the inventory of another CA in decimal, zero included (RFC 5280 §4.1.2.2). */
export const listedSerialField = refusing(
  parsed({ type: "string", pattern: listedPattern.source, examples: ["1234567890"] }, (value) => {
    const serial = listedPattern.test(value) ? toListedSerial(BigInt(value)) : undefined;
    if (serial === undefined) throw refuse("bad_serial");
    return serial;
  }),
  "bad_serial",
);

/** SHA-256 of a public key: hex in any spelling, or `SHA256:` and base64. */
export const fingerprintField = refusing(
  parsed({ type: "string", examples: ["ab".repeat(32)] }, parseFingerprint),
  "bad_fingerprint",
);

/** SHA-256 of a certificate, in the same spellings. */
export const certificateFingerprintField = refusing(
  parsed({ type: "string", examples: ["cd".repeat(32)] }, (text) => {
    try {
      return parseFingerprint(text);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const facts = { field: "certificate_sha256" };
      throw refuse("bad_fingerprint", facts, "This is not the SHA-256 of a certificate.");
    }
  }),
  "bad_fingerprint",
);

/** Why a certificate is revoked, by name in any case (RFC 5280 §5.3.1). */
export const reasonField = refusing(
  parsed({ type: "string", enum: Object.keys(revocationReasons) }, parseReason),
  "bad_reason",
);

/** A time with any offset, or a day, which means its midnight in UTC (API-6). */
export const timeField = parsed(
  { type: "string", examples: ["2027-03-01T00:00:00Z"] },
  (value): Instant => {
    const at = parseTimestampOrDay(value);
    if (at === undefined) throw new WrongValue("must be an RFC 3339 time or a day");
    return at;
  },
  timestamp,
);

/** A time with any offset (RFC 3339). */
export const instantField = parsed(
  { type: "string", format: "date-time" },
  (value): Instant => {
    const at = parseTimestamp(value);
    if (at === undefined) throw new WrongValue("must be an RFC 3339 time");
    return at;
  },
  timestamp,
);

/** Refuses `conflicting_fields` when more than one of the members is given. */
export function onlyOneOf(members: Readonly<Record<string, unknown>>): void {
  const fields = Object.keys(members).filter((name) => members[name] !== undefined);
  if (fields.length > 1) throw refuse("conflicting_fields", { fields });
}

/** The end of so many days from now on, where they are given. */
export const inDays = (now: Instant, days: number | undefined): Instant | undefined =>
  days === undefined ? undefined : addSeconds(now, days * secondsPerDay);
