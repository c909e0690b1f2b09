/** The digest of a certificate, as other tools show it. */

import { decodePem } from "#core/asn1/pem.ts";
import { digestOf } from "./keys.ts";

/** Lower hex SHA-256 of the certificate in PEM; undefined where there is none. */
export async function certificateDigest(pem: string): Promise<string | undefined> {
  const der = decodePem(pem, ["CERTIFICATE"]);
  return der && (await digestOf("SHA-256", der));
}
