/** Public record of an archive, which its sidecar holds, signed by the ledger key. */

import { importPublicKey, sha256, verifySignature } from "#core/crypto.ts";
import { isObject } from "#core/shape.ts";
import { schemeOf } from "#core/x509/algorithms.ts";

/** Signed fields of a record. */
export interface SignedRecord {
  readonly artifact: string;
  readonly instance_id: string;
  /** RFC 3339, UTC. */
  readonly created_at: string;
  /** Last event of the audit chain in the archive. */
  readonly seq: number;
  /** Lowercase hex, of the encrypted archive. */
  readonly sha256: string;
  /** Bytes of the encrypted archive. */
  readonly size: number;
}

/** Returns the bytes that the ledger key signs of a record. */
export function encodeSignedRecord(record: SignedRecord): Uint8Array {
  const { artifact, instance_id, created_at, seq, sha256: digest, size } = record;
  const json = JSON.stringify([artifact, instance_id, created_at, seq, digest, size]);
  return Buffer.concat([Buffer.from("pkid/backup-record/1\n"), sha256(Buffer.from(json))]);
}

/**
 * Verifies the record in a sidecar.
 *
 * @param spki lowercase hex SubjectPublicKeyInfo of the ledger key
 * @returns undefined unless that key signed the record
 */
export function verifyRecord(
  sidecar: Readonly<Record<string, unknown>>,
  spki: string,
): SignedRecord | undefined {
  const { artifact, instance_id, created_at, seq, sha256: digest, size, signature } = sidecar;
  const strings = [artifact, instance_id, created_at, digest];
  if (!strings.every((one) => typeof one === "string")) return undefined;
  if (!Number.isSafeInteger(seq) || !Number.isSafeInteger(size)) return undefined;
  if (!isObject(signature) || typeof signature.value !== "string") return undefined;
  const record = sidecar as unknown as SignedRecord; // The types of its fields are checked above.
  const value = Buffer.from(signature.value, "hex");
  try {
    const key = importPublicKey(Buffer.from(spki, "hex"));
    const signed = encodeSignedRecord(record);
    return verifySignature(key, schemeOf("ed25519"), signed, value) ? record : undefined;
  } catch {
    return undefined; // The signature or the key is malformed.
  }
}
