/**
 * Tells what is in any file of a PKI: certificates, requests, lists, answers, bundles, stores and
 * keys.
 */

import { createPrivateKey, createPublicKey } from "node:crypto";

import { DerError } from "#core/asn1/cursor.ts";
import { Problem } from "#core/problems.ts";
import { timestamp } from "#core/time.ts";
import { extensionOf, parseCertificate } from "#core/x509/certificate.ts";
import { openCrl } from "#core/x509/crl.ts";
import { csrSignatureValid, parseCsr } from "#core/x509/csr.ts";
import { generalNameText, parseGeneralNames } from "#core/x509/general-names.ts";
import { nameText, parseName } from "#core/x509/names.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { fingerprint, parsePublicKey } from "#core/x509/public-keys.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { oids } from "#core/asn1/oids.ts";

import { isCaCertificate, isPkcs12 } from "./file-kinds.ts";
import { certificateFingerprint } from "./fingerprints.ts";
import { openPkcs12 } from "./pkcs12.ts";
import type { Row } from "./rows.ts";

/**
 * One thing that was found: its kind, and what can be said of it; `pem` where it is a certificate.
 */
export type Inspected = Row & { readonly kind: string };

/**
 * Everything in a file, in its order: PEM of any labels, or one thing in DER. `passphrase` opens
 * PKCS#12; without the right one only its presence is told. What is nothing known is one `unknown`,
 * and what is broken says why.
 */
export async function inspect(
  octets: Uint8Array,
  passphrase: string | undefined,
): Promise<readonly Inspected[]> {
  const text = new TextDecoder().decode(octets);
  const { blocks, unread } = blocksIn(text);
  const found: Inspected[] = [];
  if (blocks.length === 0 && unread === undefined) return await ofDer(octets, passphrase);
  for (const { whole, label, body } of blocks) {
    if (label.endsWith("PRIVATE KEY")) found.push(privateKey(label, whole));
    else {
      const der = base64(body);
      if (der === undefined) found.push({ kind: "unknown", label, fault: "it is not base64" });
      else found.push(...(await labelled(label, der, passphrase)));
    }
  }
  if (unread !== undefined) found.push({ kind: "unknown", fault: unread });
  return found;
}

interface Block {
  readonly whole: string;
  readonly label: string;
  readonly body: string;
}

/** The PEM blocks of a text, each once over, and why there are no more where there may be. */
function blocksIn(text: string) {
  const blocks: Block[] = [];
  let unread: string | undefined;
  const head = /-----BEGIN ([A-Z0-9 #]+)-----/g;
  for (let found = head.exec(text); found !== null; found = head.exec(text)) {
    const [begin, label = ""] = found;
    const foot = `-----END ${label}-----`;
    const end = text.indexOf(foot, head.lastIndex);
    if (blocks.length === blocksMax) unread = `only ${blocksMax} blocks are looked at`;
    else if (end < 0) unread = `a block of ${label} has no end`;
    if (unread !== undefined) break;
    const whole = text.slice(found.index, end + foot.length);
    blocks.push({ whole, label, body: whole.slice(begin.length, -foot.length) });
    head.lastIndex = end + foot.length;
  }
  return { blocks, unread };
}

async function labelled(label: string, der: Uint8Array, passphrase: string | undefined) {
  const reader = readers.find(({ labels }) => labels.includes(label));
  if (reader === undefined) return await ofDer(der, passphrase, label);
  return [attempted(() => reader.read(der)) ?? { kind: reader.kind, fault: faultOf(reader, der) }];
}

async function ofDer(
  der: Uint8Array,
  passphrase: string | undefined,
  label = "",
): Promise<readonly Inspected[]> {
  for (const { read } of readers) {
    const found = attempted(() => read(der));
    if (found !== undefined) return [found];
  }
  if (isPkcs12(der)) return pkcs12(der, passphrase);
  const { bundledCertificates } = await import("#core/cms/certs-only.ts");
  const bundled = bundledCertificates(der);
  if (bundled !== undefined) {
    return [{ kind: "pkcs7", certificates: bundled.length }, ...bundled.map(certificateOrFault)];
  }
  return [label === "" ? { kind: "unknown" } : { kind: "unknown", label }];
}

const certificateOrFault = (der: Uint8Array): Inspected =>
  attempted(() => readCertificate(der)) ?? { kind: "certificate", fault: "it is malformed" };

function readCertificate(der: Uint8Array): Inspected {
  const certificate = parseCertificate(der);
  const { serial, spki, notBefore, notAfter } = certificate;
  const sans = extensionOf(certificate, oids.subjectAltName);
  return {
    kind: "certificate",
    subject: nameText(certificate.subject),
    issuer: nameText(certificate.issuer),
    serial,
    serial_hex: `0x${BigInt(serial).toString(16)}`,
    not_before: timestamp(notBefore),
    not_after: timestamp(notAfter),
    sans: sans === undefined ? [] : parseGeneralNames(sans.value).names.map(generalNameText),
    is_ca: isCaCertificate(certificate),
    key: keyText(spki),
    signature: certificate.signatureName ?? certificate.signatureOid,
    sha256: certificateFingerprint(der),
    public_key_fingerprint: fingerprint(spki),
    pem: encodePem("CERTIFICATE", der),
  };
}

function readRequest(der: Uint8Array): Inspected {
  const request = parseCsr(der);
  return {
    kind: "request",
    subject: nameText(request.subject),
    sans: [...request.sans.map(generalNameText), ...request.unsupportedNames],
    key: keyText(request.spki),
    signature: request.signatureName ?? "unknown",
    signature_valid: csrSignatureValid(request),
    must_staple: request.mustStaple,
    public_key_fingerprint: fingerprint(request.spki),
  };
}

function readCrl(der: Uint8Array): Inspected {
  const crl = openCrl(der);
  const entries: Row[] = [];
  let count = 0;
  for (const { number, revokedAt, reason } of crl.foreignEntries()) {
    count++;
    if (entries.length < entriesMax)
      entries.push({ serial: number.toString(10), revoked_at: timestamp(revokedAt), reason });
  }
  const isDelta = crl.extensions.some(({ oid }) => oid === oids.deltaCrlIndicator);
  return {
    kind: "crl",
    issuer: nameText(parseName(crl.issuer)),
    number: crl.number,
    delta: isDelta,
    this_update: timestamp(crl.thisUpdate),
    ...(crl.nextUpdate === undefined ? {} : { next_update: timestamp(crl.nextUpdate) }),
    signature: crl.signatureName ?? "unknown",
    revoked_count: count,
    entries,
  };
}

function readOcspResponse(der: Uint8Array): Inspected {
  const { status, basic } = parseOcspResponse(der);
  if (basic === undefined) return { kind: "ocsp response", status };
  const answers = basic.answers.map(({ serial, status: word, thisUpdate, nextUpdate }) => ({
    serial,
    status: word.status,
    ...(word.status === "revoked" ? { revoked_at: timestamp(word.at), reason: word.reason } : {}),
    this_update: timestamp(thisUpdate),
    ...(nextUpdate === undefined ? {} : { next_update: timestamp(nextUpdate) }),
  }));
  return {
    kind: "ocsp response",
    status,
    produced_at: timestamp(basic.producedAt),
    signature: basic.signatureName ?? "unknown",
    certificates: basic.certificates.length,
    answers,
  };
}

function readPublicKey(der: Uint8Array): Inspected {
  const { spki } = parsePublicKey(der);
  return { kind: "public key", key: keyText(spki), public_key_fingerprint: fingerprint(spki) };
}

function pkcs12(der: Uint8Array, passphrase: string | undefined): readonly Inspected[] {
  const opened = attempted(() => openPkcs12(der, passphrase ?? ""));
  if (opened === undefined) {
    return [{ kind: "pkcs12", fault: "the passphrase is another, or its encryption is not known" }];
  }
  const { keys, names, certificates } = opened;
  return [
    { kind: "pkcs12", keys, names, certificates: certificates.length },
    ...certificates.map(certificateOrFault),
  ];
}

/** Of a private key only what is public is told. */
function privateKey(label: string, pem: string): Inspected {
  const locked = label.startsWith("ENCRYPTED") || pem.includes("ENCRYPTED");
  if (locked) return { kind: "private key", encrypted: true };
  try {
    const key = createPublicKey(createPrivateKey(pem));
    const spki = new Uint8Array(key.export({ format: "der", type: "spki" }));
    const public_key_fingerprint = fingerprint(spki);
    return { kind: "private key", encrypted: false, key: keyText(spki), public_key_fingerprint };
  } catch {
    // The runtime's complaint could quote the key.
    return { kind: "private key", fault: "it cannot be read" };
  }
}

function keyText(spki: Uint8Array): string {
  const key = parsePublicKey(spki);
  return key.keyType ?? (key.family === "unknown" ? key.oid : key.family);
}

function attempted<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DerError || error instanceof Problem) return undefined;
    throw error;
  }
}

function faultOf({ read }: Reader, der: Uint8Array): string {
  try {
    read(der);
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function base64(body: string): Uint8Array | undefined {
  const lines = body.split(/\r?\n/).filter((line) => !line.includes(":"));
  try {
    return Uint8Array.fromBase64(lines.join(""));
  } catch {
    return undefined; // The runtime throws a SyntaxError for what is not base64.
  }
}

interface Reader {
  readonly kind: string;
  readonly labels: readonly string[];
  readonly read: (der: Uint8Array) => Inspected;
}

const readers: readonly Reader[] = [
  { kind: "certificate", labels: ["CERTIFICATE", "X509 CERTIFICATE"], read: readCertificate },
  { kind: "crl", labels: ["X509 CRL"], read: readCrl },
  {
    kind: "request",
    labels: ["CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"],
    read: readRequest,
  },
  { kind: "ocsp response", labels: ["OCSP RESPONSE"], read: readOcspResponse },
  { kind: "public key", labels: ["PUBLIC KEY"], read: readPublicKey },
];
const blocksMax = 1000;
const entriesMax = 1000;
