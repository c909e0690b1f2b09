/**
 * The public half of a token key as SubjectPublicKeyInfo, from the attributes a token keeps it in.
 */

import { createPublicKey } from "node:crypto";

import type { KeyType } from "#core/x509/algorithms.ts";

import { cka, ckk } from "./ck.ts";
import type { Handle, P11 } from "./module.ts";

/** A public key read from a token. */
export interface PublicHalf {
  readonly keyType: KeyType;
  readonly spki: Uint8Array;
}

/**
 * Reads the public half from `object`; gives undefined for keys of a kind or size pkid does not
 * use.
 */
export function readPublicHalf(
  p11: P11,
  tokenSession: Handle,
  object: Handle,
): PublicHalf | undefined {
  const read = (type: number) => readAttribute(p11, tokenSession, object, type);
  const keyType = read(cka.keyType)?.readUInt32LE(0);
  const half =
    keyType === ckk.rsa
      ? rsaHalf(read(cka.modulus), read(cka.publicExponent))
      : ecHalf(read(cka.ecParams), read(cka.ecPoint));
  if (half === undefined) return undefined;
  const spki = createPublicKey({ key: half.jwk, format: "jwk" }).export({
    format: "der",
    type: "spki",
  });
  return { keyType: half.keyType, spki: new Uint8Array(spki) };
}

/**
 * One attribute; undefined when the object has none or hides it. One at a time, as one bad one
 * spoils a list.
 */
export function readAttribute(
  p11: P11,
  tokenSession: Handle,
  object: Handle,
  type: number,
): Buffer | undefined {
  try {
    return p11.C_GetAttributeValue(tokenSession, object, [{ type }])[0]?.value;
  } catch (fault) {
    if (/CKR_ATTRIBUTE_|CKR_ARGUMENTS_BAD/.test(String(fault))) return undefined;
    throw fault;
  }
}

/** DER of the curve's OID, as CKA_EC_PARAMS holds it. */
export const curveParameters: Readonly<Partial<Record<KeyType, string>>> = {
  "ecdsa-p256": "06082a8648ce3d030107",
  "ecdsa-p384": "06052b81040022",
  "ecdsa-p521": "06052b81040023",
  ed25519: "06032b6570",
};

function rsaHalf(modulus: Buffer | undefined, exponent: Buffer | undefined) {
  if (modulus === undefined || exponent === undefined) return undefined;
  const keyType = rsaTypes[stripZeros(modulus).length * 8];
  if (keyType === undefined) return undefined;
  const n = stripZeros(modulus).toString("base64url");
  return { keyType, jwk: { kty: "RSA", n, e: stripZeros(exponent).toString("base64url") } };
}

function ecHalf(parameters: Buffer | undefined, value: Buffer | undefined) {
  if (parameters === undefined || value === undefined) return undefined;
  const name = parameters.toString("hex");
  if (edwardsNames.has(name)) {
    const x = unwrapped(value, 32)?.toString("base64url");
    return x === undefined
      ? undefined
      : { keyType: "ed25519" as const, jwk: { kty: "OKP", crv: "Ed25519", x } };
  }
  const curve = curves.find(([keyType]) => curveParameters[keyType] === name);
  if (curve === undefined) return undefined;
  const [keyType, crv, octets] = curve;
  const point = unwrapped(value, 1 + 2 * octets);
  // Uncompressed only (SEC 1 §2.3.3): no token in use stores another form.
  if (point?.[0] !== 4) return undefined;
  const x = point.subarray(1, 1 + octets).toString("base64url");
  const y = point.subarray(1 + octets).toString("base64url");
  return { keyType, jwk: { kty: "EC", crv, x, y } };
}

/** CKA_EC_POINT is an OCTET STRING by the standard and the bare octets on some tokens. */
function unwrapped(value: Buffer, length: number): Buffer | undefined {
  if (value.length === length) return value;
  return value[0] === 0x04 && value.length <= length + 3 ? value.subarray(-length) : undefined;
}

function stripZeros(number: Buffer): Buffer {
  const first = number.findIndex((octet) => octet !== 0);
  return first < 0 ? number.subarray(0, 0) : number.subarray(first);
}

const rsaTypes: Readonly<Record<number, KeyType>> = {
  2048: "rsa-2048",
  3072: "rsa-3072",
  4096: "rsa-4096",
};
const curves = [
  ["ecdsa-p256", "P-256", 32],
  ["ecdsa-p384", "P-384", 48],
  ["ecdsa-p521", "P-521", 66],
] as const;
/** The OID, or the curve's name as PrintableString, which older tokens want. */
export const edwardsNames: ReadonlySet<string> = new Set([
  "06032b6570",
  "130c656477617264733235353139",
]);
