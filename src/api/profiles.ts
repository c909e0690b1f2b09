/** The profiles in force, in JSON. */

import { type ProfileSet, profileJson, profileShape } from "#core/policy/profiles.ts";
import { type Asking, type Definition, operation } from "#domain/access/operation.ts";
import { noTarget } from "#domain/access/targets.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { listOf, onePage } from "./pages.ts";

/** The handler for `profile.list`: sorted by name, always whole, in the list envelope. */
export function profileHandlers(deps: { readonly profiles: () => ProfileSet }) {
  return {
    "profile.list": operation({
      summary: "The certificate profiles in force.",
      target: noTarget,
      output: listOf(profileShape),
      run: async () => onePage(deps.profiles().sorted().map(profileJson)),
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

/**
 * True for a profile that is in force, or in the inventory of what the caller reaches: any other
 * name is a slip.
 */
export async function isKnownProfile(
  deps: { readonly store: Pick<Store, "read">; readonly profiles: () => ProfileSet },
  name: string,
  reach: Asking["reach"],
): Promise<boolean> {
  return deps.profiles().has(name) || deps.store.read.certificates.profileSeen(name, reach);
}
