/** Makes a certification request by a key that is forgotten with it (RFC 2986). */

import { generateKeyPairSync, sign } from "node:crypto";

import { assembleSigned } from "#core/x509/certificate.ts";
import { subjectAltName } from "#core/x509/extensions.ts";
import { encodeName } from "#core/x509/names.ts";
import { encodeRequestInfo } from "#core/x509/request-info.ts";
import type { CanaryNames } from "#domain/canary/probe.ts";

/** DER of a request for a common name and a host name, by a new ECDSA key on P-256. */
export function passingRequest({ commonName, dnsName }: CanaryNames): Uint8Array {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const asked = encodeRequestInfo({
    subject: encodeName([{ type: "CN", value: commonName }]).der,
    spki: new Uint8Array(publicKey.export({ format: "der", type: "spki" })),
    extensions: [subjectAltName([{ kind: "dns", value: dnsName }], false)],
  });
  const signature = new Uint8Array(sign("sha256", asked, privateKey));
  return assembleSigned(asked, "ecdsa-sha256", signature);
}
