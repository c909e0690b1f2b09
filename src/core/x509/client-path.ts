/**
 * Whether a certificate shows who a TLS client is: a path to what is trusted, valid now, and meant
 * for clients.
 */

import { DerError } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { decodePemBlocks } from "#core/asn1/pem.ts";
import { type Instant, instant } from "#core/time.ts";

import { extensionOf, type ParsedCertificate, parseCertificate } from "./certificate.ts";
import {
  extendedKeyUsages,
  type KeyUsage,
  parseExtendedKeyUsage,
  parseKeyUsage,
} from "./extensions.ts";
import { nameMatchKey } from "./name-matching.ts";
import { findPath, type Path } from "./path.ts";

/** The certificates of a PEM file; undefined when there is none, or one is no certificate. */
export function parseAnchors(text: string): readonly ParsedCertificate[] | undefined {
  const blocks = decodePemBlocks(text, "CERTIFICATE", anchorsMax);
  if (blocks === undefined || blocks.length === 0) return undefined;
  try {
    return blocks.map(parseCertificate);
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

/**
 * The path from the first of the certificates presented over the others to an anchor, each signed
 * by the next by an algorithm of the table, each but the first a CA that may have so many below it
 * (RFC 5280 §6.1.4 k to n), and all for clients; `sound` says what else a path must be. One that is
 * valid now, else one that was or will be, so that callers can tell; undefined when there is none.
 * TLS follows the first issuer of a name alone, so its word counts for nothing here. Throws
 * DerError.
 */
export function clientPath(
  [leaf, ...others]: readonly ParsedCertificate[],
  { anchors, now, sound }: ClientPathRequest,
): Path | undefined {
  if (leaf === undefined || !mayShow(leaf)) return undefined;
  const search = { certificate: leaf, intermediates: others, anchors, signaturesMax };
  const foundAt = (moment: Instant) => {
    const accept = (path: Path) =>
      validAt(path, moment) &&
      path.slice(0, -1).every(({ signatureName }) => signatureName) &&
      path.slice(1).every(maySignForClients) &&
      sound(path, moment);
    return findPath({ ...search, now: moment, accept });
  };
  const found = foundAt(now);
  if (found === undefined || found.whole) return found?.path;
  const begun = Math.max(...found.path.map(({ notBefore }) => notBefore));
  const then = foundAt(instant(begun));
  return then?.whole === true ? then.path : undefined;
}

/**
 * The anchors a path from the first of the certificates over the others can end at, by the names
 * alone; `byName` holds them by `nameMatchKey` of their subjects. Empty where there is none to
 * find. Throws DerError.
 */
export function anchorsWithin(
  shown: readonly ParsedCertificate[],
  byName: ReadonlyMap<string, readonly ParsedCertificate[]>,
): readonly ParsedCertificate[] {
  const names = new Set(shown.map(({ issuer }) => nameMatchKey(issuer.der)));
  const [leaf] = shown;
  // It may be an anchor itself.
  if (leaf !== undefined) names.add(nameMatchKey(leaf.subject.der));
  return [...names].flatMap((name) => byName.get(name) ?? []);
}

export interface ClientPathRequest {
  readonly anchors: readonly ParsedCertificate[];
  readonly now: Instant;
  /** Constraints, policies and whatever else binds a path as a whole. */
  readonly sound: (path: Path, now: Instant) => boolean;
}

/**
 * True when every certificate of the path is valid; both ends are inclusive (RFC 5280 §4.1.2.5).
 */
export const validAt = (path: readonly ParsedCertificate[], at: Instant): boolean =>
  path.every(({ notBefore, notAfter }) => notBefore <= at && at <= notAfter);

/**
 * True with clientAuth among the extended key usages, or without that extension;
 * anyExtendedKeyUsage is not enough.
 */
export function isForClients(certificate: ParsedCertificate): boolean {
  const usages = extensionOf(certificate, oids.extKeyUsage);
  return (
    usages === undefined ||
    parseExtendedKeyUsage(usages.value).includes(extendedKeyUsages.clientAuth)
  );
}

/** A key that may neither sign nor agree on a secret proves nothing in a handshake. */
function mayShow(leaf: ParsedCertificate): boolean {
  const usage = extensionOf(leaf, oids.keyUsage);
  const usages = usage && parseKeyUsage(usage.value);
  return usages === undefined || usages.some((one) => handshakeUsages.includes(one));
}

/** As TLS has it: a CA with purposes vouches for clients only where that is one of them. */
function maySignForClients(issuer: ParsedCertificate): boolean {
  const usages = extensionOf(issuer, oids.extKeyUsage);
  if (usages === undefined) return true;
  const purposes = parseExtendedKeyUsage(usages.value);
  const { clientAuth, anyExtendedKeyUsage } = extendedKeyUsages;
  return purposes.includes(clientAuth) || purposes.includes(anyExtendedKeyUsage);
}

const handshakeUsages: readonly KeyUsage[] = ["digitalSignature", "keyAgreement"];
/** Anybody may show certificates, and others wait for their turn while these are verified. */
const signaturesMax = 16;
const anchorsMax = 1000;
