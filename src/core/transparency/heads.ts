/**
 * Heads of transparency logs: RFC 6962 signed tree heads, and the signed notes of static logs
 * (c2sp.org/static-ct-api).
 */

import { compareOctets } from "#core/asn1/der.ts";
import type { Instant } from "#core/time.ts";
import { instant } from "#core/time.ts";

import { type DigitallySigned, type LogKey, noteKeyId, signedByLog } from "./log-keys.ts";
import type { TreeHead } from "./merkle.ts";
import { joined, MalformedStructure, numberOctets, Octets } from "./octets.ts";
import { readSigned } from "./sct.ts";

/** A tree head its log has signed; `verifiedHead` says so. */
export interface SignedHead extends TreeHead {
  readonly timestamp: Instant;
  readonly signature: DigitallySigned;
}

/** True when the log signed the head (RFC 6962 §3.5). */
export function headVerified(
  { timestamp, treeSize, rootHash, signature }: SignedHead,
  key: LogKey,
) {
  const message = joined(
    Uint8Array.of(versionOne, treeHash),
    numberOctets(timestamp, 8),
    numberOctets(treeSize, 8),
    rootHash,
  );
  return rootHash.length === 32 && signedByLog(key, signature, message);
}

/** The octets of a `tree_head_signature`. Throws MalformedStructure. */
export function parseSigned(bytes: Uint8Array): DigitallySigned {
  const octets = new Octets(bytes);
  const signed = readSigned(octets);
  octets.finish();
  return signed;
}

/**
 * Reads a checkpoint of the log `origin` and gives the head its note carries, whose signature is
 * still to be verified. Throws MalformedStructure for what is no checkpoint of this log and key.
 */
export function parseCheckpoint(text: string, origin: string, { logId }: LogKey): SignedHead {
  const at = text.indexOf("\n\n");
  if (at < 0) throw new MalformedStructure("a checkpoint has no signature");
  const [name, size = "", root = ""] = text.slice(0, at).split("\n");
  if (name !== origin) throw new MalformedStructure("a checkpoint is of another log");
  if (!/^(0|[1-9]\d{0,15})$/.test(size)) throw new MalformedStructure("a tree size is no number");
  const rootHash = fromBase64(root);
  if (rootHash.length !== 32) throw new MalformedStructure("a root hash has not 32 octets");
  const note = noteSignature(text.slice(at + 2), origin, noteKeyId(origin, logId));
  const timestamp = instant(note.number(8));
  const signature = readSigned(note);
  note.finish();
  return { treeSize: Number(size), rootHash, timestamp, signature };
}

/**
 * The name a static log signs checkpoints with: its submission address without scheme and final
 * slash.
 */
export const originOf = (url: string): string =>
  url.replace(/^[a-z]+:\/\//i, "").replace(/\/+$/, "");

/** Standard base64 with padding. Throws MalformedStructure. */
export function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    throw new MalformedStructure("base64 is malformed");
  }
}

function noteSignature(lines: string, origin: string, keyId: Uint8Array): Octets {
  for (const line of lines.split("\n")) {
    const parts = /^\u2014 (\S+) (\S+)$/.exec(line);
    if (parts?.[1] !== origin) continue;
    const octets = new Octets(fromBase64(parts[2] ?? ""));
    // Other keys, like those of witnesses, may have signed beside the log.
    if (compareOctets(octets.take(4), keyId) === 0) return octets;
  }
  throw new MalformedStructure("a checkpoint is not signed by its log");
}

const versionOne = 0;
const treeHash = 1;
