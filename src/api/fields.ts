/** Fields that several nouns take in the same way. */

import { parseSerial } from "#core/ids.ts";
import { parsed, WrongValue } from "#core/shape.ts";
import { type Instant, parseTimestamp, parseTimestampOrDay, timestamp } from "#core/time.ts";
import { parseFingerprint } from "#core/x509/public-keys.ts";

/** A serial in any spelling: decimal, `0x` and hex, hex with colons (REC-2). */
export const serialField = parsed({ type: "string", examples: ["1234567890"] }, parseSerial);

/** SHA-256 of a public key: hex in any spelling, or `SHA256:` and base64. */
export const fingerprintField = parsed(
  { type: "string", examples: ["ab".repeat(32)] },
  parseFingerprint,
);

/** A time with any offset, or a day, which means its midnight in UTC (API-6). */
export const timeField = parsed(
  { type: "string" },
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
