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
  const all = ders.map((der) => parsed(file, der));
  // Looked up by name: a bundle may be of thousands, made to take long.
  const bySubject = Map.groupBy(all, ({ subject }) => nameKey(subject));
  const byIssuer = Map.groupBy(all, ({ issuer }) => nameKey(issuer));
  const hasIssuedAnother = (one: ParsedCertificate) => {
    const below = byIssuer.get(nameKey(one.subject)) ?? [];
    return below.length > 1 || (below.length === 1 && below[0] !== one);
  };
  const sorted = new Set<ParsedCertificate>();
  let next = all.find((one) => !hasIssuedAnother(one));
  while (next !== undefined) {
    sorted.add(next);
    if (isSelfIssued(next)) break;
    // Each name is climbed through once: whoever comes to it again has gone in a circle.
    const above: readonly ParsedCertificate[] = bySubject.get(nameKey(next.issuer)) ?? [];
    bySubject.delete(nameKey(next.issuer));
    next = above.find((one) => !sorted.has(one));
  }
  const left = all.filter((one) => !sorted.has(one));
  return [...sorted, ...left].map(({ der }) => der);
}

const nameKey = ({ der }: ParsedCertificate["subject"]): string => der.toHex();

function parsed(file: string, der: Uint8Array): ParsedCertificate {
  try {
    return parseCertificate(der);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Failure(`A certificate in ${file} is malformed: ${error.message}.`);
  }
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;
