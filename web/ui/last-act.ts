/** Tells which of several acts was the last, where one takes its time: a file is read slowly. */

import { useCallback, useRef } from "preact/hooks";

/** Begins an act; what it gives back tells whether another one has begun since. */
export function useLastAct(): () => () => boolean {
  const count = useRef(0);
  return useCallback(() => {
    count.current += 1;
    const own = count.current;
    return () => own === count.current;
  }, []);
}
