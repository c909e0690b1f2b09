/** WHAT PKID CAN SIGN WITH: key types and signature algorithms, one row each. */

import type { HashName, SignatureScheme } from "#core/crypto.ts";

/**
 * Columns: family, size in bits (0 where the name says it), default signature, where it can be
 * made.
 */
export const keyTypes = {
  "rsa-2048": ["rsa", 2048, "rsa-pkcs1-sha256"],
  "rsa-3072": ["rsa", 3072, "rsa-pkcs1-sha256"],
  "rsa-4096": ["rsa", 4096, "rsa-pkcs1-sha512"],
  "ecdsa-p256": ["ec", 256, "ecdsa-sha256"],
  "ecdsa-p384": ["ec", 384, "ecdsa-sha384"],
  "ecdsa-p521": ["ec", 521, "ecdsa-sha512"],
  ed25519: ["ed25519", 0, "ed25519"],
  "ml-dsa-44": ["ml-dsa", 0, "ml-dsa-44"],
  "ml-dsa-65": ["ml-dsa", 0, "ml-dsa-65"],
  "ml-dsa-87": ["ml-dsa", 0, "ml-dsa-87"],
  "slh-dsa-sha2-128s": ["slh-dsa", 0, "slh-dsa-sha2-128s"],
  "slh-dsa-sha2-192s": ["slh-dsa", 0, "slh-dsa-sha2-192s"],
  "slh-dsa-sha2-256s": ["slh-dsa", 0, "slh-dsa-sha2-256s"],
} as const;

export type KeyType = keyof typeof keyTypes;
export type KeyFamily = (typeof keyTypes)[KeyType][0];

/**
 * How a CA or profile meets quantum computers: not, by its key, or by a second key beside a
 * classical one.
 */
export const algorithms = ["classical", "pqc", "hybrid"] as const;
export type Algorithm = (typeof algorithms)[number];

/**
 * True for keys a quantum computer is not known to break; software-held wherever they are (KEY-3).
 */
export const isPostQuantum = (keyType: KeyType): boolean => keyType in raw;

/**
 * True for keys that only roots have: their signatures are large and take seconds to make (PQ-1).
 */
export const isForRootsOnly = (keyType: KeyType): boolean => keyTypes[keyType][0] === "slh-dsa";

/**
 * The ML-DSA type that is as strong as this post-quantum one, for what a root's key does not sign
 * itself (PQ-3).
 */
export const mlDsaLike = (keyType: KeyType): KeyType => likes.get(keyType) ?? keyType;

/** Columns: OID, AlgorithmIdentifier parameters, scheme. RFC 4055, 5758, 8410, 9881, 9909. */
export const signatures = {
  "rsa-pkcs1-sha256": ["1.2.840.113549.1.1.11", "null", { hash: "sha256", padding: "pkcs1" }],
  "rsa-pkcs1-sha384": ["1.2.840.113549.1.1.12", "null", { hash: "sha384", padding: "pkcs1" }],
  "rsa-pkcs1-sha512": ["1.2.840.113549.1.1.13", "null", { hash: "sha512", padding: "pkcs1" }],
  "rsa-pss-sha256": ["1.2.840.113549.1.1.10", "pss", { hash: "sha256", padding: "pss" }],
  "rsa-pss-sha384": ["1.2.840.113549.1.1.10", "pss", { hash: "sha384", padding: "pss" }],
  "rsa-pss-sha512": ["1.2.840.113549.1.1.10", "pss", { hash: "sha512", padding: "pss" }],
  "ecdsa-sha256": ["1.2.840.10045.4.3.2", "absent", { hash: "sha256" }],
  "ecdsa-sha384": ["1.2.840.10045.4.3.3", "absent", { hash: "sha384" }],
  "ecdsa-sha512": ["1.2.840.10045.4.3.4", "absent", { hash: "sha512" }],
  ed25519: ["1.3.101.112", "absent", {}],
  "ml-dsa-44": ["2.16.840.1.101.3.4.3.17", "absent", {}],
  "ml-dsa-65": ["2.16.840.1.101.3.4.3.18", "absent", {}],
  "ml-dsa-87": ["2.16.840.1.101.3.4.3.19", "absent", {}],
  "slh-dsa-sha2-128s": ["2.16.840.1.101.3.4.3.20", "absent", {}],
  "slh-dsa-sha2-192s": ["2.16.840.1.101.3.4.3.22", "absent", {}],
  "slh-dsa-sha2-256s": ["2.16.840.1.101.3.4.3.24", "absent", {}],
} as const satisfies Record<string, readonly [string, "null" | "absent" | "pss", SignatureScheme]>;

export type SignatureName = keyof typeof signatures;

/** The signature a key of this type makes by default. */
export const defaultSignature = (keyType: KeyType): SignatureName => keyTypes[keyType][2];

/** The scheme `verifySignature` of core/crypto wants. */
export const schemeOf = (signature: SignatureName): SignatureScheme => signatures[signature][2];

/**
 * Octets of a raw post-quantum public key (FIPS 204 table 2, FIPS 205 table 2); undefined for
 * classical types.
 */
export const rawKeyOctets = (keyType: KeyType): number | undefined => raw[keyType];

/**
 * Reads a key type, accepting the `ecdsa-sha2-nistp*` aliases; gives undefined for an unknown one.
 */
export function parseKeyType(text: string): KeyType | undefined {
  const name = aliases[text] ?? text;
  return name in keyTypes ? (name as KeyType) : undefined; // A key of the table.
}

const raw: Partial<Record<KeyType, number>> = {
  "ml-dsa-44": 1312,
  "ml-dsa-65": 1952,
  "ml-dsa-87": 2592,
  "slh-dsa-sha2-128s": 32,
  "slh-dsa-sha2-192s": 48,
  "slh-dsa-sha2-256s": 64,
};

const likes: ReadonlyMap<KeyType, KeyType> = new Map<KeyType, KeyType>([
  ["slh-dsa-sha2-128s", "ml-dsa-44"],
  ["slh-dsa-sha2-192s", "ml-dsa-65"],
  ["slh-dsa-sha2-256s", "ml-dsa-87"],
]);

const aliases: Readonly<Record<string, string>> = {
  "ecdsa-sha2-nistp256": "ecdsa-p256",
  "ecdsa-sha2-nistp384": "ecdsa-p384",
  "ecdsa-sha2-nistp521": "ecdsa-p521",
};

export type { HashName };
