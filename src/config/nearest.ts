/** Finds the known word a mistyped one most likely meant. */

/**
 * The known word with the smallest edit distance, the first one among equals; undefined when none
 * is known.
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let distance = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const found = editDistance(word.slice(0, 64), candidate);
    if (found < distance) [best, distance] = [candidate, found];
  }
  return best;
}

/**
 * The nearest known word when it may well be what was meant: a word in three letters wrong, or one
 * letter of a short word.
 */
export function near(word: string, known: readonly string[]): string | undefined {
  const close = nearest(word, known);
  if (close === undefined) return undefined;
  const length = Math.max(word.length, close.length);
  const limit = length <= 3 ? 1 : Math.max(2, Math.floor(length / 3));
  return editDistance(word.slice(0, 64), close) <= limit ? close : undefined;
}

/** Insertions, deletions and replacements that turn one word into the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 1; line <= from.length; line++) {
    const next = [line];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (from[line - 1] === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
