/** The key of this form and the request it signs, made anew as one types. */

import { useEffect, useState } from "preact/hooks";
import type { KeyType } from "./key-types.ts";
import { PageKey } from "./page-key.ts";
import type { Wanted } from "./requests.ts";
import { requestTools } from "./tools.ts";

export interface MadeRequest {
  readonly key: PageKey;
  /** PEM. */
  readonly request: string;
}

/**
 * Makes one key of the type as soon as something is wanted, and a request a moment after it last
 * changed. What was made before stays until then, so that a preview does not flicker.
 */
export function useMadeRequest(wanted: Wanted | undefined, type: KeyType) {
  const [key, setKey] = useState<PageKey>();
  const [made, setMade] = useState<MadeRequest>();
  const [fault, setFault] = useState<string>();
  const needed = wanted !== undefined;
  const current = key?.type === type ? key : undefined;
  useEffect(() => {
    if (!needed || current !== undefined) return;
    return whileWanted(PageKey.make(type), setKey, () =>
      setFault("This browser cannot make such a key."),
    );
  }, [needed, current, type]);
  const said = JSON.stringify(wanted);
  useEffect(() => {
    if (wanted === undefined || current === undefined) return;
    let stop = () => {};
    const build = () => {
      const request = requestFor(current, wanted);
      stop = whileWanted(request, setMade, () =>
        setFault("What makes requests could not be loaded. Load the page again."),
      );
    };
    const timer = setTimeout(build, pauseMs);
    return () => {
      clearTimeout(timer);
      stop();
    };
    // `said` stands for what is wanted: a form builds a new object each time it draws.
  }, [said, current]);
  return { key: current, made: made?.key === current ? made : undefined, fault };
}

/** Signs a request for what is wanted. */
export async function requestFor(key: PageKey, wanted: Wanted): Promise<MadeRequest> {
  const { requestFor: build } = await requestTools();
  return { key, request: await build(key, wanted) };
}

/** Hands over what comes, unless nobody wants it any more by then. */
function whileWanted<Value>(
  coming: Promise<Value>,
  take: (value: Value) => void,
  fail: () => void,
): () => void {
  let still = true;
  coming.then(
    (value) => still && take(value),
    () => still && fail(),
  );
  return () => {
    still = false;
  };
}

/** After the last keystroke. */
const pauseMs = 300;
