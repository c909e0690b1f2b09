/**
 * RSA keys by their numbers, such as no generator gives: another exponent for one modulus, a prime
 * for a modulus.
 */

import { generateKeyPairSync, generatePrimeSync } from "node:crypto";

import {
  bitString,
  element,
  integer,
  nullElement,
  oid,
  sequence,
  unsignedInteger,
} from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { digest } from "#core/crypto.ts";
import { assembleSigned } from "#core/x509/certificate.ts";
import { encodeName, type NameAttribute } from "#core/x509/names.ts";

/**
 * The numbers of a private key; of a prime modulus the order of its group is known to everybody.
 */
export interface RsaNumbers {
  readonly modulus: bigint;
  readonly exponent: bigint;
  readonly secret: bigint;
}

/** Two keys of one fresh modulus of 2048 bits, and any others of it. */
export function rsaNumbers(...exponents: readonly bigint[]): readonly RsaNumbers[] {
  const { p = "", q = "" } = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({
    format: "jwk",
  });
  const [a, b] = [numberIn(p), numberIn(q)];
  return exponents.map((exponent) => ({
    modulus: a * b,
    exponent,
    secret: inverse(exponent, (a - 1n) * (b - 1n)),
  }));
}

/** A key of which everybody knows the secret. */
export function primeNumbers(): RsaNumbers {
  for (;;) {
    const modulus = generatePrimeSync(2048, { bigint: true });
    const exponent = 65_537n;
    if (modulus % exponent !== 1n)
      return { modulus, exponent, secret: inverse(exponent, modulus - 1n) };
  }
}

/** SubjectPublicKeyInfo, DER. */
export function spkiWith({ modulus, exponent }: RsaNumbers): Uint8Array {
  const numbers = sequence(unsignedInteger(octetsOf(modulus)), unsignedInteger(octetsOf(exponent)));
  return sequence(sequence(oid(oids.rsaEncryption), nullElement()), bitString(numbers));
}

/** PEM of a request for the subject, signed by RSASSA-PKCS1-v1_5 with SHA-256. */
export function requestWith(key: RsaNumbers, subject: readonly NameAttribute[]): string {
  const tbs = sequence(integer(0), encodeName(subject).der, spkiWith(key), element(0xa0));
  return encodePem(
    "CERTIFICATE REQUEST",
    assembleSigned(tbs, "rsa-pkcs1-sha256", signed(key, tbs)),
  );
}

function signed({ modulus, secret }: RsaNumbers, message: Uint8Array): Uint8Array {
  const length = octetsOf(modulus).length;
  const prefix = `3031300d060960864801650304020105000420${digest("sha256", message).toHex()}`;
  const encoded = `0001${"ff".repeat(length - prefix.length / 2 - 3)}00${prefix}`;
  const number = power(BigInt(`0x${encoded}`), secret, modulus);
  return Uint8Array.fromHex(number.toString(16).padStart(length * 2, "0"));
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  for (const bit of exponent.toString(2)) {
    result = (result * result) % modulus;
    if (bit === "1") result = (result * base) % modulus;
  }
  return result;
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [modulus, value % modulus, 0n, 1n];
  while (b > 0n) {
    const times = a / b;
    [a, b, x, y] = [b, a - times * b, y, x - times * y];
  }
  if (a !== 1n) throw new Error("the exponent has no inverse");
  return ((x % modulus) + modulus) % modulus;
}

const numberIn = (base64url: string): bigint =>
  BigInt(`0x${Buffer.from(base64url, "base64url").toString("hex")}`);

function octetsOf(number: bigint): Uint8Array {
  const digits = number.toString(16);
  return Uint8Array.fromHex(digits.length % 2 === 0 ? digits : `0${digits}`);
}
