/**
 * Looks for the newest rows of a numbered chain that fit a filter, slice by slice, so that others
 * have their turn.
 */

import { breath } from "#adapters/db/engine/connection.ts";

/**
 * A chain without gaps, and how a part of it is looked at; numbers from `low` up to, not including,
 * `high`.
 */
export interface SlicedChain<R> {
  readonly first: number;
  /** One more than the last number. */
  readonly end: number;
  readonly sliceRows: number;
  /** No part reaches across the place before this number. */
  readonly cut?: number;
  readonly rows: (low: number, high: number, limit: number) => Promise<readonly R[]>;
  readonly count: (low: number, high: number) => Promise<number>;
}

/**
 * At most `wanted` rows that fit before the number `before`, newest first, and how many fit in all.
 */
export async function newestOf<R>(
  { first, end, sliceRows, cut = first, rows: rowsIn, count }: SlicedChain<R>,
  wanted: number,
  before: number = Number.MAX_SAFE_INTEGER,
): Promise<{ readonly rows: readonly R[]; readonly total: number }> {
  const rows: R[] = [];
  let total = 0;
  for (let high = end; high > first; ) {
    const low = Math.max(first, high - sliceRows, high > cut ? cut : first);
    if (rows.length < wanted && low < before) {
      const found = await rowsIn(low, Math.min(high, before), wanted - rows.length);
      for (const row of found) rows.push(row);
    }
    total += await count(low, high);
    high = low;
    if (high > first) await breath();
  }
  return { rows, total };
}
