/**
 * The private key of a CA out of a file: PKCS#8, PKCS#1 or SEC 1, in PEM or DER, under a passphrase
 * or not, or a PKCS#12 store. It leaves this process in a box for the key store alone.
 */

import { createPrivateKey, createPublicKey } from "node:crypto";

import { DerError } from "#core/asn1/cursor.ts";
import { Failure } from "#cli/failure.ts";
import { type Io, readArgument, readTextArgument } from "#cli/io.ts";
import { keysInPkcs12 } from "#cli/pkcs12.ts";

/** A private key and its public half. */
export interface CaKey {
  /** PKCS#8, DER; whoever has it wipes it. */
  readonly pkcs8: Buffer;
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array;
}

/**
 * Reads it; fails, naming the file and never quoting it, for what is no private key, is locked, or
 * is more than one.
 */
export async function readCaKey(
  io: Io,
  file: string,
  passphraseFile: string | undefined,
): Promise<CaKey> {
  const octets = await readArgument(io, file);
  const passphrase =
    passphraseFile === undefined
      ? undefined
      : (await readTextArgument(io, passphraseFile)).replace(/\r?\n$/, "");
  const text = new TextDecoder().decode(octets);
  if (text.includes("-----BEGIN ")) return fromPem(file, text, passphrase);
  return fromDer(file, octets, passphrase);
}

function fromPem(file: string, text: string, passphrase: string | undefined): CaKey {
  // Tools put parameters before an EC key, and attributes before everything.
  const blocks = keyBlocksIn(text);
  const [pem, second] = blocks;
  if (pem === undefined) throw new Failure(`${file} holds no private key.`);
  if (second !== undefined) throw new Failure(`${file} holds more than one private key.`);
  const locked = /ENCRYPTED/.test(pem);
  if (locked && passphrase === undefined) {
    throw new Failure(`${file} is locked: give --key-passphrase-file.`);
  }
  try {
    return caKey(createPrivateKey({ key: pem, format: "pem", passphrase: passphrase ?? "" }));
  } catch {
    // The complaint of the runtime could quote the key.
    throw locked
      ? wrongPassphrase(file)
      : new Failure(`${file} holds no private key that is known.`);
  }
}

function fromDer(file: string, octets: Uint8Array, passphrase: string | undefined): CaKey {
  for (const type of ["pkcs8", "pkcs1", "sec1"] as const) {
    try {
      const key = { key: Buffer.from(octets), format: "der", type } as const;
      return caKey(createPrivateKey(passphrase === undefined ? key : { ...key, passphrase }));
    } catch {
      // It is not this; what it is the next attempt may know.
    }
  }
  return fromStore(file, octets, passphrase);
}

function fromStore(file: string, octets: Uint8Array, passphrase: string | undefined): CaKey {
  let keys: readonly Uint8Array[] | undefined;
  try {
    keys = keysInPkcs12(octets, passphrase ?? "");
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Failure(`${file} is neither a private key nor a PKCS#12 store.`);
  }
  if (keys === undefined && passphrase === undefined) {
    throw new Failure(`${file} is locked: give --key-passphrase-file.`);
  }
  if (keys === undefined) throw wrongPassphrase(file);
  const [key, second] = keys;
  if (key === undefined) throw new Failure(`${file} is a store without a private key.`);
  if (second !== undefined) throw new Failure(`${file} is a store of more than one private key.`);
  try {
    return caKey(createPrivateKey({ key: Buffer.from(key), format: "der", type: "pkcs8" }));
  } catch {
    throw new Failure(`${file} holds no private key that is known.`);
  }
}

function caKey(key: ReturnType<typeof createPrivateKey>): CaKey {
  const pkcs8 = key.export({ format: "der", type: "pkcs8" });
  const spki = createPublicKey(key).export({ format: "der", type: "spki" });
  return { pkcs8, spki: new Uint8Array(spki) };
}

const wrongPassphrase = (file: string) =>
  new Failure(`${file} does not open: the passphrase is wrong, or the encryption is not known.`);

/** Every block of a private key, found by its lines: headers of old ones have hyphens in them. */
function keyBlocksIn(text: string): readonly string[] {
  const blocks: string[] = [];
  for (const label of [
    "PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
    "RSA PRIVATE KEY",
    "EC PRIVATE KEY",
  ]) {
    const end = `-----END ${label}-----`;
    let at = text.indexOf(`-----BEGIN ${label}-----`);
    while (at >= 0 && blocks.length < 2) {
      const stop = text.indexOf(end, at);
      if (stop < 0) break;
      blocks.push(`${text.slice(at, stop)}${end}\n`);
      at = text.indexOf(`-----BEGIN ${label}-----`, stop);
    }
  }
  return blocks;
}
