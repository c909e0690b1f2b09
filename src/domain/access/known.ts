/** What the instance knows of a subject that is not asking itself. */

import { type Assignments, rolesOf } from "#core/access/assignments.ts";
import { ownPerson } from "#core/access/person.ts";
import type { Principal } from "#core/access/principal.ts";
import type { ApiTokens } from "./tokens.ts";

/**
 * Root, tokens in force and local callers have roles of their own, others what the configuration
 * assigns to their name or verified e-mail address. Groups and claims are known only while somebody
 * is logged in.
 */
export function knownPrincipals(
  apiTokens: ApiTokens,
  assignments: () => Assignments,
): (subject: string) => Promise<Principal> {
  return async (subject) => {
    const nobody: Principal = {
      subject,
      person: ownPerson(subject),
      isRoot: subject === "root",
      roles: [],
      tenantRoles: {},
      groups: [],
      mechanism: "bearer",
    };
    if (subject === "root") return nobody;
    if (subject.startsWith("local:")) return { ...nobody, roles: ["admin"] };
    if (subject.startsWith("token:")) {
      return (await apiTokens.principal(subject.slice("token:".length))) ?? nobody;
    }
    const address = subject.includes("@") ? { email: subject, emailVerified: true } : {};
    const identity = { subject, loginName: subject, groups: [], claims: {} };
    const known = { emailVerified: false, ...identity, ...address };
    return { ...nobody, ...address, ...rolesOf(known, assignments(), []) };
  };
}
