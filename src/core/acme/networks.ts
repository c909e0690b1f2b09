/**
 * Which addresses validation may connect to: deny and allow networks, held against every address
 * that an address stands for (P-10).
 */

import { parseIpAddress } from "#core/x509/addresses.ts";
import { parseCidr } from "#core/x509/name-constraints.ts";

/** Networks in CIDR form, as the configuration has checked them. */
export interface NetworkRules {
  readonly deny: readonly string[];
  /** What these name is permitted whatever denies it. */
  readonly allow: readonly string[];
}

/** `denied` names the network that denies; `listed`: an allow network names the address. */
export type Judgement =
  | { readonly permitted: true; readonly listed: boolean }
  | { readonly permitted: false; readonly denied: string };

/**
 * Judges an address in text. One that carries an IPv4 address inside (mapped, compatible, 6to4,
 * NAT64, Teredo, ISATAP) is permitted when each form of it is, by deny and allow networks of its
 * own family: a gateway would lead to the inner one. What is no address is denied.
 */
export function judgeAddress(address: string, rules: NetworkRules): Judgement {
  const forms = formsOf(address);
  if (forms === undefined) return { permitted: false, denied: "no address" };
  let listed = true;
  for (const form of forms) {
    if (rules.allow.some((network) => contains(network, form))) continue;
    listed = false;
    const denied = [...neverDestinations, ...rules.deny].find((network) => contains(network, form));
    if (denied !== undefined) return { permitted: false, denied };
  }
  return { permitted: true, listed };
}

/** True when both texts are one address, or the IPv4 address inside one is the other. */
export function sameHost(one: string, other: string): boolean {
  const [ours, theirs] = [formsOf(one), formsOf(other)];
  if (ours === undefined || theirs === undefined) return false;
  return ours.some((form) => theirs.some((their) => equal(form, their)));
}

/** True for `0.0.0.0` and `::`: whoever listens there listens at every address of the host. */
export function isUnspecified(address: string): boolean {
  return parseIpAddress(address)?.every((octet) => octet === 0) ?? false;
}

/** True for what every host takes for itself, whether an interface lists it or not. */
export function isLoopback(address: string): boolean {
  return (formsOf(address) ?? []).some((form) =>
    loopbackNetworks.some((network) => contains(network, form)),
  );
}

/**
 * The address as octets, and each IPv4 address it carries. A mapped one is IPv4 and nothing else
 * (RFC 4291 §2.5.5.2): the kernel connects by IPv4.
 */
function formsOf(text: string): readonly Uint8Array[] | undefined {
  const octets = parseIpAddress(text);
  if (octets === undefined || octets.length === 4) return octets && [octets];
  if (contains("::ffff:0.0.0.0/96", octets)) return [octets.slice(12)];
  const inner = embeddings
    .filter(({ network }) => contains(network, octets))
    .flatMap(({ at, unlessZero }) =>
      at
        .map((positions) => octetsAt(octets, positions))
        .filter(([first]) => !unlessZero || first !== 0),
    );
  if (contains("2001::/32", octets)) {
    // RFC 4380 §4: the client's address has every bit inverted.
    inner.push(octets.slice(12).map((octet) => octet ^ 0xff));
  }
  // RFC 5214 §6.1: an interface identifier of ISATAP, whatever the prefix.
  const isatap = (octets[8] === 0 || octets[8] === 2) && octets[9] === 0;
  if (isatap && octets[10] === 0x5e && octets[11] === 0xfe) inner.push(octets.slice(12));
  return [octets, ...inner];
}

function contains(network: string, octets: Uint8Array): boolean {
  const parsed = parseCidr(network);
  if (parsed?.length !== octets.length * 2) return false;
  return octets.every((octet, at) => {
    const mask = parsed[octets.length + at] ?? 0;
    return (octet & mask) === ((parsed[at] ?? 0) & mask);
  });
}

const equal = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((octet, at) => octet === other[at]);

const octetsAt = (octets: Uint8Array, positions: readonly number[]): Uint8Array =>
  Uint8Array.from(positions, (at) => octets[at] ?? 0);

/**
 * Where IPv4 addresses stand in IPv6 ones: compatible (RFC 4291 §2.5.5.1), 6to4 (RFC 3056 §2), the
 * server of Teredo (RFC 4380 §4), and NAT64 (RFC 6052 §2.2), whose local prefix (RFC 8215) has any
 * of the lengths from 48 on. `unlessZero`: what begins with zero there is padding, or `::1`.
 */
// biome-ignore format: the table is read by column.
const embeddings: readonly Embedding[] = [
  { network: "::/96",          at: [[12, 13, 14, 15]], unlessZero: true },
  { network: "2002::/16",      at: [[2, 3, 4, 5]],     unlessZero: false },
  { network: "2001::/32",      at: [[4, 5, 6, 7]],     unlessZero: false },
  { network: "64:ff9b::/96",   at: [[12, 13, 14, 15]], unlessZero: false },
  { network: "64:ff9b:1::/48", at: [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15]], unlessZero: true },
];

interface Embedding {
  readonly network: string;
  readonly at: readonly (readonly number[])[];
  readonly unlessZero: boolean;
}

/**
 * Denied whatever is configured, unless an allow network names them: addresses of no host, by which
 * a host reaches itself, and those at which clouds tell a machine its credentials.
 */
const neverDestinations: readonly string[] = [
  "0.0.0.0/8",
  "::/128",
  "255.255.255.255/32",
  "169.254.169.254/32",
  "169.254.170.2/32",
  "169.254.170.23/32",
  "168.63.129.16/32",
  "100.100.100.200/32",
  "192.0.0.192/32",
  "fd00:ec2::254/128",
  "fd00:ec2::23/128",
  "fd20:ce::254/128",
  "fd00:42::42/128",
];

const loopbackNetworks: readonly string[] = ["127.0.0.0/8", "::1/128"];
