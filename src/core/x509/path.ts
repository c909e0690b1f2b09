/** Builds a path from a certificate to a trust anchor, signature by signature (RFC 5280 §6.1.3 a 1, a 4). */

import { compareOctets } from "#core/asn1/der.ts";
import { importPublicKey, verifySignature } from "#core/crypto.ts";

import { schemeOf } from "./algorithms.ts";
import type { ParsedCertificate } from "./certificate.ts";
import { parsePublicKey, signatureFits } from "./public-keys.ts";

/**
 * The certificate, its issuers and the anchor, each signed by the next; undefined when no path exists, or none is
 * found within the limits of depth and of signatures tried.
 */
export function buildPath(
  certificate: ParsedCertificate,
  intermediates: readonly ParsedCertificate[],
  anchors: readonly ParsedCertificate[],
): readonly ParsedCertificate[] | undefined {
  const search: Search = { intermediates, anchors, left: signaturesMax };
  return extend(search, [certificate]);
}

/** True when both are the same octets. */
export const sameCertificate = (a: ParsedCertificate, b: ParsedCertificate): boolean =>
  compareOctets(a.der, b.der) === 0;

/** True when subject and issuer are the same name. */
export const isSelfIssued = ({ subject, issuer }: ParsedCertificate): boolean =>
  compareOctets(subject.der, issuer.der) === 0;

/** True when the key of `issuer` made the signature of `certificate`. */
export function isSignedBy(certificate: ParsedCertificate, issuer: ParsedCertificate): boolean {
  const { signatureName, tbs, signature } = certificate;
  if (signatureName === undefined) return false;
  try {
    if (!signatureFits(parsePublicKey(issuer.spki), signatureName)) return false;
    return verifySignature(importPublicKey(issuer.spki), schemeOf(signatureName), tbs, signature);
  } catch {
    return false; // A key that cannot be read or imported has signed nothing.
  }
}

interface Search {
  readonly intermediates: readonly ParsedCertificate[];
  readonly anchors: readonly ParsedCertificate[];
  /** Signatures that may still be tried: hostile input makes many of one name. */
  left: number;
}

function extend(
  search: Search,
  path: readonly ParsedCertificate[],
): readonly ParsedCertificate[] | undefined {
  const last = path.at(-1);
  if (last === undefined || path.length > depthMax) return undefined;
  if (search.anchors.some((anchor) => sameCertificate(anchor, last))) return path;
  const [anchors, intermediates] = [search.anchors, search.intermediates].map((candidates) =>
    candidates.filter(
      (one) =>
        compareOctets(one.subject.der, last.issuer.der) === 0 &&
        !path.some((member) => sameCertificate(member, one)),
    ),
  );
  for (const candidate of [...(anchors ?? []), ...(intermediates ?? [])]) {
    if (search.left-- <= 0) return undefined;
    if (!isSignedBy(last, candidate)) continue;
    const found = extend(search, [...path, candidate]);
    if (found !== undefined) return found;
  }
  return undefined;
}

const depthMax = 16;
const signaturesMax = 256;
