/** Reads the public keys of an identity provider (JWK sets, RFC 7517). */

import { importPublicJwk, type PublicJwk, type RuntimeKey } from "#core/crypto.ts";
import { fitOf, type JwsAlgorithm, type KeyKind, parseAlgorithm } from "./algorithms.ts";

/** One key that may verify tokens. */
export interface ProviderKey {
  readonly kid: string | undefined;
  readonly kind: KeyKind;
  /** When the provider has said which algorithm the key is for, no other counts. */
  readonly algorithm: JwsAlgorithm | undefined;
  readonly key: RuntimeKey;
}

/**
 * The keys of a set that verify signatures; undefined when it is no set. Symmetric keys, keys for
 * encryption, short RSA keys and types the table does not know are left out: a provider may have
 * more keys than it signs with.
 */
export function readKeySet(set: unknown): readonly ProviderKey[] | undefined {
  const keys = isObject(set) ? set.keys : undefined;
  if (!Array.isArray(keys) || keys.length > keysMax) return undefined;
  return keys.flatMap((one: unknown) => {
    const key = isObject(one) ? readKey(one) : undefined;
    return key === undefined ? [] : [key];
  });
}

type Members = Readonly<Record<string, unknown>>;

function readKey(jwk: Members): ProviderKey | undefined {
  if (jwk.use !== undefined && jwk.use !== "sig") return undefined;
  if (Array.isArray(jwk.key_ops) && !jwk.key_ops.includes("verify")) return undefined;
  const algorithm = parseAlgorithm(jwk.alg);
  if (jwk.alg !== undefined && algorithm === undefined) return undefined;
  const shape = publicPart(jwk);
  const key = shape && importPublicJwk(shape.members);
  if (key === undefined) return undefined;
  if (algorithm !== undefined && fitOf(algorithm).kind !== shape?.kind) return undefined;
  const kid = typeof jwk.kid === "string" ? jwk.kid : undefined;
  return shape && { kid, kind: shape.kind, algorithm, key };
}

/** Built from the public members alone, whatever else the provider publishes by mistake. */
function publicPart(jwk: Members): { kind: KeyKind; members: PublicJwk } | undefined {
  const { kty, n, e, crv, x, y } = jwk;
  if (kty === "RSA" && isText(n) && isText(e) && longEnough(n)) {
    return { kind: "RSA", members: { kty, n, e } };
  }
  if (kty === "EC" && isText(x) && isText(y)) {
    if (crv !== "P-256" && crv !== "P-384" && crv !== "P-521") return undefined;
    return { kind: crv, members: { kty, crv, x, y } };
  }
  if (kty === "OKP" && crv === "Ed25519" && isText(x)) {
    return { kind: crv, members: { kty, crv, x } };
  }
  return undefined;
}

/** RFC 7518 §3.3: 2048 bits at least; and none so long that verifying it would be an attack. */
function longEnough(modulus: string): boolean {
  const octets = Buffer.from(modulus, "base64url");
  const first = octets.findIndex((octet) => octet !== 0);
  const bits = (octets.length - first) * 8 - Math.clz32(octets[first] ?? 0) + 24;
  return bits >= 2048 && bits <= 8192;
}

const isText = (value: unknown): value is string =>
  typeof value === "string" && value.length <= 2048;

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const keysMax = 100;
