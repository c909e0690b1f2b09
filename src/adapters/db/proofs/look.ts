/** What every part of a proof is given: one snapshot of the database, and where its findings go. */

import { KeySet, type KeySetParts } from "#core/proofs/key-set.ts";
import { emptyProofs, type Proofs } from "#core/proofs/proofs.ts";
import { SignatureKeys } from "#core/proofs/signature-keys.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";

import { Authorities } from "./authorities.ts";
import type { Beginning } from "./beginning.ts";

export interface Look {
  /** Sees one committed state. */
  readonly connection: Connection;
  readonly proofs: Proofs;
  readonly from: Beginning;
  readonly authorities: Authorities;
  readonly keys: SignatureKeys;
  /** Every signature on a stored artefact that an outcome of the ledger must tell of. */
  readonly pairs: KeySet;
  /** SHA-256 of each certificate that an event must tell of. */
  readonly certificates: KeySet;
  /** `prunedText` of each tombstone that retention has left. */
  readonly pruned: KeySet;
  /** A set of texts of this run. */
  readonly newSet: () => KeySet;
  /** Tells that so many rows were looked at. */
  readonly advanced: (rows: number) => void;
  /** True to skip the signatures of certificates. */
  readonly fast: boolean;
}

/** One with nothing found yet; `verified` are signatures that need not be verified again. */
export async function newLook(
  given: Pick<Look, "connection" | "from" | "advanced" | "fast"> & {
    /** Of the run; sets of one run can be put together. */
    readonly salt: Uint8Array;
    readonly verified: KeySetParts | undefined;
  },
): Promise<Look> {
  const { connection, from, advanced, fast, salt, verified } = given;
  const newSet = () => new KeySet(salt);
  return {
    connection,
    proofs: emptyProofs(),
    from,
    authorities: await Authorities.read(connection),
    keys: new SignatureKeys(verified && KeySet.of(verified)),
    pairs: newSet(),
    certificates: newSet(),
    pruned: newSet(),
    newSet,
    advanced,
    fast,
  };
}

/** Yields the entries of a long list and collects garbage now and then. */
export function* iterateWithCollections<T>(entries: Iterable<T>): Generator<T> {
  let count = 0;
  for (const entry of entries) {
    yield entry;
    if (++count % rowsPerCollection === 0) Bun.gc(true);
  }
}

/** Tells on, and has garbage collected: else it piles up to hundreds of megabytes. */
export function collecting(tell: (rows: number) => void): (rows: number) => void {
  let rows = 0;
  return (more) => {
    if (Math.floor((rows + more) / rowsPerCollection) > Math.floor(rows / rowsPerCollection)) {
      Bun.gc(true);
    }
    rows += more;
    tell(more);
  };
}

const rowsPerCollection = 5_000;
