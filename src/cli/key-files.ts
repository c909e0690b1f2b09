/** Reads the public key out of a file, so that only its fingerprint leaves the shell. */

import { decodePem } from "#core/asn1/pem.ts";
import { DerError } from "#core/asn1/cursor.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { parseCsr } from "#core/x509/csr.ts";
import { fingerprint, parsePublicKey } from "#core/x509/public-keys.ts";
import { Problem } from "#core/problems.ts";

import { Failure } from "./failure.ts";
import { type Io, readArgument } from "./io.ts";

/** What a file may hold. */
export type KeyHolder = keyof typeof readers;

/** `SHA256:<base64>` of the key in a file of PEM or DER; fails for a file that holds something else. */
export async function fileFingerprint(io: Io, holder: KeyHolder, file: string): Promise<string> {
  const octets = await readArgument(io, file);
  const { label, spki } = readers[holder];
  try {
    const der = decodePem(new TextDecoder().decode(octets), [label]) ?? octets;
    return fingerprint(spki(der));
  } catch (error) {
    if (error instanceof DerError || error instanceof Problem) {
      throw new Failure(`${file} is no ${holder}.`);
    }
    throw error;
  }
}

const readers = {
  certificate: { label: "CERTIFICATE", spki: (der: Uint8Array) => parseCertificate(der).spki },
  request: { label: "CERTIFICATE REQUEST", spki: (der: Uint8Array) => parseCsr(der).spki },
  "public key": { label: "PUBLIC KEY", spki: (der: Uint8Array) => parsePublicKey(der).spki },
} as const;
