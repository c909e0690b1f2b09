/** What was signed, taken apart: for each signature on an artefact the octets it covers (LED-4). */

import { DerError, openSequence } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { tags } from "#core/asn1/tags.ts";
import { Problem } from "#core/problems.ts";
import { readAlgorithm } from "#core/x509/algorithm-identifiers.ts";
import type { SignatureName } from "#core/x509/algorithms.ts";
import {
  preTbsCertificate,
  preTbsCertList,
  readAltSignatureAlgorithm,
  readAltSignatureValue,
} from "#core/x509/alternative.ts";
import { extensionOf, type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { openCrl } from "#core/x509/crl.ts";
import { parseCsr } from "#core/x509/csr.ts";
import type { Extension } from "#core/x509/extensions.ts";

import { strictBase64 } from "./ledger-verification-chain.ts";
import type { DocumentOperation } from "./ledger-verification-document.ts";

/** One signature on an artefact. */
export interface ArtefactSignature {
  /** The octets it covers. */
  readonly covered: Uint8Array;
  readonly value: Uint8Array;
  /** Undefined for an algorithm pkid does not know. */
  readonly algorithm: SignatureName | undefined;
}

/** An artefact of a document. */
export interface ReadArtefact {
  readonly der: Uint8Array;
  /** The native signature, and of a hybrid artefact the alternative one after it. */
  readonly signatures: readonly ArtefactSignature[];
  /** Decimal serial of a certificate, number of a list; undefined for a request. */
  readonly name: string | undefined;
  /** SubjectPublicKeyInfos it carries. */
  readonly keys: readonly Uint8Array[];
}

/** How the artefact of a purpose is read; undefined for a purpose nothing here reads. */
export function formatOf(purpose: string): string | undefined {
  return formats.get(purpose);
}

/** Reads the artefact of an operation; gives a sentence for what cannot be read as what it is. */
export function readArtefact(operation: DocumentOperation): ReadArtefact | string {
  try {
    switch (operation.certFormat) {
      case "x509":
        return readCertificate(operation.certificate);
      case "crl":
        return readList(operation.artifactDer);
      default:
        return readRequest(operation.artifactDer);
    }
  } catch (error) {
    if (error instanceof DerError) return `its artefact cannot be read: ${error.message}`;
    if (error instanceof Problem) return `its artefact cannot be read: ${error.code}`;
    throw error;
  }
}

function readCertificate(pem: string): ReadArtefact | string {
  const der = decodePem(pem, ["CERTIFICATE"]);
  return der === undefined ? "certificate is not one in PEM" : certificateArtefact(der);
}

/** The signatures on a certificate or precertificate; throws DerError. */
export const certificateArtefact = (der: Uint8Array): ReadArtefact =>
  parsedArtefact(der, parseCertificate(der));

/** The same of one that is parsed already. */
export function parsedArtefact(der: Uint8Array, parsed: ParsedCertificate): ReadArtefact {
  const { tbs, signature, signatureName, extensions, spki, serial } = parsed;
  const native = { covered: tbs, value: signature, algorithm: signatureName };
  const alternative = extensionOf({ extensions }, oids.subjectAltPublicKeyInfo)?.value;
  return {
    der,
    signatures: withAlternative(native, extensions, preTbsCertificate),
    name: serial,
    keys: alternative === undefined ? [spki] : [spki, alternative],
  };
}

/** The native signature on what is signed as certificates are, with nothing else read. */
export function nativeSignature(der: Uint8Array): ArtefactSignature {
  const signed = openSequence(der);
  const covered = signed.element(tags.sequence);
  const { signatureName } = readAlgorithm(signed.element(tags.sequence));
  const value = signed.wholeBits();
  signed.finish();
  return { covered, value, algorithm: signatureName };
}

function readList(base64: string): ReadArtefact | string {
  const der = strictBase64(base64);
  return der === undefined ? "artifact_der is not base64" : listArtefact(der);
}

/** The signatures on a CRL; throws DerError. */
export function listArtefact(der: Uint8Array): ReadArtefact {
  const { tbs, signature, signatureName, extensions, number } = openCrl(der);
  const native = { covered: tbs, value: signature, algorithm: signatureName };
  const signatures = withAlternative(native, extensions, preTbsCertList);
  return { der, signatures, name: number === undefined ? "" : String(number), keys: [] };
}

function readRequest(base64: string): ReadArtefact | string {
  const der = strictBase64(base64);
  return der === undefined ? "artifact_der is not base64" : requestArtefact(der);
}

/**
 * The signature on a request. Throws DerError, and refuses what `parseCsr` does; a sentence for a
 * request that is not DER.
 */
export function requestArtefact(der: Uint8Array): ReadArtefact | string {
  const request = parseCsr(der);
  // A request in PEM inside the base64 would be another thing than was signed.
  if (!Buffer.from(request.der).equals(der)) return "artifact_der is not DER";
  const { tbs, signature, signatureName, spki } = request;
  const native = { covered: tbs, value: signature, algorithm: signatureName };
  return { der, signatures: [native], name: undefined, keys: [spki] };
}

function withAlternative(
  native: ArtefactSignature,
  extensions: readonly Extension[],
  preTbs: (tbs: Uint8Array) => Uint8Array,
): readonly ArtefactSignature[] {
  const value = extensionOf({ extensions }, oids.altSignatureValue)?.value;
  const algorithm = extensionOf({ extensions }, oids.altSignatureAlgorithm)?.value;
  if (value === undefined || algorithm === undefined) return [native];
  const alternative = {
    covered: preTbs(native.covered),
    value: readAltSignatureValue(value),
    algorithm: readAltSignatureAlgorithm(algorithm),
  };
  return [native, alternative];
}

const formats: ReadonlyMap<string, string> = new Map([
  ["certificate", "x509"],
  ["precertificate", "x509"],
  ["ca_certificate", "x509"],
  ["cross_certificate", "x509"],
  ["responder_certificate", "x509"],
  ["crl", "crl"],
  ["delta_crl", "crl"],
  ["csr", "csr"],
  ["self_test", "self_test"],
]);
