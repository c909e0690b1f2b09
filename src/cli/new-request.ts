/**
 * Makes a key and a certification request for it here, so that the key never leaves the machine
 * (RFC 2986).
 */

import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { isIP } from "node:net";

import { oids } from "#core/asn1/oids.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { contextualConstructed } from "#core/asn1/tags.ts";
import { element, integer, oid, sequence, setOf } from "#core/asn1/der.ts";

import { defaultSignature, type KeyType, schemeOf } from "#core/x509/algorithms.ts";
import { assembleSigned, type ParsedCertificate } from "#core/x509/certificate.ts";
import { encodeExtensions, type Extension, subjectAltName } from "#core/x509/extensions.ts";
import { encodeName } from "#core/x509/names.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";

import { Failure } from "./failure.ts";

/** Key types that are made here: those a subscriber may have. */
export const subscriberKeyTypes = [
  "ecdsa-p256",
  "ecdsa-p384",
  "ecdsa-p521",
  "ed25519",
  "rsa-2048",
  "rsa-3072",
  "rsa-4096",
  "ml-dsa-44",
  "ml-dsa-65",
  "ml-dsa-87",
] as const satisfies readonly KeyType[];
export type SubscriberKeyType = (typeof subscriberKeyTypes)[number];

/** A fresh private key; a large RSA key takes seconds. */
export const newKey = (keyType: SubscriberKeyType): KeyObject => makers[keyType]();

/** PKCS#8 in PEM (RFC 5958). */
export const keyPem = (key: KeyObject): string =>
  String(key.export({ format: "pem", type: "pkcs8" }));

/**
 * A request in PEM for host names, addresses, e-mail addresses and URIs; the first that can be is
 * the common name too. Fails for a key no certificate is made for.
 */
export function requestFor(key: KeyObject, names: readonly string[]): string {
  const sans = subjectAltName(
    names.map((value) => ({ kind: kindOfName(value), value })),
    false,
  );
  // ub-common-name is 64 (RFC 5280 appendix A); the alternative names say it all.
  const cn = names.find((name) => kindOfName(name) !== "uri" && name.length <= 64);
  const subject = encodeName(cn === undefined ? [] : [{ type: "CN", value: cn }]).der;
  return signedRequest(key, subject, [sans]);
}

/**
 * A request in PEM for the identity of a certificate, letter by letter, with another key. Fails for
 * a key no certificate is made for.
 */
export function renewalRequest(
  key: KeyObject,
  { subject, extensions }: Pick<ParsedCertificate, "subject" | "extensions">,
): string {
  const sans = extensions.filter((extension) => extension.oid === oids.subjectAltName);
  return signedRequest(key, subject.der, sans);
}

/**
 * The type of key that a certificate has, where one can be made here; fails, saying so, where none
 * can.
 */
export function subscriberKeyTypeOf({ spki }: Pick<ParsedCertificate, "spki">): SubscriberKeyType {
  const { keyType } = parsePublicKey(spki);
  const type = subscriberKeyTypes.find((one) => one === keyType);
  if (type === undefined) throw new Failure("The key is of a type that is not made here.");
  return type;
}

function signedRequest(
  key: KeyObject,
  subject: Uint8Array,
  extensions: readonly Extension[],
): string {
  const exported = createPublicKey(key).export({ format: "der", type: "spki" });
  const spki = new Uint8Array(exported);
  const { keyType } = parsePublicKey(spki);
  if (keyType === undefined) throw new Failure("The key is of a type that is not certified.");
  const signature = defaultSignature(keyType);
  // An empty list of extensions may not be written (RFC 5280 §4.1); no attribute may.
  const requested =
    extensions.length === 0
      ? new Uint8Array()
      : sequence(oid(oids.extensionRequest), setOf([encodeExtensions(extensions)]));
  const attributes = element(contextualConstructed(0), requested);
  const asked = sequence(integer(0), subject, spki, attributes);
  // The runtime takes no digest for algorithms that hash by themselves.
  const octets = sign(schemeOf(signature).hash ?? null, asked, key);
  const der = assembleSigned(asked, signature, new Uint8Array(octets));
  return encodePem("CERTIFICATE REQUEST", der);
}

function kindOfName(name: string): "ip" | "uri" | "email" | "dns" {
  if (isIP(name) !== 0) return "ip";
  if (/^[a-z][a-z0-9+.-]*:/i.test(name)) return "uri";
  return name.includes("@") ? "email" : "dns";
}

const ec = (namedCurve: string) => () => generateKeyPairSync("ec", { namedCurve }).privateKey;
const rsa = (modulusLength: number) => () =>
  generateKeyPairSync("rsa", { modulusLength }).privateKey;

const makers: Readonly<Record<SubscriberKeyType, () => KeyObject>> = {
  "ecdsa-p256": ec("P-256"),
  "ecdsa-p384": ec("P-384"),
  "ecdsa-p521": ec("P-521"),
  ed25519: () => generateKeyPairSync("ed25519").privateKey,
  "rsa-2048": rsa(2048),
  "rsa-3072": rsa(3072),
  "rsa-4096": rsa(4096),
  "ml-dsa-44": () => generateKeyPairSync("ml-dsa-44").privateKey,
  "ml-dsa-65": () => generateKeyPairSync("ml-dsa-65").privateKey,
  "ml-dsa-87": () => generateKeyPairSync("ml-dsa-87").privateKey,
};
