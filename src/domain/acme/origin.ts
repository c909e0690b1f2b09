/** Who an account is to the rest of pkid: whom events and certificates name. */

import { ownPerson } from "#core/access/person.ts";
import type { Principal } from "#core/access/principal.ts";
import type { Origin } from "#domain/actor.ts";

/** Where a request came from, before anybody knows whose it is. */
export type Whence = Pick<Origin, "ip" | "requestId">;

/** What an account does, or whoever proved to hold the key of a certificate. */
export function acmeOrigin(subject: `acme:${string}`, { ip, requestId }: Whence): Origin {
  const principal: Principal = {
    subject,
    person: ownPerson(subject),
    isRoot: false,
    roles: [],
    tenantRoles: {},
    groups: [],
    mechanism: "protocol",
  };
  return { principal, ip, requestId };
}
