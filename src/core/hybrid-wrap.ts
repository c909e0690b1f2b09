/**
 * Wraps a data key under two secrets at once, a share that the KEK wraps and one that ML-KEM-1024
 * agrees on (KEK-5).
 */

import { type EnvelopeHeader, kemName, type PqcHalf } from "./envelope.ts";
import { hkdfSha256, openAes256Gcm, sealAes256Gcm } from "./crypto.ts";

/** Everything a hybrid header says but the wrapped data key, which depends on it. */
export interface HybridTerms extends Pick<EnvelopeHeader, "kek" | "kekVersion" | "wrap"> {
  readonly pqc: PqcHalf;
}

/** What has to be known to wrap or to open, 32 octets each. */
export interface BothSecrets {
  /** Random, wrapped by the KEK. */
  readonly share: Uint8Array;
  /** Of ML-KEM-1024. */
  readonly shared: Uint8Array;
}

/**
 * IV, ciphertext and tag of the data key `dek` under both secrets, bound to the header and to
 * `use`, the word for whose data key it is. `iv` has 12 octets; the secrets serve one wrap only.
 */
export function wrapUnderBoth(
  secrets: BothSecrets,
  { terms, use }: { readonly terms: HybridTerms; readonly use: string },
  { dek, iv }: { readonly dek: Uint8Array; readonly iv: Uint8Array },
): Uint8Array {
  const binding = bindingOf(terms, use);
  const key = keyOf(secrets, binding);
  const sealed = sealAes256Gcm(key, iv, binding, dek);
  key.fill(0);
  return new Uint8Array(Buffer.concat([iv, sealed]));
}

/**
 * The data key; undefined when a secret, the header or the use is another than the one it was
 * wrapped with.
 */
export function openUnderBoth(
  secrets: BothSecrets,
  { terms, use }: { readonly terms: HybridTerms; readonly use: string },
  wrapped: Uint8Array,
): Uint8Array | undefined {
  if (secrets.share.length !== secretBytes || secrets.shared.length !== secretBytes) return;
  if (wrapped.length <= ivBytes) return;
  const binding = bindingOf(terms, use);
  const key = keyOf(secrets, binding);
  const dek = openAes256Gcm(key, wrapped.subarray(0, ivBytes), binding, wrapped.subarray(ivBytes));
  key.fill(0);
  return dek;
}

/** RFC 5869 over both, which have one length each, so that no two pairs give the same octets. */
function keyOf({ share, shared }: BothSecrets, binding: Uint8Array): Uint8Array {
  const both = Buffer.concat([share, shared]);
  const key = hkdfSha256(both, binding);
  both.fill(0);
  return key;
}

/** The header with the length before each part, so that no two headers give the same octets. */
function bindingOf({ kek, kekVersion, wrap, pqc }: HybridTerms, use: string): Uint8Array {
  const texts = [use, kemName, kek, String(kekVersion), wrap].map((text) => Buffer.from(text));
  const parts = [...texts, pqc.wrappedShare, pqc.ciphertext].flatMap((part) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    return [length, part];
  });
  return Buffer.concat([Buffer.from("pkid/hybrid-wrap/1"), ...parts]);
}

const secretBytes = 32;
const ivBytes = 12;
