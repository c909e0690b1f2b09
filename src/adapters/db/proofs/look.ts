/** What every part of a proof is given: one snapshot of the database, and where its findings go. */

import type { KeySet } from "#core/proofs/key-set.ts";
import type { Proofs } from "#core/proofs/proofs.ts";
import type { SignatureKeys } from "#core/proofs/signature-keys.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";

import type { Authorities } from "./authorities.ts";
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

const rowsPerCollection = 50_000;
