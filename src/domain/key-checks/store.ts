/** How blocked keys and the instance's own keys are remembered. */

import type { TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { Page, PageKey } from "#domain/authorities/store.ts";

/** A public key that is never certified again. */
export interface BlockedKeyRecord {
  readonly id: string;
  /** Lower hex SHA-256 of the SubjectPublicKeyInfo. */
  readonly spkiSha256: string;
  readonly reason: string;
  /** Who asked: a caller, a revocation with reason keyCompromise, or an import. */
  readonly source: "api" | "revocation" | "import";
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
  /** Whether another subject of the tenant has an unexpired leaf for it; undefined is not asked. */
  readonly duplicate:
    | { readonly tenant: TenantId; readonly subject: string; readonly now: Instant }
    | undefined;
}

export interface KeyStanding {
  readonly blocked: boolean;
  /** A CA, a certificate other than a leaf, or a claim has it. */
  readonly own: boolean;
  readonly duplicate: boolean;
}

export interface KeyCheckReads {
  /** One indexed query, asked for every certificate. */
  standing(question: KeyQuestion): Promise<KeyStanding>;
  blocked(id: string): Promise<BlockedKeyRecord | undefined>;
  /** Newest first; `after` is the key of the last row seen. */
  page(filter: BlockedKeyFilter, limit: number, after?: PageKey): Promise<Page<BlockedKeyRecord>>;
  /** How many certificates of any CA have the key and are not revoked. */
  unrevokedWith(spkiSha256: string): Promise<number>;
}

export interface KeyCheckWrites {
  /** Blocks the key; gives the row that blocks it already, which stays as it is. */
  block(record: BlockedKeyRecord): Promise<BlockedKeyRecord | undefined>;
  /** Blocks many keys, each named once; gives the records of those that were not blocked before. */
  blockMany(records: readonly BlockedKeyRecord[]): Promise<readonly BlockedKeyRecord[]>;
  /** Gives the row that is gone. */
  unblock(id: string): Promise<BlockedKeyRecord | undefined>;
  /** Marks a key without CA or certificate as the instance's own, for good. */
  claim(spkiSha256: string): Promise<void>;
}
