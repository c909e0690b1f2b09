/** A walk over the ends of certificates, taken as a whole. */

import type { EndPlace, Watched, WatchedFilter } from "#domain/expiry/store.ts";
import type { Reads } from "#domain/store.ts";

/** Step by step, good ones and then held ones. */
export async function walkedEnds(
  { read }: { readonly read: Pick<Reads, "expiry"> },
  filter: Omit<WatchedFilter, "status">,
  from?: EndPlace,
): Promise<readonly Watched[]> {
  const found: Watched[] = [];
  for (const status of ["good", "held"] as const) {
    for (let after = from; ; ) {
      const step = await read.expiry.ending({ ...filter, status }, after);
      found.push(...step.items);
      if (step.next === undefined) break;
      after = step.next;
    }
  }
  return found;
}
