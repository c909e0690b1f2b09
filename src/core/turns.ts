/** Long work in short turns: between two of them whoever else waits for this thread is served. */

/** Resolves when the event loop has come round once. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/**
 * One turn after the other for several that work at the same time: however many they are, one goes
 * on in each.
 */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Resolves in a turn of its own. */
  next(): Promise<void> {
    this.#last = this.#last.then(nextTurn);
    return this.#last;
  }
}

/** The texts in ascending order of their UTF-16 code units, as `toSorted` gives them. */
export async function sortedInTurns(texts: readonly string[]): Promise<readonly string[]> {
  let runs: (readonly string[])[] = [];
  for (let at = 0; at < texts.length; at += sortedPerTurn) {
    runs.push(texts.slice(at, at + sortedPerTurn).sort());
    await nextTurn();
  }
  while (runs.length > 1) {
    const merged: (readonly string[])[] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(await mergedInTurns(runs[at] ?? [], runs[at + 1] ?? []));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergedInTurns(a: readonly string[], b: readonly string[]): Promise<string[]> {
  const out: string[] = [];
  let [left, right] = [0, 0];
  while (left < a.length && right < b.length) {
    const [first = "", second = ""] = [a[left], b[right]];
    const fromLeft = first <= second;
    if (fromLeft) left++;
    else right++;
    out.push(fromLeft ? first : second);
    if (out.length % sortedPerTurn === 0) await nextTurn();
  }
  // One of the two is at its end.
  for (const rest of [a.slice(left), b.slice(right)]) for (const text of rest) out.push(text);
  return out;
}

const sortedPerTurn = 10_000;

/** The results of `work` for every item, in their order; a turn for every `size` items. */
export async function mapInTurns<T, R>(
  items: readonly T[],
  size: number,
  work: (item: T, index: number) => R,
): Promise<readonly R[]> {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % size === 0) await nextTurn();
    results.push(work(item, index));
  }
  return results;
}
