/** The serving certificate pkid makes for itself, kept beside the database so that every start finds it again. */

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  X509Certificate,
} from "node:crypto";
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

  #replace(name: string, text: string): void {
    const file = join(this.dataDir, name);
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
}

/** A fresh P-256 key: PKCS#8 in PEM, and its SubjectPublicKeyInfo in DER. */
export function newServingKey(): { readonly key: string; readonly spki: Uint8Array } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    spki: new Uint8Array(publicKey.export({ type: "spki", format: "der" })),
  };
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

const keyName = "serving-key.pem";
const certificateName = "serving.pem";
const caName = "serving-ca.pem";
