/**
 * The files that a renewal replaces: a certificate with what follows it, and where it is made anew
 * the key of it.
 */

import { createPublicKey, type KeyObject } from "node:crypto";
import { existsSync, linkSync, realpathSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { DerError } from "#core/asn1/cursor.ts";
import { decodePemBlocks } from "#core/asn1/pem.ts";
import { type ParsedCertificate, parseCertificate } from "#core/x509/certificate.ts";

import { readCertificates } from "./certificate-files.ts";
import { Failure } from "./failure.ts";
import type { Io } from "./io.ts";
import { keyIn } from "./key-files.ts";
import { keyPem } from "./new-request.ts";
import { type Staged, stagedFile } from "./out-file.ts";

/** Names of the files; without a key the certificate is renewed for the one it has. */
export interface RenewedFiles {
  readonly certificate: string;
  readonly key: string | undefined;
}

/** The first certificate of a file, and how many there are. Fails for a file without one. */
export async function firstIn(io: Io, file: string) {
  const pems = await readCertificates(io, file);
  return { certificate: certificateIn(pems[0] ?? "", file), count: pems.length };
}

/** The first certificate of a text; fails, calling the text by this name, where there is none. */
export function certificateIn(pem: string, name: string): ParsedCertificate {
  const der = decodePemBlocks(pem, "CERTIFICATE", pathMax)?.[0];
  if (der === undefined) throw new Failure(`${name} holds no certificate.`);
  try {
    return parseCertificate(der);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Failure(`The certificate in ${name} is malformed: ${error.message}.`);
  }
}

/** SubjectPublicKeyInfo of a private key: the runtime compares no keys of ML-DSA by itself. */
export const spkiOf = (key: KeyObject): Uint8Array =>
  new Uint8Array(createPublicKey(key).export({ format: "der", type: "spki" }));

/**
 * Puts a pair together again that a crash has left apart, between the two steps in which it is
 * replaced: the key of before stands beside it yet. Fails, naming both files, for a key that is
 * another certificate's.
 */
export function settlePair(certificate: ParsedCertificate, files: RenewedFiles): void {
  const { key } = files;
  if (key === undefined) return;
  const target = existsSync(key) ? realpathSync(key) : key;
  const isOwn = (file: string) => existsSync(file) && belongs(keyIn(file), certificate);
  if (!isOwn(target) && isOwn(before(target))) renameSync(before(target), target);
  if (!isOwn(target)) {
    const { certificate: name } = files;
    throw new Failure(`The key in ${key} does not belong to the certificate in ${name}.`);
  }
  rmSync(before(target), { force: true });
}

/**
 * Looks at the places before anything is asked, and gives what replaces the files as a whole: a
 * reader sees one mixed pair at most, between two renames. Takes the certificates in PEM, and their
 * key where it is a new one; fails with the old pair in place. Fails for files that it could not
 * replace.
 */
export function openPair(files: RenewedFiles): (pem: string, key: KeyObject | undefined) => void {
  const certificate = stagedFile(files.certificate, "a certificate", certificateMode);
  const { key: keyFile } = files;
  const stageKey = keyFile && stagedFile(keyFile, "a private key", keyMode);
  return (pem, key) => {
    if (!stageKey || !keyFile || key === undefined) return certificate(pem).commit();
    const freshKey = stageKey(keyPem(key));
    let fresh: Staged | undefined;
    try {
      fresh = certificate(pem);
      replacePair(realpathSync(keyFile), freshKey, fresh);
    } finally {
      freshKey.discard();
      fresh?.discard();
    }
  };
}

/** The key of before stays beside the new one until the certificate is there too. */
function replacePair(keyFile: string, key: Staged, certificate: Staged): void {
  const kept = before(keyFile);
  try {
    rmSync(kept, { force: true });
    linkSync(keyFile, kept);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new Failure(`${kept} cannot be written: ${code}.`);
  }
  key.commit();
  try {
    certificate.commit();
  } catch (error) {
    renameSync(kept, keyFile);
    throw error;
  }
  rmSync(kept);
}

const belongs = (key: KeyObject, { spki }: ParsedCertificate): boolean =>
  Buffer.compare(spkiOf(key), spki) === 0;

/** A name that nobody else gives a file, beside it and so on its file system. */
const before = (file: string): string => join(dirname(file), `.${basename(file)}.before-renewal`);
/** Certificates that an answer may hold, one above the other. */
const pathMax = 20;
const certificateMode = 0o644;
const keyMode = 0o600;
