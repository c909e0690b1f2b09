/** A signature as ledger and artefact both tell it: the text by which the two are matched. */

import type { LedgerEntry } from "#core/audit/ledger.ts";
import type { ArtefactSignature } from "#core/audit/ledger-verification-artefacts.ts";
import { sha256Hex } from "#core/crypto.ts";

/** Which artefact, of which CA, by which key (`SHA256:…`). */
export interface SignedBy {
  readonly purpose: string;
  readonly caId: string;
  /** Serial, `<scope>#<number>` or CA id. */
  readonly artifact: string;
  readonly signerFingerprint: string;
}

/** From the artefact. */
export const pairOfSignature = (
  by: SignedBy,
  { covered, value, algorithm }: ArtefactSignature,
): string => pairOf(by, [algorithm ?? "", sha256Hex(covered), sha256Hex(value)]);

/** From the outcome in the ledger. */
export const pairOfEntry = (entry: LedgerEntry): string =>
  pairOf(entry, [entry.algorithm, entry.digest, entry.signatureSha256]);

const pairOf = (by: SignedBy, facts: readonly string[]): string =>
  [by.purpose, by.caId, by.artifact, by.signerFingerprint, ...facts].join("|");
