/** Base64url without padding in its one canonical spelling (RFC 7515 §2, RFC 4648 §3.5). */

/** The octets; undefined for other characters, padding, and bits that belong to no octet. */
export function base64urlOctets(text: string): Uint8Array | undefined {
  const octets = Buffer.from(text, "base64url");
  // The decoder passes over whatever it does not know, and reads the other alphabet too.
  return octets.toString("base64url") === text ? octets : undefined;
}

/** The text. */
export const base64urlText = (octets: Uint8Array): string =>
  Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength).toString("base64url");
