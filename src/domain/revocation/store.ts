/** How revocations and the CRLs that publish them are remembered. */

import type { CaId, Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import type { Page, PageKey } from "#domain/authorities/store.ts";

/** One revoked or held serial of a CA, known to the inventory or not ("bare"). */
export interface RevocationRecord {
  readonly caId: CaId;
  readonly serial: Serial;
  readonly revokedAt: Instant;
  readonly reason: RevocationReason;
  /** False for a serial the inventory does not know. */
  readonly known: boolean;
  /** NotAfter of the certificate; undefined when unknown. */
  readonly expiresAt: Instant | undefined;
  /** Place in the one store-wide revocation sequence. */
  readonly sequence: number;
}

/** A published CRL; bytes are DER. */
export interface CrlRecord {
  readonly caId: CaId;
  /** `full` here; partitions have scopes of their own. */
  readonly scope: string;
  readonly number: number;
  readonly thisUpdate: Instant;
  readonly nextUpdate: Instant;
  /** The revocation sequence it covers. */
  readonly sequence: number;
  readonly entries: number;
  readonly der: Uint8Array;
  /** Lower hex SHA-256 of the DER: its strong ETag. */
  readonly sha256: string;
}

export type CrlHead = Omit<CrlRecord, "der">;

export interface RevocationFilter {
  readonly caId: CaId;
  /** What the serial starts with: decimal digits, or `0x` and lower hex digits, without leading zeros. */
  readonly serialPrefix?: string | undefined;
}

/** A delegated OCSP responder of one CA key. */
export interface ResponderRecord {
  readonly caId: CaId;
  readonly serial: Serial;
  readonly keyLabel: string;
  readonly keyId: string;
  readonly keyProvider: "pkcs11" | "software";
  readonly certificate: Uint8Array;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

/** What can be said of a serial: the revocation table goes before the inventory, intents are `unknown`. */
export type Standing =
  | { readonly status: "good"; readonly profile: string }
  | { readonly status: "unknown" }
  | {
      readonly status: "revoked";
      readonly at: Instant;
      readonly reason: RevocationReason;
      /** The profile of the certificate, when the inventory knows it. */
      readonly profile: string | undefined;
    };

export interface RevocationReads {
  bySerial(ca: CaId, serial: Serial): Promise<RevocationRecord | undefined>;
  /** One light read that touches no DER; the OCSP responder asks it for every fresh answer. */
  standing(ca: CaId, serial: Serial): Promise<Standing>;
  /** Newest (highest sequence) first; `after` is `{ at: sequence, id: serial }` of the last row seen. */
  page(filter: RevocationFilter, limit: number, after?: PageKey): Promise<Page<RevocationRecord>>;
  /** Ascending by sequence, one page at a time; for building CRLs. */
  entries(ca: CaId, limit: number, afterSequence: number): Promise<readonly RevocationRecord[]>;
  /**
   * The store-wide revocation sequence now; what OCSP caches are checked against. At once where this process is the
   * only one that writes, so that an answer from memory waits for nothing.
   */
  sequence(): number | Promise<number>;
  /** The sequence number of the last put or remove under this CA, 0 when there was none. */
  lastChange(ca: CaId): Promise<number>;
  /** The published CRL with the highest number, expired or not. */
  latestCrl(ca: CaId, scope: string): Promise<CrlRecord | undefined>;
  /** The same without its bytes: what caches and the status page are checked against. */
  crlHead(ca: CaId, scope: string): Promise<CrlHead | undefined>;
  /** The newest responder of the CA key. */
  responder(ca: CaId): Promise<ResponderRecord | undefined>;
}

export interface RevocationWrites {
  /** The entry under the writer's lock; while the unit lasts nobody else inserts one for this serial either. */
  lock(ca: CaId, serial: Serial): Promise<RevocationRecord | undefined>;
  /** Inserts or replaces the entry of its serial under the next sequence number, which it gives. */
  put(entry: Omit<RevocationRecord, "sequence">): Promise<number>;
  /** The same for many serials of one CA, each under a sequence number of its own, in their order. */
  putMany(ca: CaId, entries: readonly Omit<RevocationRecord, "sequence">[]): Promise<void>;
  /** Removes the entry of a released serial, taking the next sequence number too. */
  remove(ca: CaId, serial: Serial): Promise<number>;
  /**
   * Reserves the next CRL number of a scope for good, with a thisUpdate (whole second) that is `wanted`, or one second
   * after the latest one reserved for the scope when that is later (CRL-1, CRL-2).
   */
  reserveCrl(
    ca: CaId,
    scope: string,
    wanted: Instant,
  ): Promise<{ readonly number: number; readonly thisUpdate: Instant }>;
  publishCrl(crl: CrlRecord): Promise<void>;
  putResponder(responder: ResponderRecord): Promise<void>;
}
