/**
 * DNS records that pin keys: TLSA for certificates (RFC 6698), SSHFP for SSH host keys (RFC 4255).
 */

import { digest, sha256 } from "#core/crypto.ts";

/** A TLSA record; `data` is lower hex, `zone` its line of a zone file. */
export interface TlsaRecord {
  readonly name: string;
  readonly usage: 0 | 2 | 3;
  readonly selector: 0 | 1;
  readonly matching_type: 0 | 1;
  readonly data: string;
  readonly zone: string;
}

/** An SSHFP record; `data` is lower hex, `zone` its line of a zone file. */
export interface SshfpRecord {
  readonly name: string;
  readonly algorithm: number;
  readonly fptype: 1 | 2;
  readonly data: string;
  readonly zone: string;
}

/** What a TLSA record describes, in DER. */
export interface Pinned {
  readonly certificate: Uint8Array;
  readonly spki: Uint8Array;
}

export const tlsaProtocols = ["tcp", "udp", "sctp"] as const;

/** Where a service answers; `host` comes from `parseHostName`, `port` is 1..65535. */
export interface Service {
  readonly host: string;
  readonly port: number;
  readonly protocol: (typeof tlsaProtocols)[number];
}

/**
 * Usage 3 for the leaf when there is one, then 0 and 2 for the CA that issued; within each the
 * pairs (selector, matching type) 1 1, 1 0, 0 1, 0 0 (DNS-1): 8 records, 12 with a leaf.
 */
export function tlsaRecords(service: Service, ca: Pinned, leaf?: Pinned): readonly TlsaRecord[] {
  const name = `_${service.port}._${service.protocol}.${service.host}.`;
  const ofCa = ([0, 2] as const).flatMap((usage) => pairsOf(name, usage, ca));
  return leaf === undefined ? ofCa : [...pairsOf(name, 3, leaf), ...ofCa];
}

/**
 * Type 1 (SHA-1) and type 2 (SHA-256) of an OpenSSH public key line. Undefined when the line is not
 * one, or when its kind of key has no SSHFP algorithm (DNS-2).
 */
export function sshfpRecords(host: string, line: string): readonly SshfpRecord[] | undefined {
  const [type = "", base64 = ""] = line.trim().split(/[ \t]+/);
  const algorithm = sshfpAlgorithms.get(type);
  const blob = algorithm === undefined ? undefined : blobOf(base64);
  if (algorithm === undefined || blob === undefined || !opensWith(blob, type)) return undefined;
  const name = `${host}.`;
  const record = (fptype: 1 | 2, made: Uint8Array): SshfpRecord => {
    const hex = made.toHex();
    const zone = `${name} IN SSHFP ${algorithm} ${fptype} ${hex}`;
    return { name, algorithm, fptype, data: hex, zone };
  };
  return [record(1, digest("sha1", blob)), record(2, sha256(blob))];
}

/** The lines of a zone file, joined by newlines. */
export const zoneText = (records: readonly { readonly zone: string }[]): string =>
  records.map(({ zone }) => zone).join("\n");

/**
 * A host name of letters, digits and hyphens in lower case without its final dot, 1..253 octets in
 * labels of 1..63; undefined for anything else, so that no input reaches zone text unescaped
 * (DNS-3).
 */
export function parseHostName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, "");
  if (name.length > 253 || !name.split(".").every((label) => ldhLabel.test(label))) {
    return undefined;
  }
  return name;
}

function pairsOf(name: string, usage: TlsaRecord["usage"], pinned: Pinned): TlsaRecord[] {
  return pairs.map(([selector, matching_type]) => {
    const whole = selector === 1 ? pinned.spki : pinned.certificate;
    const hex = (matching_type === 1 ? sha256(whole) : whole).toHex();
    const zone = `${name} IN TLSA ${usage} ${selector} ${matching_type} ${hex}`;
    return { name, usage, selector, matching_type, data: hex, zone };
  });
}

function blobOf(base64: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(base64, { lastChunkHandling: "strict" });
  } catch {
    return undefined; // Not base64, so not a key.
  }
}

/** RFC 4253 §6.6: the blob repeats its type as a length-prefixed string, and has more. */
function opensWith(blob: Uint8Array, type: string): boolean {
  if (blob.length <= 4 + type.length) return false;
  const length = new DataView(blob.buffer, blob.byteOffset).getUint32(0);
  return (
    length === type.length && Buffer.from(blob.subarray(4, 4 + length)).toString("latin1") === type
  );
}

const pairs = [
  [1, 1],
  [1, 0],
  [0, 1],
  [0, 0],
] as const;
const ldhLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** RFC 4255 §3.1.1, RFC 6594, RFC 7479. */
const sshfpAlgorithms: ReadonlyMap<string, number> = new Map([
  ["ssh-rsa", 1],
  ["ssh-dss", 2],
  ["ecdsa-sha2-nistp256", 3],
  ["ecdsa-sha2-nistp384", 3],
  ["ecdsa-sha2-nistp521", 3],
  ["ssh-ed25519", 4],
]);
