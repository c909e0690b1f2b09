/**
 * What ACME clients sign: JSON Web Signatures in flattened form, read strictly and verified without
 * a library that reads more than counts here (AC-2; RFC 8555 §6.2, RFC 7515).
 */

import { verifySignatureAside, type SignatureScheme } from "#core/crypto.ts";
import { type JwsAlgorithm, fitOf, parseAlgorithm } from "#core/jose/algorithms.ts";
import { refuse } from "#core/problems.ts";

import { type AccountKey, algorithmFits } from "./account-keys.ts";
import { base64urlOctets } from "./base64url.ts";
import { type JsonMembers, readJsonObject } from "./strict-json.ts";

/** RFC 9864 has a second name for EdDSA with Ed25519, which clients of ACME do not use. */
export type AcmeAlgorithm = Exclude<JwsAlgorithm, "Ed25519">;

/** A message as it says it is; nothing of it is true before its signature is verified. */
export interface AcmeJws {
  readonly algorithm: AcmeAlgorithm;
  /** Where the client says it sends it to; compared by whoever knows where it came. */
  readonly url: string;
  readonly nonce: string | undefined;
  /** URL of the account that signs; present when `jwk` is not. */
  readonly kid?: string;
  /** The key that signs, as it is written; present when `kid` is not. */
  readonly jwk?: unknown;
  readonly payload: Uint8Array;
  /** RFC 8555 §6.3: the payload is empty text, and the message a request to read. */
  readonly postAsGet: boolean;
  readonly protectedText: string;
  readonly payloadText: string;
  readonly signature: Uint8Array;
}

/**
 * Reads a message of at most 256 KiB. Refuses `acme_malformed` for what is no flattened JWS with
 * exactly `protected`, `payload` and `signature`, with a member twice, with `crit`, `b64`, or not
 * exactly one of `jwk` and `kid`; `acme_bad_signature_algorithm` for an algorithm that is not in
 * the list.
 */
export function parseJws(octets: Uint8Array): AcmeJws {
  if (octets.length > octetsMax) throw malformed("the message is longer than 256 KiB");
  const message = readJsonObject(octets);
  if (message === undefined) throw malformed("the message is not one JSON object");
  const { header, ...parts } = openFlattened(message);
  const algorithm = algorithmOf(header);
  const { url, nonce, kid, jwk } = header;
  if (typeof url !== "string") throw malformed("the protected header has no url");
  if (nonce !== undefined && typeof nonce !== "string") throw malformed("the nonce is no text");
  const signer = signerOf(kid, jwk);
  return {
    algorithm,
    url,
    nonce,
    ...signer,
    postAsGet: parts.payloadText === "",
    payload: parts.payload,
    protectedText: parts.protectedText,
    payloadText: parts.payloadText,
    signature: parts.signature,
  };
}

/**
 * RFC 8555 §7.3.5: the message inside a key change, signed by the new key. It names that key, and
 * has no nonce; that its `url` is that of the outer message is for the caller to compare. Refuses
 * as `parseJws` does.
 */
export function parseInnerJws(payload: Uint8Array): AcmeJws {
  const inner = parseJws(payload);
  if (inner.jwk === undefined) throw malformed("the inner message has no jwk");
  if (inner.nonce !== undefined) throw malformed("the inner message has a nonce");
  return inner;
}

/**
 * The payload as a JSON object in strict UTF-8, no member twice, at most 32 levels; refuses
 * `acme_malformed`. Members nobody knows are for the caller to ignore.
 */
export function payloadObject({ payload }: Pick<AcmeJws, "payload">): JsonMembers {
  const members = readJsonObject(payload);
  if (members === undefined) throw malformed("the payload is not one JSON object");
  return members;
}

/**
 * True when the key made the signature, with an algorithm that is for its kind. What takes longer
 * than a moment is verified by another thread.
 */
export async function verifyAcmeJws(jws: AcmeJws, key: AccountKey): Promise<boolean> {
  const { algorithm, signature, protectedText, payloadText } = jws;
  const { signatureBytes } = fitOf(algorithm);
  if (!algorithmFits(key, algorithm)) return false;
  if (signatureBytes !== undefined && signature.length !== signatureBytes) return false;
  return await verifySignatureAside(
    key.key,
    schemes[algorithm],
    signedOctets(protectedText, payloadText),
    signature,
  );
}

/** RFC 7515 §5.1: what a signature covers. */
export const signedOctets = (protectedText: string, payloadText: string): Uint8Array =>
  Buffer.from(`${protectedText}.${payloadText}`, "latin1");

/** The three parts of a flattened JWS, decoded; refuses `acme_malformed`. */
export function openFlattened(message: JsonMembers) {
  for (const name of Object.keys(message)) {
    if (!partNames.has(name)) throw malformed(`a message has no member ${shown(name)}`);
  }
  const protectedText = textOf(message, "protected");
  const payloadText = textOf(message, "payload");
  const header = readJsonObject(decoded(protectedText, "protected"));
  if (header === undefined) throw malformed("the protected header is not one JSON object");
  // RFC 7515 §4.1.11, RFC 7797 §3: what must be understood is not understood here, and another
  // encoding of the payload would change what is signed.
  for (const name of ["crit", "b64"]) {
    if (Object.hasOwn(header, name)) throw malformed(`the protected header has ${name}`);
  }
  const signature = decoded(textOf(message, "signature"), "signature");
  if (signature.length === 0) throw malformed("the signature is empty");
  return {
    header,
    protectedText,
    payloadText,
    payload: decoded(payloadText, "payload"),
    signature,
  };
}

/** The refusal of a message, with a phrase for whoever wrote the client. */
export const malformed = (reason: string) => refuse("acme_malformed", { reason });

function algorithmOf({ alg }: JsonMembers): AcmeAlgorithm {
  if (typeof alg !== "string") throw malformed("the protected header has no alg");
  const algorithm = parseAlgorithm(alg);
  if (algorithm === undefined || algorithm === "Ed25519") {
    throw refuse("acme_bad_signature_algorithm", { algorithms: Object.keys(schemes) });
  }
  return algorithm;
}

function signerOf(kid: unknown, jwk: unknown): { kid: string } | { jwk: unknown } {
  if ((kid === undefined) === (jwk === undefined)) {
    throw malformed("the protected header must have either jwk or kid");
  }
  if (kid === undefined) return { jwk };
  if (typeof kid !== "string") throw malformed("the kid is no text");
  return { kid };
}

function textOf(message: JsonMembers, name: string): string {
  const value = message[name];
  if (typeof value !== "string") throw malformed(`the member ${name} is missing or no text`);
  return value;
}

function decoded(text: string, name: string): Uint8Array {
  const octets = base64urlOctets(text);
  if (octets === undefined) throw malformed(`the member ${name} is not base64url`);
  return octets;
}

/** A name as the client wrote it, as far as it can be shown. */
const shown = (name: string): string => (/^[\w-]{1,32}$/.test(name) ? `"${name}"` : "of that name");

/** In the order clients are told them. */
// biome-ignore format: the table is read by column.
const schemes: Readonly<Record<AcmeAlgorithm, SignatureScheme>> = {
  ES256: { hash: "sha256", plainPair: true },
  ES384: { hash: "sha384", plainPair: true },
  ES512: { hash: "sha512", plainPair: true },
  EdDSA: { hash: undefined },
  RS256: { hash: "sha256", padding: "pkcs1" },
  RS384: { hash: "sha384", padding: "pkcs1" },
  RS512: { hash: "sha512", padding: "pkcs1" },
  PS256: { hash: "sha256", padding: "pss" },
  PS384: { hash: "sha384", padding: "pss" },
  PS512: { hash: "sha512", padding: "pss" },
};

const partNames: ReadonlySet<string> = new Set(["protected", "payload", "signature"]);
const octetsMax = 256 * 1024;
