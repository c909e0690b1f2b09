/** What a piece of DER is, told by its shape alone: labels and names of files may say anything. */

import { openSequence } from "#core/asn1/cursor.ts";
import { contextualConstructed, tags } from "#core/asn1/tags.ts";
import { namesKey } from "#web/secret-text.ts";
import { partsOf } from "./certificate.ts";
import { attempt } from "./decoded.ts";

export type Kind = keyof typeof shapes;

/** The kind whose shape fits; undefined for anything else. */
export function kindOf(der: Uint8Array): Kind | undefined {
  for (const [kind, fits] of Object.entries(shapes)) {
    // Keys of the table.
    if (attempt(() => fits(der)).value === true) return kind as Kind;
  }
  return undefined;
}

/** True for text that is a private key, or may have one in it; broken ones included. */
export function holdsKey(text: string): boolean {
  if (namesKey(text)) return true;
  const der = base64In(text);
  const kind = der === undefined ? undefined : kindOf(der);
  return kind !== undefined && isSecret(kind);
}

export const isSecret = (kind: Kind): kind is SecretKind => secretKinds.has(kind);

type SecretKind = "private key" | "encrypted private key" | "PKCS #12";

/** The octets of base64 without armour; undefined for other text. */
export function base64In(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    // The runtime throws a SyntaxError for what is no base64.
    return undefined;
  }
}

/** RFC 2986 §4: the key of a request. Throws DerError for what is none. */
export function keyOfRequest(der: Uint8Array): Uint8Array {
  const signed = openSequence(der);
  const tbs = signed.enter(tags.sequence);
  tbs.small();
  tbs.element(tags.sequence);
  const spki = tbs.element(tags.sequence);
  tbs.enter(contextualConstructed(0));
  tbs.finish();
  signed.enter(tags.sequence).oid();
  signed.bits();
  signed.finish();
  isPublicKey(spki);
  return spki;
}

/** Which of the forms of a private key in the clear; undefined for what is none. */
export function privateForm(der: Uint8Array): "pkcs8" | "rsa" | "ec" | undefined {
  const outer = openSequence(der);
  outer.small();
  if (outer.tag === tags.integer) return "rsa";
  if (outer.tag === tags.octetString) return "ec";
  outer.enter(tags.sequence).oid();
  return outer.tag === tags.octetString ? "pkcs8" : undefined;
}

/** RFC 5280 §4.1: SubjectPublicKeyInfo. Throws DerError for what is none. */
function isPublicKey(der: Uint8Array): boolean {
  const outer = openSequence(der);
  outer.enter(tags.sequence).oid();
  outer.bits();
  outer.finish();
  return true;
}

/** RFC 5958 §3: EncryptedPrivateKeyInfo. */
function isEncryptedKey(der: Uint8Array): boolean {
  const outer = openSequence(der);
  outer.enter(tags.sequence).oid();
  outer.octetString();
  outer.finish();
  return true;
}

/** RFC 7292 §4: version 3, and the contents in a ContentInfo. */
function isPkcs12(der: Uint8Array): boolean {
  const outer = openSequence(der);
  if (outer.small() !== 3) return false;
  const content = outer.enter(tags.sequence);
  content.oid();
  return content.tag === contextualConstructed(0);
}

function isCertificate(der: Uint8Array): boolean {
  partsOf(der);
  return true;
}

function isRequest(der: Uint8Array): boolean {
  keyOfRequest(der);
  return true;
}

/** No two fit the same octets; what is secret is asked first all the same. */
const shapes = {
  "PKCS #12": isPkcs12,
  "private key": (der: Uint8Array) => privateForm(der) !== undefined,
  "encrypted private key": isEncryptedKey,
  certificate: isCertificate,
  request: isRequest,
  "public key": isPublicKey,
} as const satisfies Record<string, (der: Uint8Array) => boolean>;

const secretKinds: ReadonlySet<Kind> = new Set<SecretKind>([
  "private key",
  "encrypted private key",
  "PKCS #12",
]);
