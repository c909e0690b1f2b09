/** Certification requests (RFC 2986), read strictly and never trusted. */

import { type Cursor, DerError, openSequence } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { decodeText, isTextTag } from "#core/asn1/strings.ts";
import { contextualConstructed, tags } from "#core/asn1/tags.ts";
import { importPublicKey, verifySignature, verifySignatureAside } from "#core/crypto.ts";
import { type Problem, refuse } from "#core/problems.ts";

import { readAlgorithm } from "./algorithm-identifiers.ts";
import { type SignatureName, schemeOf } from "./algorithms.ts";
import { extensionOf } from "./certificate.ts";
import { type Extension, parseExtensions, parseTlsFeatures } from "./extensions.ts";
import { type GeneralName, parseGeneralNames } from "./general-names.ts";
import { type Name, parseName } from "./names.ts";
import { parsePublicKey, signatureFits } from "./public-keys.ts";

export interface CertificationRequest {
  readonly der: Uint8Array;
  /** CertificationRequestInfo, the octets the signature covers. */
  readonly tbs: Uint8Array;
  readonly subject: Name;
  readonly spki: Uint8Array;
  readonly sans: readonly GeneralName[];
  /** Texts of subject alternative names of other kinds. */
  readonly unsupportedNames: readonly string[];
  /** True when the request asks for TLS feature 5. */
  readonly mustStaple: boolean;
  readonly challengePassword: string | undefined;
  readonly signatureName: SignatureName | undefined;
  readonly signature: Uint8Array;
}

/** Why a request is refused before anybody looks at what it asks. */
export type CsrReason = "too_large" | "not_pem" | "malformed" | "unsupported_version";

/**
 * Reads one PEM or DER request of at most 64 KiB; attributes other than extensionRequest and
 * challengePassword are ignored. Refuses `bad_csr` with a closed `reason` for everything else,
 * trailing octets included.
 */
export function parseCsr(input: string | Uint8Array): CertificationRequest {
  if (input.length > octetsMax) throw badCsr("too_large");
  const der = derOf(input);
  if (der === undefined) throw badCsr("not_pem");
  try {
    return readRequest(der);
  } catch (error) {
    if (error instanceof DerError) throw badCsr("malformed", `: ${error.message}`);
    throw error;
  }
}

/**
 * True when the request is signed by the key inside it (proof of possession), with an algorithm of
 * the table that fits the key; SHA-1 and MD5 have no row there.
 */
export function csrSignatureValid(request: CertificationRequest): boolean {
  const check = signatureCheck(request);
  if (check === undefined) return false;
  return verifySignature(check.key, check.scheme, request.tbs, request.signature);
}

/** The same for the thread that serves requests (`verifySignatureAside`). */
export async function csrSignatureVerified(request: CertificationRequest): Promise<boolean> {
  const check = signatureCheck(request);
  if (check === undefined) return false;
  return await verifySignatureAside(check.key, check.scheme, request.tbs, request.signature);
}

function signatureCheck({ signatureName, spki }: CertificationRequest) {
  if (signatureName === undefined) return undefined;
  try {
    if (!signatureFits(parsePublicKey(spki), signatureName)) return undefined;
    return { key: importPublicKey(spki), scheme: schemeOf(signatureName) };
  } catch {
    // A key that cannot be read or imported, such as a point off its curve, has signed nothing.
    return undefined;
  }
}

function derOf(input: string | Uint8Array): Uint8Array | undefined {
  if (typeof input === "string") return decodePem(input, pemLabels);
  // A request in DER is a SEQUENCE, whose octet is the digit zero in ASCII: no PEM begins so.
  if (input[0] === tags.sequence) return input;
  return decodePem(latin1.decode(input), pemLabels);
}

function readRequest(der: Uint8Array): CertificationRequest {
  const signed = openSequence(der);
  const tbs = signed.element(tags.sequence);
  const algorithm = signed.element(tags.sequence);
  const signature = signed.wholeBits();
  signed.finish();
  const { signatureName } = readAlgorithm(algorithm);
  const read = readTbs(openSequence(tbs));
  return {
    der,
    tbs,
    subject: read.subject,
    spki: read.spki,
    sans: read.sans,
    unsupportedNames: read.unsupportedNames,
    mustStaple: read.mustStaple,
    challengePassword: read.challengePassword,
    signatureName,
    signature,
  };
}

function readTbs(tbs: Cursor) {
  if (tbs.small() !== 0) throw badCsr("unsupported_version");
  const subject = parseName(tbs.element(tags.sequence));
  const spki = tbs.element(tags.sequence);
  const { extensions, challengePassword } = readAttributes(tbs.enter(contextualConstructed(0)));
  tbs.finish();
  const names = extensionOf({ extensions }, oids.subjectAltName);
  const features = extensionOf({ extensions }, oids.tlsFeature);
  const { names: sans, unsupported } = names ? parseGeneralNames(names.value) : noNames;
  const mustStaple = features !== undefined && parseTlsFeatures(features.value).includes(5);
  return { subject, spki, sans, unsupportedNames: unsupported, mustStaple, challengePassword };
}

// The order X.690 §11.6 asks of a SET OF is not insisted on: many devices write attributes as they
// come.
function readAttributes(attributes: Cursor) {
  let extensions: readonly Extension[] | undefined;
  let challengePassword: string | undefined;
  while (!attributes.finished) {
    const attribute = attributes.enter(tags.sequence);
    const type = attribute.oid();
    const values = attribute.enter(tags.set);
    attribute.finish();
    if (type === oids.extensionRequest) {
      if (extensions) throw new DerError("there are two lists of extensions");
      extensions = parseExtensions(values.element());
      values.finish();
    } else if (type === oids.challengePassword) {
      if (challengePassword !== undefined) throw new DerError("there are two challenge passwords");
      challengePassword = readPassword(values);
    }
  }
  return { extensions: extensions ?? [], challengePassword };
}

function readPassword(values: Cursor): string {
  const { tag } = values;
  if (!isTextTag(tag)) throw new DerError("a challenge password is not text");
  const password = decodeText(tag, values.content(tag));
  values.finish();
  return password;
}

const badCsr = (reason: CsrReason, detail = ""): Problem =>
  refuse("bad_csr", { reason }, `${sentences[reason]}${detail}.`);

const sentences: Readonly<Record<CsrReason, string>> = {
  too_large: "The certificate request is larger than 64 KiB",
  not_pem: "The certificate request is neither DER nor one PEM block",
  malformed: "The certificate request is not valid DER",
  unsupported_version: "The certificate request has an unknown version",
};

const octetsMax = 64 * 1024;
const pemLabels = ["CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"] as const;
const noNames = { names: [], unsupported: [] } as const;
const latin1 = new TextDecoder("latin1");
