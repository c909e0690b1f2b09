/**
 * What is remembered about transparency: precertificates, SCTs to be watched, and the last head of
 * each log.
 */

import type { Reach } from "#core/access/principal.ts";
import type { CaId, Serial, TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { Page, PageKey } from "#domain/page.ts";

/** A signed precertificate, kept whatever became of it. */
export interface PrecertificateRecord {
  readonly caId: CaId;
  readonly serial: Serial;
  readonly certificate: Uint8Array;
  readonly createdAt: Instant;
  /**
   * True while its serial must be revoked should no final certificate come of it (profiles with
   * `lint.public`).
   */
  readonly unsettled: boolean;
}

/** What is known of the inclusion of an entry. */
export const inclusionStatuses = ["pending", "included", "failed", "unknown_log"] as const;
export type InclusionStatus = (typeof inclusionStatuses)[number];

/** One SCT of one log, and whether the log has included its entry. */
export interface InclusionRecord {
  readonly id: string;
  readonly caId: CaId;
  readonly tenant: TenantId;
  readonly serial: Serial;
  /** Lower hex. */
  readonly logId: string;
  readonly logName: string;
  readonly sctTimestamp: Instant;
  /** Lower hex hash of the leaf the log must have. */
  readonly leafHash: string;
  /** Where the log said the leaf would be; only static logs say so. */
  readonly sctLeafIndex: number | undefined;
  readonly status: InclusionStatus;
  /** When it is looked at next. */
  readonly dueAt: Instant;
  readonly treeSize: number | undefined;
  readonly leafIndex: number | undefined;
  readonly checks: number;
  readonly lastError: string;
  readonly firstCheckedAt: Instant | undefined;
  readonly lastCheckedAt: Instant | undefined;
  readonly includedAt: Instant | undefined;
  /** True once its failure is an event. */
  readonly alerted: boolean;
}

/** The head of a log that every later one must continue. */
export interface LogHeadRecord {
  readonly logId: string;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  readonly timestamp: Instant;
}

export interface InclusionFilter {
  readonly reach: Reach;
  readonly status?: InclusionStatus | undefined;
  readonly caId?: CaId | undefined;
  readonly serial?: Serial | undefined;
}

export interface TransparencyReads {
  precertificate(ca: CaId, serial: Serial): Promise<PrecertificateRecord | undefined>;
  /** Unsettled precertificates whose intent was abandoned or orphaned. */
  lost(limit: number): Promise<readonly PrecertificateRecord[]>;
  /** Those whose serial is revoked by an entry without an end. */
  endless(limit: number): Promise<readonly PrecertificateRecord[]>;
  /** Newest SCT first. */
  inclusions(
    filter: InclusionFilter,
    limit: number,
    after?: PageKey,
  ): Promise<Page<InclusionRecord>>;
  /** How many there are of each status, `filter.status` aside. */
  counts(filter: InclusionFilter): Promise<Readonly<Record<InclusionStatus, number>>>;
  /** Pending ones and those of unknown logs that are due, the longest due first. */
  due(now: Instant, limit: number): Promise<readonly InclusionRecord[]>;
  head(logId: string): Promise<LogHeadRecord | undefined>;
}

export interface TransparencyWrites {
  keep(precertificate: PrecertificateRecord): Promise<void>;
  /** The precertificate of a serial, as this unit finds it. */
  kept(ca: CaId, serial: Serial): Promise<PrecertificateRecord | undefined>;
  /** From now on nothing has to follow from the precertificate. */
  settlePrecertificate(ca: CaId, serial: Serial): Promise<void>;
  expect(inclusion: InclusionRecord): Promise<void>;
  /** Replaces the row with this id. */
  update(inclusion: InclusionRecord): Promise<void>;
  setHead(head: LogHeadRecord): Promise<void>;
}
