/**
 * External account binding: a message inside newAccount by which whoever gave the client its
 * credential vouches for the account key (EAB-2; RFC 8555 §7.3.4).
 */

import { equalInConstantTime, type HashName, hmac } from "#core/crypto.ts";

import { canonicalJwk } from "./account-keys.ts";
import { malformed, openFlattened, signedOctets } from "./jws.ts";
import { isMembers, readJsonObject } from "./strict-json.ts";

/** A binding as it says it is; nothing of it is true before its MAC is verified. */
export interface EabJws {
  readonly algorithm: EabAlgorithm;
  readonly kid: string;
  /** That it is the address of newAccount is for the caller to compare. */
  readonly url: string;
  /**
   * The key in its payload, in the one spelling of `AccountKey.jwk`; that it is the account's is
   * for the caller to compare.
   */
  readonly jwk: string;
  /** What the MAC covers. */
  readonly signed: Uint8Array;
  readonly mac: Uint8Array;
}

export type EabAlgorithm = keyof typeof hashes;

/**
 * Reads the member `externalAccountBinding` of newAccount. Refuses `acme_malformed` for what is no
 * flattened JWS with an HMAC, a kid, a url, no nonce and a public key as its payload.
 */
export function parseEabJws(value: unknown): EabJws {
  if (!isMembers(value)) throw malformed("the binding is not a JSON object");
  const { header, protectedText, payloadText, payload, signature } = openFlattened(value);
  const { alg, kid, url, nonce, jwk } = header;
  if (typeof alg !== "string" || !isEabAlgorithm(alg)) {
    throw malformed("a binding is made with HS256, HS384 or HS512");
  }
  if (typeof kid !== "string" || jwk !== undefined) throw malformed("a binding names its kid");
  if (typeof url !== "string") throw malformed("a binding has a url");
  if (nonce !== undefined) throw malformed("a binding has no nonce");
  const bound = readJsonObject(payload);
  if (bound === undefined) throw malformed("the payload of a binding is the account key");
  return {
    algorithm: alg,
    kid,
    url,
    jwk: canonicalJwk(bound),
    signed: signedOctets(protectedText, payloadText),
    mac: signature,
  };
}

/**
 * True when the MAC was made with this key; in constant time. For a kid nobody knows the caller
 * gives any key, so that it costs the same (P-9).
 */
export function verifyEabJws(jws: EabJws, hmacKey: Uint8Array): boolean {
  return equalInConstantTime(hmac(hashes[jws.algorithm], hmacKey, jws.signed), jws.mac);
}

const isEabAlgorithm = (text: string): text is EabAlgorithm => Object.hasOwn(hashes, text);

const hashes = { HS256: "sha256", HS384: "sha384", HS512: "sha512" } as const satisfies Record<
  string,
  HashName
>;
