/** Makes a key and a certification request for it, for the first certificate of a fresh instance (RFC 2986). */

import { generateKeyPairSync, sign } from "node:crypto";
import { isIP } from "node:net";

import { oids } from "#core/asn1/oids.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { contextualConstructed } from "#core/asn1/tags.ts";
import { element, integer, oid, sequence, setOf } from "#core/asn1/der.ts";

import { assembleSigned } from "#core/x509/certificate.ts";
import { encodeExtensions, subjectAltName } from "#core/x509/extensions.ts";
import { encodeName } from "#core/x509/names.ts";

/** A P-256 key in PKCS#8 PEM and a request in PEM for one host name or address. */
export function newRequest(name: string): { readonly key: string; readonly csr: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki = publicKey.export({ format: "der", type: "spki" });
  const san = subjectAltName([{ kind: isIP(name) === 0 ? "dns" : "ip", value: name }], false);
  const requested = sequence(oid(oids.extensionRequest), setOf([encodeExtensions([san])]));
  const asked = sequence(
    ...[integer(0), encodeName([{ type: "CN", value: name }]).der, new Uint8Array(spki)],
    element(contextualConstructed(0), requested),
  );
  const signature = sign("sha256", asked, privateKey);
  const der = assembleSigned(asked, "ecdsa-sha256", new Uint8Array(signature));
  return {
    key: String(privateKey.export({ format: "pem", type: "pkcs8" })),
    csr: encodePem("CERTIFICATE REQUEST", der),
  };
}
