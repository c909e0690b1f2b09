/**
 * The alternative key of a certification request, and the proof that the requester has it (PQ-7).
 */

import { DerError, openSequence } from "#core/asn1/cursor.ts";
import { element, sequence, setOf } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { contextualConstructed, tags } from "#core/asn1/tags.ts";
import { importPublicKey, verifySignature } from "#core/crypto.ts";

import { schemeOf } from "./algorithms.ts";
import {
  readAltSignatureAlgorithm,
  readAltSignatureValue,
  withoutAltSignatureValue,
} from "./alternative.ts";
import { parseExtensions } from "./extensions.ts";
import { type PublicKey, parsePublicKey, signatureFits } from "./public-keys.ts";

export type CsrAlternative =
  | { readonly status: "absent" }
  /** Incomplete, malformed, or not signed by the key it names. */
  | { readonly status: "unproven" }
  | { readonly status: "proven"; readonly publicKey: PublicKey };

/**
 * Reads the three values of a CertificationRequestInfo, as extensions it requests or as attributes
 * of their own, and verifies the alternative signature over it without altSignatureValue. The
 * native signature is not looked at.
 */
export function csrAlternative(request: Uint8Array): CsrAlternative {
  try {
    const { values, signed } = takeApart(request);
    const spki = values.get(oids.subjectAltPublicKeyInfo);
    const algorithm = values.get(oids.altSignatureAlgorithm);
    const value = values.get(oids.altSignatureValue);
    if (values.size === 0) return { status: "absent" };
    if (!spki || !algorithm || !value) return { status: "unproven" };
    const publicKey = parsePublicKey(spki);
    const name = readAltSignatureAlgorithm(algorithm);
    if (name === undefined || !signatureFits(publicKey, name)) return { status: "unproven" };
    const key = importPublicKey(spki);
    const proven = verifySignature(key, schemeOf(name), signed, readAltSignatureValue(value));
    return proven ? { status: "proven", publicKey } : { status: "unproven" };
  } catch {
    // Not DER, or a key the runtime cannot import: nothing is proven by it.
    return { status: "unproven" };
  }
}

/**
 * The values by OID, and the request without altSignatureValue: the octets the alternative
 * signature covers.
 */
function takeApart(request: Uint8Array) {
  const values = new Map<string, Uint8Array>();
  const found = (oid: string, value: Uint8Array) => {
    if (values.has(oid)) throw new DerError("an alternative value occurs twice");
    values.set(oid, value);
  };
  const members = openSequence(request);
  const [version, subject, spki] = [members.element(), members.element(), members.element()];
  const attributes = members.enter(contextualConstructed(0));
  const kept: Uint8Array[] = [];
  while (!attributes.finished) {
    const attribute = readAttribute(attributes.element(tags.sequence), found);
    if (attribute !== undefined) kept.push(attribute);
  }
  members.finish();
  const signed = sequence(version, subject, spki, element(contextualConstructed(0), ...kept));
  return { values, signed };
}

/** The attribute as it was signed: whole, without altSignatureValue, or not at all. */
function readAttribute(
  attribute: Uint8Array,
  found: (oid: string, value: Uint8Array) => void,
): Uint8Array | undefined {
  const pair = openSequence(attribute);
  const type = pair.oid();
  const set = pair.enter(tags.set);
  if (type === oids.extensionRequest) {
    const list = set.element(tags.sequence);
    for (const { oid, value } of parseExtensions(list)) if (wanted.has(oid)) found(oid, value);
    const rest = withoutAltSignatureValue(list);
    if (rest?.length === list.length) return attribute;
    return rest && sequence(typeOf(attribute), setOf([rest]));
  }
  if (wanted.has(type)) {
    found(type, set.element());
    set.finish();
  }
  return type === oids.altSignatureValue ? undefined : attribute;
}

const typeOf = (attribute: Uint8Array): Uint8Array => openSequence(attribute).element(tags.oid);

const wanted: ReadonlySet<string> = new Set([
  oids.subjectAltPublicKeyInfo,
  oids.altSignatureAlgorithm,
  oids.altSignatureValue,
]);
