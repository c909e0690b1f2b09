/** The public key that belongs to a private one, worked out in the page; nothing leaves it. */

import { type Cursor, openSequence } from "#core/asn1/cursor.ts";
import { bitString, nullElement, oid, sequence, unsignedInteger } from "#core/asn1/der.ts";
import { contextual, contextualConstructed, tags } from "#core/asn1/tags.ts";

/**
 * The SubjectPublicKeyInfo of a PKCS #8 key (RFC 5958); undefined where the key does not say its
 * public half and the browser cannot work it out. Throws DerError.
 */
export async function publicOfPkcs8(der: Uint8Array): Promise<Uint8Array | undefined> {
  const key = openSequence(der);
  key.small();
  const algorithm = key.element(tags.sequence);
  const secret = key.octetString();
  key.enterOptional(contextualConstructed(0));
  // RFC 5958 §2: version 2 carries the public key.
  if (key.tag === contextual(1)) return spkiOf(algorithm, key.bits(contextual(1)).octets);
  const type = openSequence(algorithm).oid();
  if (type === rsa) return publicOfRsa(secret);
  if (type !== ecKey) return await publicByBrowser(der, { name: "Ed25519" });
  const point = pointIn(openSequence(secret));
  if (point !== undefined) return spkiOf(algorithm, point);
  const curve = openSequence(algorithm);
  curve.oid();
  const namedCurve = browserCurves[curve.oid()];
  if (namedCurve === undefined) return undefined;
  return await publicByBrowser(der, { name: "ECDSA", namedCurve });
}

/** The same of `RSA PRIVATE KEY` (RFC 8017 appendix A.1.2). */
export function publicOfRsa(der: Uint8Array): Uint8Array {
  const key = openSequence(der);
  key.small();
  const numbers = [key.unsigned(), key.unsigned()].map(unsignedInteger);
  return spkiOf(sequence(oid(rsa), nullElement()), sequence(...numbers));
}

/** The same of `EC PRIVATE KEY` (RFC 5915); undefined where it has no public key or no curve. */
export function publicOfEc(der: Uint8Array): Uint8Array | undefined {
  const curve = openSequence(der);
  const point = pointIn(openSequence(der));
  curve.small();
  curve.octetString();
  const parameters = curve.enterOptional(contextualConstructed(0))?.element();
  if (parameters === undefined || point === undefined) return undefined;
  return spkiOf(sequence(oid(ecKey), parameters), point);
}

function pointIn(key: Cursor): Uint8Array | undefined {
  key.small();
  key.octetString();
  key.enterOptional(contextualConstructed(0));
  const holder = key.enterOptional(contextualConstructed(1));
  return holder?.wholeBits();
}

/** Of a key that says its private half alone the browser knows the other one. */
async function publicByBrowser(
  pkcs8: Uint8Array,
  algorithm: { readonly name: string; readonly namedCurve?: string },
): Promise<Uint8Array | undefined> {
  try {
    const key = await crypto.subtle.importKey("pkcs8", Uint8Array.from(pkcs8), algorithm, true, [
      "sign",
    ]);
    const { d: _secret, key_ops: _uses, ...jwk } = await crypto.subtle.exportKey("jwk", key);
    const half = await crypto.subtle.importKey("jwk", jwk, algorithm, true, ["verify"]);
    return new Uint8Array(await crypto.subtle.exportKey("spki", half));
  } catch {
    // A kind of key that this browser does not know; the caller says so.
    return undefined;
  }
}

const spkiOf = (algorithm: Uint8Array, bits: Uint8Array): Uint8Array =>
  sequence(algorithm, bitString(bits));

const rsa = "1.2.840.113549.1.1.1";
const ecKey = "1.2.840.10045.2.1";
const browserCurves: Readonly<Record<string, string>> = {
  "1.2.840.10045.3.1.7": "P-256",
  "1.3.132.0.34": "P-384",
  "1.3.132.0.35": "P-521",
};
