/**
 * Goes on at once with what is there already: awaiting it would cost a promise, which the hot paths
 * have no time to make.
 */

/** `next` of a value that is there or will be; throws at once what is thrown at once. */
export function following<T, U>(
  value: T | Promise<T>,
  next: (value: T) => U | Promise<U>,
): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** What `work` promises; what it throws at once is its rejection too. */
export function promised<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    const made = work();
    return made instanceof Promise ? made : Promise.resolve(made);
  } catch (fault) {
    return Promise.reject(fault);
  }
}
