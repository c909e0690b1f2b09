/** Grants on single CAs in JSON (AUTH-7). */

import { isMember } from "#core/access/principal.ts";
import { capabilities, grantRoles, roles } from "#core/access/roles.ts";
import { refuse } from "#core/problems.ts";
import {
  flag,
  many,
  oneOf,
  optional,
  otherwise,
  shape,
  text,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { type Asking, type Definition, operation } from "#domain/access/operation.ts";
import { made } from "#domain/access/outcome.ts";
import { noTarget, resourceField, theResource } from "#domain/access/targets.ts";
import type { Granting, GrantRequest } from "#domain/access/granting.ts";
import { type EffectiveGrant, grantSources, resourceOf } from "#domain/access/grants.ts";
import { granteeTypes, grantScopes } from "#domain/access/store.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { listOf, onePage } from "./pages.ts";
import { simpleChange, time } from "./shapes.ts";

interface Deps {
  readonly store: Store;
  readonly granting: Granting;
}

/** Handlers for `grant.*`, `resource.grant` and `resource.revoke`. */
export function grantHandlers(deps: Deps) {
  const { granting } = deps;
  return {
    "grant.list": operation({
      summary: "Grants made on a CA and the rest of its lineage.",
      target: theResource,
      output: listOf(grantShape),
      run: async (call) => onePage((await granting.on(call.ca)).map(grantJson)),
    }),
    "resource.grant": operation({
      summary: "Give a user or group a role on one CA.",
      target: theResource,
      input: grantFields,
      output: grantShape,
      run: async (call) => {
        const ca = call.ca;
        const request = requestOf(call.input);
        const { grant, added } = await granting.grant(call.origin, call.rights, ca, request);
        return added ? made(grantJson(grant)) : grantJson(grant);
      },
    }),
    "resource.revoke": operation({
      summary: "Take a role on one CA back.",
      target: theResource,
      input: grantFields,
      output: simpleChange("deleted"),
      run: async (call) => {
        await granting.revoke(call.origin, call.ca, requestOf(call.input));
        return { status: "deleted" as const };
      },
    }),
    "grant.effective": effective(deps),
  } satisfies Partial<Record<OperationName, Definition>>;
}

function effective({ store, granting }: Deps) {
  return operation({
    summary: "What a subject may do on a CA, and why; the caller unless another is named.",
    target: noTarget,
    input: { resource: resourceField, subject: optional(text({ min: 1, max: 256 })) },
    output: effectiveShape,
    run: async (call) => {
      const { principal } = call.origin;
      const { subject = principal.subject } = call.input;
      const ca = await resourceOf(store.read.cas, call.input.resource);
      if (ca === undefined || !(await mayAsk(call, ca, subject))) throw refuse("not_found");
      const found = await granting.effective(principal, ca, subject);
      const { tenantRoles, isRoot, roles: platformRoles } = found.principal;
      return {
        resource: `ca/${ca.id}`,
        subject,
        tenant_id: ca.tenant,
        is_root: isRoot,
        platform_roles: platformRoles,
        tenant_roles: tenantRoles[ca.tenant] ?? [],
        resource_roles: [...new Set(found.grants.map(({ role }) => role))],
        capabilities: found.capabilities,
        grants: found.grants.map(grantJson),
      };
    },
  });
}

/**
 * Oneself, where one may know that the CA exists: as a member of its tenant or by a grant. Another
 * subject only with `grant:manage`; who may read the CA without it is told so.
 */
async function mayAsk(
  { origin, rights }: Pick<Asking, "origin" | "rights">,
  ca: CaRecord,
  subject: string,
): Promise<boolean> {
  const { principal } = origin;
  const visible = isMember(principal, ca.tenant) || (await rights.grantsOn(ca)).length > 0;
  if (!visible || subject === principal.subject) return visible;
  if (await rights.on(ca, "grant:manage")) return true;
  throw refuse("forbidden", { capability: "grant:manage" });
}

const grantShape = shape({
  id: words(),
  resource: words(),
  tenant_id: words(),
  entity_type: oneOf(granteeTypes),
  entity_id: words(),
  role: oneOf(grantRoles),
  scope: oneOf(grantScopes),
  source: oneOf(grantSources),
  created_by: words(),
  created_at: time,
});

const effectiveShape = shape({
  resource: words(),
  subject: words(),
  tenant_id: words(),
  is_root: flag(),
  platform_roles: many(oneOf(roles)),
  tenant_roles: many(oneOf(roles)),
  resource_roles: many(oneOf(grantRoles)),
  capabilities: many(oneOf(capabilities)),
  grants: many(grantShape),
});

/** A grant as answers show it. */
function grantJson(grant: EffectiveGrant): ValueOf<typeof grantShape> {
  return {
    id: grant.grantId,
    resource: `ca/${grant.ca}`,
    tenant_id: grant.tenant,
    entity_type: grant.type,
    entity_id: grant.id,
    role: grant.role,
    scope: grant.scope,
    source: grant.source,
    created_by: grant.createdBy,
    created_at: timestamp(grant.createdAt),
  };
}

const grantFields = {
  resource: resourceField,
  entity_type: oneOf(granteeTypes),
  entity_id: text({ min: 1, max: 256 }),
  role: oneOf(grantRoles),
  scope: otherwise(oneOf(grantScopes), "self"),
};

function requestOf(body: {
  readonly entity_type: GrantRequest["type"];
  readonly entity_id: string;
  readonly role: GrantRequest["role"];
  readonly scope: GrantRequest["scope"];
}): GrantRequest {
  return { type: body.entity_type, id: body.entity_id, role: body.role, scope: body.scope };
}
