/** How certificates leave the inventory, and what is kept of them. */

import type { CaId, Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";

/** A certificate that has expired, as retention sees it. */
export interface Expired {
  readonly serial: Serial;
  readonly status: "good" | "revoked";
  readonly notAfter: Instant;
  /** Where its DER is; `gone` for a tombstone. */
  readonly der: "row" | "archive" | "gone";
}

/** Where a walk over expired certificates is. */
export interface ExpiredPage {
  readonly items: readonly Expired[];
  /** Given to the next call; undefined at the end. */
  readonly next: ExpiredPlace | undefined;
}

/** The last row seen. */
export interface ExpiredPlace {
  readonly status: Expired["status"];
  readonly notAfter: Instant;
  readonly serial: Serial;
}

/** What left, for the digest of it. */
export interface Left {
  readonly serial: Serial;
  /** Lower hex SHA-256 of the DER. */
  readonly sha256: string;
}

export interface RetentionReads {
  /** Leaves of a CA that are not held and ended before `before`, in a fixed order. */
  expired(ca: CaId, before: Instant, limit: number, after?: ExpiredPlace): Promise<ExpiredPage>;
  /**
   * The time up to which no entry of an expired certificate is on a list that is still good: of
   * every scope of the CA the newest base followed one that was issued after it. Undefined when
   * there is a scope of which that cannot be said (CRL-7).
   */
  offListsUntil(ca: CaId, now: Instant): Promise<Instant | undefined>;
  /** True while somebody decides about, or works on, certificates of the CA. */
  engaged(ca: CaId): Promise<boolean>;
}

export interface RetentionWrites {
  /** Moves the DER of these into the archive; gives those that were still where they were. */
  archive(ca: CaId, serials: readonly Serial[], at: Instant): Promise<readonly Left[]>;
  /**
   * Leaves of these, wherever their DER is, a tombstone: CA, serial, validity, status and key.
   * Gives those that were none yet.
   */
  prune(ca: CaId, serials: readonly Serial[]): Promise<readonly Left[]>;
}
