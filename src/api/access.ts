/** Who is calling, and API tokens, in JSON. */

import { roles } from "#core/access/roles.ts";
import type { TenantId } from "#core/ids.ts";
import {
  type Input,
  type JsonObject,
  flag,
  integer,
  list,
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
import { type Definition, type Parking, guarded, operation } from "#domain/access/operation.ts";
import { made } from "#domain/access/outcome.ts";
import { anyScope, noTarget, theTenantOrPlatform } from "#domain/access/targets.ts";
import { type ApiTokenRecord, apiTokenScopes } from "#domain/access/store.ts";
import type { ApiTokens, ApiTokenRequest } from "#domain/access/tokens.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { inDays, instantField, onlyOneOf } from "./fields.ts";
import { type LoginConfig, loginConfigShape } from "./logins.ts";
import { listOf, pageFields, pageOf, readableTenant } from "./pages.ts";
import { present, simpleChange, time, timeText } from "./shapes.ts";
import { userInfo, userShape } from "./user.ts";

export interface AccessHandlerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly apiTokens: ApiTokens;
  readonly loginConfig: LoginConfig;
}

/** Handlers for `auth.*` and `token.*`. */
export function accessHandlers(deps: AccessHandlerDeps) {
  return {
    "auth.config": operation({
      summary: "Which ways of logging in are switched on.",
      target: noTarget,
      output: loginConfigShape,
      run: async () => deps.loginConfig,
    }),
    "auth.me": operation({
      summary: "The principal behind this request.",
      target: noTarget,
      output: userShape,
      run: async (call) => userInfo(call.origin.principal),
    }),
    "token.list": apiTokenList(deps),
    "token.create": apiTokenCreate(deps),
    "token.revoke": operation({
      summary: "Revoke an API token at once.",
      target: noTarget,
      input: { id: text({ max: 64 }) },
      output: simpleChange("revoked", "already_revoked"),
      refuses: ["forbidden"],
      run: async (call) => {
        const changed = await deps.apiTokens.revoke(call.origin, call.input.id);
        return { status: changed ? ("revoked" as const) : ("already_revoked" as const) };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

function apiTokenList(deps: AccessHandlerDeps) {
  return operation({
    summary: "API tokens the caller may manage, newest first.",
    target: anyScope,
    input: { tenant: optional(text({ max: 64 })), ...pageFields },
    output: listOf(apiTokenShape),
    run: async (call) => {
      const tenant = await readableTenant(deps.store, call.input.tenant, call.reach);
      return await pageOf(
        "token.list",
        call,
        { tenant: tenant ?? "" },
        apiTokenJson,
        (limit, after) => deps.store.read.access.tokens(call.reach, tenant, limit, after),
      );
    },
  });
}

function apiTokenCreate(deps: AccessHandlerDeps) {
  return guarded({
    summary: "Mint an API token; its secret is answered once.",
    target: theTenantOrPlatform,
    input: apiTokenBody,
    output: mintedShape,
    refuses: ["conflicting_fields", "lifetime_exceeded", "secret_already_shown"],
    parks: (call, said) => parkedApiToken(deps, call, said),
    run: async (call) => {
      const { apiToken, secret } = await deps.apiTokens.create(
        call.origin,
        apiTokenRequest(deps, call),
      );
      return made({ ...apiTokenJson(apiToken), secret });
    },
  });
}

interface ApiTokenCall {
  readonly input: Input<typeof apiTokenBody>;
  readonly tenant: TenantId | undefined;
}

/** Undefined for a token that only reads. */
async function parkedApiToken(
  deps: AccessHandlerDeps,
  call: ApiTokenCall,
  said: JsonObject,
): Promise<Parking | undefined> {
  const { name, roles: wanted, scope } = call.input;
  if (scope !== "platform" && wanted.every((role) => role === "auditor")) return undefined;
  const where = call.tenant ?? "platform";
  return {
    resourceKey: `token:new:${where}:${name}`,
    resourceName: name,
    summary: `Mint the API token ${name} with ${wanted.join(", ")} (${where}).`,
    details: said,
    check: async () => await deps.apiTokens.admit(apiTokenRequest(deps, call)),
  };
}

/** Refuses `conflicting_fields`. */
function apiTokenRequest(
  { clock }: AccessHandlerDeps,
  { input, tenant: named }: ApiTokenCall,
): ApiTokenRequest {
  const { tenant_id, tenant, expires_at, expiry, expires_in_days } = input;
  const platform = input.scope === "platform";
  onlyOneOf({ tenant_id, tenant });
  onlyOneOf({ expires_at, expiry, expires_in_days });
  if (platform) onlyOneOf({ scope: "platform", tenant_id: tenant_id ?? tenant });
  return {
    name: input.name,
    description: input.description,
    scope: input.scope,
    roles: [...new Set(input.roles)],
    tenant: platform ? undefined : named,
    expiresAt: expires_at ?? expiry ?? inDays(clock.now(), expires_in_days),
  };
}

const apiTokenMembers = {
  id: words(),
  tenant_id: optional(words()),
  name: words(),
  description: optional(words()),
  prefix: words(),
  roles: many(oneOf(roles)),
  scope: oneOf(apiTokenScopes),
  created_by: words(),
  created_by_name: optional(words()),
  created_at: time,
  expires_at: optional(time),
  last_used_at: optional(time),
  last_used_ip: optional(words()),
  revoked: flag(),
  revoked_at: optional(time),
  revoked_by: optional(words()),
};
const apiTokenShape = shape(apiTokenMembers);
const mintedShape = shape({ ...apiTokenMembers, secret: words() });

function apiTokenJson(apiToken: ApiTokenRecord) {
  return present<ValueOf<typeof apiTokenShape>>({
    id: apiToken.id,
    tenant_id: apiToken.tenant,
    name: apiToken.name,
    description: apiToken.description || undefined,
    prefix: apiToken.prefix,
    roles: apiToken.roles,
    scope: apiToken.scope,
    created_by: apiToken.createdBy,
    created_by_name: apiToken.createdByName || undefined,
    created_at: timestamp(apiToken.createdAt),
    expires_at: timeText(apiToken.expiresAt),
    last_used_at: timeText(apiToken.lastUsedAt),
    last_used_ip: apiToken.lastUsedIp || undefined,
    revoked: apiToken.revokedAt !== undefined,
    revoked_at: timeText(apiToken.revokedAt),
    revoked_by: apiToken.revokedBy || undefined,
  });
}

const apiTokenBody = {
  name: text({ min: 1, max: 100 }),
  description: otherwise(text({ max: 500 }), ""),
  roles: list(oneOf(roles), 1, roles.length),
  scope: otherwise(oneOf(apiTokenScopes), "tenant"),
  tenant_id: optional(text({ max: 64 })),
  tenant: optional(text({ max: 64 })),
  expires_at: optional(instantField),
  expiry: optional(instantField),
  expires_in_days: optional(integer(1, 36_500)),
};
