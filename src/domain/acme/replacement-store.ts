/** How planned replacements of many certificates are remembered. */

import type { Reach } from "#core/access/principal.ts";
import type { CaId, TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import type { Page, PageKey } from "#domain/page.ts";
import type { CertificateName } from "./store.ts";

/** A plan: certificates of one CA whose clients are told to come for others within a time. */
export interface ReplacementRecord {
  readonly id: string;
  readonly caId: CaId;
  readonly tenant: TenantId;
  /** What was asked for, in words an operator reads. */
  readonly selection: string;
  readonly start: Instant;
  readonly end: Instant;
  /** Certificates for each second of the time at most, as it was spread. */
  readonly perSecond: number;
  /** Why old certificates are revoked once replaced, the rest at the end; undefined: not at all. */
  readonly revoke: RevocationReason | undefined;
  readonly state: "running" | "finished" | "canceled";
  readonly createdBy: string;
  readonly createdAt: Instant;
}

/** How far a plan has come. */
export interface ReplacementCounts {
  readonly total: number;
  /** Clients that have come. */
  readonly replaced: number;
  /** Old certificates that this plan has revoked. */
  readonly revoked: number;
}

/** One certificate of a plan. */
export interface ReplacementItem extends CertificateName {
  readonly replacement: string;
  /** Its own part of the time. */
  readonly start: Instant;
  readonly end: Instant;
  readonly replacedAt: Instant | undefined;
  readonly revokedAt: Instant | undefined;
}

export interface ReplacementReads {
  replacement(id: string): Promise<ReplacementRecord | undefined>;
  counts(id: string): Promise<ReplacementCounts>;
  replacements(reach: Reach, limit: number, after?: PageKey): Promise<Page<ReplacementRecord>>;
  /** Of the newest plan that is running and has the certificate. */
  plannedFor(certificate: CertificateName): Promise<ReplacementItem | undefined>;
  running(): Promise<readonly ReplacementRecord[]>;
  /** Not revoked by the plan yet: those replaced, or with `all` every one; in order of serial. */
  unrevoked(id: string, all: boolean, limit: number): Promise<readonly ReplacementItem[]>;
  items(id: string, limit: number, after?: string): Promise<readonly ReplacementItem[]>;
}

export interface ReplacementWrites {
  addReplacement(record: ReplacementRecord): Promise<void>;
  addItems(items: readonly ReplacementItem[]): Promise<void>;
  /** In every running plan that has it; changes nothing else. */
  noteReplaced(certificate: CertificateName, at: Instant): Promise<void>;
  noteRevoked(id: string, certificates: readonly CertificateName[], at: Instant): Promise<void>;
  /** From `running`; false when it was not. */
  endReplacement(id: string, state: "finished" | "canceled"): Promise<boolean>;
}
