/** Fields that several nouns take in the same way. */

import { parsed, WrongValue } from "#core/shape.ts";
import { type Instant, parseTimestamp, parseTimestampOrDay, timestamp } from "#core/time.ts";

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
