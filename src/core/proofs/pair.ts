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
export const pairOfSignature = (by: SignedBy, signature: ArtefactSignature): string =>
  pairOf(by, signedText(signature));

/** From the outcome in the ledger. */
export const pairOfEntry = (entry: LedgerEntry): string =>
  pairOf(entry, `${entry.algorithm}|${entry.digest}|${entry.signatureSha256}`);

/** From a signature as `signedText` has it. */
export const pairOf = (by: SignedBy, signed: string): string =>
  `${by.purpose}|${by.caId}|${by.artifact}|${by.signerFingerprint}|${signed}`;

/** A signature by itself: the same text is the same signature over the same octets. */
export const signedText = ({ covered, value, algorithm }: ArtefactSignature): string =>
  `${algorithm ?? ""}|${sha256Hex(covered)}|${sha256Hex(value)}`;

/** That such a signature verifies under the key with this fingerprint. */
export const verifiedText = (signerFingerprint: string, signed: string): string =>
  `${signerFingerprint}|${signed}`;

/** What is signed when a certificate is: a tombstone may be all that is left of it. */
export const certificatePurposes: ReadonlySet<string> = new Set([
  "certificate",
  "precertificate",
  "ca_certificate",
  "cross_certificate",
  "responder_certificate",
]);

/** True for the text of a signature on one of those. */
export const isPairOfCertificate = (pair: string): boolean =>
  certificatePurposes.has(pair.slice(0, pair.indexOf("|")));
