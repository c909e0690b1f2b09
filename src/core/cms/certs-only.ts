/**
 * The certificates in a PKCS#7 bundle, the form in which many PKIs hand out chains (RFC 5652 §5.1,
 * RFC 5272 §4.1).
 */

import { Certificate, ContentInfo, SignedData } from "pkijs";

/**
 * Their octets in the order they come, which means nothing; undefined for what is no SignedData.
 * Nothing of it is believed: whoever uses the certificates verifies them.
 */
export function bundledCertificates(der: Uint8Array): readonly Uint8Array[] | undefined {
  try {
    const content = ContentInfo.fromBER(new Uint8Array(der));
    if (content.contentType !== ContentInfo.SIGNED_DATA) return undefined;
    const { certificates = [] } = new SignedData({ schema: content.content });
    const found = certificates.filter((one) => one instanceof Certificate);
    const octets = found.map((one) => new Uint8Array(one.toSchema().toBER()));
    // A certificate that pkijs would write otherwise than it was read is another certificate.
    return octets.every((one) => Buffer.from(der).includes(one)) ? octets : undefined;
  } catch {
    return undefined; // pkijs throws for everything that is not what it reads.
  }
}
