/** Walks from a CA to others by the ids in its record: to its root, and along its lineage. */

import { useEffect, useState } from "preact/hooks";
import { ask, type Credential, replied } from "#web/api.ts";
import { useConsole } from "#web/console.ts";
import type { Ca } from "./ca.ts";

/** Those above it, its issuer first; what may not be read ends the walk. */
export function useAncestors(ca: Ca): readonly Ca[] {
  return useWalk(ca, (one, credential, signal) => walk(one, "parent_id", credential, signal));
}

/** Every key its name has had, the oldest first, itself among them. */
export function useLineage(ca: Ca): readonly Ca[] {
  const others = useWalk(ca, async (one, credential, signal) => {
    const older = await walk(one, "predecessor_id", credential, signal);
    const newer = await walk(one, "successor_id", credential, signal);
    return [...older.toReversed(), one, ...newer];
  });
  return others.length === 0 ? [ca] : others;
}

/** The member that retirement means, whichever of the lineage is named. */
export const oldestSuperseded = (lineage: readonly Ca[]): Ca | undefined =>
  lineage.find(({ status }) => status === "superseded");

type Walk = (ca: Ca, credential: Credential, signal: AbortSignal) => Promise<readonly Ca[]>;

function useWalk(ca: Ca, walked: Walk): readonly Ca[] {
  const { credential } = useConsole();
  const [found, setFound] = useState<readonly Ca[]>([]);
  const { id, status, parent_id, successor_id, predecessor_id } = ca;
  useEffect(() => {
    const stop = new AbortController();
    void walked(ca, credential, stop.signal).then((come) => {
      if (!stop.signal.aborted) setFound(come);
    });
    return () => stop.abort();
    // These members say where the walk leads, and whether something has changed on it.
  }, [id, status, parent_id, successor_id, predecessor_id, credential]);
  return found;
}

async function walk(
  from: Ca,
  by: "parent_id" | "predecessor_id" | "successor_id",
  credential: Credential,
  signal: AbortSignal,
): Promise<readonly Ca[]> {
  const found: Ca[] = [];
  // As long as it is: a key may have been turned over every month. No id comes twice.
  const seen = new Set([from.id]);
  for (let id = from[by]; id !== undefined && !seen.has(id); ) {
    seen.add(id);
    const reply = await replied(ask("ca.show", { id }, credential, signal));
    if (reply.kind !== "answered") break;
    found.push(reply.answer);
    id = reply.answer[by];
  }
  return found;
}
