/** SubjectPublicKeyInfo: what kind of key it is, its numbers, its digests (RFC 5280 §4.1.2.7). */

import type { KeyType } from "./algorithms.ts";

/** A parsed public key; `keyType` is undefined for keys of a size or curve pkid does not make. */
export type PublicKey = {
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array;
  readonly keyType: KeyType | undefined;
} & (
  | {
      readonly family: "rsa";
      readonly modulus: bigint;
      readonly exponent: bigint;
      readonly bits: number;
    }
  | {
      readonly family: "ec";
      readonly curve: string;
      readonly point: Uint8Array;
      readonly bits: number;
    }
  | { readonly family: "ed25519"; readonly point: Uint8Array }
  | { readonly family: "ml-dsa"; readonly raw: Uint8Array }
  | { readonly family: "unknown"; readonly oid: string }
);

/** Reads a SubjectPublicKeyInfo; throws DerError for what is not one. `curve` is `P-256`, `P-384`, `P-521` or an OID. */
export declare function parsePublicKey(spki: Uint8Array): PublicKey;
/** The content of the subjectPublicKey BIT STRING without the unused-bits octet. */
export declare function subjectPublicKeyBits(spki: Uint8Array): Uint8Array;
/** `SHA256:` and unpadded base64 of SHA-256 over the DER: the form answers carry. */
export declare function fingerprint(spki: Uint8Array): string;
/** Lower hex SHA-256 over the DER: the form the store carries. */
export declare function spkiSha256(spki: Uint8Array): string;
/** Reads a fingerprint in hex (colons, blanks, any case) or `SHA256:<base64>`; gives lower hex, refuses `bad_fingerprint`. */
export declare function parseFingerprint(text: string): string;
/** Lower hex of the first 20 octets of SHA-256 over the DER: `KeyRef.id`. */
export declare function keyIdOf(spki: Uint8Array): string;
