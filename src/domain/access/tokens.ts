/** API tokens: minted once, stored as a digest, verified on every request, revoked for good. */

import { effectiveRoles, hasIn, type Principal } from "#core/access/principal.ts";
import type { Role } from "#core/access/roles.ts";
import { tokenPrefix } from "#core/access/token-secret.ts";
import { sha256Hex } from "#core/crypto.ts";
import type { TenantId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { addSeconds, type Instant, secondsPerDay, timestamp } from "#core/time.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { Origin } from "./call.ts";
import type { ApiTokenRecord } from "./store.ts";

/** What came of verifying a presented token; callers see one refusal for all but success. */
export type TokenVerdict = "success" | "expired" | "revoked" | "unknown";

export interface TokenDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** 0: no cap. */
  readonly maxLifetimeDays: number;
  readonly onVerified: (verdict: TokenVerdict) => void;
}

export interface TokenRequest {
  readonly name: string;
  readonly description: string;
  readonly roles: readonly Role[];
  readonly scope: "tenant" | "platform";
  /** Undefined for platform scope. */
  readonly tenant: TenantId | undefined;
  readonly expiresAt: Instant | undefined;
}

/** Everything that can happen to an API token. */
export class ApiTokens {
  constructor(private readonly deps: TokenDeps) {}

  /**
   * Mints a token; the secret (256 random bits, base64url) is in the answer and nowhere else.
   * Refuses `lifetime_exceeded` above the cap, which an omitted expiry becomes.
   */
  async create(
    origin: Origin,
    request: TokenRequest,
  ): Promise<{ readonly token: ApiTokenRecord; readonly secret: string }> {
    const { store, clock, random } = this.deps;
    const now = clock.now();
    const secret = `${tokenPrefix}${random.bytes(32).toBase64({ alphabet: "base64url", omitPadding: true })}`;
    const { principal } = origin;
    const token: ApiTokenRecord = {
      id: random.uuid(),
      name: request.name,
      description: request.description,
      prefix: secret.slice(0, tokenPrefix.length + 6),
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
      const orphan = token.tenant !== undefined && !(await tx.tenants.state(token.tenant));
      if (orphan) throw refuse("not_found");
      await keep?.(tx);
      await tx.access.insertToken(token);
      await tx.audit.appendEvent(tokenEvent("token.create", origin, token), now);
    });
    return { token, secret };
  }

  /** Revokes at once, everywhere; gives false when it was revoked before, which records nothing. */
  async revoke(origin: Origin, id: string): Promise<boolean> {
    const { store, clock } = this.deps;
    const token = await this.manageable(origin, id);
    const now = clock.now();
    return store.atomically(async (tx) => {
      const changed = await tx.access.revokeToken(token.id, now, origin.principal.subject);
      if (changed) await tx.audit.appendEvent(tokenEvent("token.revoke", origin, token), now);
      return changed;
    });
  }

  /** The principal a token stands for while it is in force. */
  async principal(id: string): Promise<Principal | undefined> {
    const token = await this.deps.store.read.access.tokenById(id);
    const verdict = verdictOn(token, this.deps.clock.now());
    return token !== undefined && verdict === "success" ? principalOf(token) : undefined;
  }

  /**
   * The principal a presented secret stands for. Refuses every failure with one and the same
   * `invalid_token`, after the same work: whatever was presented is hashed and looked up, so that
   * no answer comes sooner than another.
   */
  async verify(secret: string, ip: string): Promise<Principal> {
    const { store, clock } = this.deps;
    const token = await store.read.access.tokenByHash(hashOf(secret));
    const verdict = verdictOn(token, clock.now());
    this.deps.onVerified(verdict);
    if (token === undefined || verdict !== "success") throw refuse("invalid_token");
    await this.touch(token, ip);
    return principalOf(token);
  }

  /** A caller may manage tokens of tenants where it holds `token:manage`, and end itself. */
  private async manageable(origin: Origin, id: string): Promise<ApiTokenRecord> {
    const token = await this.deps.store.read.access.tokenById(id);
    const { principal } = origin;
    if (principal.subject === `token:${id}` && token !== undefined) return token;
    if (token !== undefined && hasIn(principal, "token:manage", token.tenant)) return token;
    if (token === undefined && hasIn(principal, "token:manage", undefined)) {
      throw refuse("not_found");
    }
    throw refuse("forbidden", { capability: "token:manage" });
  }

  private expiry(request: TokenRequest, now: Instant): Instant | undefined {
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
  private async touch(token: ApiTokenRecord, ip: string): Promise<void> {
    const now = this.deps.clock.now();
    if (token.lastUsedAt !== undefined && now - token.lastUsedAt < 60_000) return;
    await this.deps.store.atomically((tx) => tx.access.touchToken(token.id, now, ip));
  }
}

function verdictOn(token: ApiTokenRecord | undefined, now: Instant): TokenVerdict {
  if (token === undefined) return "unknown";
  if (token.revokedAt !== undefined) return "revoked";
  return token.expiresAt !== undefined && token.expiresAt <= now ? "expired" : "success";
}

function principalOf(token: ApiTokenRecord): Principal {
  const platform = token.scope === "platform";
  return {
    subject: `token:${token.id}`,
    person: token.person,
    name: token.name,
    isRoot: false,
    roles: platform ? token.roles : [],
    tenantRoles: platform || token.tenant === undefined ? {} : { [token.tenant]: token.roles },
    groups: [],
    mechanism: "token",
  };
}

/** The event of minting or ending a token; never its secret. */
export function tokenEvent(
  action: "token.create" | "token.revoke",
  origin: Origin,
  token: ApiTokenRecord,
) {
  const { principal } = origin;
  return {
    action,
    result: "success" as const,
    actor: principal.subject,
    actorName: principal.name,
    actorRoles: effectiveRoles(principal, token.tenant),
    tenant: token.tenant,
    target: token.id,
    targetName: token.name,
    ip: origin.ip,
    requestId: origin.requestId,
    approval: origin.approval?.id,
    detail: {
      scope: token.scope,
      roles: token.roles.join(","),
      tenant: token.tenant,
      expires_at: token.expiresAt === undefined ? undefined : timestamp(token.expiresAt),
    },
  };
}

const hashOf = (secret: string) => sha256Hex(new TextEncoder().encode(secret));
