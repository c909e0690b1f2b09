/**
 * Turns what people write for a certificate, its serial or the file it is in, into the serial the
 * paths want.
 */

import { existsSync } from "node:fs";

import { DerError } from "#core/asn1/cursor.ts";
import { decodePem } from "#core/asn1/pem.ts";
import {
  selectReading,
  type Serial,
  findSerials,
  formatSerialHex,
  readSerial,
  type SerialFormat,
} from "#core/ids.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";
import { nameText } from "#core/x509/names.ts";
import { verifies } from "#core/x509/ocsp-verdict.ts";

import { readCertificateAndChain } from "./certificate-files.ts";
import type { Client } from "./client.ts";
import { Failure, Refusal, UsageError } from "./failure.ts";
import type { Io } from "./io.ts";
import { issuerFrom } from "./issuer-certificate.ts";
import { caIdOf } from "./references.ts";
import { rowsAt, textAt } from "./rows.ts";

/** A certificate of an instance: the CA whose key signed it, and its serial. */
export interface CertificateReference {
  readonly id: string;
  readonly serial: Serial;
  /** The serial as the user typed it if that has one meaning; in decimal if not. */
  readonly written: string;
}

/** Argument that names a certificate. */
export interface CertificateArgument {
  readonly ca: string;
  /** Serial, or file of a certificate. */
  readonly text: string;
  /** Base of a serial that is digits alone; undefined looks up both. */
  readonly format: SerialFormat | undefined;
  /** True if the command changes the certificate, which it never does on a guess (CLI-5). */
  readonly writes: boolean;
}

/**
 * Finds the certificate with this serial under a CA, or that of a file (PEM, DER, PKCS#7; `-` is
 * stdin). Fails for a file whose certificate neither the CA nor another key of the same name has
 * signed: its serial may be that of another certificate here. Refuses what is neither.
 */
export async function certificateOf(
  client: Client,
  io: Io,
  argument: CertificateArgument,
): Promise<CertificateReference> {
  const { ca, text } = argument;
  const isFile = text === "-" || existsSync(text);
  // A file may have a name like "cafe"; a serial is never meant then.
  const isSerial = meansSerial(argument) && !(isFile && plainHex.test(text));
  if (!isSerial && !isFile) {
    throw new UsageError(`${text} is not a certificate serial. There is no file of that name.`);
  }
  const id = await caIdOf(client, ca);
  if (isSerial) {
    const serial = await resolveSerial(client, id, argument);
    const hasOneMeaning = findSerials(text).length === 1;
    return { id, serial, written: hasOneMeaning ? text : serial };
  }
  const { certificate: pem } = await readCertificateAndChain(io, text);
  const certificate = parsed(text, pem);
  const issuer = await signerOf(client, id, certificate);
  const { serial } = certificate;
  if (issuer !== undefined) return { id: issuer, serial, written: serial };
  const names = `Its issuer is ${nameText(certificate.issuer)}.`;
  throw new Failure(`${ca} has not issued the certificate in ${text}. ${names}`, "not_found");
}

function meansSerial({ text, format }: CertificateArgument): boolean {
  const { decimal, hex } = readSerial(text);
  if (format === "hex") return hex !== undefined;
  return decimal !== undefined || (format === undefined && hex !== undefined);
}

/**
 * Returns the serial that an argument means. Digits alone that could be decimal or hex are looked
 * up as both. Fails with `bad_serial` if both exist, or if the command writes and only hex exists.
 */
async function resolveSerial(
  client: Client,
  id: string,
  { text, format, writes }: CertificateArgument,
): Promise<Serial> {
  const readings = readSerial(text);
  const { decimal, hex } = readings;
  const isAmbiguous = decimal !== undefined && hex !== undefined && decimal !== hex;
  if (format !== undefined || !isAmbiguous) return selectReading(readings, format);
  if (!(await hasCertificate(client, id, hex))) return decimal;
  const [asDecimal, asHex] = [formatSerialHex(decimal), formatSerialHex(hex)];
  const next = "Use the 0x form of the one that you mean.";
  if (await hasCertificate(client, id, decimal)) {
    throw new Failure(
      `${text} is ambiguous: certificates with the serials ${asDecimal} and ${asHex} exist. ${next}`,
      "bad_serial",
    );
  }
  if (!writes) return hex;
  throw new Failure(
    `${text} is ambiguous: the CA has no certificate ${asDecimal}, but one with the serial ${asHex}. ${next}`,
    "bad_serial",
  );
}

/** True if the lineage of the CA has a certificate of any kind with this serial. */
async function hasCertificate(client: Client, id: string, serial: Serial): Promise<boolean> {
  try {
    return textAt(await client.ask("cert.show", { id, serial }), "serial") === serial;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.body.code !== "not_found") return false;
  }
  try {
    // The inventory shows leaves only; a plan finds CA and responder certificates too.
    const filter = { serials: [serial], include_expired: true };
    const members = { id, filter, reason: "unspecified", dry_run: true };
    const plan = await client.ask("cert.revoke_bulk", members);
    return plan.unknown === 0;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/** Plain hex with a letter, which may be the name of a file too. */
const plainHex = /^[0-9a-f]*[a-f][0-9a-f]*$/i;

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
