/** Reads files of certificates as other PKIs write them: PEM, DER, and PKCS#7 bundles in either. */

import { DerError } from "#core/asn1/cursor.ts";
import { decodePem, encodePem } from "#core/asn1/pem.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { isSelfIssued } from "#core/x509/path.ts";

import { Failure } from "./failure.ts";
import { type Io, readArgument } from "./io.ts";

/**
 * The certificates of a file in PEM, one text each: those of PEM as they stand, those of a bundle
 * from the lowest upwards. What looks like PEM of something else is given as it is, for the server
 * to refuse in its own words.
 */
export async function readCertificates(io: Io, file: string): Promise<readonly string[]> {
  const octets = await readArgument(io, file);
  const text = new TextDecoder().decode(octets);
  const blocks = text.match(certificateBlock);
  if (blocks !== null) return blocks.map((block) => `${block}\n`);
  const bundle = decodePem(text, ["PKCS7", "CMS"]);
  if (bundle === undefined && text.includes("-----BEGIN ")) return [text];
  const der = bundle ?? octets;
  const { bundledCertificates } = await import("#core/cms/certs-only.ts");
  const found = bundledCertificates(der);
  if (found?.length === 0) throw new Failure(`${file} is a bundle without certificates.`);
  return (found === undefined ? [der] : upwards(file, found)).map((one) =>
    encodePem("CERTIFICATE", one),
  );
}

/** The first certificate of a file, and the rest of it. */
export async function readCertificateAndChain(
  io: Io,
  file: string,
): Promise<{ readonly certificate: string; readonly rest: readonly string[] }> {
  const [certificate = "", ...rest] = await readCertificates(io, file);
  return { certificate, rest };
}

/**
 * From the one that has issued none of the others to the top; those that belong to no path come
 * last.
 */
function upwards(file: string, ders: readonly Uint8Array[]): readonly Uint8Array[] {
  const left = ders.map((der) => parsed(file, der));
  const isIssuerOf = (issuer: ParsedCertificate, one: ParsedCertificate) =>
    issuer !== one && Buffer.compare(issuer.subject.der, one.issuer.der) === 0;
  const sorted: ParsedCertificate[] = [];
  let next = left.find((one) => !left.some((other) => isIssuerOf(one, other)));
  while (next !== undefined) {
    const one: ParsedCertificate = next;
    sorted.push(one);
    left.splice(left.indexOf(one), 1);
    next = isSelfIssued(one) ? undefined : left.find((other) => isIssuerOf(other, one));
  }
  return [...sorted, ...left].map(({ der }) => der);
}

function parsed(file: string, der: Uint8Array): ParsedCertificate {
  try {
    return parseCertificate(der);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Failure(`A certificate in ${file} is malformed: ${error.message}.`);
  }
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;
