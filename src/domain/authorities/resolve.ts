/**
 * From a reference to a CA to the member of its lineage that signs now, also when it changes under
 * the caller.
 */

import { Problem, refuse } from "#core/problems.ts";
import type { CaReads, CaRecord } from "./store.ts";

/**
 * Superseded and retired ids are accepted and resolve to the active member of the lineage, which
 * the answer names in `ca_id`: a client configured years ago keeps working (ISS-1). Refuses
 * `ca_not_active` for pending CAs, and where no member is active.
 */
export async function activeMember(cas: CaReads, ca: CaRecord): Promise<CaRecord> {
  if (ca.status === "active") return ca;
  if (ca.status === "pending") throw refuse("ca_not_active", { status: ca.status });
  const members = await cas.lineage(ca.lineage);
  const active = members.findLast((member) => member.status === "active");
  if (active === undefined) throw refuse("ca_not_active", { status: ca.status });
  return active;
}

/**
 * Does a piece of issuance. When a rotation is committed between its look at the CA and its intent,
 * the intending unit refuses before the key is used, and the work is done once more with the CA as
 * it is then.
 */
export async function acrossRollover<T>(
  cas: CaReads,
  ca: CaRecord,
  work: (ca: CaRecord) => Promise<T>,
): Promise<T> {
  let named = ca;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(named);
    } catch (error) {
      if (!replacedMeanwhile(error) || attempt === attemptsMax) throw error;
      named = (await cas.byId(ca.id)) ?? ca;
    }
  }
}

/** A member that is superseded, or by now retired too, has a successor that may be active. */
const replacedMeanwhile = (error: unknown): boolean =>
  error instanceof Problem &&
  error.code === "ca_not_active" &&
  (error.facts.status === "superseded" || error.facts.status === "retired");

/** Rotations of one CA that one piece of work may meet; each takes a ceremony of its own. */
const attemptsMax = 10;
