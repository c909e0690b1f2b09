/** Reads the public key out of a file, so that only its fingerprint leaves the shell. */

import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";

import { decodePem } from "#core/asn1/pem.ts";
import { DerError } from "#core/asn1/cursor.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { parseCsr } from "#core/x509/csr.ts";
import { fingerprint, parseFingerprint, parsePublicKey } from "#core/x509/public-keys.ts";
import { Problem } from "#core/problems.ts";

import { Failure } from "./failure.ts";
import { type Io, readArgument } from "./io.ts";

/** What a file may hold. */
export type KeyFileKind = keyof typeof readers;

/**
 * `SHA256:<base64>` of the key in a file of PEM or DER; fails for a file that holds something else.
 */
export async function fileFingerprint(io: Io, holder: KeyFileKind, file: string): Promise<string> {
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

/**
 * The fingerprint a text gives: hex, `SHA256:<base64>`, or `@file`, a path or `-` of a certificate,
 * a request, a public or a private key. Of a private key only the public half is looked at, and
 * nothing but its digest is kept.
 */
export async function givenFingerprint(io: Io, given: string): Promise<string> {
  const spelled = givenDigest(given);
  if (spelled !== undefined) return spelled;
  const file = given.replace(/^@/, "");
  const octets = await readArgument(io, file);
  const text = new TextDecoder().decode(octets);
  for (const { label, spki } of [...Object.values(readers), ...privateReaders]) {
    const der = decodePem(leafOf(text, label), [label]) ?? (isPem(text) ? undefined : octets);
    const found = der && attempt(() => fingerprint(spki(der)));
    if (found !== undefined) return found;
  }
  throw new Failure(`${file} is no fingerprint, and no file with a certificate, request or key.`);
}

/**
 * The private key of a PEM file, as this process uses it; fails, naming the file, for what is none
 * or is locked.
 */
export function keyIn(file: string): KeyObject {
  try {
    return createPrivateKey(readFileSync(file, "utf8"));
  } catch {
    // The complaint of the runtime could quote the key.
    throw new Failure(`${file} holds no unencrypted PEM private key.`);
  }
}

function givenDigest(given: string): string | undefined {
  return attempt(
    () => `SHA256:${Buffer.from(parseFingerprint(given), "hex").toString("base64").slice(0, 43)}`,
  );
}

/**
 * The first block of a label: chains begin with the certificate, and openssl puts parameters before
 * an EC key.
 */
function leafOf(text: string, label: string): string {
  const end = `-----END ${label}-----`;
  const from = text.indexOf(`-----BEGIN ${label}-----`);
  return from < 0 ? "" : text.slice(from, text.indexOf(end, from) + end.length);
}

const isPem = (text: string): boolean => text.includes("-----BEGIN ");

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined; // Whatever it is, it is not this.
  }
}

const publicHalf = (type: "pkcs8" | "pkcs1" | "sec1") => (der: Uint8Array) => {
  const secret = createPrivateKey({ key: Buffer.from(der), format: "der", type });
  return new Uint8Array(createPublicKey(secret).export({ format: "der", type: "spki" }));
};

const privateReaders = [
  { label: "PRIVATE KEY", spki: publicHalf("pkcs8") },
  { label: "RSA PRIVATE KEY", spki: publicHalf("pkcs1") },
  { label: "EC PRIVATE KEY", spki: publicHalf("sec1") },
];

const readers = {
  certificate: { label: "CERTIFICATE", spki: (der: Uint8Array) => parseCertificate(der).spki },
  request: { label: "CERTIFICATE REQUEST", spki: (der: Uint8Array) => parseCsr(der).spki },
  "public key": { label: "PUBLIC KEY", spki: (der: Uint8Array) => parsePublicKey(der).spki },
} as const;
