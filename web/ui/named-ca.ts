/** The CA that an address names by id or label, whether or not a list of CAs reaches to it. */

import { useEffect, useState } from "preact/hooks";
import type { Answers } from "#api/answers.ts";
import type { Credential, Reply } from "#web/api.ts";
import { actionsIn, useConsole, useLive } from "#web/console.ts";
import { useAsked } from "./asked.tsx";
import { caPages } from "./ca-pages.ts";

export type Ca = Answers["ca.list"]["items"][number];

/** Neither `ca` nor `refused` while nothing is named or nothing has come. */
export interface NamedCa {
  readonly ca?: Ca;
  /** Why it cannot be shown. */
  readonly refused?: Reply<Ca>;
  /** Asks for it again. */
  readonly again: () => void;
}

/** Nothing is asked while `named` is undefined. */
export function useNamedCa(named: string | undefined): NamedCa {
  const shown = useAsked("ca.show", named === undefined ? undefined : { id: named }, ["ca.*"]);
  const refused = shown.reply?.kind === "refused" ? shown.reply : undefined;
  // `ca.show` knows ids alone; people write labels into addresses.
  const asLabel = named !== undefined && named !== "" && refused?.refusal.status === 404;
  const labelled = useLabelled(asLabel ? named : undefined);
  const again = shown.refresh;
  if (named === undefined) return { again };
  if (shown.reply?.kind === "answered") {
    const { answer } = shown.reply;
    // An answer about the CA that was named before says nothing of this one.
    return isNamed(answer, named) ? { ca: answer, again } : { again };
  }
  if (refused === undefined || (asLabel && labelled === undefined)) return { again };
  const ca = asLabel ? labelled?.ca : undefined;
  return ca === undefined ? { refused, again } : { ca, again };
}

export const caOf = (cas: readonly Ca[], named: string | undefined): Ca | undefined =>
  cas.find((ca) => isNamed(ca, named));

interface Labelled {
  readonly label: string;
  readonly ca: Ca | undefined;
}

/** Looked for among all whose names have the label in them, which may be more than a page. */
function useLabelled(label: string | undefined): Labelled | undefined {
  const { credential } = useConsole();
  const [known, setKnown] = useState<Labelled>();
  const [round, setRound] = useState(0);
  const concerns = label === undefined ? undefined : actionsIn(["ca.*"]);
  useLive(concerns, () => setRound((count) => count + 1));
  useEffect(() => {
    if (label === undefined) return;
    const stop = new AbortController();
    void labelledCa(label, credential, stop.signal).then((ca) => {
      if (!stop.signal.aborted) setKnown({ label, ca });
    });
    return () => stop.abort();
  }, [label, credential, round]);
  return known?.label === label ? known : undefined;
}

async function labelledCa(label: string, credential: Credential, signal: AbortSignal) {
  for await (const page of caPages({ q: label }, credential, signal)) {
    const found = page.kind === "answered" ? caOf(page.answer.items, label) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

const isNamed = ({ id, label }: Ca, named: string | undefined): boolean =>
  id === named || label === named;
