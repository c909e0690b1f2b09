/** What a text in the search box asks for. */

import type { QueryChange } from "#web/address.ts";

/**
 * The members of the address of the certificates: a fingerprint selects by the key, everything else
 * is looked for in names and serials.
 */
export function queryOf(typed: string): QueryChange {
  const sought = typed.trim();
  if (isFingerprint(sought)) return { public_key_sha256: sought };
  // RFC 7469 writes the digest of a key in base64 alone.
  if (/^[A-Za-z0-9+/]{43}=$/.test(sought)) return { public_key_sha256: `SHA256:${sought}` };
  // The console itself shows serials in groups, and what is shown is what people paste.
  if (/^[0-9a-f]{2,4}( [0-9a-f]{2,4}){2,9}$/i.test(sought)) {
    return { q: `0x${sought.replaceAll(" ", "")}` };
  }
  return { q: sought };
}

const isFingerprint = (text: string): boolean =>
  /^SHA256:[A-Za-z0-9+/]{43}=?$/i.test(text) || /^[0-9a-f]{64}$/i.test(text.replace(/[:\s]/g, ""));
