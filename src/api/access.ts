/** Who is calling, and API tokens, in JSON. */

import { roles } from "#core/access/roles.ts";
import type { TenantId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import {
  type Fields,
  integer,
  list,
  oneOf,
  optional,
  otherwise,
  parsed,
  text,
  WrongValue,
} from "#core/shape.ts";
import { addSeconds, type Instant, parseTimestamp, secondsPerDay, timestamp } from "#core/time.ts";
import { type Authorized, created, type Handler, handler, ok } from "#domain/access/call.ts";
import type { ApiTokenRecord } from "#domain/access/store.ts";
import type { ApiTokens, ApiTokenRequest } from "#domain/access/tokens.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import type { LoginConfig } from "./logins.ts";
import { pageFields, pageOf, readableTenant } from "./pages.ts";
import { userInfo } from "./user.ts";

export interface AccessHandlerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly apiTokens: ApiTokens;
  readonly loginConfig: LoginConfig;
}

/** Handlers for `auth.*` and `token.*`. */
export function accessHandlers(deps: AccessHandlerDeps) {
  return {
    "auth.config": handler({
      summary: "Which ways of logging in are switched on.",
      run: async () => ok(deps.loginConfig),
    }),
    "auth.me": handler({
      summary: "The principal behind this request.",
      run: async (call) => ok(userInfo(call.origin.principal)),
    }),
    "token.list": apiTokenList(deps),
    "token.create": apiTokenCreate(deps),
    "token.revoke": handler({
      summary: "Revoke an API token at once.",
      path: { id: text({ max: 64 }) },
      run: async (call) => {
        const changed = await deps.apiTokens.revoke(call.origin, call.path.id);
        return ok({ status: changed ? "revoked" : "already_revoked" });
      },
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}

function apiTokenList(deps: AccessHandlerDeps): Handler {
  return handler({
    summary: "API tokens the caller may manage, newest first.",
    query: { tenant: optional(text({ max: 64 })), ...pageFields },
    run: async (call) => {
      const tenant = await readableTenant(deps.store, call.query.tenant, call.reach);
      return ok(
        await pageOf("token.list", call, { tenant: tenant ?? "" }, apiTokenJson, (limit, after) =>
          deps.store.read.access.tokens(call.reach, tenant, limit, after),
        ),
      );
    },
  });
}

function apiTokenCreate(deps: AccessHandlerDeps): Handler {
  return handler({
    summary: "Mint an API token; its secret is answered once.",
    body: apiTokenBody,
    admit: (call) => deps.apiTokens.admit(apiTokenRequest(deps, call)),
    run: async (call) => {
      const { apiToken, secret } = await deps.apiTokens.create(
        call.origin,
        apiTokenRequest(deps, call),
      );
      return created({ ...apiTokenJson(apiToken), secret });
    },
  });
}

/** Refuses `conflicting_fields`. */
function apiTokenRequest(
  { clock }: AccessHandlerDeps,
  { body, tenant: named }: Pick<Authorized<Fields, Fields, typeof apiTokenBody>, "body" | "tenant">,
): ApiTokenRequest {
  const { tenant_id, tenant, expires_at, expiry, expires_in_days } = body;
  const platform = body.scope === "platform";
  exclusive({ tenant_id, tenant });
  exclusive({ expires_at, expiry, expires_in_days });
  if (platform) exclusive({ scope: "platform", tenant_id: tenant_id ?? tenant });
  return {
    name: body.name,
    description: body.description,
    scope: body.scope,
    roles: [...new Set(body.roles)],
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

function instantField() {
  return parsed<Instant>({ type: "string", format: "date-time" }, (value) => {
    const at = parseTimestamp(value);
    if (at === undefined) throw new WrongValue("must be an RFC 3339 time");
    return at;
  });
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
  expires_at: optional(instantField()),
  expiry: optional(instantField()),
  expires_in_days: optional(integer(1, 36_500)),
};
