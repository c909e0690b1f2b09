/**
 * The serving certificate pkid makes for itself, kept beside the database so that every start finds
 * it again.
 */

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  X509Certificate,
} from "node:crypto";
import { promisify } from "node:util";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Key and certificate in PEM; the certificate may be followed by its issuers. */
export interface ServingMaterial {
  readonly key: string;
  readonly certificate: string;
}

/** The files of one data directory. */
export class ServingFiles {
  constructor(private readonly dataDir: string) {}

  /** What an earlier start left, when key and certificate belong together; undefined otherwise. */
  read(): ServingMaterial | undefined {
    const files = [join(this.dataDir, keyName), join(this.dataDir, certificateName)] as const;
    if (!files.every((file) => existsSync(file))) return undefined;
    const [key, certificate] = files.map((file) => readFileSync(file, "utf8"));
    if (key === undefined || certificate === undefined) return undefined;
    return belongTogether(key, certificate) ? { key, certificate } : undefined;
  }

  /** Replaces both; the key is readable by its owner only from its first octet. */
  write(material: ServingMaterial): void {
    this.#replace(keyName, material.key);
    this.#replace(certificateName, material.certificate);
  }

  /** The certificate of the internal serving CA, for clients to trust. */
  writeCa(certificate: string): void {
    const file = join(this.dataDir, caName);
    if (existsSync(file) && readFileSync(file, "utf8") === certificate) return;
    this.#replace(caName, certificate);
  }

  /** What `writeCa` has kept; undefined before the first start. */
  readCa(): string | undefined {
    const file = join(this.dataDir, caName);
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  }

  #replace(name: string, text: string): void {
    const file = join(this.dataDir, name);
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
}

/** What a serving key can be, by the names that key types have on the wire. */
export type ServingKeyType = keyof typeof keyOptions;

/** A fresh key, made off the serving thread: PKCS#8 in PEM, and its SubjectPublicKeyInfo in DER. */
export async function newServingKey(
  type: ServingKeyType,
): Promise<{ readonly key: string; readonly spki: Uint8Array }> {
  const { privateKey, publicKey } = await made(type);
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    spki: new Uint8Array(publicKey.export({ type: "spki", format: "der" })),
  };
}

/** True when the first certificate of the PEM text is for a key of this type. */
export function hasKeyType(certificate: string, type: ServingKeyType): boolean {
  const { asymmetricKeyType, asymmetricKeyDetails } = new X509Certificate(certificate).publicKey;
  const { curve, bits } = keyOptions[type];
  if (curve === undefined) {
    return asymmetricKeyType === "rsa" && asymmetricKeyDetails?.modulusLength === bits;
  }
  return asymmetricKeyType === "ec" && asymmetricKeyDetails?.namedCurve === curve;
}

function made(type: ServingKeyType): Promise<{ privateKey: KeyObject; publicKey: KeyObject }> {
  const { curve, bits } = keyOptions[type];
  return curve === undefined
    ? promisify(generateKeyPair)("rsa", { modulusLength: bits })
    : promisify(generateKeyPair)("ec", { namedCurve: curve });
}

/** True when the first certificate of the PEM text carries the public half of the key. */
export function belongTogether(key: string, certificate: string): boolean {
  try {
    const own = createPublicKey(createPrivateKey(key));
    return new X509Certificate(certificate).publicKey.equals(own);
  } catch {
    // Unreadable material belongs to nothing; the caller makes or refuses it.
    return false;
  }
}

const keyOptions = {
  "ecdsa-p256": { curve: "prime256v1", bits: 256 },
  "ecdsa-p384": { curve: "secp384r1", bits: 384 },
  "ecdsa-p521": { curve: "secp521r1", bits: 521 },
  "rsa-2048": { curve: undefined, bits: 2048 },
  "rsa-3072": { curve: undefined, bits: 3072 },
  "rsa-4096": { curve: undefined, bits: 4096 },
} as const;

const keyName = "serving-key.pem";
const certificateName = "serving.pem";
const caName = "serving-ca.pem";
