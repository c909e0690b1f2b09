/**
 * Which names lie in a subtree (RFC 5280 §4.2.1.10), one by one as the clause says it: what the
 * index is held against.
 */

import { preparedName } from "#core/x509/name-matching.ts";
import { parseCidr } from "#core/x509/name-constraints.ts";
import { isDnsBase, isEmailBase, isHost, isUriBase } from "#core/x509/subtree-forms.ts";
import { dnsHost, parseUri } from "#core/x509/uris.ts";

/** Undefined: nobody can say, because base or name can be read in more than one way. */
export type Within = boolean | undefined;

/**
 * `example.com` covers itself and subdomains, `.example.com` only subdomains, empty text
 * everything.
 */
export function dnsWithin(name: string, base: string): Within {
  if (!isDnsBase(base)) return undefined;
  const host = name.toLowerCase().replace(/^\*\./, "wildcard.");
  const tree = base.toLowerCase();
  if (tree === "") return true;
  if (tree.startsWith(".")) return host.endsWith(tree);
  // A wildcard stands for names below its own base, so the base itself never permits less than it
  // does.
  return host === tree || host.endsWith(`.${tree}`);
}

/**
 * As `dnsWithin`, and true also when a name the wildcard stands for lies in the tree: for what is
 * excluded.
 */
export function dnsTouches(name: string, base: string): Within {
  const within = dnsWithin(name, base);
  if (within !== false || !name.startsWith("*.")) return within;
  const parent = name.slice(2).toLowerCase();
  const tree = base.toLowerCase().replace(/^\./, "");
  return tree.slice(tree.indexOf(".") + 1) === parent && tree.includes(".");
}

/** A mailbox covers itself, a host all its mailboxes, `.domain` those of all hosts below it. */
export function emailWithin(mailbox: string, base: string): Within {
  const at = mailbox.lastIndexOf("@");
  const host = mailbox.slice(at + 1).toLowerCase();
  const local = mailbox.slice(0, at);
  if (!isEmailBase(base) || at < 1 || local.includes("@") || !isHost(host)) return undefined;
  const tree = base.toLowerCase();
  if (tree.includes("@")) {
    const split = base.lastIndexOf("@");
    return local === base.slice(0, split) && host === tree.slice(split + 1);
  }
  return hostWithin(host, tree);
}

/**
 * By the host of the URI. Undefined for a URI without a host name, which RFC 5280 has refused,
 * permitted or excluded, and where software disagrees about the host: OpenSSL takes user
 * information, and a query without a path, for part of it.
 */
export function uriWithin(uri: string, base: string): Within {
  const { authority, rest = "" } = parseUri(uri) ?? {};
  const agreed = authority?.userinfo === undefined && /^(?:\/|$)/.test(rest);
  const host = authority && agreed ? dnsHost(authority) : undefined;
  return host === undefined || !isUriBase(base) ? undefined : hostWithin(host, base.toLowerCase());
}

/**
 * True when every address of `inner`, an address or a range, lies in the range `outer`; undefined
 * if that is none.
 */
export function rangeWithin(inner: string, outer: string): Within {
  const a = parseCidr(inner) ?? parseCidr(`${inner}/${inner.includes(":") ? 128 : 32}`);
  const b = parseCidr(outer);
  if (b === undefined) return undefined;
  if (a === undefined || a.length !== b.length) return false;
  const half = a.length / 2;
  for (let at = 0; at < half; at++) {
    const mask = b[half + at] ?? 0;
    const covered = ((a[half + at] ?? 0) & mask) === mask;
    if (!covered || ((a[at] ?? 0) & mask) !== b[at]) return false;
  }
  return true;
}

/** True when all names of the subtree `inner` lie in the subtree `outer`; DER for `dirName`. */
export function treeWithin(
  ...[kind, inner, outer]:
    | readonly ["dns" | "email" | "uri" | "ip", string, string]
    | readonly ["dirName", Uint8Array, Uint8Array]
): Within {
  switch (kind) {
    case "dns":
      return isDnsBase(inner) && isDnsBase(outer) ? domainWithin(inner, outer, true) : undefined;
    case "uri":
      return isUriBase(inner) && isUriBase(outer) ? domainWithin(inner, outer, false) : undefined;
    case "email":
      if (inner.includes("@")) return emailWithin(inner, outer);
      if (!isEmailBase(inner) || !isEmailBase(outer)) return undefined;
      return !outer.includes("@") && domainWithin(inner, outer, false);
    case "ip":
      return rangeWithin(inner, outer);
    case "dirName":
      return nameWithin(inner, outer);
    default:
      return kind satisfies never;
  }
}

/** A host covers itself, `.domain` the hosts below it; both in lower case. */
const hostWithin = (host: string, tree: string): boolean =>
  tree.startsWith(".") ? host.endsWith(tree) : host === tree;

/**
 * `deep`: a domain without dot in front covers what is below it too, as it does for DNS names only.
 */
function domainWithin(inner: string, outer: string, deep: boolean): boolean {
  const [a, b] = [inner.toLowerCase(), outer.toLowerCase()];
  if (b === "" || a === b) return true;
  if (a === "") return false;
  const below = (tree: string) => a.endsWith(tree.startsWith(".") ? tree : `.${tree}`);
  if (b.startsWith(".")) return below(b);
  return deep && (below(b) || a === `.${b}`);
}

/** True when the RDNs of `base` are the first ones of `name`. */
export function nameWithin(name: Uint8Array, base: Uint8Array): Within {
  const { rdns, comparable } = preparedName(base);
  const given = preparedName(name).rdns;
  return comparable ? rdns.every((rdn, at) => given[at] === rdn) : undefined;
}
