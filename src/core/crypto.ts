/**
 * The one door from core to the runtime's cryptography: digests, and verification with public keys.
 */

import * as nodeCrypto from "node:crypto";

import { readWideRsaKey, WideRsaPublicKey, type WideRsaScheme } from "./rsa-public-key.ts";
import { readSlhDsaKey, SlhDsaPublicKey } from "./slh-dsa.ts";
import { OnceATurn, StepQueue } from "./turns.ts";

export type HashName = "sha1" | "sha256" | "sha384" | "sha512";

/** An incremental digest. */
export const createHash = (name: HashName): nodeCrypto.Hash => nodeCrypto.createHash(name);

/** One-shot digest of `bytes`. */
export const digest = (name: HashName, bytes: Uint8Array): Uint8Array =>
  new Bun.CryptoHasher(name).update(bytes).digest();

/** One-shot SHA-256. */
export const sha256 = (bytes: Uint8Array): Uint8Array => Bun.SHA256.hash(bytes) as Uint8Array;

/** The same of the UTF-8 octets of a text, into 32 octets that are used again. */
export function sha256Into(text: string, into: Uint8Array<ArrayBuffer>): void {
  Bun.SHA256.hash(text, into);
}

/** One-shot SHA-256 in lower hex. */
export const sha256Hex = (bytes: Uint8Array): string => Bun.SHA256.hash(bytes, "hex");

/** Octets in one piece, or in consecutive pieces for what is too long to be one. */
export type Octets = Uint8Array | readonly Uint8Array[];

/** The pieces, in order. */
export const piecesIn = (octets: Octets): readonly Uint8Array[] =>
  octets instanceof Uint8Array ? [octets] : octets;

/** SHA-256 in lower hex of octets of any length; between slices others get their turn. */
export function sha256HexOf(octets: Octets): string | Promise<string> {
  if (octets instanceof Uint8Array && octets.length <= sliceOctets) return sha256Hex(octets);
  return sha256HexOfLong(octets);
}

async function sha256HexOfLong(octets: Octets): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  await eachSlice(octets, (slice) => hash.update(slice));
  return hash.digest("hex");
}

async function eachSlice(octets: Octets, take: (slice: Uint8Array) => void): Promise<void> {
  let since = 0;
  for (const piece of piecesIn(octets)) {
    for (let at = 0; at < piece.length; at += sliceOctets) {
      const slice = piece.subarray(at, at + sliceOctets);
      take(slice);
      since += slice.length;
      if (since < sliceOctets) continue;
      await new Promise((resolve) => setImmediate(resolve));
      since = 0;
    }
  }
}

/** A few milliseconds of hashing where the processor has no instructions for it. */
const sliceOctets = 1024 * 1024;

/** Compares two byte strings in constant time; strings of unequal length are unequal. */
export function equalInConstantTime(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && nodeCrypto.timingSafeEqual(a, b);
}

/**
 * AES-256-GCM (SP 800-38D) under a nonce of 96 bits that is never used twice with `key`; gives
 * ciphertext and tag.
 */
export function sealAes256Gcm(
  key: Uint8Array,
  nonce: Uint8Array,
  associated: Uint8Array,
  content: Uint8Array,
): Uint8Array {
  const cipher = nodeCrypto.createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(associated);
  const sealed = [cipher.update(content), cipher.final()];
  return new Uint8Array(Buffer.concat([...sealed, cipher.getAuthTag()]));
}

/**
 * The content of ciphertext and tag; undefined when key, nonce, associated data or octets are
 * others.
 */
export function openAes256Gcm(
  key: Uint8Array,
  nonce: Uint8Array,
  associated: Uint8Array,
  sealed: Uint8Array,
): Uint8Array | undefined {
  if (sealed.length < gcmTagBytes) return undefined;
  const options = { authTagLength: gcmTagBytes };
  const cipher = nodeCrypto.createDecipheriv("aes-256-gcm", key, nonce, options);
  cipher.setAAD(associated);
  cipher.setAuthTag(sealed.subarray(sealed.length - gcmTagBytes));
  try {
    const content = [cipher.update(sealed.subarray(0, -gcmTagBytes)), cipher.final()];
    return new Uint8Array(Buffer.concat(content));
  } catch {
    return undefined; // The tag does not fit: nothing else can fail here.
  }
}

const gcmTagBytes = 16;

/**
 * HKDF with SHA-256 and no salt (RFC 5869): 32 octets from a secret of full entropy, bound to
 * `binding`, its info. By HMAC, because the runtime takes no info above 1,024 octets.
 */
export function hkdfSha256(secret: Uint8Array, binding: Uint8Array): Uint8Array {
  const extracted = hmacSha256(new Uint8Array(32), secret);
  const key = hmacSha256(extracted, Buffer.concat([binding, Buffer.of(1)]));
  extracted.fill(0);
  return key;
}

/** A public key ready for verification. */
export type VerificationKey = RuntimeKey | OwnKey;

/** Of a kind the runtime verifies with. */
export type RuntimeKey = nodeCrypto.KeyObject;

/** Of a kind the runtime does not verify with. */
type OwnKey = SlhDsaPublicKey | WideRsaPublicKey;

/** Imports a SubjectPublicKeyInfo (DER); throws when the runtime does not know the key type. */
export const importPublicKey = (spki: Uint8Array): VerificationKey =>
  (isOnCurve(spki) ? undefined : (readSlhDsaKey(spki) ?? readWideRsaKey(spki))) ??
  nodeCrypto.createPublicKey({ key: Buffer.from(spki), format: "der", type: "spki" });

/** True where the algorithm's identifier takes seven octets: that of no other key does. */
const isOnCurve = (spki: Uint8Array): boolean =>
  spki[2] === 0x30 && spki[4] === 0x06 && spki[5] === 0x07;

/** The public members of a JSON Web Key (RFC 7518 §6, RFC 8037 §2). */
export type PublicJwk =
  | { readonly kty: "RSA"; readonly n: string; readonly e: string }
  | { readonly kty: "EC"; readonly crv: string; readonly x: string; readonly y: string }
  | { readonly kty: "OKP"; readonly crv: string; readonly x: string };

/** Imports a JSON Web Key; undefined when it is none. */
export function importPublicJwk(jwk: PublicJwk): RuntimeKey | undefined {
  try {
    return nodeCrypto.createPublicKey({ key: { ...jwk }, format: "jwk" });
  } catch {
    // A point off its curve, an even exponent, no base64url: all the same to the caller.
    return undefined;
  }
}

/** HMAC-SHA-256 (RFC 2104). */
export const hmacSha256 = (key: Uint8Array, message: Uint8Array): Uint8Array =>
  hmac("sha256", key, message);

/** HMAC with the hash of that name (RFC 2104). */
export const hmac = (hash: HashName, key: Uint8Array, message: Uint8Array): Uint8Array =>
  new Uint8Array(new Bun.CryptoHasher(hash, key).update(message).digest());

/** What `verifySignature` needs to know besides the key. */
export interface SignatureScheme {
  /** Undefined for Ed25519, ML-DSA and SLH-DSA, which take the message itself. */
  readonly hash?: HashName | undefined;
  readonly padding?: "pkcs1" | "pss" | undefined;
  /** True for ECDSA as JSON Web Signatures have it (RFC 7518 §3.4), else it is as in X.509. */
  readonly plainPair?: boolean | undefined;
}

/** True when `signature` by `key` covers `message`; never throws. */
export function verifySignature(
  key: VerificationKey,
  scheme: SignatureScheme,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  try {
    if (isOwnKey(key)) return verifiedHere(key, scheme, message, signature);
    return nodeCrypto.verify(scheme.hash ?? null, message, withPadding(key, scheme), signature);
  } catch {
    // A malformed signature or a key the scheme does not fit verifies nothing.
    return false;
  }
}

/**
 * The same for the thread that serves requests. Long messages are hashed slice by slice; what takes
 * less time than handing it to another thread is done here, once in each turn of the event loop,
 * and all else by the others: of few requests none waits for two threads to wake, and many keep
 * this one free.
 *
 * @param queue steps of keys that the runtime does not verify with; bounded by default
 * @throws {Problem} `overloaded` if the queue has no space
 */
export async function verifySignatureAside(
  key: VerificationKey,
  scheme: SignatureScheme,
  message: Octets,
  signature: Uint8Array,
  queue: StepQueue = untrustedSteps,
): Promise<boolean> {
  const { hash } = scheme;
  if (isOwnKey(key)) return await verifyInSteps({ key, scheme, message, signature }, queue);
  if (message instanceof Uint8Array || hash === undefined) {
    const whole = message instanceof Uint8Array ? message : Buffer.concat(message);
    const here = isQuick(key) && whole.length <= quickOctetsMax && hereThisTurn.take();
    if (here) return verifySignature(key, scheme, whole, signature);
    return await verifiedOffThread(key, scheme, whole, signature);
  }
  const verifier = nodeCrypto.createVerify(hash);
  await eachSlice(message, (slice) => verifier.update(slice));
  try {
    return verifier.verify(withPadding(key, scheme), signature);
  } catch {
    return false; // As above: what cannot be verified does not verify.
  }
}

/** The same for whoever has many to verify: by other threads, so that this one goes on. */
export async function verifySignatureElsewhere(
  key: VerificationKey,
  scheme: SignatureScheme,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  if (isOwnKey(key)) return await verifyInSteps({ key, scheme, message, signature }, trustedSteps);
  return await verifiedOffThread(key, scheme, message, signature);
}

/** Hashes the message in slices, then verifies in steps. */
async function verifyInSteps(
  { key, scheme, message, signature }: SteppedSignature,
  queue: StepQueue,
): Promise<boolean> {
  const plan = planSteps(key, scheme, signature);
  if (plan === undefined) return false;
  const hash = new Bun.CryptoHasher(plan.hash).update(plan.prefix);
  await eachSlice(message, (slice) => hash.update(slice));
  return await queue.run(plan.verify(hash.digest()));
}

interface SteppedSignature {
  readonly key: OwnKey;
  readonly scheme: SignatureScheme;
  readonly message: Octets;
  readonly signature: Uint8Array;
}

/** Verification with a key of our own. */
interface StepPlan {
  /** Hash of prefix and message. */
  readonly hash: HashName;
  readonly prefix: Uint8Array;
  readonly verify: (digested: Uint8Array) => Generator<void, boolean>;
}

/** Returns undefined for schemes that do not fit the key. */
function planSteps(
  key: OwnKey,
  scheme: SignatureScheme,
  signature: Uint8Array,
): StepPlan | undefined {
  if (key instanceof SlhDsaPublicKey) {
    const prefix = key.messagePrefix(signature);
    const verify = (digested: Uint8Array) => key.verify(digested, signature, digest);
    return { hash: key.hash, prefix, verify };
  }
  const wide = wideSchemeOf(scheme);
  if (wide === undefined) return undefined;
  const verify = (digested: Uint8Array) => key.verify(wide, digested, signature);
  return { hash: wide.hash, prefix: new Uint8Array(), verify };
}

/** Signatures of untrusted clients: their number bounds the delay of each. */
const untrustedSteps = new StepQueue(64);
const trustedSteps = new StepQueue();

function verifiedOffThread(
  key: RuntimeKey,
  scheme: SignatureScheme,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  return new Promise((resolve) => {
    try {
      const algorithm = scheme.hash ?? null;
      nodeCrypto.verify(algorithm, message, withPadding(key, scheme), signature, (fault, good) =>
        resolve(fault === null && good),
      );
    } catch {
      resolve(false); // As above: what cannot be verified does not verify.
    }
  });
}

/** True for keys whose signatures are verified in less than a tenth of a millisecond. */
function isQuick(key: RuntimeKey): boolean {
  const { asymmetricKeyType: type = "", asymmetricKeyDetails: details } = key;
  // Whoever asks chooses the exponent, and with it the time.
  if (type === "rsa") {
    return (details?.modulusLength ?? Infinity) <= 4096 && details?.publicExponent === 65_537n;
  }
  return quickTypes.has(type) || (type === "ec" && details?.namedCurve === "prime256v1");
}

const quickTypes: ReadonlySet<string> = new Set(["ed25519", "ml-dsa-44", "ml-dsa-65"]);
/** Longer messages take their time to hash. */
const quickOctetsMax = 16 * 1024;

const hereThisTurn = new OnceATurn();

const isOwnKey = (key: VerificationKey): key is OwnKey =>
  key instanceof SlhDsaPublicKey || key instanceof WideRsaPublicKey;

function verifiedHere(
  key: OwnKey,
  scheme: SignatureScheme,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  const plan = planSteps(key, scheme, signature);
  if (plan === undefined) return false;
  const hash = new Bun.CryptoHasher(plan.hash).update(plan.prefix).update(message);
  const steps = plan.verify(hash.digest());
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** Returns undefined for schemes that RSA keys with wide exponents do not verify. */
function wideSchemeOf({ hash, padding = "pkcs1" }: SignatureScheme): WideRsaScheme | undefined {
  return hash === undefined || hash === "sha1" ? undefined : { hash, padding, digest };
}

/**
 * True when the number is prime, by a test that never calls a prime composite, and a composite
 * prime about never; off the calling thread, where it takes as long as a signature of that length.
 */
export function isPrime(candidate: bigint): Promise<boolean> {
  return new Promise((resolve, reject) => {
    nodeCrypto.checkPrime(candidate, { checks: 2 }, (fault, prime) => {
      if (fault === null || fault === undefined) resolve(prime);
      else reject(fault);
    });
  });
}

function withPadding(key: nodeCrypto.KeyObject, scheme: SignatureScheme) {
  if (scheme.plainPair === true) return { key, dsaEncoding: "ieee-p1363" as const };
  if (scheme.padding !== "pss") return key;
  return {
    key,
    padding: nodeCrypto.constants.RSA_PKCS1_PSS_PADDING,
    saltLength: nodeCrypto.constants.RSA_PSS_SALTLEN_DIGEST,
  };
}
