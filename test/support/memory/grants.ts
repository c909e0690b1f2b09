/** Grants in memory. */

import type { AccessReads, AccessWrites, GrantIdentity } from "#domain/access/store.ts";
import type { MemoryState } from "./state.ts";

/** Grants, oldest first. */
export function grantReads({ grants }: MemoryState): Pick<AccessReads, "grantsOn" | "grantsTo"> {
  const all = () => [...grants.values()].sort((a, b) => a.createdAt - b.createdAt);
  return {
    grantsOn: async (lineage) => all().filter((grant) => grant.lineage === lineage),
    grantsTo: async (names) =>
      all().filter(({ type, id }) => names.some((name) => name.type === type && name.id === id)),
  };
}

/** Grant writes of a unit. */
export function grantWrites({ grants }: MemoryState): Pick<AccessWrites, "grant" | "revokeGrant"> {
  const keyOf = ({ ca, type, id, role, scope }: GrantIdentity) =>
    JSON.stringify([ca, type, id, role, scope]);
  return {
    grant: async (grant) => {
      const present = grants.get(keyOf(grant));
      if (present === undefined) grants.set(keyOf(grant), grant);
      return present;
    },
    revokeGrant: async (identity) => {
      const gone = grants.get(keyOf(identity));
      grants.delete(keyOf(identity));
      return gone;
    },
  };
}
