/** Blocklists of keys a broken generator made (Debian's OpenSSL of 2006 to 2008): what their lines say, what a key matches. */

import { digest } from "#core/crypto.ts";
import type { PublicKey } from "#core/x509/public-keys.ts";

/**
 * Reads one blocklist: a digest a line, SHA-1 or SHA-256 in hex, or `SHA256:` and base64; blank lines and comments
 * after `#` are skipped. Gives lower hex, or the number of the first line that is none of these.
 */
export function parseBlocklist(
  text: string,
): { readonly digests: readonly string[] } | { readonly wrongLine: number } {
  const digests: string[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const entry = line.replace(/#.*$/, "").trim();
    if (entry === "") continue;
    const found = digestIn(entry);
    if (found === undefined) return { wrongLine: index + 1 };
    digests.push(found);
  }
  return { digests };
}

/** True when SHA-1 or SHA-256 of the key, or of its modulus as big-endian octets, is in the set. */
export function isListedWeak(key: PublicKey, listed: ReadonlySet<string>): boolean {
  if (listed.size === 0) return false;
  const forms = key.family === "rsa" ? [key.spki, modulusOctets(key.modulus)] : [key.spki];
  return forms.some((form) =>
    (["sha256", "sha1"] as const).some((name) => listed.has(digest(name, form).toHex())),
  );
}

function digestIn(entry: string): string | undefined {
  if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(entry)) return entry.toLowerCase();
  const base64 = /^SHA256:([A-Za-z0-9+/]{43})=?$/i.exec(entry)?.[1];
  return base64 === undefined ? undefined : Uint8Array.fromBase64(base64).toHex();
}

function modulusOctets(modulus: bigint): Uint8Array {
  const hex = modulus.toString(16);
  return Uint8Array.fromHex(hex.length % 2 === 0 ? hex : `0${hex}`);
}
