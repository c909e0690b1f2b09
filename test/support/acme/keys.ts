/** Keys of ACME accounts and what they sign, by the words of the RFCs of JSON Web Keys alone. */

import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

export const algorithms = ["ES256", "ES384", "ES512", "RS256", "EdDSA"] as const;
export type Algorithm = (typeof algorithms)[number];

/** A key that signs requests. */
export interface SigningKey {
  readonly algorithm: Algorithm;
  readonly pair: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  /** The public key with its required members in the order of RFC 7638 §3. */
  readonly jwk: Readonly<Record<string, string>>;
  /** RFC 7638: base64url of SHA-256. */
  readonly thumbprint: string;
}

/** A flattened JSON Web Signature (RFC 7515 §7.2.2). */
export interface Message {
  readonly protected: string;
  readonly payload: string;
  readonly signature: string;
}

/** A fresh key for an algorithm; RSA has 2048 bits. */
export const newKey = (algorithm: Algorithm = "ES256"): SigningKey =>
  keyOf(algorithm, pairFor(algorithm));

/** A key of node:crypto as one that signs requests. */
export function keyOf(algorithm: Algorithm, pair: SigningKey["pair"]): SigningKey {
  const exported = pair.publicKey.export({ format: "jwk" });
  const jwk: Record<string, string> = {};
  for (const name of ["crv", "e", "kty", "n", "x", "y"] as const) {
    const value = exported[name];
    if (value !== undefined) jwk[name] = value;
  }
  const thumbprint = createHash("sha256").update(JSON.stringify(jwk)).digest("base64url");
  return { algorithm, pair, jwk, thumbprint };
}

function pairFor(algorithm: Algorithm): SigningKey["pair"] {
  switch (algorithm) {
    case "RS256":
      return generateKeyPairSync("rsa", { modulusLength: 2048 });
    case "EdDSA":
      return generateKeyPairSync("ed25519");
    default:
      return generateKeyPairSync("ec", { namedCurve: curves[algorithm] });
  }
}

/** Signs a header and a payload; undefined is the empty payload of POST-as-GET. */
export function signed(
  { algorithm, pair }: Pick<SigningKey, "algorithm" | "pair">,
  header: object,
  payload: unknown,
): Message {
  const text = `${encoded(header)}.${payload === undefined ? "" : encoded(payload)}`;
  const how = algorithm.startsWith("ES")
    ? ({ key: pair.privateKey, dsaEncoding: "ieee-p1363" } as const)
    : pair.privateKey;
  return assembled(text, sign(hashes[algorithm], Buffer.from(text), how));
}

/** The same by a shared key, as bindings are (RFC 8555 §7.3.4). */
export function authenticated(
  hash: "sha256" | "sha384" | "sha512",
  key: string,
  header: object,
  payload: unknown,
): Message {
  const text = `${encoded(header)}.${encoded(payload)}`;
  const mac = createHmac(hash, Buffer.from(key, "base64url")).update(text).digest();
  return assembled(text, mac);
}

/** RFC 8555 §7.3.4: an external account binding of an account key. */
export const binding = (
  { kid, hmacKey }: { readonly kid: string; readonly hmacKey: string },
  url: string,
  jwk: object,
): Message => authenticated("sha256", hmacKey, { alg: "HS256", kid, url }, jwk);

/** JSON in base64url without padding. */
export const encoded = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString("base64url");

function assembled(text: string, signature: Buffer): Message {
  const [header = "", payload = ""] = text.split(".");
  return { protected: header, payload, signature: signature.toString("base64url") };
}

const curves = { ES256: "P-256", ES384: "P-384", ES512: "P-521" } as const;
const hashes = {
  ES256: "sha256",
  ES384: "sha384",
  ES512: "sha512",
  RS256: "sha256",
  EdDSA: null,
} as const;
