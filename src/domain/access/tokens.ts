/** API tokens: minted once, stored as a digest, verified on every request, revoked for good. */

import { effectiveRoles, hasIn, type Principal } from "#core/access/principal.ts";
import type { Role } from "#core/access/roles.ts";
import { apiTokenPrefix } from "#core/access/token-secret.ts";
import { sha256Hex } from "#core/crypto.ts";
import type { TenantId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { addSeconds, type Instant, secondsPerDay, timestamp } from "#core/time.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { Origin } from "#domain/actor.ts";
import type { ApiTokenRecord } from "./store.ts";

/** What came of verifying a presented token; callers see one refusal for all but success. */
export type ApiTokenVerdict = "success" | "expired" | "revoked" | "unknown";

export interface ApiTokenDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** 0: no cap. */
  readonly maxLifetimeDays: number;
  readonly onVerified: (verdict: ApiTokenVerdict) => void;
}

export interface ApiTokenRequest {
  readonly name: string;
  readonly description: string;
  readonly roles: readonly Role[];
  readonly scope: ApiTokenRecord["scope"];
  /** Undefined for platform scope. */
  readonly tenant: TenantId | undefined;
  readonly expiresAt: Instant | undefined;
}

/** Everything that can happen to an API token. */
export class ApiTokens {
  constructor(private readonly deps: ApiTokenDeps) {}

  /** Refuses what `create` would refuse of the request itself. */
  admit(request: ApiTokenRequest): void {
    this.expiry(request, this.deps.clock.now());
  }

  /**
   * Mints a token; the secret (256 random bits, base64url) is in the answer and nowhere else.
   * Refuses `lifetime_exceeded` above the cap, which an omitted expiry becomes.
   */
  async create(
    origin: Origin,
    request: ApiTokenRequest,
  ): Promise<{ readonly apiToken: ApiTokenRecord; readonly secret: string }> {
    const { store, clock, random } = this.deps;
    const now = clock.now();
    const secret = `${apiTokenPrefix}${random.bytes(32).toBase64({ alphabet: "base64url", omitPadding: true })}`;
    const { principal } = origin;
    const apiToken: ApiTokenRecord = {
      id: random.uuid(),
      name: request.name,
      description: request.description,
      prefix: secret.slice(0, apiTokenPrefix.length + 6),
      tokenHash: hashOf(secret),
      roles: request.roles,
      scope: request.scope,
      tenant: request.tenant,
      createdBy: principal.subject,
      createdByName: principal.name ?? "",
      person: principal.person,
      createdAt: now,
      expiresAt: this.expiry(request, now),
      lastUsedAt: undefined,
      lastUsedIp: "",
      revokedAt: undefined,
      revokedBy: "",
    };
    const keep = await origin.approval?.keepSecret(secret);
    await store.atomically(async (tx) => {
      // A tenant deleted meanwhile has ended its tokens; none may come after them.
      const orphan = apiToken.tenant !== undefined && !(await tx.tenants.state(apiToken.tenant));
      if (orphan) throw refuse("not_found");
      await keep?.(tx);
      await tx.access.insertApiToken(apiToken);
      await tx.audit.appendEvent(apiTokenEvent("token.create", origin, apiToken), now);
    });
    return { apiToken, secret };
  }

  /** Revokes at once, everywhere; gives false when it was revoked before, which records nothing. */
  async revoke(origin: Origin, id: string): Promise<boolean> {
    const { store, clock } = this.deps;
    const apiToken = await this.manageable(origin, id);
    const now = clock.now();
    return store.atomically(async (tx) => {
      const changed = await tx.access.revokeApiToken(apiToken.id, now, origin.principal.subject);
      if (changed) await tx.audit.appendEvent(apiTokenEvent("token.revoke", origin, apiToken), now);
      return changed;
    });
  }

  /** The principal a token stands for while it is in force. */
  async principal(id: string): Promise<Principal | undefined> {
    const apiToken = await this.deps.store.read.access.apiTokenById(id);
    const verdict = verdictOn(apiToken, this.deps.clock.now());
    return apiToken !== undefined && verdict === "success" ? principalOf(apiToken) : undefined;
  }

  /**
   * The principal a presented secret stands for. Refuses every failure with one and the same
   * `invalid_token`, after the same work: whatever was presented is hashed and looked up, so that
   * no answer comes sooner than another.
   */
  async verify(secret: string, ip: string): Promise<Principal> {
    const { store, clock } = this.deps;
    const apiToken = await store.read.access.apiTokenByHash(hashOf(secret));
    const verdict = verdictOn(apiToken, clock.now());
    this.deps.onVerified(verdict);
    if (apiToken === undefined || verdict !== "success") throw refuse("invalid_token");
    await this.touch(apiToken, ip);
    return principalOf(apiToken);
  }

  /** A caller may manage tokens of tenants where it holds `token:manage`, and end itself. */
  private async manageable(origin: Origin, id: string): Promise<ApiTokenRecord> {
    const apiToken = await this.deps.store.read.access.apiTokenById(id);
    const { principal } = origin;
    if (principal.subject === `token:${id}` && apiToken !== undefined) return apiToken;
    if (apiToken !== undefined && hasIn(principal, "token:manage", apiToken.tenant))
      return apiToken;
    if (apiToken === undefined && hasIn(principal, "token:manage", undefined)) {
      throw refuse("not_found");
    }
    throw refuse("forbidden", { capability: "token:manage" });
  }

  private expiry(request: ApiTokenRequest, now: Instant): Instant | undefined {
    const { maxLifetimeDays } = this.deps;
    if (request.expiresAt !== undefined && request.expiresAt <= now) {
      throw refuse("invalid_field", { field: "expires_at", reason: "must lie in the future" });
    }
    if (maxLifetimeDays === 0) return request.expiresAt;
    const cap = addSeconds(now, maxLifetimeDays * secondsPerDay);
    if (request.expiresAt !== undefined && request.expiresAt > cap) {
      throw refuse("lifetime_exceeded", { max_lifetime_days: maxLifetimeDays });
    }
    return request.expiresAt ?? cap;
  }

  /**
   * Remembers the last use at most once a minute, so that a busy token does not write on every
   * request.
   */
  private async touch(apiToken: ApiTokenRecord, ip: string): Promise<void> {
    const now = this.deps.clock.now();
    if (apiToken.lastUsedAt !== undefined && now - apiToken.lastUsedAt < 60_000) return;
    if (this.deps.store.rollback() !== undefined) return;
    await this.deps.store.atomically((tx) => tx.access.touchApiToken(apiToken.id, now, ip));
  }
}

function verdictOn(apiToken: ApiTokenRecord | undefined, now: Instant): ApiTokenVerdict {
  if (apiToken === undefined) return "unknown";
  if (apiToken.revokedAt !== undefined) return "revoked";
  return apiToken.expiresAt !== undefined && apiToken.expiresAt <= now ? "expired" : "success";
}

function principalOf(apiToken: ApiTokenRecord): Principal {
  const platform = apiToken.scope === "platform";
  return {
    subject: `token:${apiToken.id}`,
    person: apiToken.person,
    name: apiToken.name,
    isRoot: false,
    roles: platform ? apiToken.roles : [],
    tenantRoles:
      platform || apiToken.tenant === undefined ? {} : { [apiToken.tenant]: apiToken.roles },
    groups: [],
    mechanism: "token",
  };
}

/** The event of minting or ending a token; never its secret. */
export function apiTokenEvent(
  action: "token.create" | "token.revoke",
  origin: Origin,
  apiToken: ApiTokenRecord,
) {
  const { principal } = origin;
  return {
    action,
    result: "success" as const,
    actor: principal.subject,
    actorName: principal.name,
    actorRoles: effectiveRoles(principal, apiToken.tenant),
    tenant: apiToken.tenant,
    target: apiToken.id,
    targetName: apiToken.name,
    ip: origin.ip,
    requestId: origin.requestId,
    approval: origin.approval?.id,
    detail: {
      scope: apiToken.scope,
      roles: apiToken.roles.join(","),
      tenant: apiToken.tenant,
      expires_at: apiToken.expiresAt === undefined ? undefined : timestamp(apiToken.expiresAt),
    },
  };
}

const hashOf = (secret: string) => sha256Hex(new TextEncoder().encode(secret));
