/**
 * A private key made in the page. WebCrypto settles whether a key can be exported when it is made,
 * so what signs requests is a copy that never can, and the one that can is out of reach of all but
 * `seal`, which lets nothing out but what is encrypted under a passphrase.
 */

import { type KeyKind, type KeyType, keyKinds, keyTypes } from "./key-types.ts";

/** Encrypts PKCS#8 under a passphrase; the octets are overwritten when it is done. */
export type Sealing<Sealed> = (pkcs8: Uint8Array<ArrayBuffer>) => Promise<Sealed>;

/** Never stored, never sent; gone with the tab, or when it is forgotten. */
export class PageKey {
  readonly type: KeyType;
  /** DER of SubjectPublicKeyInfo. */
  readonly spki: Uint8Array<ArrayBuffer>;
  /** As the answers of pkid write it. */
  readonly fingerprint: string;
  /** Signs requests; cannot be exported. */
  readonly signer: CryptoKeyPair;
  #exportable: CryptoKey | undefined;

  private constructor(
    type: KeyType,
    pair: CryptoKeyPair,
    signing: CryptoKey,
    spki: Uint8Array<ArrayBuffer>,
    fingerprint: string,
  ) {
    this.type = type;
    this.spki = spki;
    this.fingerprint = fingerprint;
    this.signer = { publicKey: pair.publicKey, privateKey: signing };
    this.#exportable = pair.privateKey;
  }

  /** Makes a new one. */
  static async make(type: KeyType): Promise<PageKey> {
    const { algorithm }: KeyKind = keyKinds[type];
    const pair = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    // An algorithm of signatures makes a pair.
    return PageKey.#of(type, pair as CryptoKeyPair);
  }

  /**
   * The key in these octets of PKCS#8, if it is the private half of this public key; the octets are
   * overwritten.
   */
  static async reopened(
    pkcs8: Uint8Array<ArrayBuffer>,
    spki: Uint8Array<ArrayBuffer>,
  ): Promise<PageKey | undefined> {
    const found = await publicKeyOf(spki);
    if (found === undefined) return undefined;
    const { algorithm }: KeyKind = keyKinds[found.type];
    try {
      const privateKey = await crypto.subtle.importKey("pkcs8", pkcs8, algorithm, true, ["sign"]);
      const pair = { publicKey: found.publicKey, privateKey };
      return (await belongTogether(pair)) ? await PageKey.#of(found.type, pair) : undefined;
    } catch {
      // What is no key of this kind is not the private half.
      return undefined;
    } finally {
      pkcs8.fill(0);
    }
  }

  static async #of(type: KeyType, pair: CryptoKeyPair): Promise<PageKey> {
    const { algorithm }: KeyKind = keyKinds[type];
    const spki = new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey));
    const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
    const signing = await crypto.subtle.importKey("pkcs8", pkcs8, algorithm, false, ["sign"]);
    pkcs8.fill(0);
    return new PageKey(type, pair, signing, spki, await fingerprintOf(spki));
  }

  /** Has the private key encrypted; refused once it is forgotten. */
  async seal<Sealed>(sealing: Sealing<Sealed>): Promise<Sealed> {
    if (this.#exportable === undefined) throw new Error("the key was forgotten");
    const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", this.#exportable));
    try {
      return await sealing(pkcs8);
    } finally {
      pkcs8.fill(0);
    }
  }

  /** Lets go of what could be exported. */
  forget(): void {
    this.#exportable = undefined;
  }
}

/** `SHA256:` and unpadded base64 over the DER of a public key. */
export async function fingerprintOf(spki: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", spki));
  return `SHA256:${digest.toBase64({ omitPadding: true })}`;
}

/** Reads a public key of whichever kind it is. */
async function publicKeyOf(spki: Uint8Array<ArrayBuffer>) {
  for (const type of keyTypes) {
    const { algorithm }: KeyKind = keyKinds[type];
    try {
      const publicKey = await crypto.subtle.importKey("spki", spki, algorithm, true, ["verify"]);
      return { type, publicKey };
    } catch {
      // A key of another kind: the next is tried.
    }
  }
  return undefined;
}

/** True when one verifies what the other has signed. */
async function belongTogether({ publicKey, privateKey }: CryptoKeyPair): Promise<boolean> {
  const kind = Object.values<KeyKind>(keyKinds).find(
    ({ algorithm }) => algorithm.name === publicKey.algorithm.name,
  );
  if (kind === undefined) return false;
  const sample = crypto.getRandomValues(new Uint8Array(32));
  const signature = await crypto.subtle.sign(kind.signing, privateKey, sample);
  return crypto.subtle.verify(kind.signing, publicKey, signature, sample);
}
