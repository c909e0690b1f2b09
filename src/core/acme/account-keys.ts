/**
 * Keys of accounts: JSON Web Keys read into the one spelling they are stored, named and compared by
 * (AC-3; RFC 7518 §6, RFC 7638, RFC 8037).
 */

import { bitString, nullElement, oid, sequence, unsignedInteger } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { importPublicKey, sha256, type VerificationKey } from "#core/crypto.ts";
import { fitOf, type JwsAlgorithm, type KeyKind } from "#core/jose/algorithms.ts";
import { findCheapWeakness } from "#core/policy/key-quality.ts";
import { assert, type Problem, refuse } from "#core/problems.ts";

import { base64urlOctets, base64urlText } from "./base64url.ts";
import { isMembers, type JsonMembers, readJsonText } from "./strict-json.ts";

/** A public key that signs messages. */
export interface AccountKey {
  /** `RSA`, or the curve. */
  readonly kind: KeyKind;
  /**
   * JSON of the public members that RFC 7638 §3.2 requires, in its order and without blanks: one
   * key has one such text.
   */
  readonly jwk: string;
  /** RFC 7638: base64url of SHA-256 over that text. */
  readonly thumbprint: string;
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array;
  readonly key: VerificationKey;
}

/**
 * Reads the key of a message, whose signature is not verified yet. So it checks only what costs
 * less than that: kind, lengths, exponent, curve and point (AC-8). The key of an account is checked
 * for factors before it is stored.
 *
 * @throws {Problem} `acme_malformed` if `jwk` is no JSON Web Key or has private members,
 *   `acme_bad_public_key` if the key is not acceptable or not of the algorithm's kind
 */
export function readAccountKey(jwk: unknown, algorithm: JwsAlgorithm): AccountKey {
  const members = publicMembers(jwk);
  if (members.kind !== fitOf(algorithm).kind) {
    throw badKey(`it cannot make signatures of ${algorithm}`);
  }
  const spki = spkiOf(members);
  if (spki === undefined) throw badKey("its numbers are not spelled as they must be");
  const fault = findCheapWeakness(spki);
  if (fault !== undefined) throw badKey(fault);
  const key = imported(spki);
  if (key === undefined) throw badKey("no signature can be verified with it");
  const text = canonicalText(members);
  return { kind: members.kind, jwk: text, thumbprint: thumbprintOf(text), spki, key };
}

/** The key of a stored account, by the text that `readAccountKey` made. */
export function accountKeyOf(canonicalJwkText: string): AccountKey {
  const members = publicMembers(readJsonText(canonicalJwkText));
  const spki = spkiOf(members);
  const key = spki && imported(spki);
  assert(spki && key, "a stored account key was read before it was stored");
  const thumbprint = thumbprintOf(canonicalJwkText);
  return { kind: members.kind, jwk: canonicalJwkText, thumbprint, spki, key };
}

/** True when signatures of the algorithm are made with keys of this kind. */
export const algorithmFits = ({ kind }: Pick<AccountKey, "kind">, algorithm: JwsAlgorithm) =>
  fitOf(algorithm).kind === kind;

/**
 * The one spelling of the public key in a JWK (`AccountKey.jwk`), for comparison only: nothing is
 * checked but the kind. Refuses as `readAccountKey` does.
 */
export const canonicalJwk = (jwk: unknown): string => canonicalText(publicMembers(jwk));

type PublicMembers =
  | { readonly kind: "RSA"; readonly n: string; readonly e: string }
  | { readonly kind: "P-256" | "P-384" | "P-521"; readonly x: string; readonly y: string }
  | { readonly kind: "Ed25519"; readonly x: string };

/** RFC 7517 §4: members that are not known, and those that say what a key is for, are ignored. */
function publicMembers(jwk: unknown): PublicMembers {
  if (!isMembers(jwk)) throw malformedKey("the jwk is not a JSON object");
  if (privateNames.some((name) => Object.hasOwn(jwk, name))) {
    throw malformedKey("the jwk has members of a private key");
  }
  const { kty, crv } = jwk;
  if (typeof kty !== "string") throw malformedKey("the jwk has no kty");
  if (kty === "RSA") return { kind: "RSA", n: textOf(jwk, "n"), e: textOf(jwk, "e") };
  if (kty === "EC" && (crv === "P-256" || crv === "P-384" || crv === "P-521")) {
    return { kind: crv, x: textOf(jwk, "x"), y: textOf(jwk, "y") };
  }
  if (kty === "OKP" && crv === "Ed25519") return { kind: crv, x: textOf(jwk, "x") };
  throw badKey("it is none of RSA, P-256, P-384, P-521 and Ed25519");
}

function textOf(jwk: JsonMembers, name: string): string {
  const value = jwk[name];
  if (typeof value !== "string") throw malformedKey(`the jwk has no ${name}`);
  if (value.length > textMax) throw badKey(`its ${name} is too long`);
  // So that the canonical text needs no escapes.
  if (!/^[A-Za-z0-9_-]+$/.test(value))
    throw malformedKey(`the ${name} of the jwk is not base64url`);
  return value;
}

/** RFC 7638 §3.3: the required members in the order of their names. */
function canonicalText(members: PublicMembers): string {
  switch (members.kind) {
    case "RSA":
      return `{"e":"${members.e}","kty":"RSA","n":"${members.n}"}`;
    case "P-256":
    case "P-384":
    case "P-521":
      return `{"crv":"${members.kind}","kty":"EC","x":"${members.x}","y":"${members.y}"}`;
    case "Ed25519":
      return `{"crv":"Ed25519","kty":"OKP","x":"${members.x}"}`;
    default:
      return members satisfies never;
  }
}

const thumbprintOf = (text: string): string => base64urlText(sha256(Buffer.from(text, "latin1")));

/** Undefined unless each number is spelled in its only way, so that no key has two thumbprints. */
function spkiOf(members: PublicMembers): Uint8Array | undefined {
  if (members.kind === "RSA") return rsaSpki(members.n, members.e);
  if (members.kind === "Ed25519") {
    const point = ofLength(members.x, 32);
    return point && sequence(sequence(oid(oids.ed25519)), bitString(point));
  }
  const { octets, curve } = curves[members.kind];
  const x = ofLength(members.x, octets);
  const y = ofLength(members.y, octets);
  if (x === undefined || y === undefined) return undefined;
  const point = Buffer.concat([uncompressed, x, y]);
  return sequence(sequence(oid(oids.ecPublicKey), oid(curve)), bitString(point));
}

function rsaSpki(n: string, e: string): Uint8Array | undefined {
  const [modulus, exponent] = [base64urlOctets(n), base64urlOctets(e)];
  // RFC 7518 §2: a number has no octets of zero in front.
  if (!modulus?.[0] || !exponent?.[0]) return undefined;
  const numbers = sequence(unsignedInteger(modulus), unsignedInteger(exponent));
  return sequence(sequence(oid(oids.rsaEncryption), nullElement()), bitString(numbers));
}

/** RFC 7518 §6.2.1.2: coordinates have the length of the field, whatever their value. */
function ofLength(text: string, length: number): Uint8Array | undefined {
  const octets = base64urlOctets(text);
  return octets?.length === length ? octets : undefined;
}

function imported(spki: Uint8Array): VerificationKey | undefined {
  try {
    return importPublicKey(spki);
  } catch {
    return undefined; // The runtime knows no such key; who asked is told just that.
  }
}

const malformedKey = (reason: string): Problem => refuse("acme_malformed", { reason });
const badKey = (reason: string): Problem => refuse("acme_bad_public_key", { reason });

const privateNames = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] as const;
/** More than the modulus of the longest RSA key that is accepted. */
const textMax = 1400;
const uncompressed = Uint8Array.of(4);
const curves = {
  "P-256": { octets: 32, curve: oids.p256 },
  "P-384": { octets: 48, curve: oids.p384 },
  "P-521": { octets: 66, curve: oids.p521 },
} as const;
