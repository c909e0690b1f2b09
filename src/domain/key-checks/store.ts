/** How blocked keys and the instance's own keys are remembered. */

import type { Reach } from "#core/access/principal.ts";
import type { TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { Page, PageKey } from "#domain/page.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";

/** How keys come to be blocked. */
export const blockedKeySources = ["api", "revocation", "import"] as const;

/** A public key that is never certified again. */
export interface BlockedKeyRecord {
  readonly id: string;
  /** Whose CAs do not certify it; undefined: no CA of the instance does. */
  readonly tenant: TenantId | undefined;
  /** Lower hex SHA-256 of the SubjectPublicKeyInfo. */
  readonly spkiSha256: string;
  readonly reason: string;
  /** Who asked: a caller, a revocation with reason keyCompromise, or an import. */
  readonly source: (typeof blockedKeySources)[number];
  readonly createdBy: string;
  readonly createdAt: Instant;
}

export interface BlockedKeyFilter {
  /** Substring of the reason, without case. */
  readonly text?: string | undefined;
  readonly spkiSha256?: string | undefined;
}

/** What a key is asked about before it is certified. */
export interface KeyQuestion {
  readonly spkiSha256: string;
  /** Whose CA is asked. */
  readonly tenant: TenantId;
  /** Whether another subject of the tenant has an unexpired leaf for it; undefined is not asked. */
  readonly duplicate: KeySubject | undefined;
}

/** Who holds a key now; an empty subject is told apart by the names beside it. */
export interface KeySubject {
  readonly subject: string;
  /** As texts, `dns:a.example`, in the order of the certificate. */
  readonly sans: readonly string[];
  readonly now: Instant;
}

export interface KeyStatus {
  readonly blocked: boolean;
  /** A CA, a certificate that `isOfOwnKey`, or a claim has it. */
  readonly own: boolean;
  readonly duplicate: boolean;
}

/**
 * True for certificates whose key is surely the instance's own. Whoever has got hold of a request
 * or of a CA certificate can have a cross certificate made for its key, which then is no more ours
 * than it was.
 */
export const isOfOwnKey = (kind: CertificateRecord["kind"]): boolean =>
  kind === "ca" || kind === "responder" || kind === "serving";

export interface KeyCheckReads {
  /** One indexed query, asked for every certificate. */
  keyStatus(question: KeyQuestion): Promise<KeyStatus>;
  blocked(id: string): Promise<BlockedKeyRecord | undefined>;
  /** Newest first, what belongs to the reach; `after` is the key of the last row seen. */
  page(
    reach: Reach,
    filter: BlockedKeyFilter,
    limit: number,
    after?: PageKey,
  ): Promise<Page<BlockedKeyRecord>>;
  /** How many certificates of any CA have the key and are not revoked. */
  unrevokedWith(spkiSha256: string): Promise<number>;
}

export interface KeyCheckWrites {
  /**
   * Blocks the key; gives the row that blocks it there already, for the tenant or for all, which
   * stays as it is.
   */
  block(record: BlockedKeyRecord): Promise<BlockedKeyRecord | undefined>;
  /**
   * Blocks many keys for one tenant or for all, each named once; gives the records of those not
   * blocked there before.
   */
  blockMany(records: readonly BlockedKeyRecord[]): Promise<readonly BlockedKeyRecord[]>;
  /** Gives the row that is gone. */
  unblock(id: string): Promise<BlockedKeyRecord | undefined>;
  /** Marks a key without CA or certificate as the instance's own, for good. */
  claim(spkiSha256: string): Promise<void>;
}
