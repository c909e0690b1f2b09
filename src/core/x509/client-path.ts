/** Whether a certificate shows who a TLS client is: a path to what is trusted, valid now, and meant for clients. */

import { DerError } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { decodePemBlocks } from "#core/asn1/pem.ts";
import type { Instant } from "#core/time.ts";

import { extensionOf, type ParsedCertificate, parseCertificate } from "./certificate.ts";
import {
  extendedKeyUsages,
  parseBasicConstraints,
  parseExtendedKeyUsage,
  parseKeyUsage,
} from "./extensions.ts";
import { buildPath, isSelfIssued } from "./path.ts";

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
 * The path from the first of the certificates presented over the others to an anchor, each signed by the next, and each
 * but the first a CA that may have so many below it (RFC 5280 §6.1.4 k to n); undefined when there is none. TLS has
 * looked at name constraints and policies before; this holds also for anchors that were replaced since. Throws DerError.
 */
export function clientPath(
  [leaf, ...others]: readonly ParsedCertificate[],
  anchors: readonly ParsedCertificate[],
): readonly ParsedCertificate[] | undefined {
  const path = leaf && buildPath(leaf, others, anchors);
  if (path === undefined) return undefined;
  const issuers = path.slice(1);
  const below = (index: number) => issuers.slice(0, index).filter((one) => !isSelfIssued(one));
  const fit = issuers.every((one, index) => mayIssue(one, below(index).length));
  return fit ? path : undefined;
}

/** True when every certificate of the path is valid; both ends are inclusive (RFC 5280 §4.1.2.5). */
export const validAt = (path: readonly ParsedCertificate[], at: Instant): boolean =>
  path.every(({ notBefore, notAfter }) => notBefore <= at && at <= notAfter);

/** True with clientAuth among the extended key usages, or without that extension; anyExtendedKeyUsage is not enough. */
export function isForClients(certificate: ParsedCertificate): boolean {
  const usages = extensionOf(certificate, oids.extKeyUsage);
  return (
    usages === undefined ||
    parseExtendedKeyUsage(usages.value).includes(extendedKeyUsages.clientAuth)
  );
}

/** An anchor of version 1 has no extensions, and is believed for having been configured. */
function mayIssue(issuer: ParsedCertificate, below: number): boolean {
  if (issuer.version < 3) return isSelfIssued(issuer);
  const constraints = extensionOf(issuer, oids.basicConstraints);
  const usage = extensionOf(issuer, oids.keyUsage);
  if (constraints === undefined) return false;
  const { ca, pathLength } = parseBasicConstraints(constraints.value);
  const signs = usage === undefined || parseKeyUsage(usage.value).includes("keyCertSign");
  return ca && signs && (pathLength === undefined || below <= pathLength);
}

const anchorsMax = 1000;
