/** The state of the memory store and how its rows are keyed and paged. */

import { type AuditEvent, type ChainHead, genesis } from "#core/audit/chain.ts";
import type { LedgerEntry } from "#core/audit/ledger.ts";
import type { CaId, Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { ApiTokenRecord, GrantRecord, PasskeyRecord } from "#domain/access/store.ts";
import type { ReplacementItem, ReplacementRecord } from "#domain/acme/replacement-store.ts";
import type { AccountRecord, EabRecord } from "#domain/acme/store.ts";
import type { ApprovalRecord } from "#domain/approvals/store.ts";
import type { Page, PageKey } from "#domain/page.ts";
import type { CaRecord, CrossSignFacts } from "#domain/authorities/store.ts";
import type { BulkItem, BulkOperation } from "#domain/certificates/bulk-store.ts";
import type { CertificateRecord, IntentRecord } from "#domain/certificates/store.ts";
import type { KekVersion, SealedValue } from "#domain/envelopes/store.ts";
import type { BlockedKeyRecord } from "#domain/key-checks/store.ts";
import type {
  InclusionRecord,
  LogHeadRecord,
  PrecertificateRecord,
} from "#domain/transparency/store.ts";
import type { BulkRun } from "#domain/revocation/bulk-store.ts";
import type { PresignedRecord } from "#domain/revocation/presign-store.ts";
import type {
  CrlHead,
  ReleasedEntry,
  ResponderRecord,
  RevocationRecord,
  ShardUrlRecord,
} from "#domain/revocation/store.ts";
import type { TenantRecord } from "#domain/tenants/store.ts";
import type {
  MemoryAccountKey,
  MemoryAuthorization,
  MemoryChallenge,
  MemoryOrder,
} from "./acme-rows.ts";

/** Everything the store knows; maps are keyed by the text a unique index would hold. */
export interface MemoryState {
  readonly cas: Map<string, CaRecord>;
  readonly crossSigns: Map<string, CrossSignFacts>;
  readonly certificates: Map<string, CertificateRecord>;
  /** DER by CA and serial, of certificates whose row has none. */
  readonly archived: Map<string, Uint8Array>;
  readonly intents: Map<string, IntentRecord>;
  readonly revocations: Map<string, RevocationRecord>;
  readonly releases: Map<
    string,
    Omit<ReleasedEntry, "kind" | "namedShard"> & { readonly caId: CaId }
  >;
  readonly crls: Map<string, CrlHead>;
  /** By list and position. */
  readonly crlPieces: Map<string, Uint8Array>;
  readonly crlReservations: Map<
    string,
    {
      readonly number: number;
      readonly thisUpdate: Instant;
      readonly sequence: number;
      readonly madeAt: Instant | undefined;
    }
  >;
  readonly shardUrls: Map<string, ShardUrlRecord>;
  /** By CA, partition, serial and modulus. */
  readonly members: Map<string, true>;
  readonly responders: Map<string, ResponderRecord>;
  /** By CA, serial and hash. */
  readonly presigned: Map<string, PresignedRecord>;
  readonly bulkOperations: Map<string, BulkOperation>;
  readonly bulkItems: Map<string, BulkItem & { readonly operation: string }>;
  readonly bulkRuns: Map<string, BulkRun>;
  /** By operation id. */
  readonly bulkSerials: Map<string, readonly Serial[]>;
  /** By key digest. */
  readonly blockedKeys: Map<string, BlockedKeyRecord>;
  readonly ownKeys: Map<string, true>;
  readonly precertificates: Map<string, PrecertificateRecord>;
  readonly inclusions: Map<string, InclusionRecord>;
  readonly logHeads: Map<string, LogHeadRecord>;
  /** By version number. */
  readonly kekVersions: Map<string, KekVersion>;
  /** By place. */
  readonly sealedValues: Map<string, SealedValue>;
  readonly apiTokens: Map<string, ApiTokenRecord>;
  readonly tenants: Map<string, TenantRecord>;
  readonly passkeys: Map<string, PasskeyRecord>;
  readonly grants: Map<string, GrantRecord>;
  readonly approvals: Map<string, ApprovalRecord>;
  /** Ids whose operation was done. */
  readonly approvalEffects: Map<string, true>;
  readonly acmeNonces: Map<string, Instant>;
  readonly acmeAccounts: Map<string, AccountRecord>;
  /** The keys an account had, the last one first. */
  readonly acmeAccountKeys: Map<string, readonly MemoryAccountKey[]>;
  /** Keys that count no more, by account and name. */
  readonly acmeRecordEnds: Map<string, readonly MemoryAccountKey[]>;
  readonly acmeEabs: Map<string, EabRecord>;
  readonly acmeOrders: Map<string, MemoryOrder>;
  readonly acmeAuthorizations: Map<string, MemoryAuthorization>;
  readonly acmeChallenges: Map<string, MemoryChallenge>;
  readonly replacements: Map<string, ReplacementRecord>;
  /** By plan, CA and serial. */
  readonly replacementItems: Map<string, ReplacementItem>;
  readonly events: Map<number, AuditEvent>;
  readonly ledger: Map<number, LedgerEntry>;
  readonly values: Map<string, string>;
  /** `revocation`: the store-wide sequence; a CA id: the sequence of its last change. */
  readonly counters: Map<string, number>;
}

/** Where a chain kept as number → link ends. */
export function headOf(links: ReadonlyMap<number, { readonly hash: string }>): ChainHead {
  const last = links.get(links.size);
  return last === undefined ? genesis : { seq: links.size, hash: last.hash };
}

/** The key of a row that is unique per CA and serial. */
export const serialKey = (ca: CaId, serial: Serial): string => `${ca}/${serial}`;

/** One page of rows, newest first, ties broken by id. */
export function pageOf<T>(
  rows: Iterable<T>,
  keyOf: (row: T) => PageKey,
  limit: number,
  after?: PageKey,
): Page<T> {
  const all = [...rows].sort((a, b) => order(keyOf(a), keyOf(b)));
  const rest = after === undefined ? all : all.filter((row) => order(after, keyOf(row)) < 0);
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  const next = rest.length > limit && last !== undefined ? keyOf(last) : undefined;
  return { items, next, total: all.length };
}

const order = (a: PageKey, b: PageKey) => b.at - a.at || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
