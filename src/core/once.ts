/** What is made when it is first asked for: no start waits for it. */

/** Gives what `make` gave the first time, every time; one that throws is tried again. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
