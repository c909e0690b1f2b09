/** How planned replacements of many certificates are remembered. */

import type { Reach } from "#core/access/principal.ts";
import type { Identifier } from "#core/acme/identifiers.ts";
import type { CaId, Serial, TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Page, PageKey } from "#domain/page.ts";
import type { CertificateName } from "./store.ts";

/** `stopped`: the planner lost the right to revoke before the plan had finished (ARI-5). */
export const replacementStates = [
  "planning",
  "running",
  "finished",
  "canceled",
  "stopped",
] as const;
export type ReplacementState = (typeof replacementStates)[number];

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
  /** `planning` while its certificates are being collected: nobody is told of it yet. */
  readonly state: ReplacementState;
  readonly createdBy: string;
  readonly createdAt: Instant;
}

/** How far a plan has come. */
export interface ReplacementCounts {
  readonly total: number;
  /** Clients that have come. */
  readonly replaced: number;
  /** Old certificates that are done with: revoked, for this plan or before it, or expired. */
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

/** A certificate as an index on what ACME has given out finds it. */
export type Ended = Pick<CertificateRecord, "serial" | "notAfter">;

/** What an order of an account says of the certificates its client has got before. */
export interface NewNames {
  readonly account: string;
  readonly identifiers: readonly Identifier[];
}

export interface ReplacementReads {
  replacement(id: string): Promise<ReplacementRecord | undefined>;
  counts(id: string): Promise<ReplacementCounts>;
  replacements(reach: Reach, limit: number, after?: PageKey): Promise<Page<ReplacementRecord>>;
  /** Of the newest plan that is running and has the certificate. */
  plannedFor(certificate: CertificateName): Promise<ReplacementItem | undefined>;
  running(): Promise<readonly ReplacementRecord[]>;
  /** Those that began before that moment and never came to run. */
  abandoned(before: Instant): Promise<readonly ReplacementRecord[]>;
  /** True while any plan is running or being made. */
  any(): Promise<boolean>;
  /**
   * Those of the certificates that an account of ACME has got, and whether an order has replaced
   * them already.
   */
  obtained(ca: CaId, certificates: readonly Ended[]): Promise<ReadonlyMap<Serial, boolean>>;
  /**
   * Certificates of open plans, not replaced yet, that the account got for no other names than
   * these; of each name the newest some hundred are looked at.
   */
  covered(names: NewNames): Promise<readonly CertificateName[]>;
  /** Not revoked by the plan yet: those replaced, or with `all` every one; in order of serial. */
  unrevoked(id: string, all: boolean, limit: number): Promise<readonly ReplacementItem[]>;
  items(id: string, limit: number, after?: string): Promise<readonly ReplacementItem[]>;
}

export interface ReplacementWrites {
  addReplacement(record: ReplacementRecord): Promise<void>;
  /** Items that were replaced or revoked before they came here are counted so. */
  addItems(items: readonly ReplacementItem[]): Promise<void>;
  obtained: ReplacementReads["obtained"];
  counts: ReplacementReads["counts"];
  /** From `planning`; false when it was not. */
  startReplacement(id: string): Promise<boolean>;
  /** In every plan that is open and has it; changes nothing else. */
  noteReplaced(certificate: CertificateName, at: Instant): Promise<void>;
  noteRevoked(id: string, certificates: readonly CertificateName[], at: Instant): Promise<void>;
  /** From `planning` or `running`; false when it was neither. */
  endReplacement(id: string, state: "finished" | "canceled" | "stopped"): Promise<boolean>;
  /**
   * Deletes items of plans that are over and whose time ended before that moment, `limit` at most;
   * gives how many. The plans stay, with their figures.
   */
  pruneItems(before: Instant, limit: number): Promise<number>;
}
