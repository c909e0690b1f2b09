/**
 * The ML-KEM-1024 halves of hybrid KEK versions (KEK-5): decapsulation keys in sealed files beside
 * the KEKs.
 */

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";

import { sha256Hex } from "#core/crypto.ts";
import type { HybridHeader } from "#core/envelope.ts";
import { openUnderBoth, wrapUnderBoth } from "#core/hybrid-wrap.ts";
import { refuse } from "#core/problems.ts";
import type { HybridWish } from "#domain/keys.ts";
import type { DekUse, KekHalves, LocalRef } from "#adapters/keys/signer/provider.ts";

import { SealedFiles, type SealedDeps } from "./sealed-files.ts";

/** The halves of one key store. One bears id and label of its KEK, wherever that is held. */
export class SealedHalves implements KekHalves {
  readonly #files: SealedFiles;

  constructor(deps: SealedDeps) {
    const purpose = "pkid/sealed-ml-kem-half/1";
    this.#files = new SealedFiles(deps, { suffix: "mlkem", purpose, length: pkcs8Bytes });
  }

  async generate(kek: LocalRef): Promise<string> {
    const { privateKey } = generateKeyPairSync("ml-kem-1024");
    const pkcs8 = privateKey.export({ format: "der", type: "pkcs8" });
    const added = this.#files.add(kek, pkcs8);
    pkcs8.fill(0);
    if (!added) throw refuse("already_exists", { field: "label" });
    // Read back: what is answered for is what lies there.
    return await this.fingerprint(kek);
  }

  async fingerprint(kek: LocalRef): Promise<string> {
    return await this.#files.using(kek, (pkcs8) => sha256Hex(spkiOf(privateKeyIn(pkcs8))));
  }

  async wrap(kek: LocalRef, request: HybridWish, use: DekUse): Promise<HybridHeader> {
    const { family, version, dek, share, wrappedShare } = request;
    const spki = await this.#files.using(kek, (pkcs8) => spkiOf(privateKeyIn(pkcs8)));
    const publicKey = await kem.importKey("spki", spki, algorithm, false, ["encapsulateBits"]);
    const { sharedKey, ciphertext } = await kem.encapsulateBits(algorithm, publicKey);
    const shared = new Uint8Array(sharedKey);
    const pqc = { wrappedShare: wrappedShare.wrappedDek, ciphertext: new Uint8Array(ciphertext) };
    const terms = { kek: family, kekVersion: version, wrap: wrappedShare.wrap, pqc };
    const fresh = { dek, iv: randomBytes(ivBytes) };
    const wrappedDek = wrapUnderBoth({ share, shared }, { terms, use }, fresh);
    shared.fill(0);
    return { ...terms, wrappedDek };
  }

  async unwrap(
    kek: LocalRef,
    header: HybridHeader,
    share: Uint8Array,
    use: DekUse,
  ): Promise<Uint8Array> {
    const shared = await this.#files.using(kek, (pkcs8) =>
      decapsulated(pkcs8, header.pqc.ciphertext),
    );
    const dek = openUnderBoth({ share, shared }, { terms: header, use }, header.wrappedDek);
    shared.fill(0);
    if (dek === undefined) throw absent();
    return dek;
  }

  remove(kek: LocalRef): void {
    this.#files.remove(kek);
  }
}

/**
 * The shared secret; of an altered ciphertext it is another one (implicit rejection, FIPS 203
 * §6.3).
 */
async function decapsulated(pkcs8: Buffer, ciphertext: Uint8Array): Promise<Uint8Array> {
  try {
    const privateKey = await kem.importKey("pkcs8", pkcs8, algorithm, false, ["decapsulateBits"]);
    return new Uint8Array(await kem.decapsulateBits(algorithm, privateKey, ciphertext));
  } catch {
    throw absent(); // A ciphertext of a wrong length, or a file that holds no such key.
  }
}

function privateKeyIn(pkcs8: Buffer): KeyObject {
  try {
    const key = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" });
    if (key.asymmetricKeyType === "ml-kem-1024") return key;
  } catch {
    // Not a private key: as if it were not there.
  }
  throw absent();
}

const spkiOf = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ format: "der", type: "spki" });

const absent = () => refuse("key_unavailable", { retry_after: 2 });

/**
 * What the runtime's WebCrypto does with ML-KEM; the declarations of the runtime do not know it
 * yet.
 */
interface Encapsulation {
  importKey(
    format: "spki" | "pkcs8",
    key: Uint8Array,
    algorithm: { readonly name: string },
    extractable: boolean,
    usages: readonly string[],
  ): Promise<CryptoKey>;
  encapsulateBits(
    algorithm: { readonly name: string },
    key: CryptoKey,
  ): Promise<{ readonly sharedKey: ArrayBuffer; readonly ciphertext: ArrayBuffer }>;
  decapsulateBits(
    algorithm: { readonly name: string },
    key: CryptoKey,
    ciphertext: Uint8Array,
  ): Promise<ArrayBuffer>;
}

const kem = crypto.subtle as unknown as Encapsulation; // Measured: the runtime has these methods.
const algorithm = { name: "ML-KEM-1024" } as const;
/** PKCS#8 in the seed form (RFC 9935): 22 octets of frame and a seed of 64. */
const pkcs8Bytes = 86;
const ivBytes = 12;
