/** Rules V1 and V2: the entries are one unbroken run, and the pinned key vouches for it (LED-4). */

import { DerError } from "#core/asn1/cursor.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { importPublicKey, sha256Hex, verifySignature } from "#core/crypto.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { encodeName } from "#core/x509/names.ts";
import { fingerprint, spkiSha256 } from "#core/x509/public-keys.ts";
import { signedBy } from "#core/x509/signed-by.ts";

import { genesis } from "./chain.ts";
import { exportMessage } from "./ledger-export.ts";
import { ledgerHash } from "./ledger.ts";
import {
  type DocumentEntry,
  type LedgerDocument,
  readDocumentEntry,
} from "./ledger-verification-document.ts";
import type { Finding, Violation } from "./ledger-verification-verdict.ts";

/** V1: the entries themselves, or the first that is not one, has a gap, or does not link. */
export function chainedEntries(document: LedgerDocument): readonly DocumentEntry[] | Violation {
  const { firstNumber, lastNumber, firstPrevHash, lastHash, combined } = document;
  if (firstNumber < 1 || lastNumber - firstNumber + 1 !== document.entries.length) {
    const found = document.entries.length;
    const detail = `it has ${found} entries for the numbers ${firstNumber} to ${lastNumber}`;
    return { detail, entry: firstMissing(document) };
  }
  if (document.entries.length === 0) return { detail: "it has no entries" };
  if (firstNumber === 1 && firstPrevHash !== genesis.hash) {
    return { detail: "first_prev_hash of a whole ledger is not zeros", entry: 1 };
  }
  const entries: DocumentEntry[] = [];
  let previous = firstPrevHash;
  for (const [at, value] of document.entries.entries()) {
    const number = firstNumber + at;
    const entry = readDocumentEntry(value, combined);
    const fault = typeof entry === "string" ? entry : linkFault(entry, number, previous);
    if (fault !== undefined || typeof entry === "string") {
      return { detail: fault ?? "it is not an entry", entry: number };
    }
    entries.push(entry);
    previous = entry.hash;
  }
  if (previous !== lastHash) return { detail: "its hash is not last_hash", entry: lastNumber };
  return entries;
}

/** V2: who signed the document, against the fingerprint (lower hex) the reader brought. */
export function signedByPinned(
  document: LedgerDocument,
  entries: readonly DocumentEntry[],
  pinned: string,
): Finding {
  const certificate = readAttestation(document.attestation);
  if (typeof certificate === "string") return { detail: certificate };
  const { spki, subject } = certificate;
  const key = fingerprint(spki);
  if (spkiSha256(spki) !== pinned) return { detail: `its key is ${key}, not the pinned one` };
  const expected = encodeName([{ type: "CN", value: `pkid ledger ${document.ledgerId}` }]).der;
  if (!Buffer.from(subject.der).equals(expected)) {
    return { detail: "attestation_cert_pem is for another ledger than ledger_id" };
  }
  if (certificate.signatureName !== "ed25519" || !signedBy(certificate, spki)) {
    return { detail: "attestation_cert_pem is not signed by its own Ed25519 key" };
  }
  const first = entries[0];
  if (first?.number === 1 && first.signerFingerprint !== key) {
    return { detail: `the genesis names the key ${first.signerFingerprint}, not ${key}`, entry: 1 };
  }
  if (!signatureVerifies(document, spki)) {
    return { detail: "the signature of the document does not verify under the pinned key" };
  }
  const open = document.attested
    ? ["device_cert_pem or key_attestations are there, which neither signature nor rule covers"]
    : [];
  return { checked: 1, unproven: 0, open };
}

function linkFault(entry: DocumentEntry, number: number, previous: string): string | undefined {
  if (entry.number !== number) return `its number is ${entry.number}`;
  if ((entry.kind === "genesis") !== (number === 1)) {
    return number === 1 ? "the first entry is not the genesis" : "a second genesis";
  }
  if (entry.prevHash !== previous) return "it does not link to the entry before it";
  return ledgerHash(entry) === entry.hash ? undefined : "its hash does not recompute";
}

/** The number of the first entry that is not where it should be; undefined when none is. */
function firstMissing({ entries, firstNumber }: LedgerDocument): number | undefined {
  const numbers = entries.map((value) =>
    typeof value === "object" && value !== null && "number" in value ? value.number : undefined,
  );
  const at = numbers.findIndex((number, index) => number !== firstNumber + index);
  return firstNumber + (at < 0 ? entries.length : at);
}

function readAttestation(pem: string): ParsedCertificate | string {
  const der = decodePem(pem, ["CERTIFICATE"]);
  if (der === undefined) return "attestation_cert_pem is not a certificate in PEM";
  try {
    return parseCertificate(der);
  } catch (error) {
    if (error instanceof DerError) return `attestation_cert_pem cannot be read: ${error.message}`;
    throw error;
  }
}

function signatureVerifies(document: LedgerDocument, spki: Uint8Array): boolean {
  const signature = strictBase64(document.signature);
  if (signature === undefined || document.signatureAlgorithm !== "ed25519") return false;
  const { combined, operationsText } = document;
  const message = exportMessage({
    ledgerId: document.ledgerId,
    provider: document.provider,
    deviceSerial: document.deviceSerial,
    firstNumber: document.firstNumber,
    lastNumber: document.lastNumber,
    firstPrevHash: document.firstPrevHash,
    lastHash: document.lastHash,
    exportedAt: document.exportedAt,
    ...(combined && { operationsSha256: sha256Hex(operationsText) }),
  });
  // The certificate verified under this key before, so it can be imported.
  return verifySignature(importPublicKey(spki), {}, message, signature);
}

/** The octets of base64 with its padding and nothing else; undefined for anything else. */
export function strictBase64(text: string): Uint8Array | undefined {
  try {
    const octets = Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
    // The runtime skips white space, and one thing must have one spelling.
    return /\s/.test(text) ? undefined : octets;
  } catch {
    return undefined; // The runtime throws for what is not base64.
  }
}
