/** What the record of a CA takes from a certificate that was made elsewhere. */

import { encodePem } from "#core/asn1/pem.ts";
import { pathLengthOf } from "#core/policy/import-checks.ts";
import type { ParsedCertificate } from "#core/x509/certificate.ts";
import { nameText } from "#core/x509/names.ts";
import type { Certified } from "#domain/authorities/store.ts";

/** `path` is what stands above it and is not in this instance, from the bottom up. */
export function certifiedBy(
  certificate: ParsedCertificate,
  path: readonly ParsedCertificate[],
): Certified {
  const { der, serial, subject, notBefore, notAfter } = certificate;
  const pem = path.map((above) => encodePem("CERTIFICATE", above.der)).join("");
  return {
    certificate: der,
    serial,
    subject: nameText(subject),
    notBefore,
    notAfter,
    maxPathLength: pathLengthOf(certificate),
    externalChain: pem === "" ? undefined : pem,
  };
}
