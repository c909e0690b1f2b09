/**
 * Which names and addresses nobody can own in public. Special-use domains, codes that ISO never
 * assigns and reserved address blocks are embedded, because they do not change. The lists of all
 * top-level domains and of all public suffixes do, every week: a stale copy would refuse good
 * names, so a domain is unknown here by its form only.
 */

import { parseIpAddress } from "#core/x509/addresses.ts";

/**
 * Why no public certificate may have the DNS name, which is in lower case and may begin with `*.`.
 */
export function internalNameFault(name: string): string | undefined {
  const labels = name.split(".");
  const top = labels.at(-1) ?? "";
  if (labels.length < 2) return "a single label";
  if (specialUse.has(top) || name === "home.arpa" || name.endsWith(".home.arpa")) {
    return "a special-use domain";
  }
  // RFC 3696 §2: no top-level domain has digits, but those of A-labels; ISO 3166 leaves these codes
  // to users for good.
  const formed = /^(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})$/.test(top);
  return !formed || /^(?:aa|q[m-z]|x[a-z]|zz)$/.test(top)
    ? "an unknown top-level domain"
    : undefined;
}

/**
 * True when names may be registered directly under the domain: a top-level one, or one like
 * `co.uk`.
 */
export function isPublicSuffix(domain: string): boolean {
  const labels = domain.split(".");
  if (labels.length === 1) return true;
  const [second = "", top = ""] = labels;
  return labels.length === 2 && top.length === 2 && registries.has(second);
}

/**
 * True for addresses the IANA registries reserve, RFC 6890; the text is no address or one that may
 * be anybody's.
 */
export function isReservedAddress(text: string): boolean {
  const octets = parseIpAddress(text);
  if (octets === undefined) return false;
  // Only 2000::/3 is given out at all.
  if (octets.length === 16 && ((octets[0] ?? 0) & 0xe0) !== 0x20) return true;
  return reservedBlocks.some(
    ({ prefix, bits }) => prefix.length === octets.length && begins(octets, prefix, bits),
  );
}

function begins(octets: Uint8Array, prefix: Uint8Array, bits: number): boolean {
  for (let at = 0; at * 8 < bits; at++) {
    const mask = 0xff & (0xff << Math.max(0, 8 - (bits - at * 8)));
    if (((octets[at] ?? 0) & mask) !== ((prefix[at] ?? 0) & mask)) return false;
  }
  return true;
}

/** IANA's special-use domain names (RFC 6761), and what ICANN will never delegate. */
const specialUse: ReadonlySet<string> = new Set([
  "alt",
  "arpa",
  "example",
  "internal",
  "invalid",
  "local",
  "localhost",
  "onion",
  "test",
  "corp",
  "domain",
  "home",
  "host",
  "intranet",
  "lan",
  "localdomain",
  "mail",
  "private",
  "workgroup",
]);

/** Second labels under which most country registries register. */
const registries: ReadonlySet<string> = new Set([
  "ac",
  "co",
  "com",
  "edu",
  "gob",
  "gov",
  "ltd",
  "me",
  "mil",
  "net",
  "ne",
  "nom",
  "or",
  "org",
  "plc",
  "sch",
]);

const reservedBlocks = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
].flatMap((block) => {
  const [address = "", bits = ""] = block.split("/");
  const prefix = parseIpAddress(address);
  return prefix === undefined ? [] : [{ prefix, bits: Number(bits) }];
});
