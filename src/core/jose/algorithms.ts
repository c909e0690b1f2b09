/**
 * WHICH SIGNATURES OF PROVIDERS COUNT: asymmetric ones only, each bound to one type of key (RFC
 * 7518, 8037, 9864).
 */

/** Columns: type of key, octets of the signature (undefined: those of the modulus). */
// biome-ignore format: the table is read by column.
const table = {
  RS256:   ["RSA",     undefined],
  RS384:   ["RSA",     undefined],
  RS512:   ["RSA",     undefined],
  PS256:   ["RSA",     undefined],
  PS384:   ["RSA",     undefined],
  PS512:   ["RSA",     undefined],
  ES256:   ["P-256",   64],
  ES384:   ["P-384",   96],
  ES512:   ["P-521",   132],
  EdDSA:   ["Ed25519", 64],
  Ed25519: ["Ed25519", 64],
} as const satisfies Record<string, readonly [string, number | undefined]>;

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
  const [kind, signatureBytes] = table[algorithm];
  return { kind, signatureBytes };
}
