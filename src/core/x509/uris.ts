/**
 * URIs as RFC 3986 spells them, and nothing else: browsers repair what they read, other software
 * reads it as it stands, and a name that each takes for another host is nobody's.
 */

import { endsInNumber, parseIpAddress } from "./addresses.ts";

/** A URI by its parts (RFC 3986 §3); the texts are as given unless it says otherwise. */
export interface Uri {
  /** In lower case. */
  readonly scheme: string;
  /** Undefined where `//` does not follow the scheme. */
  readonly authority: Authority | undefined;
  /** Path, query and fragment. */
  readonly rest: string;
}

export interface Authority {
  readonly userinfo: string | undefined;
  /** In lower case; an address in brackets keeps them. */
  readonly host: string;
  /** Decimal digits; undefined when there are none. */
  readonly port: string | undefined;
}

/**
 * Reads an absolute URI; undefined for what is none by the grammar of RFC 3986 §3, and for what the
 * grammar allows and software reads in different ways: an empty authority, and a host with an
 * escape, a final dot or an empty label.
 */
export function parseUri(text: string): Uri | undefined {
  const [, scheme, after] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(text) ?? [];
  if (scheme === undefined || after === undefined || !characters.test(after)) return undefined;
  if (!after.startsWith("//")) {
    const isEmpty = after === "" || needsAuthority.has(scheme.toLowerCase());
    return isEmpty
      ? undefined
      : { scheme: scheme.toLowerCase(), authority: undefined, rest: after };
  }
  const length = after.slice(2).search(/[/?#]/);
  const end = length < 0 ? after.length : length + 2;
  const authority = parseAuthority(after.slice(2, end));
  if (authority === undefined) return undefined;
  return { scheme: scheme.toLowerCase(), authority, rest: after.slice(end) };
}

/**
 * The host of an authority as a DNS name in lower case; undefined for an address, or what no DNS
 * name can be.
 */
export function dnsHost({ host }: Authority): string | undefined {
  const labelled = host.split(".").every((label) => hostLabel.test(label));
  return labelled && !endsInNumber(host) ? host : undefined;
}

/**
 * True when a segment of the path is `.` or `..`, also escaped: whoever resolves it arrives
 * elsewhere (RFC 3986 §5.2.4, §6.2.2).
 */
export function hasDotSegments({ rest }: Uri): boolean {
  const [path = ""] = rest.split(/[?#]/, 1);
  return path.split("/").some((segment) => /^\.{1,2}$/.test(segment.replaceAll(/%2e/gi, ".")));
}

function parseAuthority(text: string): Authority | undefined {
  const at = text.indexOf("@");
  const userinfo = at < 0 ? undefined : text.slice(0, at);
  // A second `@` may not occur, and a colon after the host begins a port.
  const [, host, port = ""] =
    /^(\[[^\][@]*\]|[^:@[\]]*)(?::([0-9]*))?$/.exec(text.slice(at + 1)) ?? [];
  if (host === undefined || !isHost(host) || (userinfo !== undefined && /[[\]]/.test(userinfo))) {
    return undefined;
  }
  return { userinfo, host: host.toLowerCase(), port: port === "" ? undefined : port };
}

function isHost(host: string): boolean {
  if (host.startsWith("[")) {
    const address = host.slice(1, -1);
    return address.includes(":") && parseIpAddress(address) !== undefined;
  }
  return registeredName.test(host) && host.split(".").every((label) => label !== "");
}

/**
 * RFC 3986 §2: reserved, unreserved, and whole escapes; brackets are for `parseAuthority` to place,
 * a second `#` has no place.
 */
const characters =
  /^(?:[A-Za-z0-9._~:/?@!$&'()*+,;=[\]-]|%[0-9A-Fa-f]{2})*(?:#(?:[A-Za-z0-9._~:/?@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)?$/;
/** RFC 3986 §3.2.2, without escapes. */
const registeredName = /^[A-Za-z0-9._~!$&'()*+,;=-]+$/;
const hostLabel = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * Schemes that name a host (RFC 9110 §4.2 and their like): `https:good.example` is one to browsers
 * and none to others.
 */
const needsAuthority: ReadonlySet<string> = new Set([
  "http",
  "https",
  "ws",
  "wss",
  "ftp",
  "ftps",
  "ldap",
  "ldaps",
  "spiffe",
]);
