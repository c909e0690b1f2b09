/** How API tokens, passkeys, and grants on single CAs, are remembered. */

import type { Account, Person } from "#core/access/person.ts";
import type { Reach } from "#core/access/principal.ts";
import type { GrantRole, Role } from "#core/access/roles.ts";
import type { CaId, TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { Page, PageKey } from "#domain/page.ts";

/** Where a token may be used. */
export const apiTokenScopes = ["tenant", "platform"] as const;
/** Who may have a grant. */
export const granteeTypes = ["user", "group"] as const;
/** How far down a grant on a CA goes. */
export const grantScopes = ["self", "subtree"] as const;

/** A token as stored: never its secret, only the lower hex SHA-256 of it. */
export interface ApiTokenRecord {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** The first characters of the secret, for people to tell tokens apart. */
  readonly prefix: string;
  readonly tokenHash: string;
  readonly roles: readonly Role[];
  readonly scope: (typeof apiTokenScopes)[number];
  readonly tenant: TenantId | undefined;
  readonly createdBy: string;
  readonly createdByName: string;
  /** The person behind the token, fixed when minted. */
  readonly person: Person;
  readonly createdAt: Instant;
  readonly expiresAt: Instant | undefined;
  readonly lastUsedAt: Instant | undefined;
  readonly lastUsedIp: string;
  readonly revokedAt: Instant | undefined;
  readonly revokedBy: string;
}

/** Who a grant is for: a subject or verified e-mail address, or a group of a directory. */
export interface Grantee {
  readonly type: (typeof granteeTypes)[number];
  readonly id: string;
}

/** A role on one CA and its rollover lineage, with `subtree` also on what stands below it. */
export interface GrantRecord extends Grantee {
  readonly grantId: string;
  readonly ca: CaId;
  readonly lineage: CaId;
  readonly tenant: TenantId;
  readonly role: GrantRole;
  readonly scope: (typeof grantScopes)[number];
  readonly createdBy: string;
  readonly createdAt: Instant;
}

/** What makes two grants the same one. */
export type GrantIdentity = Pick<GrantRecord, "ca" | "type" | "id" | "role" | "scope">;

/** A passkey of a person, to confirm with; it logs nobody in. */
export interface PasskeyRecord {
  /** The credential id its authenticator chose, in unpadded base64url. */
  readonly id: string;
  /** Whose it is: the account whose sessions it confirms. */
  readonly owner: Account;
  readonly name: string;
  /** A COSE_Key (RFC 9052 §7) as the authenticator wrote it. */
  readonly publicKey: Uint8Array;
  /** The last signature counter received; 0 where the authenticator counts nothing. */
  readonly signCount: number;
  readonly createdAt: Instant;
  readonly lastUsedAt: Instant | undefined;
}

/** One use of a passkey. */
export interface PasskeyUse extends Pick<PasskeyRecord, "id" | "owner" | "signCount"> {
  readonly at: Instant;
}

export interface AccessReads {
  /** The passkeys of a person, oldest first. */
  passkeysOf(owner: Account): Promise<readonly PasskeyRecord[]>;
  apiTokenByHash(hash: string): Promise<ApiTokenRecord | undefined>;
  apiTokenById(id: string): Promise<ApiTokenRecord | undefined>;
  /** Newest first. */
  tokens(
    reach: Reach,
    tenant: TenantId | undefined,
    limit: number,
    after?: PageKey,
  ): Promise<Page<ApiTokenRecord>>;
  activeApiTokens(now: Instant): Promise<number>;
  /** Grants made on any member of a lineage, oldest first. */
  grantsOn(lineage: CaId): Promise<readonly GrantRecord[]>;
  grantsTo(names: readonly Grantee[]): Promise<readonly GrantRecord[]>;
}

export interface AccessWrites {
  passkeysOf(owner: Account): Promise<readonly PasskeyRecord[]>;
  /** Gives false when a passkey of this id is known already, whoever has it. */
  insertPasskey(passkey: PasskeyRecord): Promise<boolean>;
  /**
   * Remembers a use with the counter that came with it. `counter`: it did not grow, and one of the
   * two is not zero (WebAuthn Level 3 §7.2 step 22); nothing is changed then. `gone`: this person
   * has no such passkey.
   */
  usePasskey(use: PasskeyUse): Promise<"used" | "counter" | "gone">;
  /** Gives the passkey that is gone; undefined when this person had none of this id. */
  removePasskey(id: string, owner: Account): Promise<PasskeyRecord | undefined>;
  /**
   * Removes every passkey of this subject, whoever vouches for it, and gives them, oldest first.
   */
  removePasskeysOf(subject: string): Promise<readonly PasskeyRecord[]>;
  insertApiToken(apiToken: ApiTokenRecord): Promise<void>;
  /** Gives false when it was revoked before. */
  revokeApiToken(id: string, at: Instant, by: string): Promise<boolean>;
  /** Revokes every token of a tenant that is not revoked yet, and gives them. */
  revokeApiTokensOf(tenant: TenantId, at: Instant, by: string): Promise<readonly ApiTokenRecord[]>;
  /** Stores the grant, or gives the one that is there already. */
  grant(grant: GrantRecord): Promise<GrantRecord | undefined>;
  /** Gives the grant that is gone; undefined when there was none. */
  revokeGrant(grant: GrantIdentity): Promise<GrantRecord | undefined>;
  touchApiToken(id: string, at: Instant, ip: string): Promise<void>;
}
