/**
 * WHICH SIGNATURES OF PROVIDERS COUNT: asymmetric ones only, each bound to one type of key (RFC
 * 7518, 8037, 9864).
 */

import type { SignatureScheme } from "#core/crypto.ts";

/**
 * Columns: type of key, hash, padding, octets of the signature (undefined: those of the modulus).
 */
// biome-ignore format: the table is read by column.
const table = {
  RS256:   ["RSA",     "sha256",  "pkcs1",   undefined],
  RS384:   ["RSA",     "sha384",  "pkcs1",   undefined],
  RS512:   ["RSA",     "sha512",  "pkcs1",   undefined],
  PS256:   ["RSA",     "sha256",  "pss",     undefined],
  PS384:   ["RSA",     "sha384",  "pss",     undefined],
  PS512:   ["RSA",     "sha512",  "pss",     undefined],
  ES256:   ["P-256",   "sha256",  undefined, 64],
  ES384:   ["P-384",   "sha384",  undefined, 96],
  ES512:   ["P-521",   "sha512",  undefined, 132],
  EdDSA:   ["Ed25519", undefined, undefined, 64],
  Ed25519: ["Ed25519", undefined, undefined, 64],
} as const satisfies Record<
  string,
  readonly [string, SignatureScheme["hash"], SignatureScheme["padding"], number | undefined]
>;

/** `none` and the HMACs are not in the table, so no token can ask for them. */
export type JwsAlgorithm = keyof typeof table;
/** `RSA`, or the curve. */
export type KeyKind = (typeof table)[JwsAlgorithm][0];

/** Reads a name byte for byte; gives undefined for what is not in the table. */
export const parseAlgorithm = (text: unknown): JwsAlgorithm | undefined =>
  typeof text === "string" && Object.hasOwn(table, text)
    ? (text as JwsAlgorithm) // A key of the table.
    : undefined;

/** The type of key an algorithm works with, and the length of its signatures. */
export function fitOf(algorithm: JwsAlgorithm): {
  readonly kind: KeyKind;
  readonly signatureBytes: number | undefined;
} {
  const [kind, , , signatureBytes] = table[algorithm];
  return { kind, signatureBytes };
}

/**
 * How `verifySignature` is to verify; ECDSA comes as two numbers of fixed length (RFC 7518 §3.4).
 */
export function schemeOf(algorithm: JwsAlgorithm): SignatureScheme {
  const [, hash, padding, bytes] = table[algorithm];
  return { hash, padding, ecdsaForm: hash !== undefined && bytes !== undefined ? "p1363" : "der" };
}
