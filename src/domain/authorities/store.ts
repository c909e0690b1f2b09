/** How certificate authorities are remembered. */

import type { Reach } from "#core/access/principal.ts";
import type { CaId, Serial, TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { KeyType } from "#core/x509/algorithms.ts";
import type { KeyRef } from "#domain/key-ref.ts";
import type { Page, PageKey } from "#domain/page.ts";

/** How far the life of a CA has come. */
export const caStatuses = ["pending", "active", "superseded", "retired"] as const;
export type CaStatus = (typeof caStatuses)[number];

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
  /**
   * The request an external CA was given, DER; set exactly for externally signed CAs, pending ones
   * included.
   */
  readonly csr: Uint8Array | undefined;
  /**
   * PEM of the certificates above an externally signed CA, its issuer's first; undefined when none
   * were given.
   */
  readonly externalChain: string | undefined;
  /** The members of the lineage made after and before this one. */
  readonly successor: CaId | undefined;
  readonly predecessor: CaId | undefined;
  /** When the last certificate of a superseded key expires, as known at its rotation. */
  readonly retireAfter: Instant | undefined;
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
  readonly reach: Reach;
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
  /**
   * The CAs with this public key (SubjectPublicKeyInfo, DER), whatever their status, internal ones
   * too.
   */
  withKey(spki: Uint8Array): Promise<readonly CaRecord[]>;
  /**
   * CAs of these lineages, and those of the subtrees with all CAs below them; internal ones are
   * left out.
   */
  under(lineages: readonly CaId[], subtrees: readonly CaId[]): Promise<readonly CaId[]>;
  /** True when a CA names this one as its parent. */
  hasChildren(id: CaId): Promise<boolean>;
  /** Cross certificates made by a CA, newest first. */
  crossSigns(issuer: CaId, limit: number, after?: PageKey): Promise<Page<CrossSignRecord>>;
  crossSign(id: string): Promise<CrossSignRecord | undefined>;
  /** Cross certificates made for a CA of this instance, oldest first; at most 100. */
  crossSignsOf(subject: CaId): Promise<readonly CrossSignRecord[]>;
}

export interface CaWrites {
  /** Refuses `already_exists` (`label`) when the label is taken. */
  insert(ca: CaRecord): Promise<void>;
  /**
   * The status as this unit finds it, after every unit that was committed before it; undefined when
   * there is no such CA.
   */
  status(id: CaId): Promise<CaStatus | undefined>;
  /**
   * Gives a CA of this status its imported certificate and makes it active; false when it has
   * another status.
   */
  certify(id: CaId, from: "pending" | "active", certified: Certified): Promise<boolean>;
  /** Takes an active CA out of issuing; false when it is not active. */
  supersede(id: CaId, by: CaId, retireAfter: Instant | undefined): Promise<boolean>;
  /**
   * Removes the row and grants on it; its certificates, CRLs and ledger entries stay. With `own`
   * only a CA whose key has taken no other serial than that and those of its responders; false when
   * it has.
   */
  remove(id: CaId, own?: { readonly serial: Serial | undefined }): Promise<boolean>;
  /** Remembers a cross certificate whose row the same unit stores. */
  insertCrossSign(facts: CrossSignFacts): Promise<void>;
  /**
   * Marks the CA certified by `parent` under this serial retired, unless it is; gives its id when
   * there is one.
   */
  retireSubject(parent: CaId, serial: Serial): Promise<CaId | undefined>;
}

/** What importing a certificate makes of an externally signed CA. */
export interface Certified extends Pick<CaRecord, "subject" | "maxPathLength" | "externalChain"> {
  readonly certificate: Uint8Array;
  readonly serial: Serial;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

/** What told a cross certificate its subject. */
export const crossSignSources = ["local-ca", "certificate", "csr"] as const;

/**
 * A certificate one CA made for the name and key of another; stored facts beside its row among the
 * certificates.
 */
export interface CrossSignRecord {
  readonly id: string;
  readonly issuer: CaId;
  readonly serial: Serial;
  /** Undefined for a subject outside this instance. */
  readonly subjectCa: CaId | undefined;
  /** Lower hex of the SubjectKeyIdentifier it shares with the subject's own certificate. */
  readonly subjectKeyId: string;
  readonly source: (typeof crossSignSources)[number];
  readonly createdAt: Instant;
  readonly tenant: TenantId;
  readonly subject: string;
  readonly certificate: Uint8Array;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  readonly revoked: boolean;
  readonly requestedBy: string;
}

/** What of a cross certificate is not in its certificate's row. */
export type CrossSignFacts = Pick<
  CrossSignRecord,
  "id" | "issuer" | "serial" | "subjectCa" | "subjectKeyId" | "source" | "createdAt"
>;
