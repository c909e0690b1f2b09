/** Public keys in the one-line form of OpenSSH (RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4). */

import type { PublicKey } from "#core/x509/public-keys.ts";

/** `<type> <base64> <comment>` with a final newline; undefined for keys SSH has no form for. */
export function sshPublicKey(key: PublicKey, comment: string): string | undefined {
  const parts = partsOf(key);
  if (parts === undefined) return undefined;
  const blob = Buffer.concat(parts.map(lengthPrefixed)).toString("base64");
  return `${parts[0]?.toString("latin1") ?? ""} ${blob} ${comment}\n`;
}

/** The strings of the key blob, the type first. */
function partsOf(key: PublicKey): readonly Buffer[] | undefined {
  switch (key.family) {
    case "rsa":
      return [Buffer.from("ssh-rsa"), mpint(key.exponent), mpint(key.modulus)];
    case "ec": {
      const curve = curves.get(key.curve);
      if (curve === undefined) return undefined;
      return [Buffer.from(`ecdsa-sha2-${curve}`), Buffer.from(curve), Buffer.from(key.point)];
    }
    case "ed25519":
      return [Buffer.from("ssh-ed25519"), Buffer.from(key.point)];
    default:
      return undefined;
  }
}

function lengthPrefixed(octets: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(octets.length);
  return Buffer.concat([length, octets]);
}

/** RFC 4251 §5: a leading zero octet keeps a positive number positive. */
function mpint(value: bigint): Buffer {
  const hex = value.toString(16);
  const octets = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  return (octets[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), octets]) : octets;
}

const curves: ReadonlyMap<string, string> = new Map([
  ["P-256", "nistp256"],
  ["P-384", "nistp384"],
  ["P-521", "nistp521"],
]);
