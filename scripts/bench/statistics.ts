/** Medians and percentiles, as every scenario takes them. */

/** The middle one, the lower of two; NaN of none. */
export const median = (values: readonly number[]): number => percentile(values, 50);

/**
 * The smallest of the values that at least `percent` of a hundred do not pass (nearest rank); NaN
 * of none.
 */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.ceil((percent / 100) * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}
