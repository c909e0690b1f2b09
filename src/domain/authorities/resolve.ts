/** From a reference to a CA to the member of its lineage that signs now. */

import { refuse } from "#core/problems.ts";
import type { CaReads, CaRecord } from "./store.ts";

/**
 * Superseded ids are accepted and resolve to the active successor, which the answer names in `ca_id` (behaviour.md §5.1).
 * Refuses `ca_not_active` for pending and retired CAs.
 */
export async function activeMember(cas: CaReads, ca: CaRecord): Promise<CaRecord> {
  if (ca.status === "active") return ca;
  if (ca.status !== "superseded") throw refuse("ca_not_active", { status: ca.status });
  const members = await cas.lineage(ca.lineage);
  const active = members.findLast((member) => member.status === "active");
  if (active === undefined) throw refuse("ca_not_active", { status: ca.status });
  return active;
}
