/** Whether a certificate shows who a TLS client is: a path to what is trusted, valid now, and meant for clients. */

import { DerError } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { decodePemBlocks } from "#core/asn1/pem.ts";
import type { Instant } from "#core/time.ts";

import { extensionOf, type ParsedCertificate, parseCertificate } from "./certificate.ts";
import { extendedKeyUsages, parseExtendedKeyUsage } from "./extensions.ts";
import { findPath, isValidAt, type Path } from "./path.ts";

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
 * The path from the first of the certificates presented over the others to an anchor that is valid now, each signed by the
 * next by an algorithm of the table, and each but the first a CA that may have so many below it (RFC 5280 §6.1.4 k to n);
 * undefined when there is none. TLS has looked at name constraints and policies before; this holds also for anchors that
 * were replaced since.
 */
export function clientPath(
  [leaf, ...others]: readonly ParsedCertificate[],
  anchors: readonly ParsedCertificate[],
  now: Instant,
): Path | undefined {
  if (leaf === undefined || !isValidAt(leaf, now)) return undefined;
  const accept = (path: Path) => path.slice(0, -1).every(({ signatureName }) => signatureName);
  const found = findPath({ certificate: leaf, intermediates: others, anchors, now, accept });
  return found?.whole === true ? found.path : undefined;
}

/** True when every certificate of the path is valid; both ends are inclusive (RFC 5280 §4.1.2.5). */
export const validAt = (path: readonly ParsedCertificate[], at: Instant): boolean =>
  path.every((one) => isValidAt(one, at));

/** True with clientAuth among the extended key usages, or without that extension; anyExtendedKeyUsage is not enough. */
export function isForClients(certificate: ParsedCertificate): boolean {
  const usages = extensionOf(certificate, oids.extKeyUsage);
  return (
    usages === undefined ||
    parseExtendedKeyUsage(usages.value).includes(extendedKeyUsages.clientAuth)
  );
}

const anchorsMax = 1000;
