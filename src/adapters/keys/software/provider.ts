/**
 * The software provider: keys sealed in files, used with the runtime's cryptography, inside the
 * signer.
 */

import {
  constants,
  generateKeyPair,
  type KeyObject,
  randomBytes,
  sign,
  type SignKeyObjectInput,
} from "node:crypto";
import { promisify } from "node:util";

import { importPublicKey, verifySignature } from "#core/crypto.ts";
import { refuse } from "#core/problems.ts";
import { slhDsaSet } from "#core/slh-dsa.ts";
import {
  defaultSignature,
  type KeyType,
  keyTypes,
  type SignatureName,
  schemeOf,
} from "#core/x509/algorithms.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";
import type { WrappedDek } from "#core/envelope.ts";
import type { KekHandle, KeyHandle, ListedKey, ProviderFacts } from "#domain/keys.ts";
import { checkFits } from "#adapters/keys/fits.ts";
import type { SoftwareSettings } from "#adapters/keys/settings.ts";
import type {
  DekUse,
  KekHalves,
  LocalRef,
  PrivateKeySealing,
  SigningProvider,
} from "#adapters/keys/signer/provider.ts";
import type { ServerLink } from "#adapters/keys/signer/server-link.ts";

import { importSecret, type Secret, SlhDsaSecret, spkiOf } from "./secrets.ts";
import { SlhDsaWork } from "./slh-dsa.ts";
import { type OpenKey, SealedKeys } from "./store.ts";

/** Opens the key store; throws a `configuration` fault when it may not be used (V-12). */
export function openSoftwareProvider(
  settings: SoftwareSettings,
  { workerUrl, link }: { readonly workerUrl: string; readonly link: ServerLink },
): SigningProvider {
  return new SoftwareProvider(new SealedKeys(settings, link), new SlhDsaWork(workerUrl));
}

class SoftwareProvider implements SigningProvider {
  readonly servesSigners = false;
  readonly sealing: PrivateKeySealing;
  readonly halves: KekHalves;
  readonly #store: SealedKeys;
  readonly #slow: SlhDsaWork;
  /** Keys in use, unsealed; the least recently loaded goes first. */
  readonly #open = new Map<string, OpenKey>();
  readonly #opening = new Map<string, Promise<OpenKey>>();

  constructor(store: SealedKeys, slow: SlhDsaWork) {
    this.#store = store;
    this.halves = store.halves;
    this.sealing = {
      use: (versions) => store.ring.use(versions),
      reseal: (version) => store.reseal(version),
      handOut: (address, after) => store.handOut(address, after),
      takeOver: (dataKeys) => store.takeOver(dataKeys),
    };
    this.#slow = slow;
  }

  facts(): ProviderFacts {
    return {
      provider: "software",
      available: true,
      deviceSerial: `software:${this.#store.storeId}`,
      keyTypes: Object.keys(keyTypes) as KeyType[], // The keys of the table.
    };
  }

  async generate(label: string, keyType: KeyType): Promise<KeyHandle> {
    const slow = slhDsaSet(keyType);
    const secret = slow ? await this.#slow.generate(slow) : await newSecret(keyType);
    return (await this.#store.add(label, keyType, secret)).keyHandle;
  }

  readonly take = async (label: string, pkcs8: Buffer): Promise<KeyHandle> => {
    const { secret, keyType } = broughtIn(pkcs8);
    await this.#proven(secret, keyType);
    return (await this.#store.addOrFind(label, keyType, secret)).keyHandle;
  };

  async find(ref: LocalRef): Promise<KeyHandle> {
    this.#forget(ref);
    return (await this.#load(ref)).keyHandle;
  }

  sign(ref: LocalRef, algorithm: SignatureName, message: Buffer): Uint8Array | Promise<Uint8Array> {
    const key = this.#open.get(cacheKey(ref));
    if (key !== undefined) return this.#signWith(key, algorithm, message);
    const copy = Buffer.from(message);
    return this.#load(ref).then((opened) => this.#signWith(opened, algorithm, copy));
  }

  #signWith(
    key: OpenKey,
    algorithm: SignatureName,
    message: Buffer,
  ): Uint8Array | Promise<Uint8Array> {
    checkFits(key.keyHandle.keyType, algorithm);
    const { secret } = key;
    if (secret instanceof SlhDsaSecret) return this.#slow.sign(secret, message);
    const { hash } = schemeOf(algorithm);
    // P-256 and Ed25519 take about 20 µs, less than handing them to a thread; the others go to the
    // pool.
    if (inline.has(key.keyHandle.keyType)) return sign(hash ?? null, message, secret);
    const copy = Buffer.from(message);
    return new Promise((resolve, reject) => {
      const parameters = signParameters(secret, algorithm);
      sign(hash ?? null, copy, parameters, (fault, made) =>
        fault ? reject(fault) : resolve(made),
      );
    });
  }

  async destroy(ref: LocalRef): Promise<void> {
    this.#forget(ref);
    this.#store.remove(ref);
  }

  /** Nothing to do: files are looked for whenever a key is not open. */
  lookAgain(): void {}

  async generateKek(label: string): Promise<KekHandle> {
    return this.#store.keks.add(label);
  }

  async wrap(kek: LocalRef, dek: Uint8Array, use: DekUse): Promise<WrappedDek> {
    return this.#store.keks.wrap(kek, dek, use);
  }

  async unwrap(kek: LocalRef, wrapped: WrappedDek, use: DekUse): Promise<Uint8Array> {
    return this.#store.keks.unwrap(kek, wrapped, use);
  }

  async destroyKek(kek: LocalRef): Promise<void> {
    this.#store.keks.remove(kek);
  }

  async list(): Promise<readonly ListedKey[]> {
    return this.#store.list();
  }

  /**
   * A key whose halves do not belong together would sign what nobody can verify, and an RSA key
   * with a wrong factor gives itself away by its first signature.
   */
  async #proven(secret: Secret, keyType: KeyType): Promise<void> {
    const message = randomBytes(32);
    const algorithm = defaultSignature(keyType);
    const scheme = schemeOf(algorithm);
    const keyHandle = { keyType } as KeyHandle; // As much of it as a signature looks at.
    const made = await this.#signWith({ keyHandle, secret }, algorithm, message);
    const key = importPublicKey(spkiOf(secret));
    if (!verifySignature(key, scheme, message, made)) throw badKey("its halves differ");
  }

  /** Opens a key once, however many wait for it; what is forgotten meanwhile is not kept. */
  async #load(ref: LocalRef): Promise<OpenKey> {
    const name = cacheKey(ref);
    const opening = this.#opening.get(name) ?? this.#store.open(ref);
    this.#opening.set(name, opening);
    try {
      const key = await opening;
      if (this.#opening.get(name) === opening) this.#keep(name, key);
      return key;
    } finally {
      if (this.#opening.get(name) === opening) this.#opening.delete(name);
    }
  }

  #keep(name: string, key: OpenKey): void {
    for (const oldest of this.#open.keys()) {
      if (this.#open.size < openKeysMax) break;
      this.#open.delete(oldest);
    }
    this.#open.set(name, key);
  }

  #forget(ref: LocalRef): void {
    this.#open.delete(cacheKey(ref));
    this.#opening.delete(cacheKey(ref));
  }
}

/** Refuses `bad_key` for what is no PKCS#8, and `key_type_unsupported`. */
function broughtIn(pkcs8: Buffer): { readonly secret: Secret; readonly keyType: KeyType } {
  const read = (): { secret: Secret; type: KeyType | undefined } => {
    const secret = importSecret(pkcs8);
    return { secret, type: parsePublicKey(spkiOf(secret)).keyType };
  };
  let found: ReturnType<typeof read>;
  try {
    found = read();
  } catch {
    // The complaint of the runtime could quote the key.
    throw badKey("it is no private key in PKCS#8");
  }
  if (found.type === undefined) throw refuse("key_type_unsupported");
  return { secret: found.secret, keyType: found.type };
}

const badKey = (reason: string) => refuse("bad_key", { reason });

async function newSecret(keyType: KeyType): Promise<KeyObject> {
  const [family, bits] = keyTypes[keyType];
  if (family === "rsa") return (await makePair("rsa", { modulusLength: bits })).privateKey;
  if (family === "ec") return (await makePair("ec", { namedCurve: `P-${bits}` })).privateKey;
  if (family === "ed25519") return (await makePair("ed25519")).privateKey;
  if (keyType === "ml-dsa-44") return (await makePair("ml-dsa-44")).privateKey;
  if (keyType === "ml-dsa-65") return (await makePair("ml-dsa-65")).privateKey;
  if (keyType === "ml-dsa-87") return (await makePair("ml-dsa-87")).privateKey;
  throw refuse("key_type_unsupported", { key_type: keyType });
}

function signParameters(secret: KeyObject, algorithm: SignatureName): SignKeyObjectInput {
  if (schemeOf(algorithm).padding !== "pss") return { key: secret };
  // RFC 4055 §3.1: the salt is as long as the hash.
  const saltLength = constants.RSA_PSS_SALTLEN_DIGEST;
  return { key: secret, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength };
}

const cacheKey = (ref: LocalRef): string => `${ref.id}/${ref.label}`;

const makePair = promisify(generateKeyPair);
const inline: ReadonlySet<KeyType> = new Set<KeyType>(["ecdsa-p256", "ed25519"]);
const openKeysMax = 1024;
