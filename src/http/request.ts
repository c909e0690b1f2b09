/**
 * What can be said of a request before its operation is known: its path, its id, and the address it
 * came from.
 */

import { BlockList, isIP } from "node:net";

import { approvalHeader } from "./answer.ts";

/**
 * Splits a request URL by string operations; `new URL` would cost more than an OCSP look-up. The
 * runtime has resolved dot segments and turned backslashes by then (WHATWG URL), so what a proxy in
 * front filters by path is not what is found here: every operation guards itself.
 */
export function splitUrl(url: string): { readonly path: string; readonly query: string } {
  // An origin form that Bun could not combine with a bad Host arrives without scheme and begins
  // with the path.
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  if (start === -1) return { path: "/", query: "" };
  const mark = url.indexOf("?", start);
  const fragment = url.indexOf("#", start);
  const end = fragment === -1 ? url.length : fragment;
  if (mark === -1 || mark > end) return { path: url.slice(start, end), query: "" };
  return { path: url.slice(start, mark), query: url.slice(mark + 1, end) };
}

/** Octets of the address with all header fields. */
export function headBytes({ url, headers }: Request): number {
  let octets = url.length;
  for (const [name, value] of headers) octets += name.length + value.length + 4;
  return octets;
}

/** The caller's `X-Request-ID` when it is 1..128 of `[A-Za-z0-9._-]`, else a fresh id. */
export function requestIdOf(headers: Headers, fresh: () => string): string {
  const given = headers.get("x-request-id");
  return given !== null && requestIdPattern.test(given) ? given : fresh();
}

/** The parked request a caller names by `X-Pki-Approval-Id`. */
export const approvalNamed = (headers: Headers): string | undefined =>
  headers.get(approvalHeader) ?? undefined;

/** Works out client addresses for one list of trusted proxies (API-10). */
export class ClientAddresses {
  readonly #trusted: BlockList | undefined;

  /** `trustedProxies` are CIDR ranges or addresses, checked by the configuration. */
  constructor(trustedProxies: readonly string[]) {
    if (trustedProxies.length > 0) this.#trusted = blockList(trustedProxies);
  }

  /**
   * The peer, or, when the peer is a trusted proxy, the rightmost `X-Forwarded-For` address outside
   * the list. A forwarded entry that is no address ends the walk: whoever wrote it is not a proxy
   * that can be believed.
   */
  of(peer: string, headers: Headers): string {
    const socket = plainAddress(peer);
    if (this.#trusted === undefined || !contains(this.#trusted, socket)) return socket;
    const forwarded = headers.get("x-forwarded-for");
    if (forwarded === null) return socket;
    const hops = forwarded.split(",", hopsMax + 1);
    if (hops.length > hopsMax) return socket;
    for (const hop of hops.toReversed()) {
      const address = parseAddress(hop.trim());
      if (address === undefined) return socket;
      if (!contains(this.#trusted, address)) return address;
    }
    return socket;
  }
}

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", prefix] = range.split("/");
    const family = isIP(network) === 6 ? "ipv6" : "ipv4";
    if (prefix === undefined) list.addAddress(network, family);
    else list.addSubnet(network, Number(prefix), family);
  }
  return list;
}

const contains = (list: BlockList, address: string): boolean =>
  isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

/** One address without port, brackets or zone; undefined for anything else. */
function parseAddress(text: string): string | undefined {
  const bracketed = /^\[([0-9A-Fa-f:.]+)\](:\d{1,5})?$/.exec(text)?.[1];
  const ported = /^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/.exec(text)?.[1];
  const address = bracketed ?? ported ?? text;
  return isIP(address) === 0 || address.includes("%") ? undefined : plainAddress(address);
}

/** Lower case, and IPv4 written as such when it arrives mapped into IPv6 (RFC 4291 §2.5.5.2). */
function plainAddress(address: string): string {
  if (!address.includes(":")) return address;
  const lower = address.toLowerCase();
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/.exec(lower)?.[1];
  return mapped ?? lower;
}

const requestIdPattern = /^[A-Za-z0-9._-]{1,128}$/;

/** More forwarded entries than any honest path of proxies has. */
const hopsMax = 32;

/**
 * The query without the parameters that are no member of `fields`: public rows ignore them (API-1).
 */
export const withKnown = (query: URLSearchParams, fields: object): URLSearchParams =>
  // Taking them out one by one would take the square of their number.
  new URLSearchParams([...query].filter(([name]) => Object.hasOwn(fields, name)));
