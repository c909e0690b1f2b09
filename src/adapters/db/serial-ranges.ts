/** Serials by their first digits: ranges of decimal text, which is how the unique index has them sorted. */

/** Serials of text `low` up to, not including, `high`; with `digits` only those that long. */
export interface SerialRange {
  readonly low: string;
  readonly high: string;
  readonly digits: number | undefined;
}

/**
 * Disjoint ranges that hold exactly the serials whose decimal or `0x` hex spelling begins with `prefix`, which is in
 * lower case without leading zeros. Each is a fraction of them, so that it can be counted by itself.
 */
export function serialRanges(prefix: string): readonly SerialRange[] {
  if (prefix.startsWith("0x")) return hexRanges(prefix.slice(2));
  if (!/^[1-9]\d*$/.test(prefix)) return [];
  const bounds = ["", ..."0123456789", ":"].map((digit) => prefix + digit);
  return bounds.slice(1).map((high, at) => ({ low: bounds[at] ?? "", high, digits: undefined }));
}

/** One range of numbers for each number of hex digits that may follow, split where the decimal digits grow. */
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
  const first = { low: String(low), high: `${end}!`, digits };
  return end === high ? [first] : [first, ...sameLength(end + 1n, high)];
}

/** 2^160 − 1. */
const hexDigitsMax = 40;
