/**
 * Nonces that prove by themselves that this server made them, and when (AC-4; RFC 8555 §6.5): a
 * version, the time, 16 random octets and a MAC, in base64url. Nothing is kept of one before it is
 * used.
 */

import { equalInConstantTime, hmacSha256 } from "#core/crypto.ts";
import { type Instant, instant } from "#core/time.ts";

import { base64urlOctets } from "./base64url.ts";

/** How long a nonce is good. */
export const nonceLifeMs = 30 * 60_000;

/** How far the clocks of replicas may differ. */
export const nonceClockToleranceMs = 60_000;

/** A nonce that this server made and that is not too old; whether it was used, the store knows. */
export interface Nonce {
  /** Lower hex that begins with the time: of two nonces the younger one sorts behind. */
  readonly id: string;
  /**
   * Until when its use must be remembered: by then it is refused by every replica, also by one
   * whose clock is late by the tolerance.
   */
  readonly expiresAt: Instant;
}

/** Makes a nonce of 52 characters; `random16` are 16 octets from the CSPRNG, `key` 16 or more. */
export function mintNonce(key: Uint8Array, now: Instant, random16: Uint8Array): string {
  const nonce = Buffer.allocUnsafe(nonceOctets);
  nonce[0] = version;
  nonce.writeUIntBE(now, 1, timeOctets);
  nonce.set(random16, 1 + timeOctets);
  nonce.set(macOf(key, nonce), signedLength);
  return nonce.toString("base64url");
}

/**
 * Reads a nonce; undefined for one that this key did not make, that is more than 30 minutes old or
 * comes from further in the future than clocks may differ.
 */
export function readNonce(key: Uint8Array, text: string, now: Instant): Nonce | undefined {
  if (text.length !== nonceCharacters) return undefined;
  const octets = base64urlOctets(text);
  if (octets?.length !== nonceOctets || octets[0] !== version) return undefined;
  if (!equalInConstantTime(macOf(key, octets), octets.subarray(signedLength))) return undefined;
  const id = octets.subarray(1, signedLength).toHex();
  const at = Number.parseInt(id.slice(0, 2 * timeOctets), 16);
  if (now - at > nonceLifeMs || at - now > nonceClockToleranceMs) return undefined;
  return { id, expiresAt: instant(at + nonceLifeMs + nonceClockToleranceMs) };
}

const macOf = (key: Uint8Array, nonce: Uint8Array): Uint8Array =>
  hmacSha256(key, nonce.subarray(0, signedLength)).subarray(0, macOctets);

const version = 1;
/** Milliseconds, until the year 10889. */
const timeOctets = 6;
const randomOctets = 16;
const signedLength = 1 + timeOctets + randomOctets;
const macOctets = 16;
const nonceOctets = signedLength + macOctets;
const nonceCharacters = (nonceOctets * 4) / 3;
