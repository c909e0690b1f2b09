/**
 * How bulk revocations are remembered: what was asked, which serials are left of it, and how far it
 * came.
 */

import type { Principal } from "#core/access/principal.ts";
import type { CaId, Serial } from "#core/ids.ts";
import type { Selectable, SelectableState } from "#core/policy/selection.ts";
import type { Instant } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import type { OperationKey } from "#domain/operation-runs.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { RevocationRecord } from "./store.ts";

/** What belongs to an operation for good. */
export interface BulkRunFacts extends OperationKey {
  readonly caId: CaId;
  readonly reason: RevocationReason;
  /** Lower hex SHA-256 of CA, reason and selection. */
  readonly digest: string;
  /** The selection in one line. */
  readonly filter: string;
  readonly batchSize: number;
  readonly startedAt: Instant;
  /** Who asked, as the events of a run that is resumed after a crash say it too. */
  readonly actor: string;
  readonly actorName: string;
  readonly actorRoles: string;
  readonly ip: string;
  readonly requestId: string;
  /** The approval under which it was begun; empty without one. */
  readonly approval: string;
  /**
   * Who carries it on, to find out before every batch what that principal may do by then; undefined
   * in old runs.
   */
  readonly maker: Principal | undefined;
}

/** What a run has done so far. */
export interface BulkProgress {
  /** Serials that were confirmed. */
  readonly planned: number;
  readonly revoked: number;
  /** Of the revoked ones, those that were held before. */
  readonly upgraded: number;
  /** Planned ones somebody else revoked first. */
  readonly skipped: number;
  readonly batches: number;
}

export const bulkStates = ["selecting", "running", "stopped", "finished"] as const;

/**
 * - `selecting`: its serials are being collected; nothing has been confirmed.
 * - `running`: by the store that owns it, until that is gone.
 * - `stopped`: a batch failed; a repetition goes on.
 */
export interface BulkRun extends BulkRunFacts, BulkProgress {
  readonly state: (typeof bulkStates)[number];
}

/** A certificate as a selection looks at it. */
export interface Candidate extends Selectable {
  readonly serial: Serial;
  readonly kind: CertificateRecord["kind"];
  readonly status: CertificateRecord["status"];
  readonly notAfter: Instant;
  /** When it was revoked or held and why, while it is. */
  readonly revokedAt: Instant | undefined;
  readonly reason: RevocationReason | undefined;
}

/**
 * Leaves of a CA in the order they were stored; one of the two predicates an index may know narrows
 * them.
 */
export interface CandidateRange {
  readonly caId: CaId;
  readonly profile?: string | undefined;
  readonly spkiSha256?: string | undefined;
  /** Places in the inventory: above `after`, up to and including `upTo`. */
  readonly after: number;
  readonly upTo: number;
}

/** Serial of a run and the CA of the lineage whose key it concerns. */
export interface RunSerial {
  readonly caId: CaId;
  readonly serial: Serial;
}

/** Some of a range; `reached` is the place of the last one. */
export interface CandidatePage {
  readonly items: readonly Candidate[];
  readonly reached: number;
}

/**
 * Serial of a run with its present state, under the writer's lock; `certificate` is undefined if it
 * is unknown.
 */
export interface Target extends RunSerial {
  readonly certificate:
    | Pick<CertificateRecord, "kind" | "status" | "notAfter" | "profile" | "spkiSha256">
    | undefined;
  readonly entry: Pick<RevocationRecord, "reason" | "revokedAt"> | undefined;
}

export interface BulkRevocationReads {
  run(key: OperationKey): Promise<BulkRun | undefined>;
  /** Runs whose store is gone; with `own` also those this store has left open. */
  abandoned(own: boolean): Promise<readonly BulkRun[]>;
  /** CAs whose lineage has a run in progress, also one whose store has stopped. */
  active(): Promise<ReadonlySet<CaId>>;
  /** The place of the certificate stored last; later ones get higher places. */
  end(): Promise<number>;
  /** At most `limit` of a range, in the order of their places. */
  candidates(range: CandidateRange, limit: number): Promise<CandidatePage>;
  /** Those of the serials that are certificates of the CA, of whatever kind. */
  named(ca: CaId, serials: readonly Serial[]): Promise<readonly Candidate[]>;
  /** Those of the serials that have an entry without a certificate. */
  bare(ca: CaId, serials: readonly Serial[]): Promise<ReadonlyMap<Serial, SelectableState>>;
}

export interface BulkRevocationWrites {
  /**
   * Takes the id in state `selecting`, also from a store that is gone and was still collecting; or
   * takes over a run that is stopped or whose store is gone, as it stands, in the name of the maker
   * of these facts. Gives what is stored under the id, as it was before a take-over, and whether
   * this store may work on it: not when it is finished, and not while another store does.
   */
  claim(facts: BulkRunFacts): Promise<{ readonly run: BulkRun; readonly mine: boolean }>;
  /** Adds serials to a run, none of which it has. */
  stage(key: OperationKey, serials: readonly RunSerial[]): Promise<void>;
  /**
   * Returns how many of its serials a run would change now: not revoked, and for a hold not held.
   * @param cas every CA of the lineage
   */
  changeable(key: OperationKey, cas: readonly CaId[], hold: boolean): Promise<number>;
  /** The sequence number of the last change under a CA. */
  lastChange(ca: CaId): Promise<number>;
  candidates: BulkRevocationReads["candidates"];
  end: BulkRevocationReads["end"];
  /** Moves a run from `selecting` to `running` with what was confirmed. */
  start(key: OperationKey, planned: number): Promise<void>;
  /** Forgets a run that never started, and its serials. */
  drop(key: OperationKey): Promise<void>;
  /** Returns the next serials of a run in numeric order, with their present state. */
  next(key: OperationKey, limit: number): Promise<readonly Target[]>;
  /** Removes the serials up to and including `through` from a run, and adds to its figures. */
  advance(
    key: OperationKey,
    through: RunSerial,
    more: Omit<BulkProgress, "planned">,
  ): Promise<void>;
  /** Ends a run, or marks it for a repetition. */
  settle(key: OperationKey, state: "stopped" | "finished"): Promise<void>;
}
