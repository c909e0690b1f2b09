/** The CA certificate an instance answered, read before anything is believed because of it. */

import { DerError } from "#core/asn1/cursor.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";

import { Failure } from "./failure.ts";

/** Reads a DER CA certificate the instance answered; fails when it is none. */
export function issuerFrom(der: Uint8Array): ParsedCertificate {
  try {
    return parseCertificate(der);
  } catch (error) {
    if (error instanceof DerError)
      throw new Failure(`The CA certificate is malformed: ${error.message}.`);
    throw error;
  }
}
