/** Whether a certificate from somewhere else is one of a CA, and what the inventory says of it. */

import { compareOctets } from "#core/asn1/der.ts";
import { DerError } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { type Serial, toListedSerial } from "#core/ids.ts";
import { isCa } from "#core/policy/import-checks.ts";
import type { Instant } from "#core/time.ts";
import { nextTurn } from "#core/turns.ts";
import {
  extensionOf,
  type ParsedCertificate,
  parseCertificate,
  readSerialNumber,
} from "#core/x509/certificate.ts";
import { parseExtendedKeyUsage } from "#core/x509/extensions.ts";
import { generalNameText, parseGeneralNames } from "#core/x509/general-names.ts";
import { commonName, nameText } from "#core/x509/names.ts";
import { spkiSha256 } from "#core/x509/public-keys.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import { signedByAside } from "#core/x509/signed-by.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";

/** A certificate, a revocation, or both, as another program has kept them. */
export interface Offer {
  /** DER. */
  readonly certificate: Uint8Array | undefined;
  /** Of an entry without certificate; beside one it must be the certificate's own. */
  readonly serial: Serial | undefined;
  readonly revoked: { readonly at: Instant; readonly reason: RevocationReason } | undefined;
}

/** Why an offer is not taken. */
export const offerFaults = [
  "unreadable",
  "serial_range",
  "too_large",
  "other_issuer",
  "signature_algorithm",
  "signature",
  "other_serial",
  "nothing_offered",
  "not_revoked",
  "differs",
  "serial_taken",
] as const;
export type OfferFault = (typeof offerFaults)[number];

/** Whose certificates are looked at. */
export interface AdoptionIssuer {
  readonly certificate: ParsedCertificate;
  /** The profile of every leaf; undefined: by its extended key usages. */
  readonly profile: string | undefined;
}

/** What the certificate itself says of its row. */
export type ForeignCertificate = Pick<
  CertificateRecord,
  | "serial"
  | "kind"
  | "subject"
  | "commonName"
  | "sans"
  | "profile"
  | "certificate"
  | "notBefore"
  | "notAfter"
  | "spkiSha256"
>;

/** An offer that can be taken. */
export interface Judged {
  readonly serial: Serial;
  readonly foreign: ForeignCertificate | undefined;
  readonly revoked: Offer["revoked"];
  /** True for the certificate of the CA itself, which is taken in with the CA. */
  readonly own: boolean;
}

export type JudgedOffer =
  | Judged
  | { readonly fault: OfferFault; readonly serial: Serial | undefined };

/**
 * Judges offers in their order, signatures off this thread. What is revoked and has a certificate
 * that cannot be taken for its form (unreadable, too large, an algorithm of the past) is judged as
 * an entry without one, so that it stays revoked.
 */
export async function judged(
  issuer: AdoptionIssuer,
  offers: readonly Offer[],
): Promise<readonly JudgedOffer[]> {
  const found: JudgedOffer[] = [];
  for (const [at, offer] of offers.entries()) {
    if (at % offersPerTurn === offersPerTurn - 1) await nextTurn();
    found.push(await judgedOne(issuer, offer));
  }
  return found;
}

async function judgedOne(issuer: AdoptionIssuer, offer: Offer): Promise<JudgedOffer> {
  const { certificate: der, serial, revoked } = offer;
  if (der === undefined) {
    if (serial === undefined) return { fault: "nothing_offered", serial };
    if (revoked === undefined) return { fault: "not_revoked", serial };
    return { serial, foreign: undefined, revoked, own: false };
  }
  const read = await readForeign(issuer, der, serial);
  if (!("fault" in read)) return { ...read, revoked };
  const named = read.serial ?? serial;
  const formal = formalFaults.has(read.fault) && revoked !== undefined && named !== undefined;
  return formal
    ? { serial: named, foreign: undefined, revoked, own: false }
    : { fault: read.fault, serial: named };
}

async function readForeign(
  { certificate: ca, profile }: AdoptionIssuer,
  der: Uint8Array,
  named: Serial | undefined,
): Promise<Omit<Judged, "revoked"> | Extract<JudgedOffer, { fault: OfferFault }>> {
  if (der.length > octetsMax) return { fault: "too_large", serial: named };
  let parsed: ParsedCertificate;
  let foreign: ForeignCertificate;
  try {
    parsed = parseCertificate(der);
    foreign = foreignOf(parsed, profile);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    const number = readSerialNumber(der);
    const outside = number !== undefined && toListedSerial(number) === undefined;
    return { fault: outside ? "serial_range" : "unreadable", serial: named };
  }
  const { serial } = parsed;
  const isSelf = compareOctets(der, ca.der) === 0;
  // No operation can name it, so that it could never be revoked here (http-api §1.5). Old roots
  // have it.
  if (serial === "0" && !isSelf) return { fault: "serial_range", serial };
  if (!isStorable(foreign)) return { fault: "unreadable", serial };
  if (named !== undefined && named !== serial) return { fault: "other_serial", serial: named };
  const other = compareOctets(parsed.issuer.der, ca.subject.der) !== 0;
  if (other) return { fault: "other_issuer", serial };
  if (parsed.signatureName === undefined) return { fault: "signature_algorithm", serial };
  if (!(await signedByAside(parsed, ca.spki))) return { fault: "signature", serial };
  return { serial, foreign, own: isSelf };
}

/**
 * What the inventory says of it; `profile` for a leaf, undefined for the built-in one that fits.
 * Throws DerError for an extension that is not what it says.
 */
export function foreignOf(
  parsed: ParsedCertificate,
  profile: string | undefined,
): ForeignCertificate {
  const { serial, subject, notBefore, notAfter, spki, der } = parsed;
  const names = extensionOf(parsed, oids.subjectAltName);
  const kind = isCa(parsed) ? "ca" : "leaf";
  return {
    serial,
    kind,
    subject: nameText(subject),
    commonName: commonName(subject),
    sans: names === undefined ? [] : parseGeneralNames(names.value).names.map(generalNameText),
    profile: kind === "ca" ? "" : (profile ?? profileFor(parsed)),
    certificate: der,
    notBefore,
    notAfter,
    spkiSha256: spkiSha256(spki),
  };
}

/**
 * The built-in profile that issues for the same usages, under which the certificate can be renewed;
 * `imported` where there is none: a profile of that name makes them renewable.
 */
function profileFor(parsed: ParsedCertificate): string {
  const found = extensionOf(parsed, oids.extKeyUsage);
  if (found === undefined) return noProfile;
  const usages = [...new Set(parseExtendedKeyUsage(found.value))].sort().join(" ");
  return profilesByUsages.get(usages) ?? noProfile;
}

/** NUL lies in no text of every database, and a name of a megabyte in no index. */
const isStorable = ({ subject, commonName: name, sans }: ForeignCertificate): boolean =>
  ![subject, name, ...sans].some((text) => text.includes("\0") || !text.isWellFormed());

const usagesOf = (...names: readonly string[]): string => [...names].sort().join(" ");
const purposes = {
  server: "1.3.6.1.5.5.7.3.1",
  client: "1.3.6.1.5.5.7.3.2",
  code: "1.3.6.1.5.5.7.3.3",
  mail: "1.3.6.1.5.5.7.3.4",
} as const;
const profilesByUsages: ReadonlyMap<string, string> = new Map([
  [usagesOf(purposes.server), "server"],
  [usagesOf(purposes.client), "client"],
  [usagesOf(purposes.server, purposes.client), "server-client"],
  [usagesOf(purposes.code), "code-signing"],
  [usagesOf(purposes.mail), "email"],
]);
const noProfile = "imported";
/** What keeps a certificate out and says nothing of whose it is. */
const formalFaults: ReadonlySet<OfferFault> = new Set<OfferFault>([
  "unreadable",
  "serial_range",
  "too_large",
  "signature_algorithm",
]);
const octetsMax = 65_536;
/** Reading one and asking for its signature takes a tenth of a millisecond of this thread. */
const offersPerTurn = 50;
