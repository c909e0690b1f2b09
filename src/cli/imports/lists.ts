/** What the lists of another CA say: their entries, and the number they have come to. */

import { DerError } from "#core/asn1/cursor.ts";
import { compareOctets } from "#core/asn1/der.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { importPublicKey, verifySignature } from "#core/crypto.ts";
import { schemeOf } from "#core/x509/algorithms.ts";
import type { ParsedCertificate } from "#core/x509/certificate.ts";
import { type OpenedCrl, openCrl } from "#core/x509/crl.ts";
import { parsePublicKey, signatureFits } from "#core/x509/public-keys.ts";
import { Failure } from "#cli/failure.ts";
import { type Io, readArgument } from "#cli/io.ts";

import { describeOutOfRange } from "#core/foreign-ca/entry.ts";
import type { Placed } from "./pieces.ts";

/** A list that the CA has signed. */
export interface ForeignList {
  readonly file: string;
  readonly opened: OpenedCrl;
}

/** Reads a list in PEM or DER; fails, naming the file, for none, and for one of another CA. */
export async function readList(io: Io, file: string, ca: ParsedCertificate): Promise<ForeignList> {
  const octets = await readArgument(io, file, fileOctetsMax);
  const pem =
    octets[0] === dash ? decodePem(new TextDecoder().decode(octets), ["X509 CRL"]) : octets;
  if (pem === undefined) throw new Failure(`${file} is not one CRL in PEM.`);
  try {
    const opened = openCrl(pem);
    for (const _entry of opened.foreignEntries()); // To the end, before anything is done.
    if (compareOctets(opened.issuer, ca.subject.der) !== 0 || !signedBy(opened, ca)) {
      throw new Failure(`${file} is no CRL of this CA.`);
    }
    return { file, opened };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Failure(`${file} is no CRL: ${error.message}.`);
  }
}

/** Its entries, less those it takes off. */
export function* listEntries({ file, opened }: ForeignList): Generator<Placed> {
  let number = 0;
  // Entries are read once: what reads them again opens the list anew.
  for (const one of openCrl(opened.der).foreignEntries()) {
    const { serial, revokedAt: at, reason } = one;
    number += 1;
    if (reason === "removeFromCRL") continue;
    const place = `${file}, entry ${number}`;
    if (serial === undefined) {
      yield { place, ...describeOutOfRange(one.number) };
      continue;
    }
    yield { place, entry: { certificate: undefined, serial, revoked: { at, reason } } };
  }
}

function signedBy({ signatureName, tbs, signature }: OpenedCrl, { spki }: ParsedCertificate) {
  if (signatureName === undefined || !signatureFits(parsePublicKey(spki), signatureName)) {
    return false;
  }
  return verifySignature(importPublicKey(spki), schemeOf(signatureName), tbs, signature);
}

/** The first octet of PEM; DER begins with a SEQUENCE. */
const dash = 0x2d;
const fileOctetsMax = 64 * 1_048_576;
