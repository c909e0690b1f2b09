/**
 * Judges a published artefact without any key: digest, signature under the CA of its folder,
 * freshness.
 */

import { DerError } from "#core/asn1/cursor.ts";
import { decodePemBlocks } from "#core/asn1/pem.ts";
import { sha256Hex } from "#core/crypto.ts";
import type { Serial } from "#core/ids.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { parseOcspRequest } from "#core/x509/ocsp.ts";
import { judgeAnswer, verifies } from "#core/x509/ocsp-verdict.ts";
import type { Artefact } from "./manifest.ts";

/**
 * What is wrong with an artefact as it was read, in a sentence; undefined when nothing is. `issuer`
 * is the certificate of the CA whose folder it lies in.
 */
export function faultOf(
  artefact: Artefact,
  octets: Uint8Array,
  issuer: ParsedCertificate,
  now: Instant,
): string | undefined {
  if (octets.length !== artefact.size) return "its size is not that of the manifest";
  if (sha256Hex(octets) !== artefact.sha256) return "its digest is not that of the manifest";
  try {
    const fault = judge(artefact, octets, issuer, now);
    if (fault !== undefined) return fault;
  } catch (error) {
    if (error instanceof DerError) return `it is malformed: ${error.message}`;
    throw error;
  }
  return artefact.notAfter > now ? undefined : `it was good until ${timestamp(artefact.notAfter)}`;
}

function judge(artefact: Artefact, octets: Uint8Array, issuer: ParsedCertificate, now: Instant) {
  switch (artefact.kind) {
    case "ca_cert":
      return certificateFault(artefact, octets, issuer);
    case "chain":
      return chainFault(octets, issuer);
    case "crl":
    case "delta_crl":
      return listFault(artefact, octets, issuer);
    case "ocsp":
      return answerFault(artefact, octets, issuer, now);
    default:
      return artefact.kind satisfies never;
  }
}

function certificateFault({ path }: Artefact, octets: Uint8Array, issuer: ParsedCertificate) {
  const der = path.endsWith(".pem") ? pemCertificates(octets)[0] : octets;
  if (der === undefined || !same(der, issuer.der)) return "it is not the certificate of the CA";
  return undefined;
}

/**
 * Every certificate is certified by one that follows it, or by itself. The chain is that of the CA
 * or, once it is retired and in no bundle any more (ROL-4), of a member of its lineage, which has
 * the same name.
 */
function chainFault(octets: Uint8Array, issuer: ParsedCertificate): string | undefined {
  const chain = pemCertificates(octets).map(parseCertificate);
  const [first] = chain;
  const own = chain.some(({ der }) => same(der, issuer.der));
  const lineage = first !== undefined && same(first.subject.der, issuer.subject.der);
  if (!own && !lineage) return "neither the CA nor its successor is in its chain";
  const broken = chain.findIndex((one, at) => {
    const above = chain.slice(at + 1);
    const named = above.filter(({ subject }) => same(subject.der, one.issuer.der));
    // A chain may end below its root; within it nothing may be signed by another key than it names.
    return named.length > 0 && !named.some((by) => signedBy(one, by));
  });
  return broken === -1 ? undefined : `certificate ${broken + 1} is not signed by the one above it`;
}

function listFault(artefact: Artefact, octets: Uint8Array, issuer: ParsedCertificate) {
  const crl = parseCrl(octets);
  if (!same(crl.issuer, issuer.subject.der)) return "it is of another issuer";
  if (!signedBy(crl, issuer)) return "its signature is wrong";
  if (artefact.crlNumber !== undefined && crl.number !== artefact.crlNumber) {
    return "its number is not that of the manifest";
  }
  if (crl.nextUpdate !== artefact.notAfter) return "its nextUpdate is not that of the manifest";
  return undefined;
}

function answerFault(
  { path }: Artefact,
  octets: Uint8Array,
  issuer: ParsedCertificate,
  now: Instant,
) {
  const serial = serialOf(path);
  if (serial === undefined) return "its name says no serial";
  const verdict = judgeAnswer(octets, { issuer, serial, nonce: undefined, now });
  return verdict.trusted ? undefined : (verdict.fault ?? "it cannot be trusted");
}

/** The serial an answer is about, by the name it is published under. */
function serialOf(path: string): Serial | undefined {
  const [folder, name = ""] = path
    .replace(/\.der$/, "")
    .split("/")
    .slice(-2);
  // Decimal, as it is written.
  if (folder === "by-serial") return /^\d{1,49}$/.test(name) ? (name as Serial) : undefined;
  const request = parseOcspRequest(Buffer.from(name, "base64url"));
  return request?.certIds[0]?.serial;
}

interface Signed {
  readonly tbs: Uint8Array;
  readonly signatureName: ParsedCertificate["signatureName"];
  readonly signature: Uint8Array;
}

const signedBy = ({ tbs, signatureName, signature }: Signed, by: ParsedCertificate): boolean =>
  verifies(by.spki, signatureName, tbs, signature);

function pemCertificates(octets: Uint8Array): readonly Uint8Array[] {
  const found = decodePemBlocks(new TextDecoder().decode(octets), "CERTIFICATE", certificatesMax);
  if (found === undefined) throw new DerError("it is not PEM");
  return found;
}

const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
const certificatesMax = 100;
