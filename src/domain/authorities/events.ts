/** What every event about a CA tells. */

import { effectiveRoles } from "#core/access/principal.ts";
import type { Serial } from "#core/ids.ts";
import type { Origin } from "#domain/actor.ts";
import type { CaSigner } from "./signers.ts";

/** The members every event about a CA has; the serial once there is one. */
export function aboutCa(origin: Origin, ca: CaSigner["ca"], serial?: Serial) {
  const { principal } = origin;
  return {
    actor: principal.subject,
    actorName: principal.name,
    actorRoles: effectiveRoles(principal, ca.tenant),
    tenant: ca.tenant,
    caId: ca.id,
    serial,
    target: ca.id,
    ip: origin.ip,
    requestId: origin.requestId,
    approval: origin.approval?.id,
  };
}
