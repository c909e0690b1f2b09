/** One read for all who ask at a time, no older than any of their questions. */

/**
 * Lets callers share one read: who asks while a read is under way waits for the next one. A read
 * that says nothing for `patienceMs` is asked once more beside it, over another connection than the
 * one that has fallen silent: what a later question is answered is good for an earlier one too.
 */
export function joined<T>(read: () => Promise<T>, patienceMs: number): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const start = (): Promise<T> => {
    next = undefined;
    const started = repeated(read, patienceMs).finally(() => {
      running = undefined;
    });
    running = started;
    return started;
  };
  return () => {
    if (running === undefined) return start();
    next ??= running.then(start, start);
    return next;
  };
}

/** The first answer, or the first failure, of a read and of its repetition, if it comes to one. */
function repeated<T>(read: () => Promise<T>, patienceMs: number): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => read().then(resolve, reject), patienceMs);
  read()
    .then(resolve, reject)
    .finally(() => clearTimeout(timer));
  return promise;
}
