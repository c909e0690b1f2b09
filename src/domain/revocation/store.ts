/** How revocations and the CRLs that publish them are remembered. */

import type { CaId, Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import type { Page, PageKey } from "#domain/page.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";

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

/** What a list is: complete, or the changes since one that is. */
export const crlKinds = ["base", "delta"] as const;
export type CrlKind = (typeof crlKinds)[number];

/** A published CRL without its octets, which are kept in pieces. */
export interface CrlHead {
  readonly caId: CaId;
  /** `full`, or `partition-<n>`. */
  readonly scope: string;
  /** One sequence for bases and deltas of the scope (CRL-1). */
  readonly number: number;
  /** Of a delta: the number of the base it completes; undefined for a base. */
  readonly base: number | undefined;
  readonly thisUpdate: Instant;
  readonly nextUpdate: Instant;
  /** The revocation sequence it covers. */
  readonly sequence: number;
  readonly entries: number;
  /** Octets of the DER. */
  readonly size: number;
  /** Lower hex SHA-256 of the DER: its strong ETag. */
  readonly sha256: string;
  /**
   * `crl.shards` it was made under, which decides what its partition means; 0 for the full scope.
   */
  readonly modulus: number;
  /** URLs of its issuingDistributionPoint, which its deltas repeat; empty for the full scope. */
  readonly urls: readonly string[];
  /** The base before it, by which entries left it (CRL-7); undefined where none did. */
  readonly prior: Pick<CrlHead, "thisUpdate" | "sequence"> | undefined;
  /**
   * When the signed list became visible; later where it had to follow one that seems to have become
   * visible later. Undefined for lists of older releases.
   */
  readonly publishedAt: Instant | undefined;
}

/** The moment a list is made at. */
export interface CrlMoment {
  /** What the clock says. */
  readonly at: Instant;
  /** That, backdated. */
  readonly wanted: Instant;
  /**
   * True while nothing speaks against the clock, so that lists from its future were made while it
   * was ahead (CRL-2).
   */
  readonly believed: boolean;
}

/** What was reserved for a list. */
export interface ReservedCrl {
  readonly number: number;
  readonly thisUpdate: Instant;
  /**
   * What the clock says, or said when it was ahead and a list was made that this one has to follow.
   */
  readonly madeAt: Instant;
  /** The thisUpdate that was left behind, because the clock was ahead when it was given out. */
  readonly resetFrom: Instant | undefined;
}

/** What a change of revocation says about where its entry belongs. */
export interface EntryPlace {
  readonly serial: Serial;
  /** Undefined for a serial the inventory does not know. */
  readonly kind: CertificateRecord["kind"] | undefined;
  /** The partition that the certificate names. */
  readonly namedShard: number | undefined;
}

/** An entry with its place. */
export interface PlacedEntry extends EntryPlace {
  readonly revokedAt: Instant;
  readonly reason: RevocationReason;
  readonly expiresAt: Instant | undefined;
  readonly sequence: number;
}

/** A hold that was taken off: the entry stood from one number of the sequence to another. */
export interface ReleasedEntry extends EntryPlace {
  readonly since: number;
  /** When the hold began. */
  readonly revokedAt: Instant;
  readonly sequence: number;
  readonly expiresAt: Instant | undefined;
}

export type ListedEntry = Pick<
  RevocationRecord,
  "serial" | "revokedAt" | "reason" | "expiresAt" | "sequence"
>;

/** A partition, and the count of partitions that gives its number a meaning. */
export interface Partition {
  readonly number: number;
  readonly modulus: number;
}

/**
 * One URL that certificates name as distribution point of a partition, and until when one of them
 * is valid.
 */
export interface ShardUrlRecord {
  readonly caId: CaId;
  readonly partition: number;
  readonly url: string;
  readonly notAfter: Instant;
}

/**
 * That an entry is on the CRLs of a partition; `modulus` 0 counts whatever `crl.shards` is (CRL-9).
 */
export interface PartitionMember {
  readonly serial: Serial;
  readonly partition: number;
  readonly modulus: number;
}

/** Revocations as they were at one moment, whatever is committed meanwhile. */
export interface RevocationView {
  /** The store-wide revocation sequence at that moment. */
  readonly sequence: number;
  /**
   * Entries ascending by serial as text, after one. Of a partition only members the index knows
   * with a sequence up to `indexed`; what came later is among the `changed`.
   */
  listed(
    ca: CaId,
    partition: Partition | undefined,
    limit: number,
    after: Serial | undefined,
  ): Promise<readonly ListedEntry[]>;
  /** Entries with a later sequence, ascending by it. */
  changed(ca: CaId, limit: number, afterSequence: number): Promise<readonly PlacedEntry[]>;
  /** Releases with a later sequence, ascending by it. */
  released(ca: CaId, limit: number, afterSequence: number): Promise<readonly ReleasedEntry[]>;
  /** Up to which sequence the index of partitions under this modulus is complete for a CA. */
  indexed(ca: CaId, modulus: number): Promise<number>;
}

export interface RevocationFilter {
  readonly caId: CaId;
  /**
   * What the serial starts with: decimal digits, or `0x` and lower hex digits, without leading
   * zeros.
   */
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

/**
 * What can be said of a serial: the revocation table goes before the inventory, intents are
 * `unknown`.
 */
export type CertStatus =
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
  certStatus(ca: CaId, serial: Serial): Promise<CertStatus>;
  /**
   * Newest (highest sequence) first; `after` is `{ at: sequence, id: serial }` of the last row
   * seen.
   */
  page(filter: RevocationFilter, limit: number, after?: PageKey): Promise<Page<RevocationRecord>>;
  /**
   * Calls `read` with a view that stays as it is until `read` ends; pages of it give way to other
   * work.
   */
  view<T>(read: (view: RevocationView) => Promise<T>): Promise<T>;
  /**
   * The store-wide revocation sequence now. At once where this process is the only one that writes,
   * so that an answer from memory waits for nothing.
   */
  sequence(): number | Promise<number>;
  /**
   * Returns a number that differs after a revocation, and after another database server has taken
   * over, which may count alike. It is for equality only; synchronous like `sequence`.
   */
  stamp(): number | Promise<number>;
  /** The sequence number of the last put or remove under this CA, 0 when there was none. */
  lastChange(ca: CaId): Promise<number>;
  /** The published CRL of a kind with the highest number, expired or not. */
  crlHead(ca: CaId, scope: string, kind: CrlKind): Promise<CrlHead | undefined>;
  /**
   * One stored piece of a CRL, from 0; undefined behind the last one, and for lists that were
   * pruned.
   */
  crlPiece(
    crl: Pick<CrlHead, "caId" | "scope" | "number">,
    position: number,
  ): Promise<Uint8Array | undefined>;
  /** The scopes of a CA that have a published base. */
  publishedScopes(ca: CaId): Promise<readonly string[]>;
  /** URLs of partitions that certificates valid at `at` name, by partition and URL. */
  shardUrls(ca: CaId, at: Instant): Promise<readonly ShardUrlRecord[]>;
  /**
   * The newest responder of the CA key; with `at` the newest of those whose certificates had begun
   * by then.
   */
  responder(ca: CaId, at?: Instant): Promise<ResponderRecord | undefined>;
}

export interface RevocationWrites {
  /**
   * The entry under the writer's lock; while the unit lasts nobody else inserts one for this serial
   * either.
   */
  lock(ca: CaId, serial: Serial): Promise<RevocationRecord | undefined>;
  /** Inserts or replaces the entry of its serial under the next sequence number, which it gives. */
  put(entry: Omit<RevocationRecord, "sequence">): Promise<number>;
  /**
   * The same for many serials of one CA, each under a sequence number of its own, in their order;
   * gives the numbers.
   */
  putMany(
    ca: CaId,
    entries: readonly Omit<RevocationRecord, "sequence">[],
  ): Promise<readonly number[]>;
  /**
   * Says when the entry of a serial may leave the lists; its place in the sequence stays, for
   * nothing about it changed.
   */
  setEnd(ca: CaId, serial: Serial, expiresAt: Instant): Promise<void>;
  /**
   * Removes the entry of a released serial, taking the next sequence number too; views tell it as
   * released.
   */
  remove(ca: CaId, serial: Serial): Promise<number>;
  /** Keeps a URL of a partition; the latest notAfter stays, rounded up to a day. */
  keepShardUrl(shardUrl: ShardUrlRecord): Promise<void>;
  /** Adds members to the index of partitions, which is complete up to `sequence` then. */
  indexPartitions(
    ca: CaId,
    modulus: number,
    members: readonly PartitionMember[],
    sequence: number,
  ): Promise<void>;
  /**
   * Reserves the next CRL number of a scope for good, with a thisUpdate (whole second) that is
   * `wanted`, or one second after the latest one reserved for the scope when that is later (CRL-1,
   * CRL-2); but `wanted` also when the latest one is in the future of a clock that is believed, and
   * was given out there (`fromTheFuture`). Gives undefined and reserves nothing when an earlier
   * number was given out for a later `sequence`: a higher number never covers less.
   */
  reserveCrl(
    ca: CaId,
    scope: string,
    moment: CrlMoment,
    sequence: number,
  ): Promise<ReservedCrl | undefined>;
  /**
   * Has the numbers of a scope go on above this one, which another program gave out; true when
   * that changes anything.
   */
  raiseCrlNumber(ca: CaId, scope: string, number: number): Promise<boolean>;
  /** Stores a piece of a CRL that is not published yet. */
  putCrlPiece(
    crl: Pick<CrlHead, "caId" | "scope" | "number">,
    position: number,
    octets: Uint8Array,
  ): Promise<void>;
  /** Makes a CRL visible, whose pieces are all stored. */
  publishCrl(crl: CrlHead): Promise<void>;
  /**
   * Forgets at most `limit` pieces of CRLs of the scope below `number`, and these CRLs with their
   * last piece; gives how many.
   */
  pruneCrls(ca: CaId, scope: string, number: number, limit: number): Promise<number>;
  putResponder(responder: ResponderRecord): Promise<void>;
}
