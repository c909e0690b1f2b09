/**
 * Envelopes: a secret under a key of its own, which is wrapped by a key that never leaves its
 * provider (KEK-2).
 */

import { equalInConstantTime, openAes256Gcm, sealAes256Gcm, sha256 } from "./crypto.ts";

/**
 * How a data key is wrapped (KEK-3): IV, ciphertext and tag of AES-256-GCM, or RSAES-OAEP with
 * SHA-256 and MGF1-SHA-256.
 */
export type Wrap = "AES-256-GCM" | "RSA-OAEP-SHA256";

/** A data key as its KEK wrapped it. */
export interface WrappedDek {
  readonly wrap: Wrap;
  readonly wrappedDek: Uint8Array;
}

/**
 * What a hybrid wrap needs besides (KEK-5): then `wrap` is how the KEK wraps the share, not the
 * data key.
 */
export interface PqcHalf {
  /** The random share, wrapped by the KEK. */
  readonly wrappedShare: Uint8Array;
  /** Of ML-KEM-1024. */
  readonly ciphertext: Uint8Array;
}

/** Which KEK wraps the data key, and the wrapped key: all that a rotation changes. */
export interface EnvelopeHeader extends WrappedDek {
  /** The label family of the KEK. */
  readonly kek: string;
  readonly kekVersion: number;
  /** Undefined when the KEK alone wraps the data key. */
  readonly pqc?: PqcHalf | undefined;
}

/** A header that opens with both halves only. */
export type HybridHeader = EnvelopeHeader & { readonly pqc: PqcHalf };

/** True when the KEK alone does not open it. */
export const isHybrid = (header: EnvelopeHeader): header is HybridHeader =>
  header.pqc !== undefined;

/** A sealed value. */
export interface Envelope extends EnvelopeHeader {
  readonly nonce: Uint8Array;
  /**
   * SHA-256 over a prefix and the data key: two keys cannot open one ciphertext to two contents.
   */
  readonly commit: Uint8Array;
  readonly ciphertext: Uint8Array;
  /** Table, column and row of the value: it opens nowhere else. */
  readonly context: string;
}

/** Seals `content` under a fresh `dek` of 32 octets and a nonce of 12; the caller wipes the key. */
export function sealEnvelope(
  header: EnvelopeHeader,
  keys: { readonly dek: Uint8Array; readonly nonce: Uint8Array },
  context: string,
  content: Uint8Array,
): Envelope {
  const { dek, nonce } = keys;
  const commit = commitmentOf(dek);
  const ciphertext = sealAes256Gcm(dek, nonce, associated(commit, context), content);
  return { ...header, nonce, commit, ciphertext, context };
}

/**
 * The content; undefined when the key is not the one committed to, or any part or the context is
 * another.
 */
export function openEnvelope(
  envelope: Envelope,
  dek: Uint8Array,
  context: string,
): Uint8Array | undefined {
  const { nonce, commit, ciphertext } = envelope;
  if (dek.length !== dekBytes || context !== envelope.context) return undefined;
  if (!equalInConstantTime(commit, commitmentOf(dek))) return undefined;
  return openAes256Gcm(dek, nonce, associated(commit, context), ciphertext);
}

/** True when `dek` is the key this envelope was sealed under. */
export const fitsCommitment = (envelope: Envelope, dek: Uint8Array): boolean =>
  dek.length === dekBytes && equalInConstantTime(envelope.commit, commitmentOf(dek));

/** The same content under another header, of which no part is kept. */
export const withHeader = (envelope: Envelope, header: EnvelopeHeader): Envelope => ({
  kek: header.kek,
  kekVersion: header.kekVersion,
  wrap: header.wrap,
  wrappedDek: header.wrappedDek,
  pqc: header.pqc,
  nonce: envelope.nonce,
  commit: envelope.commit,
  ciphertext: envelope.ciphertext,
  context: envelope.context,
});

/** The one text of an envelope. */
export function encodeEnvelope(envelope: Envelope): string {
  const { kek, kekVersion, wrap, wrappedDek, nonce, commit, ciphertext, context, pqc } = envelope;
  return JSON.stringify({
    v: pqc === undefined ? plain : hybrid,
    kek,
    kek_version: kekVersion,
    wrap,
    wrapped_dek: wrappedDek.toBase64(),
    alg,
    nonce: nonce.toBase64(),
    commit: commit.toBase64(),
    ciphertext: ciphertext.toBase64(),
    context,
    pqc: pqc && {
      kem: kemName,
      wrapped_share: pqc.wrappedShare.toBase64(),
      ciphertext: pqc.ciphertext.toBase64(),
    },
  });
}

/**
 * Reads an envelope; undefined for every text but the one `encodeEnvelope` writes, and above 256
 * KiB.
 */
export function parseEnvelope(text: string): Envelope | undefined {
  const members = membersOf(text);
  if (members === undefined) return undefined;
  const { v, kek, kek_version: kekVersion, wrap, alg: cipher, context } = members;
  if ((v !== plain && v !== hybrid) || cipher !== alg || !isWrap(wrap)) return undefined;
  if (typeof kek !== "string" || typeof context !== "string") return undefined;
  if (typeof kekVersion !== "number" || !Number.isSafeInteger(kekVersion) || kekVersion < 1) {
    return undefined;
  }
  const wrappedDek = octets(members.wrapped_dek);
  const nonce = octets(members.nonce, nonceBytes);
  const commit = octets(members.commit, commitBytes);
  const ciphertext = octets(members.ciphertext);
  if (!(wrappedDek && nonce && commit && ciphertext)) return undefined;
  const pqc = pqcOf(members.pqc);
  if (v === hybrid && pqc === undefined) return undefined;
  const byKek = pqc?.wrappedShare ?? wrappedDek;
  if (!wrappedBytes[wrap].includes(byKek.length)) return undefined;
  if (pqc !== undefined && wrappedDek.length !== aesWrappedBytes) return undefined;
  const envelope = {
    kek,
    kekVersion,
    wrap,
    wrappedDek,
    nonce,
    commit,
    ciphertext,
    context,
    pqc,
  } as const;
  // One spelling only: no member twice, unknown or elsewhere, no blank, no other base64.
  return encodeEnvelope(envelope) === text ? envelope : undefined;
}

/** Its other members are held to the one spelling by the caller. */
function pqcOf(value: unknown): PqcHalf | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const members = value as Readonly<Record<string, unknown>>; // Both members are checked below.
  const wrappedShare = octets(members.wrapped_share);
  const ciphertext = octets(members.ciphertext, kemCiphertextBytes);
  return wrappedShare && ciphertext && { wrappedShare, ciphertext };
}

const isWrap = (value: unknown): value is Wrap =>
  typeof value === "string" && Object.hasOwn(wrappedBytes, value);

function membersOf(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.length > textMax) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    return value as Readonly<Record<string, unknown>>; // Every member is checked by the caller.
  } catch {
    return undefined; // Not JSON.
  }
}

function octets(value: unknown, length?: number): Uint8Array | undefined {
  if (typeof value !== "string") return undefined;
  try {
    const read = Uint8Array.fromBase64(value);
    return length === undefined || read.length === length ? read : undefined;
  } catch {
    return undefined; // Not base64.
  }
}

const commitmentOf = (dek: Uint8Array): Uint8Array =>
  sha256(Buffer.concat([Buffer.from("pkid/dek/1"), dek]));

/** Each part with its length before it, so that no two lists give the same octets. */
function associated(commit: Uint8Array, context: string): Uint8Array {
  const parts = [Buffer.from(alg), commit, Buffer.from(context, "utf8")].flatMap((part) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    return [length, part];
  });
  return Buffer.concat([Buffer.from("pkid/envelope/1"), ...parts]);
}

/**
 * The versions of the format: of a data key under the KEK alone, and under the KEK and ML-KEM-1024.
 */
const [plain, hybrid] = [1, 2] as const;
const alg = "AES-256-GCM";
const dekBytes = 32;
const nonceBytes = 12;
const commitBytes = 32;
const aesWrappedBytes = nonceBytes + dekBytes + 16;
/** The one mechanism (FIPS 203), as an envelope names it. */
export const kemName = "ML-KEM-1024";
const kemCiphertextBytes = 1568;
/** IV, key and tag; the modulus of RSA-3072 or RSA-4096. */
const wrappedBytes: Readonly<Record<Wrap, readonly number[]>> = {
  "AES-256-GCM": [aesWrappedBytes],
  "RSA-OAEP-SHA256": [384, 512],
};
const textMax = 256 * 1024;
