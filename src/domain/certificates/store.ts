/** How certificates, and the intents that precede them, are remembered. */

import type { Reach } from "#core/access/principal.ts";
import type { SignPurpose } from "#core/audit/ledger.ts";
import type { CaId, Serial, TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import type { Page, PageKey } from "#domain/page.ts";
import type { DayUsage } from "#domain/tenants/store.ts";

/** What became of asking transparency logs. */
export const ctStatuses = ["submitted", "failed_open"] as const;

/** What the record of a certificate says about transparency logs. */
export interface CtFacts {
  readonly status: (typeof ctStatuses)[number];
  readonly sctCount: number;
  /** Distinct operators of the embedded SCTs. */
  readonly operators: readonly string[];
  readonly logs: readonly {
    readonly log: string;
    readonly operator: string;
    readonly ok: boolean;
    readonly error?: string;
  }[];
}

/** `expired` is computed from `good` when read, never stored. */
export const storedStatuses = ["good", "revoked", "held"] as const;
export type StoredStatus = (typeof storedStatuses)[number];
export type CertificateStatus = StoredStatus | "expired";

/** What a certificate of the store is for. */
export const certificateKinds = ["leaf", "ca", "cross", "responder", "serving"] as const;

/**
 * One certificate signed by a CA of this instance: leaf, CA, cross, responder or serving
 * certificate.
 */
export interface CertificateRecord {
  readonly id: string;
  readonly caId: CaId;
  readonly tenant: TenantId;
  readonly serial: Serial;
  /**
   * What it is for: only `leaf` rows are inventory, the others are system certificates OCSP knows
   * too.
   */
  readonly kind: (typeof certificateKinds)[number];
  readonly subject: string;
  readonly commonName: string;
  /** Texts like `dns:a.example`, `ip:192.0.2.1`, `email:a@b.example`, `uri:…`. */
  readonly sans: readonly string[];
  readonly profile: string;
  /** DER; empty for a tombstone, of which no more than key, validity and status is kept. */
  readonly certificate: Uint8Array;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  readonly status: StoredStatus;
  readonly revokedAt: Instant | undefined;
  readonly reason: RevocationReason | undefined;
  readonly requestedBy: string;
  readonly createdAt: Instant;
  /** Lower hex SHA-256 of the SubjectPublicKeyInfo. */
  readonly spkiSha256: string;
  /**
   * Empty, or `canary`, `serving-tls`; `imported` for what another program signed, of which the
   * ledger says nothing.
   */
  readonly marker: string;
  /** What transparency logs answered; undefined where none was asked. */
  readonly ct?: CtFacts | undefined;
  /** The CRL partition its distribution point names; undefined for the full CRL, or none. */
  readonly crlPartition?: number | undefined;
  /** The distribution point as it stands in the certificate. */
  readonly crlUrl?: string | undefined;
}

/** How an intent ends that leads to no certificate. */
export const settledStates = ["abandoned", "orphaned"] as const;
export type SettledState = (typeof settledStates)[number];

/** An intent to sign: durable before the key is used. */
export interface IntentRecord {
  readonly opId: string;
  readonly caId: CaId;
  readonly serial: Serial;
  readonly purpose: SignPurpose;
  /** Lower hex SHA-256 of the TBS octets. */
  readonly tbsDigest: string;
  readonly requestedBy: string;
  readonly createdAt: Instant;
  readonly state: "intended" | "issued" | SettledState;
}

export interface CertificateFilter {
  readonly caId: CaId;
  readonly status?: CertificateStatus | undefined;
  readonly profile?: string | undefined;
  /** Substring of subject, common name or a SAN without case, or a whole serial. */
  readonly text?: string | undefined;
  readonly serialPrefix?: string | undefined;
  readonly expiresBefore?: Instant | undefined;
  readonly spkiSha256?: string | undefined;
  /** Lower hex SHA-256 of the DER: at most one of a CA, and no tombstone. */
  readonly sha256?: string | undefined;
  /** The subject of whoever asked for it, as a whole. */
  readonly requestedBy?: string | undefined;
  readonly now: Instant;
}

export interface Outstanding {
  readonly count: number;
  readonly latestNotAfter: Instant | undefined;
}

/** How many there are of each status: of one that is good, by whether it has ended. */
export type StatusCounts = Readonly<Record<CertificateStatus, number>>;

export interface CertificateReads {
  bySerial(ca: CaId, serial: Serial): Promise<CertificateRecord | undefined>;
  /**
   * Leaves only; the last one stored first. `after` is the last row seen, so a page never shifts
   * under the reader. A filter that many rows meet may take long to count the first time, but never
   * long without letting others run; where what it asks for may change, the pages after the first
   * repeat the first one's `total`.
   */
  page(filter: CertificateFilter, limit: number, after?: PageKey): Promise<Page<CertificateRecord>>;
  /**
   * Of these serials of a CA, those that another good certificate of lineage, subject and profile
   * outlives, whether that one has expired or not (EXP-2); those of probes do neither (CAN-1).
   */
  superseded(ca: CaId, serials: readonly Serial[]): Promise<ReadonlySet<Serial>>;
  /**
   * Returns those of these serials that the CA has reserved for a signature that resulted in no
   * stored certificate.
   */
  findIntended(ca: CaId, serials: readonly Serial[]): Promise<ReadonlySet<Serial>>;
  /** Intents without certificate, newest first. */
  orphans(ca: CaId, limit: number, after?: PageKey): Promise<Page<IntentRecord>>;
  /**
   * What still depends on a CA key: its unexpired good and held certificates, those of responders
   * left out, and the latest notAfter among them; certificates being signed just now count too.
   */
  outstanding(ca: CaId, now: Instant): Promise<Outstanding>;
  /**
   * Of these CAs together: what was issued and revoked on each UTC day from `firstDay` on, where
   * anything was; in any order. Leaves only, also those that have left for the archive.
   */
  days(cas: readonly CaId[], firstDay: number): Promise<readonly DayUsage[]>;
  /**
   * Of these CAs together: the totals of `page` by status. Takes no longer for many certificates
   * than for few, but for those that end on the UTC day of `now`. It sees no single moment: what is
   * stored or revoked meanwhile may be in it or not.
   */
  statusCounts(cas: readonly CaId[], now: Instant): Promise<StatusCounts>;
  /**
   * True when the CA key has been used for anything but the certificate of this serial and those of
   * its responders.
   */
  signedBeyond(ca: CaId, own: Serial | undefined): Promise<boolean>;
  /** True when the profile name occurs in the inventory within reach. */
  profileSeen(profile: string, reach: Reach): Promise<boolean>;
}

export interface CertificateWrites {
  /**
   * Takes the serial for good; gives false when this CA key has used it before, also before a
   * crash.
   */
  intend(intent: IntentRecord): Promise<boolean>;
  /** Stores the certificate and marks its intent `issued`; the intent must be `intended`. */
  activate(opId: string, certificate: CertificateRecord): Promise<void>;
  /**
   * Stores a certificate that another program signed with the key of this CA; gives false when the
   * serial is taken, by a certificate or by an intent that came to none.
   */
  adopt(certificate: CertificateRecord): Promise<boolean>;
  /** Marks an intent that led to nothing. */
  settle(opId: string, state: SettledState): Promise<void>;
  /** The row under the writer's lock, for a state change in the same unit. */
  lock(ca: CaId, serial: Serial): Promise<CertificateRecord | undefined>;
  setStatus(
    ca: CaId,
    serial: Serial,
    status: StoredStatus,
    revokedAt: Instant | undefined,
    reason: RevocationReason | undefined,
  ): Promise<void>;
  /** The same status for many certificates of a CA, all of which exist. */
  setStatuses(
    ca: CaId,
    serials: readonly Serial[],
    to: {
      readonly status: StoredStatus;
      readonly revokedAt: Instant;
      readonly reason: RevocationReason;
    },
  ): Promise<void>;
  /**
   * At start: every intent still `intended` becomes `orphaned`, but those another living replica is
   * signing now; gives them back.
   */
  orphanOpenIntents(): Promise<readonly IntentRecord[]>;
}
