/** OCSP requests and responses (RFC 6960, RFC 9654). */

import { type Cursor, DerError, openSequence, readWhole } from "#core/asn1/cursor.ts";
import { DerWriter } from "#core/asn1/der-writer.ts";
import {
  element,
  enumerated,
  explicit,
  generalizedTime,
  headerLength,
  implicit,
  octetString,
  oid,
  sequence,
  unsignedInteger,
} from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { contextualConstructed, tags } from "#core/asn1/tags.ts";
import { digest, type HashName } from "#core/crypto.ts";
import { type Serial, serialFromBytes, serialToBytes } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";

import { algorithmIdentifier, hashIdentifier, readHash } from "./algorithm-identifiers.ts";
import type { SignatureName } from "./algorithms.ts";
import { extensionOf } from "./certificate.ts";
import { encodeExtensions, type Extension, parseExtensions } from "./extensions.ts";
import { subjectPublicKeyBits } from "./public-keys.ts";
import { type RevocationReason, revocationReasons } from "./reasons.ts";

/** One certificate asked about. */
export interface CertId {
  /** DER of the CertID exactly as asked; echoed in the answer. */
  readonly der: Uint8Array;
  /** Undefined for a hash pkid does not know. */
  readonly hash: HashName | undefined;
  readonly issuerNameHash: Uint8Array;
  readonly issuerKeyHash: Uint8Array;
  /** Undefined for a serial outside 1..2^160−1, which no CA here ever issued. */
  readonly serial: Serial | undefined;
}

export interface OcspRequest<C extends CertId = CertId> {
  readonly certIds: readonly C[];
  /** Octets of the nonce, 1..128; undefined when absent. */
  readonly nonce: Uint8Array | undefined;
}

export type SingleStatus =
  | { readonly status: "good" }
  | { readonly status: "unknown" }
  | { readonly status: "revoked"; readonly at: Instant; readonly reason: RevocationReason };

export interface SingleAnswer {
  readonly certId: Uint8Array;
  readonly status: SingleStatus;
  readonly thisUpdate: Instant;
  readonly nextUpdate: Instant;
}

export interface ResponseFields {
  /** DER of the responder's subject: byName responder id. */
  readonly responder: Uint8Array;
  readonly producedAt: Instant;
  readonly answers: readonly SingleAnswer[];
  readonly nonce: Uint8Array | undefined;
}

export const ocspStatus = {
  successful: 0,
  malformedRequest: 1,
  internalError: 2,
  tryLater: 3,
  sigRequired: 5,
  unauthorized: 6,
} as const;

/**
 * Reads an OCSPRequest of at most 64 KiB and 1..32 entries. Gives undefined for everything the
 * responder answers with malformedRequest: not DER, no entry, nonce empty or over 128 octets,
 * unknown critical extension. The requestor's name and signature are read over: answers are the
 * same for everybody.
 */
export const parseOcspRequest = (der: Uint8Array): OcspRequest | undefined =>
  parseOcspRequestBy(der, certIdIn);

/** As `parseOcspRequest`; `read` makes of a certID's DER what is wanted, and throws DerError. */
export function parseOcspRequestBy<C extends CertId>(
  der: Uint8Array,
  read: (certId: Uint8Array) => C,
): OcspRequest<C> | undefined {
  if (der.length > octetsMax) return undefined;
  try {
    return readRequest(openSequence(der), read);
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

/** DER of ResponseData, the octets to be signed. */
export function encodeResponseData(fields: ResponseFields): Uint8Array {
  const { responder, producedAt, answers, nonce } = fields;
  const statuses = answers.map(({ status }) => encodeStatus(status));
  const out = new DerWriter(octetsOf(fields, statuses));
  if (nonce !== undefined) writeNonce(out, nonce);
  const answersEnd = out.mark;
  for (let at = answers.length - 1; at >= 0; at--) {
    const [answer, status] = [answers[at], statuses[at]];
    if (answer !== undefined && status !== undefined) writeSingle(out, answer, status);
  }
  out.wrap(tags.sequence, answersEnd);
  out.generalizedTime(producedAt);
  const responderEnd = out.mark;
  out.write(responder);
  out.wrap(contextualConstructed(1), responderEnd);
  out.wrap(tags.sequence, 0);
  return out.finish();
}

/** Octets of ResponseData with these encoded statuses. */
function octetsOf(
  { responder, answers, nonce }: ResponseFields,
  statuses: readonly Uint8Array[],
): number {
  let list = 0;
  for (let at = 0; at < answers.length; at++) {
    const status = statuses[at]?.length ?? 0;
    list += withHeader((answers[at]?.certId.length ?? 0) + status + 2 * timeOctets + 2);
  }
  let whole = withHeader(responder.length) + timeOctets + withHeader(list);
  if (nonce !== undefined) {
    const extension = oid(oids.ocspNonce).length + withHeader(withHeader(nonce.length));
    whole += withHeader(withHeader(withHeader(extension)));
  }
  return withHeader(whole);
}

const withHeader = (length: number): number => headerLength(length) + length;

/**
 * `[1]` of ResponseData; the nonce is an OCTET STRING within the OCTET STRING of the extension (RFC
 * 9654 §2.1).
 */
function writeNonce(out: DerWriter, nonce: Uint8Array): void {
  const end = out.mark;
  out.write(nonce);
  out.wrap(tags.octetString, end);
  out.wrap(tags.octetString, end);
  out.write(oid(oids.ocspNonce));
  out.wrap(tags.sequence, end);
  out.wrap(tags.sequence, end);
  out.wrap(contextualConstructed(1), end);
}

function writeSingle(out: DerWriter, answer: SingleAnswer, status: Uint8Array): void {
  const end = out.mark;
  out.generalizedTime(answer.nextUpdate);
  out.wrap(contextualConstructed(0), end);
  out.generalizedTime(answer.thisUpdate);
  out.write(status);
  out.write(answer.certId);
  out.wrap(tags.sequence, end);
}

/** DER of a successful OCSPResponse around a signed BasicOCSPResponse; `certificates` are DER. */
export function encodeOcspResponse(
  responseData: Uint8Array,
  algorithm: SignatureName,
  signature: Uint8Array,
  certificates: readonly Uint8Array[],
): Uint8Array {
  let octets = 0;
  for (const certificate of certificates) octets += certificate.length;
  const carried = certificates.length > 0 ? withHeader(withHeader(octets)) : 0;
  const identifier = algorithmIdentifier(algorithm);
  const basic = responseData.length + identifier.length + withHeader(signature.length + 1);
  const wrapped = withHeader(withHeader(basic + carried)) + oid(oids.ocspBasic).length;
  const whole = withHeader(withHeader(wrapped)) + successful.length;
  const out = new DerWriter(withHeader(whole));
  for (let at = certificates.length - 1; at >= 0; at--) out.write(certificates[at] ?? noOctets);
  if (certificates.length > 0) {
    out.wrap(tags.sequence, 0);
    out.wrap(contextualConstructed(0), 0);
  }
  const signatureEnd = out.mark;
  out.write(signature);
  out.write(noUnusedBits);
  out.wrap(tags.bitString, signatureEnd);
  out.write(identifier);
  out.write(responseData);
  out.wrap(tags.sequence, 0);
  out.wrap(tags.octetString, 0);
  out.write(oid(oids.ocspBasic));
  out.wrap(tags.sequence, 0);
  out.wrap(contextualConstructed(0), 0);
  out.write(successful);
  out.wrap(tags.sequence, 0);
  return out.finish();
}

/** DER of a response that carries only a status word (five octets). */
export const encodeOcspError = (
  status: Exclude<keyof typeof ocspStatus, "successful">,
): Uint8Array => sequence(enumerated(ocspStatus[status]));

/** DER of a request for one serial with SHA-1 or SHA-256 hashes, as `pkid ocsp check` asks it. */
export function encodeOcspRequest(question: {
  readonly issuerName: Uint8Array;
  readonly issuerSpki: Uint8Array;
  readonly serial: Serial;
  readonly hash: "sha1" | "sha256";
  readonly nonce?: Uint8Array | undefined;
}): Uint8Array {
  const { issuerName, issuerSpki, serial, hash, nonce } = question;
  const certId = certIdsOf({ name: issuerName, spki: issuerSpki }, hash);
  const requests = sequence(sequence(certId(serial)));
  const extensions = nonce === undefined ? [] : [explicit(2, nonceExtensions(nonce))];
  return sequence(sequence(requests, ...extensions));
}

/**
 * Makes the DER of CertIDs under one issuer (its subject and public key, DER), as every client
 * writes them.
 */
export function certIdsOf(
  issuer: { readonly name: Uint8Array; readonly spki: Uint8Array },
  hash: "sha1" | "sha256",
): (serial: Serial) => Uint8Array {
  const algorithm = hashIdentifier(hash);
  const name = octetString(digest(hash, issuer.name));
  const key = octetString(digest(hash, subjectPublicKeyBits(issuer.spki)));
  return (serial) => sequence(algorithm, name, key, unsignedInteger(serialToBytes(serial)));
}

/** Reads a CertID with the octets it is made of; throws DerError. */
export const readCertId = (cursor: Cursor): CertId => certIdIn(cursor.element(tags.sequence));

/** The CertID that `der` consists of; its members are views of it. Throws DerError. */
export function certIdIn(der: Uint8Array): CertId {
  const fields = openSequence(der);
  const hash = readHash(fields.element(tags.sequence));
  const issuerNameHash = fields.octetString();
  const issuerKeyHash = fields.octetString();
  const serial = issuableSerial(fields.integer());
  fields.finish();
  return { der, hash, issuerNameHash, issuerKeyHash, serial };
}

/** The octets of the nonce; throws DerError outside 1..128 (RFC 9654 §2.1). */
export function readNonce(extensions: readonly Extension[]): Uint8Array | undefined {
  const extension = extensionOf({ extensions }, oids.ocspNonce);
  if (extension === undefined) return undefined;
  const nonce = readWhole(extension.value, (cursor) => cursor.octetString());
  if (nonce.length < 1 || nonce.length > 128) throw new DerError("a nonce has a wrong length");
  return nonce;
}

function readRequest<C extends CertId>(
  request: Cursor,
  read: (certId: Uint8Array) => C,
): OcspRequest<C> {
  const tbs = request.enter(tags.sequence);
  if (request.tag === contextualConstructed(0)) request.element();
  request.finish();
  readVersion(tbs.enterOptional(contextualConstructed(0)));
  if (tbs.tag === contextualConstructed(1)) tbs.element();
  const certIds = readEntries(tbs.enter(tags.sequence), read);
  const nonce = readRequestNonce(tbs.enterOptional(contextualConstructed(2)));
  tbs.finish();
  return { certIds, nonce };
}

function readRequestNonce(holder: Cursor | undefined): Uint8Array | undefined {
  if (holder === undefined) return undefined;
  const extensions = holder.element();
  holder.finish();
  return onlyNonce(extensions) ?? readNonce(knownExtensions(extensions));
}

/**
 * The nonce of a list that holds nothing else, not critical and short: what about every asker
 * sends, read by its octets. Undefined for every other list, which is read in full.
 */
function onlyNonce(list: Uint8Array): Uint8Array | undefined {
  const start = onlyNonceHead.length;
  const length = list.length - start;
  if (length < 1 || length > shortNonceMax) return undefined;
  for (let at = 0; at < start; at++) {
    const holds = onlyNonceHead[at] ?? 0;
    if (list[at] !== holds + (growing[at] ?? 0) * length) return undefined;
  }
  return list.subarray(start);
}

// Version 1 is the DEFAULT, which DER leaves out; some clients write it, and nothing signed depends
// on it.
function readVersion(version: Cursor | undefined): void {
  if (version === undefined) return;
  if (version.small() !== 0) throw new DerError("the request has an unknown version");
  version.finish();
}

function readEntries<C extends CertId>(
  list: Cursor,
  read: (certId: Uint8Array) => C,
): readonly C[] {
  const certIds: C[] = [];
  do {
    const entry = list.enter(tags.sequence);
    certIds.push(read(entry.element(tags.sequence)));
    readEntryExtensions(entry.enterOptional(contextualConstructed(0)));
    entry.finish();
    if (certIds.length > entriesMax) throw new DerError("the request has too many entries");
  } while (!list.finished);
  return certIds;
}

function readEntryExtensions(holder: Cursor | undefined): void {
  if (holder === undefined) return;
  knownExtensions(holder.element());
  holder.finish();
}

function knownExtensions(der: Uint8Array): readonly Extension[] {
  const extensions = parseExtensions(der);
  const strange = extensions.some(({ oid: type, critical }) => critical && type !== oids.ocspNonce);
  if (strange) throw new DerError("the request has an unknown critical extension");
  return extensions;
}

function issuableSerial(content: Uint8Array): Serial | undefined {
  const magnitude = content[0] === 0 ? content.subarray(1) : content;
  const negative = (content[0] ?? 0) >= 0x80;
  if (negative || magnitude.length === 0 || magnitude.length > 20) return undefined;
  return serialFromBytes(magnitude);
}

function encodeStatus(status: SingleStatus): Uint8Array {
  switch (status.status) {
    case "good":
      return good;
    case "unknown":
      return unknown;
    case "revoked": {
      const at = generalizedTime(status.at);
      // RFC 5280 §5.3.1 wants `unspecified` left out; RFC 6960 §4.2.1 takes its reasons from there.
      if (status.reason === "unspecified") return element(contextualConstructed(1), at);
      const reason = explicit(0, enumerated(revocationReasons[status.reason]));
      return element(contextualConstructed(1), at, reason);
    }
    default:
      return status satisfies never;
  }
}

/** The nonce is an OCTET STRING within the OCTET STRING of the extension (RFC 9654 §2.1). */
const nonceExtensions = (nonce: Uint8Array): Uint8Array =>
  encodeExtensions([{ oid: oids.ocspNonce, critical: false, value: octetString(nonce) }]);

const octetsMax = 64 * 1024;
const entriesMax = 32;
const noOctets = new Uint8Array(0);
const noUnusedBits = Uint8Array.of(0);
const successful = enumerated(ocspStatus.successful);
const good = implicit(0, noOctets);
const unknown = implicit(2, noOctets);
/** Of a GeneralizedTime, with its header. */
const timeOctets = 17;
/** Extensions with an empty nonce; the octets that are lengths (1 here) grow with the nonce. */
const onlyNonceHead = nonceExtensions(noOctets);
const growing = Uint8Array.of(0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1);
/** With a longer one a length takes two octets. */
const shortNonceMax = 110;
