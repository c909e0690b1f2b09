/** What the instance knows of a subject that is not asking itself. */

import type { Principal } from "#core/access/principal.ts";
import type { ApiTokens } from "./tokens.ts";

/** Root, tokens in force and local callers have roles of their own; of anybody else only the name is known here. */
export function knownPrincipals(tokens: ApiTokens): (subject: string) => Promise<Principal> {
  return async (subject) => {
    const bare: Principal = {
      ...{ subject, person: subject, isRoot: subject === "root", roles: [], tenantRoles: {} },
      ...{ groups: [], mechanism: "bearer" },
    };
    if (subject.startsWith("local:")) return { ...bare, roles: ["admin"] };
    if (!subject.startsWith("token:")) return bare;
    return (await tokens.principal(subject.slice("token:".length))) ?? bare;
  };
}
