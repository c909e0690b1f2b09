/** How ACME's accounts, orders and proofs are remembered. */

import type { Reach } from "#core/access/principal.ts";
import type { CaId, Serial, TenantId } from "#core/ids.ts";
import type { Identifier } from "#core/acme/identifiers.ts";
import type { ChallengeType } from "#core/acme/challenges.ts";
import type { StoredProblem } from "#core/acme/problems.ts";
import type { Instant } from "#core/time.ts";
import type { Page, PageKey } from "#domain/page.ts";

export const accountStates = ["valid", "deactivated", "revoked"] as const;

/** An account: a key that may ask one directory for certificates. */
export interface AccountRecord {
  readonly id: string;
  /** Name of its directory in the configuration; the one of `acme` itself is `default`. */
  readonly directory: string;
  readonly tenant: TenantId;
  readonly status: (typeof accountStates)[number];
  /** RFC 7638: base64url SHA-256 of the key; one account of a directory has it. */
  readonly thumbprint: string;
  /** Canonical public JWK. */
  readonly jwk: string;
  /** Lower hex SHA-256 of the SubjectPublicKeyInfo. */
  readonly spkiSha256: string;
  readonly contacts: readonly string[];
  readonly termsAgreedAt: Instant | undefined;
  /** The credential it was bound with, whose limits are its own for life (EAB-3). */
  readonly eabId: string | undefined;
  readonly createdAt: Instant;
  /**
   * Since when nothing that it does lasts: since its last order while it never had a certificate,
   * or since it ended. Undefined for one that is kept: it had one, or was bound with a credential.
   */
  readonly idleSince: Instant | undefined;
}

/** A credential of external account binding; its key is sealed at its place. */
export interface EabRecord {
  /** `eab_…`, the kid of bindings. */
  readonly id: string;
  readonly directory: string;
  readonly caId: CaId;
  readonly tenant: TenantId;
  readonly name: string;
  readonly description: string;
  /** Undefined: that of the directory. */
  readonly profile: string | undefined;
  readonly dnsSuffixes: readonly string[];
  /** CIDR. */
  readonly ipRanges: readonly string[];
  readonly allowWildcards: boolean;
  readonly anyIdentifier: boolean;
  /** 0: without end. */
  readonly maxUses: number;
  readonly uses: number;
  readonly createdBy: string;
  readonly createdAt: Instant;
  readonly expiresAt: Instant | undefined;
  readonly lastUsedAt: Instant | undefined;
  readonly revokedAt: Instant | undefined;
  readonly revokedBy: string | undefined;
}

export const orderStates = ["pending", "ready", "processing", "valid", "invalid"] as const;
export type OrderState = (typeof orderStates)[number];

/** A certificate by its CA and serial. */
export interface CertificateName {
  readonly caId: CaId;
  readonly serial: Serial;
}

export interface OrderRecord {
  readonly id: string;
  readonly account: string;
  readonly directory: string;
  readonly tenant: TenantId;
  /** The CA of the directory when it was asked; certificates come from its lineage. */
  readonly caId: CaId;
  /** `pending` and `ready` are those of the row; an order past its end is invalid all the same. */
  readonly status: OrderState;
  /** As they were asked for. */
  readonly identifiers: readonly Identifier[];
  /** Ids of its authorizations, in the order of the identifiers. */
  readonly authorizations: readonly string[];
  /** As the client named it, else the profile of its directory or credential. */
  readonly profile: string;
  readonly replaces: CertificateName | undefined;
  readonly createdAt: Instant;
  readonly expiresAt: Instant;
  readonly error: StoredProblem | undefined;
  readonly certificate: CertificateName | undefined;
}

export const authorizationStates = [
  "pending",
  "valid",
  "invalid",
  "deactivated",
  "revoked",
] as const;
export type AuthorizationState = (typeof authorizationStates)[number];

/** An authorization without the ways to prove it. */
export interface AuthorizationFacts {
  readonly id: string;
  readonly account: string;
  readonly directory: string;
  /** Without `*.`. */
  readonly identifier: Identifier;
  readonly wildcard: boolean;
  /** Of the row; one past its end is expired all the same. */
  readonly status: AuthorizationState;
  readonly createdAt: Instant;
  readonly expiresAt: Instant;
  /** The challenge that proved it. */
  readonly method: ChallengeType | undefined;
}

export interface AuthorizationRecord extends AuthorizationFacts {
  readonly challenges: readonly ChallengeRecord[];
}

export const challengeStates = ["pending", "processing", "valid", "invalid"] as const;

export interface ChallengeRecord {
  readonly id: string;
  readonly authorization: string;
  readonly type: ChallengeType;
  readonly token: string;
  readonly status: (typeof challengeStates)[number];
  readonly validatedAt: Instant | undefined;
  /** Of the last attempt. */
  readonly error: StoredProblem | undefined;
  /** Attempts begun. */
  readonly attempts: number;
}

/** A challenge whose proof is to be looked for, taken by this store until its lease ends. */
export interface ValidationJob {
  readonly challenge: ChallengeRecord;
  readonly authorization: AuthorizationFacts;
  readonly account: AccountRecord;
}

/** A challenge whose proof is to be looked for by now. */
export interface DueChallenge {
  readonly id: string;
  readonly account: string;
  /** The name or address that is to be proved. */
  readonly host: string;
}

/** Client that has started a challenge; not stored. */
export interface ChallengeSource {
  readonly tenant: string;
  /** Address of the client, or the /64 of an IPv6 address. */
  readonly block: string;
}

export interface DueFilter {
  readonly at: Instant;
  /** Those whose challenges are passed over, because as many as may are being worked on. */
  readonly exceptAccounts: readonly string[];
  readonly exceptHosts: readonly string[];
}

/** Which challenges a store takes, and for how long nobody else does. */
export interface ChallengeClaim {
  readonly ids: readonly string[];
  readonly at: Instant;
  readonly leaseUntil: Instant;
}

/** What became of an attempt. */
export type AttemptResult =
  | { readonly kind: "proved"; readonly at: Instant; readonly validUntil: Instant }
  /** To be tried again at that moment. */
  | { readonly kind: "again"; readonly error: StoredProblem; readonly at: Instant }
  | { readonly kind: "failed"; readonly error: StoredProblem; readonly at: Instant };

/** A certificate that an account has got. */
export interface Obtained {
  readonly account: string;
  readonly order: string;
  /** The order that has replaced it (RFC 9773 §5). */
  readonly replacedBy: string | undefined;
}

/** Position in a list in the order of names. */
export interface NameKey {
  readonly name: string;
  readonly id: string;
}

export interface AccountFilter {
  readonly reach: Reach;
  readonly status?: AccountRecord["status"] | undefined;
}

export interface OrderFilter {
  readonly reach: Reach;
  readonly status?: OrderState | undefined;
  readonly account?: string | undefined;
  /** Orders past their end that are pending or ready are invalid. */
  readonly now: Instant;
}

export interface AcmeReads {
  account(id: string): Promise<AccountRecord | undefined>;
  accountByKey(directory: string, thumbprint: string): Promise<AccountRecord | undefined>;
  /**
   * Thumbprints of the keys by which standing records of a name speak of an account: its own, then
   * those it has had, the last one first, without those that were ended for the name.
   */
  thumbprints(account: string, identifier: string): Promise<readonly string[]>;
  /** True when an account of any directory has the key, or has had it until now. */
  isAccountKey(spkiSha256: string): Promise<boolean>;
  accounts(filter: AccountFilter, limit: number, after?: PageKey): Promise<Page<AccountRecord>>;
  eab(id: string): Promise<EabRecord | undefined>;
  /** Newest first; `status` decided at `now`. */
  eabs(
    filter: {
      readonly reach: Reach;
      readonly status?: "active" | "exhausted" | "expired" | "revoked" | undefined;
      readonly now: Instant;
    },
    limit: number,
    after?: PageKey,
  ): Promise<Page<EabRecord>>;
  /** How many accounts that are valid were bound with it. */
  boundAccounts(eab: string): Promise<number>;
  /** When the newest idle account but `count` became idle; undefined when there are fewer. */
  idleSinceBeyond(count: number): Promise<Instant | undefined>;
  order(id: string): Promise<OrderRecord | undefined>;
  /** Returns the status of each order that is stored, in any order. */
  orderStates(
    ids: readonly string[],
  ): Promise<readonly Pick<OrderRecord, "id" | "status" | "expiresAt">[]>;
  orders(filter: OrderFilter, limit: number, after?: PageKey): Promise<Page<OrderRecord>>;
  authorization(id: string): Promise<AuthorizationRecord | undefined>;
  challenge(
    id: string,
  ): Promise<{ challenge: ChallengeRecord; authorization: AuthorizationRecord } | undefined>;
  /** Challenges that are due and in nobody's lease, oldest first; those behind `after`. */
  dueChallenges(
    filter: DueFilter,
    limit: number,
    after?: PageKey,
  ): Promise<{ readonly items: readonly DueChallenge[]; readonly next: PageKey | undefined }>;
  /** One for each id, in their order. */
  authorizations(ids: readonly string[]): Promise<readonly AuthorizationFacts[]>;
  /**
   * Those of an account that are pending or valid, past their end too, in the order of their names
   * and then of their ids; those behind `after`.
   */
  openAuthorizations(
    account: string,
    limit: number,
    after?: NameKey,
  ): Promise<{
    readonly items: readonly AuthorizationRecord[];
    readonly next: NameKey | undefined;
    readonly total: number;
  }>;
  /** Which account got the certificate by which order. */
  obtained(certificate: CertificateName): Promise<Obtained | undefined>;
  /** Valid authorizations of the account for these names, not past `now`, newest first. */
  validFor(
    account: string,
    identifiers: readonly { readonly identifier: Identifier; readonly wildcard: boolean }[],
    now: Instant,
  ): Promise<readonly AuthorizationRecord[]>;
  /** Orders that were being finalized by stores that are gone, or (`own`) by this one. */
  processing(
    own: boolean,
    limit: number,
  ): Promise<readonly (OrderRecord & { readonly claimedAt: Instant })[]>;
}

export interface AcmeWrites {
  /** False when the nonce was used before; what it keeps is sortable by time. */
  useNonce(id: string, expiresAt: Instant): Promise<boolean>;
  /** Deletes used nonces whose time is over; gives how many. */
  pruneNonces(before: Instant, limit: number): Promise<number>;
  /** Gives the account that has the key in this directory already, and stores nothing then. */
  addAccount(account: AccountRecord): Promise<AccountRecord | undefined>;
  /** The account as this unit sees it, under the writer's lock. */
  lockAccount(id: string): Promise<AccountRecord | undefined>;
  setContacts(id: string, contacts: readonly string[]): Promise<void>;
  /**
   * Ends an account that is valid: its pending and valid authorizations are deactivated, its
   * pending and ready orders invalid. False when it was not valid any more.
   */
  endAccount(id: string, status: "deactivated" | "revoked", at: Instant): Promise<boolean>;
  /** Ends every valid account bound with it; gives their ids, `limit` at most in one unit. */
  endAccountsOf(eab: string, limit: number, at: Instant): Promise<readonly string[]>;
  /** Since when a valid account that was idle is so; undefined: not any more, whatever it does. */
  setIdle(id: string, since: Instant | undefined): Promise<void>;
  /**
   * Removes accounts that have been idle since before `before` and that no order or authorization
   * names, with the keys they had; gives how many, `limit` at most.
   */
  pruneAccounts(before: Instant, limit: number): Promise<number>;
  /** Gives the other account of the directory that has the key, and changes nothing then. */
  changeKey(
    id: string,
    key: Pick<AccountRecord, "thumbprint" | "jwk" | "spkiSha256">,
  ): Promise<string | undefined>;
  /** Standing records of these names by keys that the account has had until now count no more. */
  endRecords(account: string, identifiers: readonly string[]): Promise<void>;
  addEab(eab: EabRecord): Promise<void>;
  /**
   * Takes a use of a credential that is active at `now`; false when it is unknown, revoked, expired
   * or exhausted.
   */
  useEab(id: string, now: Instant): Promise<boolean>;
  /** False when it was revoked before. */
  revokeEab(id: string, at: Instant, by: string): Promise<boolean>;
  /** Stores an order with the authorizations that are new; those it reuses are there. */
  addOrder(order: OrderRecord, created: readonly AuthorizationRecord[]): Promise<void>;
  addAuthorization(authorization: AuthorizationRecord): Promise<void>;
  /** The order under the writer's lock. */
  lockOrder(id: string): Promise<OrderRecord | undefined>;
  /** Compare-and-set (ORD-6, FIN-1); true when this call changed it. Claims it for this store. */
  claimOrder(id: string, at: Instant): Promise<boolean>;
  /** From `processing`; false when it was not. */
  settleOrder(
    id: string,
    to:
      | { readonly status: "ready" }
      | { readonly status: "invalid"; readonly error: StoredProblem }
      | {
          readonly status: "valid";
          readonly certificate: CertificateName & { readonly notAfter: Instant };
        },
  ): Promise<boolean>;
  /** From `pending` or `ready` to invalid; false when it was neither. */
  endOrder(id: string, error: StoredProblem): Promise<boolean>;
  /** Marks what the order replaces; false when another order has. */
  markReplaced(certificate: CertificateName, order: string): Promise<boolean>;
  /** Pending or valid to deactivated, or valid to revoked; false when it was neither. */
  endAuthorization(id: string, status: "deactivated" | "revoked"): Promise<boolean>;
  /**
   * Puts a pending challenge of a pending authorization to work, due at once; false when it was not
   * pending (CHA-2).
   */
  beginChallenge(id: string, at: Instant): Promise<boolean>;
  /**
   * Takes those of the challenges that are due and in nobody's lease, oldest first, and counts an
   * attempt of each.
   */
  claimChallenges(of: ChallengeClaim): Promise<readonly ValidationJob[]>;
  /**
   * Writes what became of an attempt this store holds the lease of; false when the lease is lost or
   * the authorization is decided. Proved makes challenge and authorization valid and every pending
   * order ready whose authorizations are all valid; failed makes challenge, authorization and its
   * pending orders invalid (CHA-1).
   */
  settleChallenge(id: string, attempt: number, result: AttemptResult): Promise<boolean>;
  /**
   * Deletes orders that ended by `at` without a certificate, and authorizations without an order
   * that ended by then. Returns the number of deleted rows, with those of challenges.
   */
  discardExpired(ids: readonly string[], at: Instant): Promise<number>;
  /**
   * Deletes the oldest orders of a status beyond the newest `count`, whether they have ended or
   * not; returns the number of deleted rows. Bounded by `limit` orders.
   */
  discardBeyond(
    status: "pending" | "ready" | "invalid",
    count: number,
    limit: number,
  ): Promise<number>;
  /**
   * Deletes orders whose end, and that of their certificate, lies before `before`, with the
   * authorizations nobody names any more; gives how many rows went. Bounded by `limit` orders.
   */
  prune(before: Instant, limit: number): Promise<number>;
}
