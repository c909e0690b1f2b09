/** How OCSP answers signed ahead are remembered, and which serials a sweep finds. */

import type { CaId, Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import type { CertStatus } from "./store.ts";

/** The certID hashes answers are signed ahead for (PRE-1). */
export const presignHashes = ["sha1", "sha256"] as const;
export type PresignHash = (typeof presignHashes)[number];

/** One OCSP answer about one serial; `response` is DER. */
export interface PresignedRecord {
  readonly caId: CaId;
  readonly serial: Serial;
  readonly hash: PresignHash;
  readonly response: Uint8Array;
  /** Serial of the responder that signed; undefined where the CA itself did. */
  readonly responder: Serial | undefined;
  readonly producedAt: Instant;
  readonly thisUpdate: Instant;
  readonly nextUpdate: Instant;
  /** What it says: revoked then and so, or good. */
  readonly revoked: { readonly at: Instant; readonly reason: RevocationReason } | undefined;
}

/** A serial a sweep comes by. */
export interface PresignCandidate {
  readonly serial: Serial;
  readonly certStatus: Exclude<CertStatus, { readonly status: "unknown" }>;
  /** False for a revoked serial the inventory does not know. */
  readonly inventoried: boolean;
  /** Undefined when unknown. */
  readonly notAfter: Instant | undefined;
  /** When its answers were last signed, and by which responder; absent where there is none. */
  readonly signed: Readonly<Partial<Record<PresignHash, SignedAhead>>>;
}

export interface SignedAhead {
  readonly at: Instant;
  readonly responder: Serial | undefined;
}

/** How many answers there are and when the first of them ends, for those who watch the sweep. */
export interface PresignedSummary {
  readonly count: number;
  readonly earliestNextUpdate: Instant | undefined;
}

export interface PresignedReads {
  /** The answer with the status of its serial, as of one moment. */
  find(
    ca: CaId,
    serial: Serial,
    hash: PresignHash,
  ): Promise<{ readonly certStatus: CertStatus; readonly presigned: PresignedRecord | undefined }>;
  /**
   * The certificates of a CA after a serial, in the order of the table; lets others run between two
   * pages.
   */
  issued(ca: CaId, limit: number, after?: Serial): Promise<readonly PresignCandidate[]>;
  /**
   * The revoked and held serials of a CA, likewise; those the inventory knows are among the issued
   * ones too.
   */
  revoked(ca: CaId, limit: number, after?: Serial): Promise<readonly PresignCandidate[]>;
  /** Those of these serials that are known or revoked. */
  among(ca: CaId, serials: readonly Serial[]): Promise<readonly PresignCandidate[]>;
  /** All answers of a CA by serial and hash, after one; lets others run between two pages. */
  page(
    ca: CaId,
    limit: number,
    after?: readonly [Serial, PresignHash],
  ): Promise<readonly PresignedRecord[]>;
  summary(): Promise<PresignedSummary>;
}

export interface PresignedWrites {
  /**
   * Keeps answers about serials of one CA in place of older ones, and of ones more than five
   * minutes newer, which a clock has made that was set back since; except those about serials whose
   * revocation state is no longer what the answer says (PRE-2). `sequence` was read before their
   * status was. Gives how many were kept.
   */
  keep(ca: CaId, sequence: number, answers: readonly PresignedRecord[]): Promise<number>;
  /** Deletes at most `limit` answers whose nextUpdate has passed; gives how many there were. */
  prune(before: Instant, limit: number): Promise<number>;
}
