/**
 * Blocklists of keys a broken generator made (Debian's OpenSSL of 2006 to 2008): what their lines
 * say, what a key matches.
 */

import { digest } from "#core/crypto.ts";
import type { PublicKey } from "#core/x509/public-keys.ts";

/**
 * Reads one blocklist: a digest a line, SHA-1 or SHA-256 in hex, `SHA256:` and base64, or the last
 * 20 digits of SHA-1 as Debian's package openssl-blacklist has them; blank lines and comments after
 * `#` are skipped. Gives lower hex, or the number of the first line that is none of these.
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

/**
 * True when SHA-1 or SHA-256 of the key, of its modulus as big-endian octets, or of the line
 * `openssl rsa -modulus` prints for it is in the set, or the end of that line's SHA-1.
 */
export function isListedWeak(key: PublicKey, listed: ReadonlySet<string>): boolean {
  if (listed.size === 0) return false;
  const forms = [key.spki];
  if (key.family === "rsa") {
    const line = modulusLine(key.modulus);
    if (listed.has(digest("sha1", line).toHex().slice(-debianDigits))) return true;
    forms.push(modulusOctets(key.modulus), line);
  }
  return forms.some((form) =>
    (["sha256", "sha1"] as const).some((name) => listed.has(digest(name, form).toHex())),
  );
}

function digestIn(entry: string): string | undefined {
  if (/^(?:[0-9a-f]{20}|[0-9a-f]{40}|[0-9a-f]{64})$/i.test(entry)) return entry.toLowerCase();
  const base64 = /^SHA256:([A-Za-z0-9+/]{43})=?$/i.exec(entry)?.[1];
  return base64 === undefined ? undefined : Uint8Array.fromBase64(base64).toHex();
}

/** What Debian's lists are made of: they were written with the tool at hand. */
function modulusLine(modulus: bigint): Uint8Array {
  return new TextEncoder().encode(`Modulus=${modulusOctets(modulus).toHex().toUpperCase()}\n`);
}

function modulusOctets(modulus: bigint): Uint8Array {
  const hex = modulus.toString(16);
  return Uint8Array.fromHex(hex.length % 2 === 0 ? hex : `0${hex}`);
}

/** Of the forty of SHA-1; the package saves the rest. */
const debianDigits = 20;
