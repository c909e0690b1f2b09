/**
 * Private keys in memory and as PKCS#8: those of the runtime, and SLH-DSA keys, which it does not
 * know.
 */

import { createPrivateKey, createPublicKey, KeyObject } from "node:crypto";

import { openSequence } from "#core/asn1/cursor.ts";
import { integer, octetString, sequence } from "#core/asn1/der.ts";
import { tags } from "#core/asn1/tags.ts";
import { type SlhDsaSet, slhDsaSet, slhDsaSets, slhDsaSpki } from "#core/slh-dsa.ts";
import { algorithmIdentifier, readAlgorithm } from "#core/x509/algorithm-identifiers.ts";

/**
 * An SLH-DSA private key: both seeds and the public key, as FIPS 205 §9.1 strings them together.
 */
export class SlhDsaSecret {
  readonly set: SlhDsaSet;
  readonly octets: Uint8Array;

  constructor(set: SlhDsaSet, octets: Uint8Array) {
    this.set = set;
    this.octets = octets;
  }
}

export type Secret = KeyObject | SlhDsaSecret;

/** PKCS#8, DER; of ML-DSA the seed, of SLH-DSA the raw key (RFC 9909 §5). The caller wipes it. */
export function exportSecret(secret: Secret): Buffer {
  if (secret instanceof KeyObject) return secret.export({ format: "der", type: "pkcs8" });
  const { set, octets } = secret;
  return Buffer.from(sequence(integer(0), algorithmIdentifier(set), octetString(octets)));
}

/** Reads what `exportSecret` wrote; keeps nothing of it. */
export function importSecret(pkcs8: Buffer): Secret {
  const members = openSequence(pkcs8);
  members.integer();
  const { signatureName } = readAlgorithm(members.element(tags.sequence));
  const set = signatureName && slhDsaSet(signatureName);
  if (set === undefined) return createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" });
  return new SlhDsaSecret(set, Uint8Array.from(members.octetString()));
}

/** SubjectPublicKeyInfo, DER. */
export function spkiOf(secret: Secret): Uint8Array {
  if (secret instanceof KeyObject) {
    return new Uint8Array(createPublicKey(secret).export({ format: "der", type: "spki" }));
  }
  const { set, octets } = secret;
  return slhDsaSpki(set, slhDsaSets[set].getPublicKey(octets));
}
