/** How API tokens and tenants are remembered. */

import type { Role } from "#core/access/roles.ts";
import type { TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { Page, PageKey } from "#domain/authorities/store.ts";

/** A token as stored: never its secret, only the lower hex SHA-256 of it. */
export interface ApiTokenRecord {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** The first characters of the secret, for people to tell tokens apart. */
  readonly prefix: string;
  readonly tokenHash: string;
  readonly roles: readonly Role[];
  readonly scope: "tenant" | "platform";
  readonly tenant: TenantId | undefined;
  readonly createdBy: string;
  readonly createdByName: string;
  /** The person behind the token, fixed when minted. */
  readonly person: string;
  readonly createdAt: Instant;
  readonly expiresAt: Instant | undefined;
  readonly lastUsedAt: Instant | undefined;
  readonly lastUsedIp: string;
  readonly revokedAt: Instant | undefined;
  readonly revokedBy: string;
}

export interface TenantRecord {
  readonly id: TenantId;
  readonly slug: string;
  readonly name: string;
  readonly status: "active" | "suspended";
  readonly createdAt: Instant;
}

export interface AccessReads {
  tokenByHash(hash: string): Promise<ApiTokenRecord | undefined>;
  tokenById(id: string): Promise<ApiTokenRecord | undefined>;
  /** Newest first. */
  tokens(
    tenants: "platform" | readonly TenantId[],
    tenant: TenantId | undefined,
    limit: number,
    after?: PageKey,
  ): Promise<Page<ApiTokenRecord>>;
  activeTokens(now: Instant): Promise<number>;
  /** By id or slug. */
  tenant(reference: string): Promise<TenantRecord | undefined>;
}

export interface AccessWrites {
  insertToken(token: ApiTokenRecord): Promise<void>;
  /** Gives false when it was revoked before. */
  revokeToken(id: string, at: Instant, by: string): Promise<boolean>;
  touchToken(id: string, at: Instant, ip: string): Promise<void>;
  /** Does nothing when the id exists. */
  ensureTenant(tenant: TenantRecord): Promise<void>;
}
