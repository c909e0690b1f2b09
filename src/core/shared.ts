/** One piece of work for all who ask for it at a time, begun after each of them has asked. */

/**
 * Lets callers share what they ask for: who asks while it is under way waits for the next, and all
 * such for the same one, since the one under way may have passed what has changed meanwhile.
 */
export function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const start = (): Promise<T> => {
    next = undefined;
    running = work().finally(() => {
      running = undefined;
    });
    return running;
  };
  return () => {
    // Between the end of one and the beginning of the next there are a few microtasks.
    if (running === undefined) return next ?? start();
    next ??= running.then(start, start);
    return next;
  };
}

/**
 * The same for work of many kinds, each under a key that says what it is; a key is forgotten when
 * nobody waits for it any more.
 */
export function sharedBy<T>(): (key: string, work: () => Promise<T>) => Promise<T> {
  const kinds = new Map<string, { readonly ask: () => Promise<T>; waiting: number }>();
  return async (key, work) => {
    const kind = kinds.get(key) ?? { ask: shared(work), waiting: 0 };
    kinds.set(key, kind);
    kind.waiting += 1;
    try {
      return await kind.ask();
    } finally {
      kind.waiting -= 1;
      if (kind.waiting === 0) kinds.delete(key);
    }
  };
}
