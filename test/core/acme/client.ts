/** A client of ACME as far as it signs: by a library, not by our own code. */

import { generateKeyPairSync, type KeyObject } from "node:crypto";

import { FlattenedSign } from "jose";

import type { AcmeAlgorithm } from "#core/acme/jws.ts";

export interface Pair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const curve = (namedCurve: string): Pair => generateKeyPairSync("ec", { namedCurve });

/** Keys by kind, made once. */
export const pairs = {
  RSA: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  "P-256": curve("P-256"),
  "P-384": curve("P-384"),
  "P-521": curve("P-521"),
  Ed25519: generateKeyPairSync("ed25519"),
} as const satisfies Record<string, Pair>;

// biome-ignore format: the table is read by column.
export const signers = [
  ["ES256", pairs["P-256"]], ["ES384", pairs["P-384"]], ["ES512", pairs["P-521"]], ["EdDSA", pairs.Ed25519],
  ["RS256", pairs.RSA], ["RS384", pairs.RSA], ["RS512", pairs.RSA],
  ["PS256", pairs.RSA], ["PS384", pairs.RSA], ["PS512", pairs.RSA],
] as const satisfies readonly (readonly [AcmeAlgorithm, Pair])[];

export const publicJwk = ({ publicKey }: Pair) => publicKey.export({ format: "jwk" });

/** A flattened JWS over a payload, which is empty text for undefined. */
export async function flattened(
  header: Readonly<Record<string, unknown>> & { readonly alg: string },
  payload: unknown,
  key: KeyObject | Uint8Array,
) {
  const text = payload === undefined ? "" : JSON.stringify(payload);
  return await new FlattenedSign(Buffer.from(text)).setProtectedHeader(header).sign(key);
}

export const b64 = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** The octets of a message with a header and payload of one's own, whoever signed it. */
export const message = (header: unknown, payload: unknown = {}, more: object = {}): Uint8Array => {
  const parts = { protected: b64(header), payload: b64(payload), signature: "AAAA" };
  return Buffer.from(JSON.stringify({ ...parts, ...more }));
};
