/** How certificate authorities are remembered. */

import type { CaId, Serial, TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import type { KeyRef } from "#domain/keys.ts";

export type CaStatus = "pending" | "active" | "superseded" | "retired";

/** One CA: a key, its certificate, and its place in the tree. */
export interface CaRecord {
  readonly id: CaId;
  readonly tenant: TenantId;
  readonly label: string;
  /** Undefined for a root. */
  readonly parent: CaId | undefined;
  /** Groups a CA with its rollover predecessors and successors; the first member's id. */
  readonly lineage: CaId;
  readonly status: CaStatus;
  readonly key: KeyRef;
  readonly keyType: KeyType;
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array;
  /** The second key of a hybrid CA (PQ-4). */
  readonly alternative?: AlternativeKey | undefined;
  /** Certificate, DER; undefined while pending. */
  readonly certificate: Uint8Array | undefined;
  readonly serial: Serial | undefined;
  /** RFC 4514 text of the subject. */
  readonly subject: string;
  readonly notBefore: Instant | undefined;
  readonly notAfter: Instant | undefined;
  readonly maxPathLength: number | undefined;
  readonly createdAt: Instant;
  /** Marks the CA that issues pkid's own serving certificate; never listed. */
  readonly internal: boolean;
}

/** A key that signs beside the native one; always ML-DSA, and software-held (KEY-3). */
export interface AlternativeKey {
  readonly key: KeyRef;
  readonly keyType: KeyType;
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array;
}

export interface CaFilter {
  readonly tenants: "platform" | readonly TenantId[];
  readonly tenant?: TenantId | undefined;
  readonly status?: CaStatus | undefined;
  readonly parent?: CaId | undefined;
  readonly text?: string | undefined;
}

export interface CaReads {
  byId(id: CaId): Promise<CaRecord | undefined>;
  byLabel(label: string): Promise<CaRecord | undefined>;
  /** Newest first; internal CAs are left out. `after` is the last row seen. */
  page(filter: CaFilter, limit: number, after?: PageKey): Promise<Page<CaRecord>>;
  /** All members of a lineage, oldest first. */
  lineage(id: CaId): Promise<readonly CaRecord[]>;
  /** Every CA that can sign now, internal ones too, keyset-paged inside; for jobs. */
  signing(): Promise<readonly CaRecord[]>;
}

export interface CaWrites {
  /** Refuses `already_exists` (`label`) when the label is taken. */
  insert(ca: CaRecord): Promise<void>;
  /** Marks the CA certified by `parent` under this serial retired, unless it is; gives its id when there is one. */
  retireSubject(parent: CaId, serial: Serial): Promise<CaId | undefined>;
}

/** Position of a row in a list ordered newest first, ties broken by id. */
export interface PageKey {
  readonly at: number;
  readonly id: string;
}

/** One page of a list; `next` is absent on the last one. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next: PageKey | undefined;
  readonly total: number;
}
