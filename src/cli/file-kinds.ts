/**
 * Tells by its octets what a file holds, so that a result never takes the place of something else.
 */

import { DerError } from "#core/asn1/cursor.ts";
import { decodePemBlocks } from "#core/asn1/pem.ts";
import { oids } from "#core/asn1/oids.ts";
import { exportFormat } from "#core/audit/ledger-export.ts";
import { extensionOf, type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { parseCsr } from "#core/x509/csr.ts";
import { parseBasicConstraints } from "#core/x509/extensions.ts";
import { Problem } from "#core/problems.ts";

import { rulesLine } from "./rules-yaml.ts";

/** What a file holds, in words; `something else` is what no result is written over. */
export type FileKind =
  | "a certificate"
  | "a CA certificate"
  | "a request"
  | "a CRL"
  | "a private key"
  | "a key and its certificate"
  | "a PKCS#12 store"
  | "several CA certificates"
  | "PEM among other text"
  | "a sign ledger"
  | "an approval transcript"
  | "a JSON document"
  | "alerting rules"
  | "something else";

/**
 * The kind of a file. Chains are what their first certificate is, where a CA's are the paths of one
 * CA; PEM with a private key in it is always a key.
 */
export function kindOfFile(octets: Uint8Array): FileKind {
  const text = new TextDecoder().decode(octets);
  const labels = new Set([...text.matchAll(pemLabel)].map(([, label = ""]) => label));
  if (labels.size > 0) return kindOfPem(text, labels);
  if (/^\s*\{/.test(text)) return kindOfJson(text);
  if (text.startsWith(`${rulesLine}\n`)) return "alerting rules";
  return kindOfDer(octets);
}

/** True for a certificate that may sign others (RFC 5280 §4.2.1.9). */
export function isCaCertificate(certificate: Pick<ParsedCertificate, "extensions">): boolean {
  const extension = extensionOf(certificate, oids.basicConstraints);
  return extension !== undefined && parseBasicConstraints(extension.value).ca;
}

function kindOfPem(text: string, labels: ReadonlySet<string>): FileKind {
  const hasKey = [...labels].some((label) => label.endsWith("PRIVATE KEY"));
  if (hasKey) return labels.has("CERTIFICATE") ? "a key and its certificate" : "a private key";
  const [label = "", ...more] = labels;
  if (more.length > 0) return "something else";
  if (hasOtherText(text)) return "PEM among other text";
  if (label === "CERTIFICATE") {
    const ders = decodePemBlocks(text, label, blocksMax) ?? [];
    const kind = certificateKind(ders[0] ?? new Uint8Array()) ?? "something else";
    return kind === "a CA certificate" && !isOneLineage(ders) ? "several CA certificates" : kind;
  }
  return pemKinds.get(label) ?? "something else";
}

/** A file of somebody's with PEM in it, as of a VPN; `ca chains` puts a line above each path. */
function hasOtherText(text: string): boolean {
  let within = false;
  for (const line of text.split("\n")) {
    if (line.startsWith("-----BEGIN ")) within = true;
    if (!within && line.trim() !== "" && !/^# (native|cross), by /.test(line)) return true;
    if (line.startsWith("-----END ")) within = false;
  }
  return false;
}

/** True where every certificate has issued the one before it, or begins another path. */
function isOneLineage(ders: readonly Uint8Array[]): boolean {
  let path: readonly ParsedCertificate[] = [];
  const isRead = reads(() => {
    path = ders.map(parseCertificate);
  });
  const isSame = (one: ParsedCertificate["subject"], other?: ParsedCertificate["subject"]) =>
    other !== undefined && Buffer.compare(one.der, other.der) === 0;
  return (
    isRead &&
    path.every(
      ({ subject }, at) =>
        isSame(subject, path[0]?.subject) || isSame(subject, path[at - 1]?.issuer),
    )
  );
}

/** Only what has the members of a document of ours is one. */
function kindOfJson(text: string): FileKind {
  let members: Readonly<Record<string, unknown>>;
  try {
    members = JSON.parse(text);
  } catch {
    return "a JSON document"; // As far as it is one; it is nothing of ours.
  }
  if (members.format === exportFormat) return "a sign ledger";
  const isTranscript = transcriptMembers.every((name) => Object.hasOwn(members, name));
  return isTranscript ? "an approval transcript" : "a JSON document";
}

/** DER of the subject of the first certificate in PEM or DER; undefined where there is none. */
export function leadingSubject(octets: Uint8Array): Uint8Array | undefined {
  const text = new TextDecoder().decode(octets);
  const der = decodePemBlocks(text, "CERTIFICATE", blocksMax)?.[0] ?? octets;
  let subject: Uint8Array | undefined;
  reads(() => {
    subject = parseCertificate(der).subject.der;
  });
  return subject;
}

function kindOfDer(der: Uint8Array): FileKind {
  const certificate = certificateKind(der);
  if (certificate !== undefined) return certificate;
  if (reads(() => parseCrl(der))) return "a CRL";
  if (reads(() => parseCsr(der))) return "a request";
  return isPkcs12(der) ? "a PKCS#12 store" : "something else";
}

function certificateKind(der: Uint8Array): FileKind | undefined {
  let kind: FileKind | undefined;
  reads(() => {
    kind = isCaCertificate(parseCertificate(der)) ? "a CA certificate" : "a certificate";
  });
  return kind;
}

/** RFC 7292 §4: a SEQUENCE that begins with version 3. */
export function isPkcs12(der: Uint8Array): boolean {
  const lengthOctets = (der[1] ?? 0) > 0x80 ? (der[1] ?? 0) & 0x7f : 0;
  const at = 2 + lengthOctets;
  return der[0] === 0x30 && der[at] === 0x02 && der[at + 1] === 0x01 && der[at + 2] === 0x03;
}

/** True when the reader does not refuse. */
function reads(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof DerError || error instanceof Problem) return false;
    throw error;
  }
}

const pemKinds: ReadonlyMap<string, FileKind> = new Map([
  ["CERTIFICATE REQUEST", "a request"],
  ["NEW CERTIFICATE REQUEST", "a request"],
  ["X509 CRL", "a CRL"],
]);
const transcriptMembers = ["approval", "events", "exported_at", "signature_algorithm", "signature"];
const pemLabel = /^-----BEGIN ([A-Z0-9 #]+)-----/gm;
const blocksMax = 1000;
