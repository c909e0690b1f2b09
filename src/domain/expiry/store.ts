/** How the ends of certificates are walked and counted (EXP-1, EXP-2). */

import type { CaId, Serial } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";

/** What is watched: held ones are told of, and are never renewed. */
export const watchedStatuses = ["good", "held"] as const;
export type WatchedStatus = (typeof watchedStatuses)[number];

/** A leaf whose DER is still in the inventory, as the watch over its end sees it. */
export interface Watched {
  readonly caId: CaId;
  readonly serial: Serial;
  readonly status: WatchedStatus;
  readonly commonName: string;
  readonly subject: string;
  readonly profile: string;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** Another good one of lineage, subject and profile ends strictly later (EXP-2). */
  readonly superseded: boolean;
}

/** Where a walk is: everything that ends earlier, or then and was stored before, lies behind it. */
export interface EndPlace {
  readonly notAfter: Instant;
  readonly ordinal: number;
}

/** Which leaves of one CA; a walk is over those of one status. */
export interface WatchedFilter {
  readonly caId: CaId;
  readonly status: WatchedStatus;
  /** The last end of interest, inside; undefined for all. */
  readonly until: Instant | undefined;
  /** Also those that are superseded. */
  readonly superseded: boolean;
}

/** What one step of a walk has found, which may be nothing before the walk is over. */
export interface WatchedStep {
  /** By their ends, the earliest first. */
  readonly items: readonly Watched[];
  /** Given to the next step; undefined at the end. */
  readonly next: EndPlace | undefined;
}

/** How many end in a span of time. */
export interface EndCount {
  /** Those no other has superseded. */
  readonly present: number;
  readonly superseded: number;
}

/**
 * Leaves only, without canaries, and without what has left for the archive. Neither a walk nor a
 * count sees one moment: what is stored, renewed or revoked meanwhile may be in it or not. None
 * holds up others, however many there are.
 */
export interface ExpiryReads {
  /** The next of a walk, from its beginning without `after`; looks at a bounded number of rows. */
  ending(filter: WatchedFilter, after?: EndPlace): Promise<WatchedStep>;
  /**
   * How many leaves of a CA, good and held, end in each span: up to and with the first of `ends`,
   * then up to and with the second, and so on. `ends` ascend.
   */
  endCounts(ca: CaId, ends: readonly Instant[]): Promise<readonly EndCount[]>;
}
