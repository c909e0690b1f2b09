/** The CAs that stand above those of a page of the tree and are on other pages. */

import { useEffect, useState } from "preact/hooks";
import { ask, type Credential, replied } from "#web/api.ts";
import { useConsole } from "#web/console.ts";
import type { Ca } from "./ca.ts";
import { missingAbove } from "./forest.ts";

/**
 * Asked for one by one, up to the roots; those that may not be read are left out, and so are those
 * beyond a bound, since a page is no more than a page. The rows below them say so.
 */
export function useAbove(cas: readonly Ca[], wanted: boolean): readonly Ca[] {
  const { credential } = useConsole();
  const [found, setFound] = useState<readonly Ca[]>([]);
  useEffect(() => {
    if (!wanted) return;
    const stop = new AbortController();
    void above(cas, credential, stop.signal).then((come) => {
      if (!stop.signal.aborted) setFound(come);
    });
    return () => stop.abort();
  }, [cas, wanted, credential]);
  return wanted ? found : [];
}

async function above(cas: readonly Ca[], credential: Credential, signal: AbortSignal) {
  const found: Ca[] = [];
  const asked = new Set<string>();
  for (;;) {
    const waiting = missingAbove(cas.concat(found)).filter((id) => !asked.has(id));
    const next = waiting.slice(0, Math.min(atOnce, askedMax - asked.size));
    if (next.length === 0 || signal.aborted) return found;
    for (const id of next) asked.add(id);
    const replies = await Promise.all(
      next.map((id) => replied(ask("ca.show", { id }, credential, signal))),
    );
    found.push(...replies.flatMap((one) => (one.kind === "answered" ? [one.answer] : [])));
  }
}

const atOnce = 4;
const askedMax = 200;
