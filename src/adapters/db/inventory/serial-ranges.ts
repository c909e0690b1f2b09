/**
 * Serials by their first digits: ranges of decimal text, which is how the unique index has them
 * sorted.
 */

import { type SQL, sql } from "drizzle-orm";

/**
 * Serials of text `low` up to and with `last`; with `digits` only those that long. Both are digits
 * only, so that they sort alike everywhere.
 */
export interface SerialRange {
  readonly low: string;
  readonly last: string;
  readonly digits: number | undefined;
}

/**
 * Disjoint ranges that hold exactly the serials whose decimal or `0x` hex spelling begins with
 * `prefix`, which is in lower case without leading zeros. Each is a fraction of them, so that it
 * can be counted by itself.
 */
export function serialRanges(prefix: string): readonly SerialRange[] {
  if (prefix.startsWith("0x")) return hexRanges(prefix.slice(2));
  if (!/^[1-9]\d*$/.test(prefix)) return [];
  const longer = [..."0123456789"].map((digit) => {
    const low = prefix + digit;
    return { low, last: low.padEnd(decimalDigitsMax, "9"), digits: undefined };
  });
  return [{ low: prefix, last: prefix, digits: undefined }, ...longer];
}

/** True for serials in a range. */
export function inSerialRange(serial: SQL, { low, last, digits }: SerialRange): SQL {
  const within = sql`${serial} >= ${low} and ${serial} <= ${last}`;
  return digits === undefined
    ? sql`(${within})`
    : sql`(${within} and length(${serial}) = ${digits})`;
}

/** True for the serials of all ranges of a prefix, in as few of them as may be. */
export function serialsBeginning(serial: SQL, prefix: string): SQL {
  const ranges = serialRanges(prefix);
  const [first] = ranges;
  if (first === undefined) return sql`1 = 0`;
  if (prefix.startsWith("0x")) {
    return sql`(${sql.join(
      ranges.map((range) => inSerialRange(serial, range)),
      sql` or `,
    )})`;
  }
  return inSerialRange(serial, { ...first, last: prefix.padEnd(decimalDigitsMax, "9") });
}

/**
 * Conditions to count by, one after the other: SQLite in pieces that hold its thread for a moment
 * each.
 */
export const countedRanges = (
  dialect: "sqlite" | "postgres",
  serial: SQL,
  prefix: string,
): readonly SQL[] =>
  dialect === "sqlite"
    ? serialRanges(prefix).map((range) => inSerialRange(serial, range))
    : [serialsBeginning(serial, prefix)];

/**
 * One range of numbers for each number of hex digits that may follow, split where the decimal
 * digits grow.
 */
function hexRanges(prefix: string): readonly SerialRange[] {
  if (!/^[1-9a-f][0-9a-f]{0,39}$/.test(prefix)) return [];
  const value = BigInt(`0x${prefix}`);
  return Array.from({ length: hexDigitsMax - prefix.length + 1 }, (_, more) => {
    const shift = BigInt(4 * more);
    return sameLength(value << shift, ((value + 1n) << shift) - 1n);
  }).flat();
}

function sameLength(low: bigint, high: bigint): SerialRange[] {
  const digits = String(low).length;
  const longest = 10n ** BigInt(digits) - 1n;
  const end = high < longest ? high : longest;
  const first = { low: String(low), last: String(end), digits };
  return end === high ? [first] : [first, ...sameLength(end + 1n, high)];
}

/** 2^160 − 1. */
const hexDigitsMax = 40;
const decimalDigitsMax = 49;
