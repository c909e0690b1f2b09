/** The store: every fact pkid keeps, behind one unit of work. */

import type { AuditEvent } from "#core/audit/chain.ts";
import type { CaId, Serial } from "#core/ids.ts";
import type { Rollback } from "#core/history/mark.ts";
import { Problem } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { AcmeReads, AcmeWrites } from "#domain/acme/store.ts";
import type { ReplacementReads, ReplacementWrites } from "#domain/acme/replacement-store.ts";
import type { AccessReads, AccessWrites } from "#domain/access/store.ts";
import type { ApprovalReads, ApprovalWrites } from "#domain/approvals/store.ts";
import type { AccessLogReads, AccessLogRow, AuditReads, AuditWrites } from "#domain/audit/store.ts";
import type { CaReads, CaWrites } from "#domain/authorities/store.ts";
import type { BulkReads, BulkWrites } from "#domain/certificates/bulk-store.ts";
import type { CertificateReads, CertificateWrites } from "#domain/certificates/store.ts";
import type { ExpiryReads } from "#domain/expiry/store.ts";
import type { EnvelopeReads, EnvelopeWrites } from "#domain/envelopes/store.ts";
import type { KeyCheckReads, KeyCheckWrites } from "#domain/key-checks/store.ts";
import type { BulkRevocationReads, BulkRevocationWrites } from "#domain/revocation/bulk-store.ts";
import type { PresignedReads, PresignedWrites } from "#domain/revocation/presign-store.ts";
import type { RetentionReads, RetentionWrites } from "#domain/retention/store.ts";
import type { RevocationReads, RevocationWrites } from "#domain/revocation/store.ts";
import type { TenantReads, TenantWrites } from "#domain/tenants/store.ts";
import type { TransparencyReads, TransparencyWrites } from "#domain/transparency/store.ts";

/**
 * Stands before the cause of a `storage_unavailable` when the unit it refuses has changed nothing
 * for sure.
 */
export class NothingWritten extends Error {
  override readonly name = "NothingWritten";
}

/**
 * True when the unit that was rejected with this error has changed nothing for sure: it failed by
 * itself, or the database was lost before it was told to commit. False when a commit may have
 * happened whose answer was lost.
 */
export const nothingWritten = (error: unknown): boolean =>
  !(error instanceof Problem && error.code === "storage_unavailable") ||
  error.cause instanceof NothingWritten;

/**
 * What a unit is going to ask for, where its caller knows: a store that is far away looks it up on
 * the way. What is not foreseen is looked up when it is asked for.
 */
export interface Foreseen {
  /** The serial that `certificates.intend` is going to take. */
  readonly takes?: { readonly caId: CaId; readonly serial: Serial } | undefined;
  /** The intent that comes to a certificate, or to nothing. */
  readonly settles?: { readonly opId: string; readonly serial: Serial } | undefined;
}

/** What can be read outside a unit of work: the last committed state. */
export interface Reads {
  readonly cas: CaReads;
  readonly certificates: CertificateReads;
  readonly retention: RetentionReads;
  readonly expiry: ExpiryReads;
  readonly revocations: RevocationReads;
  readonly presigned: PresignedReads;
  readonly bulk: BulkReads;
  readonly bulkRevocations: BulkRevocationReads;
  readonly keyChecks: KeyCheckReads;
  readonly transparency: TransparencyReads;
  readonly envelopes: EnvelopeReads;
  readonly tenants: TenantReads;
  readonly access: AccessReads;
  readonly approvals: ApprovalReads;
  readonly acme: AcmeReads;
  readonly replacements: ReplacementReads;
  readonly audit: AuditReads;
  readonly accessLog: AccessLogReads;
  readonly instance: InstanceReads;
}

/** What a unit of work can change; its reads see its own writes. */
export interface Unit {
  readonly cas: CaWrites;
  readonly certificates: CertificateWrites;
  readonly retention: RetentionWrites;
  readonly revocations: RevocationWrites;
  readonly presigned: PresignedWrites;
  readonly bulk: BulkWrites;
  readonly bulkRevocations: BulkRevocationWrites;
  readonly keyChecks: KeyCheckWrites;
  readonly transparency: TransparencyWrites;
  readonly envelopes: EnvelopeWrites;
  readonly tenants: TenantWrites;
  readonly access: AccessWrites;
  readonly approvals: ApprovalWrites;
  readonly acme: AcmeWrites;
  readonly replacements: ReplacementWrites;
  readonly audit: AuditWrites;
  readonly instance: InstanceWrites;
}

/** One of several processes at work on a database. */
export interface Standing {
  /** From 0; no two have the same. */
  readonly place: number;
  /** All of them, this one too. */
  readonly count: number;
}

/** Named texts of the instance itself: its id, the root password hash, the ledger id. */
export interface InstanceReads {
  value(name: string): Promise<string | undefined>;
  /** Which of the processes at work on the database this one is, and how many there are now. */
  standing(): Promise<Standing>;
}
export interface InstanceWrites {
  setValue(name: string, value: string): Promise<void>;
  /** Adds to a value that is a whole number (0 while absent) and gives the sum. */
  add(name: string, by: number): Promise<number>;
}

/** What became of the leases of one process in the last hour. */
export interface LeaseTroubles {
  /** Work that was done beside another holder, which had kept it waiting for a minute. */
  readonly shared: number;
  /** Leases that ended before their work did, because the database went. */
  readonly lost: number;
}

/** Changes that continue a database which lacks part of its history. */
export interface HistoryContinuation {
  readonly rollback: Rollback;
  /** Number of the continued history; every replica accepts a higher one than its own. */
  readonly epoch: number;
  /** Revocation sequence after the jump; the audit event records it. */
  readonly revocationSequence: number;
}

/** End of a rollback: a process has accepted it, or the newer database is back. */
export type RollbackEnd = "accepted" | "restored";

export interface Store {
  readonly dialect: "sqlite" | "postgres";
  /**
   * Does work of this name while no other replica does: a lease that ends with the work, or with
   * its holder. Who waits longer than a minute works beside it, so work must be right without it
   * too, only wasteful.
   */
  exclusively<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Of this process; none where no other can have the store. */
  leaseTroubles(): LeaseTroubles;
  /**
   * Returns the clock of the database server minus the clock of this host, in milliseconds. It is
   * undefined if the database uses the clock of the host.
   */
  databaseClockOffsetMs(): number | undefined;
  readonly read: Reads;
  /**
   * Runs the unit and commits it durably with others that wait (group commit); resolves only after
   * the commit. A unit that throws is rolled back alone and the promise rejects with its error. No
   * key, network or clock call inside. Refuses `storage_unavailable` when the database does not
   * accept writes; `nothingWritten` tells whether it may have committed all the same. A unit never
   * waits for another unit: that would wait for its own commit.
   */
  atomically<T>(unit: (tx: Unit) => Promise<T>, foreseen?: Foreseen): Promise<T>;
  /**
   * Returns the detected rollback of the database; undefined while no acknowledged change is
   * missing. During a rollback reads continue; `atomically` refuses `storage_unavailable`.
   */
  rollback(): Rollback | undefined;
  /**
   * Continues from the older database in one transaction with the event that `record` appends. CRL
   * numbers and the revocation sequence jump above every acknowledged value. Presigned responses,
   * nonces and open challenges become void (RES-2).
   *
   * @returns the accepted rollback; undefined if there was none
   */
  acceptRollback(
    at: Instant,
    record: (tx: Unit, continuation: HistoryContinuation) => Promise<void>,
  ): Promise<Rollback | undefined>;
  /**
   * Records a CRL number whose reservation is committed. Once it resolves, a later start notices a
   * database that lacks the reservation, so that no published number is reserved twice.
   */
  recordCrlNumber(ca: CaId, scope: string, number: number): Promise<void>;
  /** Calls back once, when the detected rollback has ended. */
  onRollbackEnd(listener: (end: RollbackEnd) => void): void;
  /**
   * Calls back after commits that appended events, in order, also those of other processes; gives
   * the unsubscribe.
   */
  onEvents(listener: (events: readonly AuditEvent[]) => void): () => void;
  /**
   * Calls back with the events this process itself has committed, each once; for what is summed
   * over all processes.
   */
  onOwnEvents(listener: (events: readonly AuditEvent[]) => void): () => void;
  /** Buffered and written lazily; a crash may lose the last second of it. */
  logAccess(row: AccessLogRow): void;
  /** Deletes the access log rows of requests before `before`. */
  pruneAccessLog(before: Instant): Promise<void>;
  /**
   * Returns the number of access log rows that were deleted for lack of space since the last call,
   * oldest first.
   */
  takeAccessLogTrims(): number;
  /**
   * Ends within 3 s; throws when the database does not answer, and `storage_unavailable` when it
   * takes no writes, which with `writing` is tried.
   */
  ping(writing?: boolean): Promise<void>;
  close(): Promise<void>;
}
