/** A read that is asked once more where its connection has fallen silent. */

/**
 * The first answer, or the first failure, of a read and of its repetition, if it says nothing for
 * `patienceMs`; the repetition has another connection.
 */
export function repeated<T>(read: () => Promise<T>, patienceMs: number): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => read().then(resolve, reject), patienceMs);
  read()
    .then(resolve, reject)
    .finally(() => clearTimeout(timer));
  return promise;
}
