/** Medians and percentiles, as every scenario takes them. */

/** The middle one, halfway between two; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [(sorted.length - 1) >> 1, sorted.length >> 1];
  return ((sorted[low] ?? Number.NaN) + (sorted[high] ?? Number.NaN)) / 2;
}

/**
 * The smallest of the values that at least `percent` of a hundred do not pass (nearest rank); NaN
 * of none.
 */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  // Rounded first: 99.9 % of a thousand are 999, and not the hair more that floating point makes.
  const share = Number(((percent * sorted.length) / 100).toFixed(6));
  const rank = Math.max(1, Math.ceil(share));
  return sorted[rank - 1] ?? Number.NaN;
}
