/** Who is calling, and API tokens, in JSON. */

import { roles } from "#core/access/roles.ts";
import type { TenantId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import {
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
import { created, type Handler, handler, ok } from "#domain/access/call.ts";
import type { ApiTokenRecord } from "#domain/access/store.ts";
import type { ApiTokens } from "#domain/access/tokens.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { OperationName } from "#operations";
import type { LoginConfig } from "./logins.ts";
import { pageFields, pageOf, readableTenant } from "./pages.ts";
import { userInfo } from "./user.ts";

export interface AccessHandlerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly tokens: ApiTokens;
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
    "token.list": tokenList(deps),
    "token.create": tokenCreate(deps),
    "token.revoke": handler({
      summary: "Revoke an API token at once.",
      path: { id: text({ max: 64 }) },
      run: async (call) => {
        const changed = await deps.tokens.revoke(call.origin, call.path.id);
        return ok({ status: changed ? "revoked" : "already_revoked" });
      },
    }),
  } satisfies Partial<Record<OperationName, Handler>>;
}

function tokenList(deps: AccessHandlerDeps): Handler {
  return handler({
    summary: "API tokens the caller may manage, newest first.",
    query: { tenant: optional(text({ max: 64 })), ...pageFields },
    run: async (call) => {
      const tenant = await readableTenant(deps.store, call.query.tenant, call.reach);
      return ok(
        await pageOf("token.list", call, { tenant: tenant ?? "" }, tokenJson, (limit, after) =>
          deps.store.read.access.tokens(call.reach, tenant, limit, after),
        ),
      );
    },
  });
}

function tokenCreate(deps: AccessHandlerDeps): Handler {
  return handler({
    summary: "Mint an API token; its secret is answered once.",
    body: tokenBody,
    run: async (call) => {
      const { body } = call;
      const { tenant_id, tenant, expires_at, expiry, expires_in_days } = body;
      const platform = body.scope === "platform";
      exclusive({ tenant_id, tenant });
      exclusive({ expires_at, expiry, expires_in_days });
      if (platform) exclusive({ scope: "platform", tenant_id: tenant_id ?? tenant });
      const { token, secret } = await deps.tokens.create(call.origin, {
        name: body.name,
        description: body.description,
        scope: body.scope,
        roles: [...new Set(body.roles)],
        tenant: platform ? undefined : call.tenant,
        expiresAt: expires_at ?? expiry ?? inDays(deps.clock, expires_in_days),
      });
      return created({ ...tokenJson(token), secret });
    },
  });
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

function tokenJson(token: ApiTokenRecord) {
  return {
    id: token.id,
    ...present("tenant_id", token.tenant),
    name: token.name,
    ...present("description", token.description || undefined),
    prefix: token.prefix,
    roles: token.roles,
    scope: token.scope,
    created_by: token.createdBy,
    ...present("created_by_name", token.createdByName || undefined),
    created_at: timestamp(token.createdAt),
    ...present("expires_at", timeText(token.expiresAt)),
    ...present("last_used_at", timeText(token.lastUsedAt)),
    ...present("last_used_ip", token.lastUsedIp || undefined),
    revoked: token.revokedAt !== undefined,
    ...present("revoked_at", timeText(token.revokedAt)),
    ...present("revoked_by", token.revokedBy || undefined),
  };
}

const timeText = (at: Instant | undefined) => (at === undefined ? undefined : timestamp(at));

/** A member that is left out when it has no value: answers never carry null. */
const present = (name: string, value: string | TenantId | undefined) =>
  value === undefined ? {} : { [name]: value };

const tokenBody = {
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
