/** What a text in the search box asks for. */

import type { QueryChange } from "#web/address.ts";

/**
 * The members of the address of the certificates: a fingerprint selects the certificate, else those
 * of the key, and everything else is looked for in names and serials.
 */
export function queryOf(typed: string): QueryChange {
  const sought = typed.trim();
  if (digestHex(sought) !== undefined) return { certificate_sha256: sought, key: sought };
  // RFC 7469 writes the digest of a key in base64 alone.
  if (/^[A-Za-z0-9+/]{43}=$/.test(sought)) return { public_key_sha256: `SHA256:${sought}` };
  // The console itself shows serials in groups, and what is shown is what people paste.
  if (/^[0-9a-f]{2,4}( [0-9a-f]{2,4}){2,19}$/i.test(sought)) {
    return serialQuery(sought.replaceAll(" ", ""));
  }
  if (/^0x[0-9a-f]{1,40}$/i.test(sought)) return serialQuery(sought.slice(2));
  return { q: sought };
}

/** Digits of a whole serial, which a CA may have as well, or those it begins with. */
const serialQuery = (hex: string): QueryChange =>
  hex.length >= wholeSerialMin ? { q: `0x${hex}` } : { serial_prefix: `0x${hex}` };

/** Eight octets, the shortest serial that is given here. */
const wholeSerialMin = 16;

/** Lower hex of a SHA-256 in any spelling the API takes; undefined for what is none. */
export function digestHex(text: string): string | undefined {
  const base64 = /^SHA256:([A-Za-z0-9+/]{43})=?$/i.exec(text.trim())?.[1];
  if (base64 !== undefined) {
    return Array.from(atob(`${base64}=`), (octet) => hexOf(octet.charCodeAt(0))).join("");
  }
  const hex = text.replace(/[:\s]/g, "").toLowerCase();
  return /^[0-9a-f]{64}$/.test(hex) ? hex : undefined;
}

const hexOf = (octet: number): string => octet.toString(16).padStart(2, "0");
