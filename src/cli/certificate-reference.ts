/**
 * Turns what people write for a certificate, its serial or the file it is in, into the serial the
 * paths want.
 */

import { existsSync } from "node:fs";

import { DerError } from "#core/asn1/cursor.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { parseSerial, type Serial } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { nameText } from "#core/x509/names.ts";
import { verifies } from "#core/x509/ocsp-verdict.ts";

import { readCertificateAndChain } from "./certificate-files.ts";
import type { Client } from "./client.ts";
import { Failure, UsageError } from "./failure.ts";
import type { Io } from "./io.ts";
import { issuerFrom } from "./issuer-certificate.ts";
import { caIdOf } from "./references.ts";
import { rowsAt, textAt } from "./rows.ts";

/** A certificate of an instance: the CA whose key signed it, and its serial. */
export interface CertificateReference {
  readonly id: string;
  readonly serial: Serial;
  /** The serial as it was written, in decimal where a file gave it. */
  readonly written: string;
}

/**
 * The certificate with this serial (decimal, 0x hex or colon hex) under a CA, or that of a file
 * (PEM, DER, PKCS#7; `-` is stdin). Fails for a file whose certificate neither the CA nor another
 * key of the same name has signed: its serial may be that of another certificate here. Refuses what
 * is neither.
 */
export async function certificateOf(
  client: Client,
  io: Io,
  { ca, given }: { readonly ca: string; readonly given: string },
): Promise<CertificateReference> {
  const serial = spelled(given);
  if (serial === undefined && given !== "-" && !existsSync(given)) {
    throw new UsageError(`${given} is not a certificate serial. There is no file of that name.`);
  }
  const id = await caIdOf(client, ca);
  if (serial !== undefined) return { id, serial, written: given };
  const { certificate: pem } = await readCertificateAndChain(io, given);
  const certificate = parsed(given, pem);
  const issuer = await signerOf(client, id, certificate);
  const { serial: fileSerial } = certificate;
  if (issuer !== undefined) return { id: issuer, serial: fileSerial, written: fileSerial };
  const names = `Its issuer is ${nameText(certificate.issuer)}.`;
  throw new Failure(`${ca} has not issued the certificate in ${given}. ${names}`, "not_found");
}

/** The CA itself, or after a rollover another key of its name. */
async function signerOf(client: Client, id: string, certificate: ParsedCertificate) {
  const own = issuerFrom(await client.fetch("ca.certificate", { id }));
  if (hasSigned(own, certificate)) return id;
  if (Buffer.compare(own.subject.der, certificate.issuer.der) !== 0) return undefined;
  const cas = rowsAt(await client.list("ca.list", { limit: 500 }, true), "items");
  const other = cas.find((ca) => {
    const der = decodePem(textAt(ca, "certificate"), ["CERTIFICATE"]);
    return der !== undefined && hasSigned(issuerFrom(der), certificate);
  });
  return other && textAt(other, "id");
}

const hasSigned = (issuer: ParsedCertificate, one: ParsedCertificate): boolean =>
  Buffer.compare(issuer.subject.der, one.issuer.der) === 0 &&
  verifies(issuer.spki, one.signatureName, one.tbs, one.signature);

function parsed(file: string, pem: string): ParsedCertificate {
  const der = decodePem(pem, ["CERTIFICATE"]);
  if (der === undefined) throw new Failure(`${file} holds no certificate.`);
  try {
    return parseCertificate(der);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Failure(`The certificate in ${file} is malformed: ${error.message}.`);
  }
}

function spelled(text: string): Serial | undefined {
  try {
    return parseSerial(text);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}
