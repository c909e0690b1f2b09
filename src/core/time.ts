/** Instants and the texts they are written as; a clock is never read here. */

/** Milliseconds since the Unix epoch. */
export type Instant = number & { readonly brand: "Instant" };

/** Marks epoch milliseconds as an instant; fractions of a millisecond are dropped. */
export const instant = (milliseconds: number): Instant => Math.trunc(milliseconds) as Instant;

/**
 * RFC 3339, UTC, exactly six fraction digits and `Z`: the one spelling of a time in answers and
 * events.
 */
export function timestamp(at: Instant): string {
  return `${new Date(at).toISOString().slice(0, -1)}000Z`;
}

/**
 * Reads RFC 3339 with any offset; gives undefined for anything else, and for what is before year 0
 * or after year 9999 in UTC, where it could not be written.
 */
export function parseTimestamp(text: string): Instant | undefined {
  if (!rfc3339.test(text)) return undefined;
  const milliseconds = Date.parse(text);
  const isWritable = milliseconds >= firstWritten && milliseconds <= lastWritten;
  return isWritable ? instant(milliseconds) : undefined;
}

/** Reads RFC 3339, or `YYYY-MM-DD` as UTC midnight; gives undefined for anything else. */
export function parseTimestampOrDay(text: string): Instant | undefined {
  return /^\d{4}-\d{2}-\d{2}$/.test(text)
    ? parseTimestamp(`${text}T00:00:00Z`)
    : parseTimestamp(text);
}

/** `at` plus whole seconds. */
export const addSeconds = (at: Instant, seconds: number): Instant => instant(at + seconds * 1000);

/** The start of the second `at` lies in: certificates and CRLs carry whole seconds. */
export const wholeSecond = (at: Instant): Instant => instant(Math.floor(at / 1000) * 1000);

export const secondsPerDay = 86_400;

const firstWritten = Date.parse("0000-01-01T00:00:00.000Z");
const lastWritten = Date.parse("9999-12-31T23:59:59.999Z");
const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;
