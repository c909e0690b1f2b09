/** WHO DECIDES: one rule for the decision itself and for lists of what one may decide. */

import { isSamePerson, mayBeSamePerson } from "#core/access/person.ts";
import { coversTenant } from "#core/access/principal.ts";
import { type Problem, refuse } from "#core/problems.ts";
import { expired, isDue } from "./four-eyes.ts";
import type { ApprovalRecord, Decider, Decision, ListedApproval } from "./store.ts";

/** True where the decider holds `approval:approve` in the tenant of the request. */
export const isInReach = (
  { tenant }: Pick<ApprovalRecord, "tenant">,
  { reach }: Decider,
): boolean => coversTenant(reach, tenant);

/**
 * Why this person may not decide on the request as it is now; undefined where nothing is against
 * it. In this order: `self_approval` for an approval by whoever may be the maker, `forbidden` for
 * whoever is neither maker nor operator of the class, `approval_expired`, `already_decided` for
 * whoever may have decided before, `approval_not_pending` for every other status.
 */
export function refusalOf(
  found: ListedApproval,
  { person, classes }: Decider,
  decision: Decision["decision"],
): Problem | undefined {
  const own = isSamePerson(found.maker.person, person);
  if (decision === "approve" && mayBeSamePerson(found.maker.person, person)) {
    return refuse("self_approval");
  }
  if (!own && !classes.includes(found.operationClass)) {
    return refuse("forbidden", { capability: "approval:approve" });
  }
  if (found.status === "expired") return expired(found);
  if (found.decisions.some((earlier) => mayBeSamePerson(earlier.person, person))) {
    return refuse("already_decided");
  }
  if (found.status === "pending") return undefined;
  return refuse("approval_not_pending", { status: found.status });
}

/**
 * True where an approval of the decider would be taken now. Whoever may approve may reject as well;
 * to withdraw one's own request is no decision on what somebody else has asked for.
 */
export const isDecidable = (found: ListedApproval, decider: Decider): boolean =>
  isInReach(found, decider) &&
  !isDue(found, decider.now) &&
  refusalOf(found, decider, "approve") === undefined;
