/** What a sealed key file says: whose key it is, and the envelope around it. */

import { type Envelope, encodeEnvelope, parseEnvelope } from "#core/envelope.ts";
import { type KeyType, parseKeyType } from "#core/x509/algorithms.ts";

/** One file, read. */
export interface KeyFile {
  readonly id: string;
  readonly label: string;
  readonly keyType: KeyType;
  /** Octets are of a key that an earlier release sealed under the master key itself. */
  readonly sealed: Envelope | Buffer;
}

/** The file beside them that names their key store. */
export const storeIdFile = "store-id";

/** The text of a file; keys are written in envelopes only. */
export function encodeKeyFile(file: KeyFile & { readonly sealed: Envelope }): Uint8Array {
  const { id, label, keyType, sealed } = file;
  const envelope: unknown = JSON.parse(encodeEnvelope(sealed));
  const members = { version: 2, id, label, key_type: keyType, envelope };
  return Buffer.from(`${JSON.stringify(members, undefined, 2)}\n`);
}

/** Reads the file of the key `id`; undefined for what is damaged: it is an absent key. */
export function parseKeyFile(octets: Uint8Array, id: string): KeyFile | undefined {
  const file = objectIn(octets);
  if (file === undefined) return undefined;
  const { version, id: claimed, label, key_type: typeName } = file;
  const keyType = typeof typeName === "string" ? parseKeyType(typeName) : undefined;
  if (claimed !== id || keyType === undefined || typeof label !== "string") return undefined;
  const sealed = version === 2 ? parseEnvelope(JSON.stringify(file.envelope)) : octetsOf(file);
  return sealed && { id, label, keyType, sealed };
}

/**
 * What the seal binds: a file cannot be renamed, relabelled, retyped or carried to another store.
 * The label comes last, because it is the only part that may hold a slash.
 */
export const contextOf = (
  storeId: string,
  { id, label, keyType }: Pick<KeyFile, "id" | "label" | "keyType">,
): string => ["keys/private_key", storeId, id, keyType, label].join("/");

/** True for a key in an envelope. */
export const isEnveloped = <T extends KeyFile>(
  file: T,
): file is T & { readonly sealed: Envelope } => !Buffer.isBuffer(file.sealed);

function objectIn(octets: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(octets).toString("utf8"));
    if (typeof value !== "object" || value === null) return undefined;
    return value as Readonly<Record<string, unknown>>; // Every member is checked by the caller.
  } catch {
    return undefined; // Not JSON.
  }
}

function octetsOf({ version, sealed }: Readonly<Record<string, unknown>>): Buffer | undefined {
  if (version !== 1 || typeof sealed !== "string") return undefined;
  return Buffer.from(sealed, "base64");
}
