/** Who is calling, and API tokens, in JSON. */

import { roles } from "#core/access/roles.ts";
import type { TenantId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import {
  type Input,
  type JsonObject,
  integer,
  list,
  oneOf,
  optional,
  otherwise,
  text,
} from "#core/shape.ts";
import { addSeconds, type Instant, secondsPerDay, timestamp } from "#core/time.ts";
import {
  type Definition,
  type Parking,
  guarded,
  operation,
  unshaped,
} from "#domain/access/operation.ts";
import { made } from "#domain/access/outcome.ts";
import { anyScope, noTarget, theTenantOrPlatform } from "#domain/access/targets.ts";
import type { ApiTokenRecord } from "#domain/access/store.ts";
import type { ApiTokens, ApiTokenRequest } from "#domain/access/tokens.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import { instantField } from "./fields.ts";
import { type LoginConfig, loginConfigShape } from "./logins.ts";
import { pageFields, pageOf, readableTenant } from "./pages.ts";
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
      output: unshaped,
      run: async (call) => {
        const changed = await deps.apiTokens.revoke(call.origin, call.input.id);
        return { status: changed ? "revoked" : "already_revoked" };
      },
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

function apiTokenList(deps: AccessHandlerDeps) {
  return operation({
    summary: "API tokens the caller may manage, newest first.",
    target: anyScope,
    input: { tenant: optional(text({ max: 64 })), ...pageFields },
    output: unshaped,
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
    output: unshaped,
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
  exclusive({ tenant_id, tenant });
  exclusive({ expires_at, expiry, expires_in_days });
  if (platform) exclusive({ scope: "platform", tenant_id: tenant_id ?? tenant });
  return {
    name: input.name,
    description: input.description,
    scope: input.scope,
    roles: [...new Set(input.roles)],
    tenant: platform ? undefined : named,
    expiresAt: expires_at ?? expiry ?? inDays(clock, expires_in_days),
  };
}

/** Refuses `conflicting_fields` when more than one of the members is given. */
function exclusive(members: Readonly<Record<string, unknown>>): void {
  const fields = Object.keys(members).filter((name) => members[name] !== undefined);
  if (fields.length > 1) throw refuse("conflicting_fields", { fields });
}

function inDays(clock: Clock, days: number | undefined): Instant | undefined {
  return days === undefined ? undefined : addSeconds(clock.now(), days * secondsPerDay);
}

function apiTokenJson(apiToken: ApiTokenRecord) {
  return {
    id: apiToken.id,
    ...present("tenant_id", apiToken.tenant),
    name: apiToken.name,
    ...present("description", apiToken.description || undefined),
    prefix: apiToken.prefix,
    roles: apiToken.roles,
    scope: apiToken.scope,
    created_by: apiToken.createdBy,
    ...present("created_by_name", apiToken.createdByName || undefined),
    created_at: timestamp(apiToken.createdAt),
    ...present("expires_at", timeText(apiToken.expiresAt)),
    ...present("last_used_at", timeText(apiToken.lastUsedAt)),
    ...present("last_used_ip", apiToken.lastUsedIp || undefined),
    revoked: apiToken.revokedAt !== undefined,
    ...present("revoked_at", timeText(apiToken.revokedAt)),
    ...present("revoked_by", apiToken.revokedBy || undefined),
  };
}

const timeText = (at: Instant | undefined) => (at === undefined ? undefined : timestamp(at));

/** A member that is left out when it has no value: answers never carry null. */
const present = (name: string, value: string | TenantId | undefined) =>
  value === undefined ? {} : { [name]: value };

const apiTokenBody = {
  name: text({ min: 1, max: 100 }),
  description: otherwise(text({ max: 500 }), ""),
  roles: list(oneOf(roles), 1, roles.length),
  scope: otherwise(oneOf(["tenant", "platform"]), "tenant"),
  tenant_id: optional(text({ max: 64 })),
  tenant: optional(text({ max: 64 })),
  expires_at: optional(instantField),
  expiry: optional(instantField),
  expires_in_days: optional(integer(1, 36_500)),
};
