/** The CA that an address names by id or label, whether or not a list of CAs reaches to it. */

import type { Answers } from "#api/answers.ts";
import type { Reply } from "#web/api.ts";
import { useAsked } from "./asked.tsx";

export type Ca = Answers["ca.list"]["items"][number];

/** Neither member while nothing is named or nothing has come. */
export interface NamedCa {
  readonly ca?: Ca;
  /** Why it cannot be shown. */
  readonly refused?: Reply<Ca>;
}

/** Nothing is asked while `named` is undefined. */
export function useNamedCa(named: string | undefined): NamedCa {
  const shown = useAsked("ca.show", named === undefined ? undefined : { id: named }, ["ca.*"]);
  const refused = shown.reply?.kind === "refused" ? shown.reply : undefined;
  // `ca.show` knows ids alone; people write labels into addresses.
  const asLabel = named !== undefined && named !== "" && refused?.refusal.status === 404;
  const labelled = useAsked("ca.list", asLabel ? { q: named, limit: 500 } : undefined, ["ca.*"]);
  if (named === undefined) return {};
  if (shown.reply?.kind === "answered") {
    const { answer } = shown.reply;
    // An answer about the CA that was named before says nothing of this one.
    return isNamed(answer, named) ? { ca: answer } : {};
  }
  if (refused === undefined || (asLabel && labelled.reply === undefined)) return {};
  const items = labelled.reply?.kind === "answered" ? labelled.reply.answer.items : [];
  const ca = asLabel ? caOf(items, named) : undefined;
  return ca === undefined ? { refused } : { ca };
}

export const caOf = (cas: readonly Ca[], named: string | undefined): Ca | undefined =>
  cas.find((ca) => isNamed(ca, named));

const isNamed = ({ id, label }: Ca, named: string | undefined): boolean =>
  id === named || label === named;
