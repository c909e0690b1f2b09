/**
 * Signed certificate timestamps: their octets, the list that certificates carry, and their
 * verification (RFC 6962 §3.2, §3.3).
 */

import { openDer } from "#core/asn1/cursor.ts";
import { compareOctets, octetString } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import type { Instant } from "#core/time.ts";
import { instant } from "#core/time.ts";
import type { Extension } from "#core/x509/extensions.ts";

import { type DigitallySigned, type LogKey, signedByLog } from "./log-keys.ts";
import { leafHash } from "./merkle.ts";
import { joined, MalformedStructure, numberOctets, Octets, vectorOctets } from "./octets.ts";

/** A signed certificate timestamp: a log's word that it will include an entry (RFC 6962 §3.2). */
export interface Sct {
  readonly logId: Uint8Array;
  readonly timestamp: Instant;
  /** CtExtensions, opaque to RFC 6962; static logs put the leaf index there. */
  readonly extensions: Uint8Array;
  readonly signature: DigitallySigned;
}

/**
 * What a log signs that it will include: the certificate without poison and SCT list, bound to its
 * issuer.
 */
export interface PrecertEntry {
  /** SHA-256 of the issuer's SubjectPublicKeyInfo. */
  readonly issuerKeyHash: Uint8Array;
  /** TBSCertificate without poison. */
  readonly tbs: Uint8Array;
}

/** True when the log with this key signed the SCT for this entry. */
export function sctVerified(sct: Sct, entry: PrecertEntry, key: LogKey): boolean {
  if (compareOctets(sct.logId, key.logId) !== 0) return false;
  return signedByLog(key, sct.signature, joined(header, signedEntry(sct, entry)));
}

/** The hash of the entry's leaf in the log's tree: MerkleTreeLeaf of RFC 6962 §3.4. */
export const entryLeafHash = (sct: Sct, entry: PrecertEntry): Uint8Array =>
  leafHash(joined(header, signedEntry(sct, entry)));

/** The octets of one SCT. */
export function encodeSct({ logId, timestamp, extensions, signature }: Sct): Uint8Array {
  return joined(
    Uint8Array.of(versionOne),
    logId,
    numberOctets(timestamp, 8),
    vectorOctets(extensions, 2),
    Uint8Array.of(signature.hash, signature.algorithm),
    vectorOctets(signature.signature, 2),
  );
}

/** Reads one SCT of version 1; throws MalformedStructure for anything else. */
export function parseSct(bytes: Uint8Array): Sct {
  const octets = new Octets(bytes);
  if (octets.number(1) !== versionOne) throw new MalformedStructure("an SCT is not of version 1");
  const logId = octets.take(32);
  const timestamp = instant(octets.number(8));
  const extensions = octets.vector(2);
  const signature = readSigned(octets);
  octets.finish();
  return { logId, timestamp, extensions, signature };
}

/** Reads hash, algorithm and signature; the caller checks that nothing is left over. */
export function readSigned(octets: Octets): DigitallySigned {
  const hash = octets.number(1);
  const algorithm = octets.number(1);
  return { hash, algorithm, signature: octets.vector(2) };
}

/** The SCT list extension; never critical, at least one SCT. */
export function sctList(scts: readonly Sct[]): Extension {
  const list = vectorOctets(joined(...scts.map((sct) => vectorOctets(encodeSct(sct), 2))), 2);
  return { oid: oids.sctList, critical: false, value: octetString(list) };
}

/**
 * Reads the value of an SCT list extension; throws MalformedStructure or DerError, also for an
 * empty list.
 */
export function parseSctList(value: Uint8Array): readonly Sct[] {
  const holder = openDer(value);
  const whole = new Octets(holder.octetString());
  holder.finish();
  const list = new Octets(whole.vector(2));
  whole.finish();
  const scts: Sct[] = [];
  do scts.push(parseSct(list.vector(2)));
  while (!list.finished);
  return scts;
}

/**
 * The index of the leaf that a static log writes into CtExtensions (type 0, 40 bits); undefined
 * when there is none.
 */
export function leafIndexOf(extensions: Uint8Array): number | undefined {
  const octets = new Octets(extensions);
  while (!octets.finished) {
    const type = octets.number(1);
    const content = octets.vector(2);
    if (type !== 0) continue;
    if (content.length !== 5) throw new MalformedStructure("a leaf index has not five octets");
    return new Octets(content).number(5);
  }
  return undefined;
}

function signedEntry(sct: Sct, { issuerKeyHash, tbs }: PrecertEntry): Uint8Array {
  return joined(
    numberOctets(sct.timestamp, 8),
    numberOctets(precertEntry, 2),
    issuerKeyHash,
    vectorOctets(tbs, 3),
    vectorOctets(sct.extensions, 2),
  );
}

const versionOne = 0;
const precertEntry = 1;
/** Version 1, and certificate_timestamp or timestamped_entry: both are 0. */
const header = Uint8Array.of(0, 0);
