/** Name constraints along a whole path (RFC 5280 §4.2.1.10), and the name policy of a profile in the same terms. */

import { endsInNumber } from "#core/x509/addresses.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import { type NameConstraints, parseCidr, type Subtrees } from "#core/x509/name-constraints.ts";
import { type Name, nameText, parseName } from "#core/x509/names.ts";
import { dnsHost, hasDotSegments, parseUri } from "#core/x509/uris.ts";

import { hostIn, onlyHostIn } from "./host-names.ts";
import type { Profile } from "./profile.ts";

export interface ConstrainedNames {
  readonly subject: Name;
  readonly sans: readonly GeneralName[];
  /** True for a leaf that TLS servers may use; without other names its common name is the host, dotted or not. */
  readonly forServers: boolean;
}

/** One name that a path or a profile does not allow. */
export interface NameViolation {
  readonly name: string;
  readonly why: "not permitted" | "excluded" | "not decidable";
}

/** Every name that some certificate of the path forbids; a constraint that cannot be interpreted forbids too. */
export function pathViolations(
  names: ConstrainedNames,
  path: readonly NameConstraints[],
): readonly NameViolation[] {
  if (path.length === 0) return [];
  const subjects = constrainedNames(names);
  const violations: NameViolation[] = [];
  for (const constraints of path) {
    for (const subject of subjects) {
      const why = judge(subject, constraints);
      if (why !== undefined) violations.push({ name: subject.text, why });
    }
  }
  return violations;
}

/** What a subordinate claims to permit although the path above does not (checked before it is created). */
export function unpermittedSubtrees(
  claimed: NameConstraints,
  path: readonly NameConstraints[],
): readonly string[] {
  const wrong: string[] = [];
  for (const { permitted } of path) {
    for (const range of claimed.permitted.ip) {
      const inside = permitted.ip.length === 0 || permitted.ip.some((ip) => rangeWithin(range, ip));
      if (!inside) wrong.push(`ip:${range}`);
    }
  }
  for (const kind of ["dns", "email", "uri"] as const) {
    for (const value of claimed.permitted[kind]) {
      if (!subtreeAllowed(kind, value, path)) wrong.push(`${kind}:${value}`);
    }
  }
  for (const name of claimed.permitted.dirNames) {
    const claim = parseName(name);
    const inside = path.every(
      ({ permitted: { dirNames } }) =>
        dirNames.length === 0 || dirNames.some((base) => directoryWithin(claim, base)),
    );
    if (!inside) wrong.push(`dirName:${nameText(claim)}`);
  }
  return wrong;
}

/** Every name outside the profile's own policy. */
export function profileViolations(
  names: ConstrainedNames,
  policy: Profile["names"],
): readonly NameViolation[] {
  const { permittedDns, permittedIps, permittedEmails, permittedUris, allowWildcards } = policy;
  const within = (subject: Constrained): boolean => {
    if (subject.kind === "unclear") {
      return permittedDns === undefined && permittedIps === undefined;
    }
    if (subject.kind === "dns") {
      if (subject.text.startsWith("*.") && !allowWildcards) return false;
      return permittedDns?.some((suffix) => dnsWithin(subject.text, suffix)) ?? true;
    }
    if (subject.kind === "ip") {
      return permittedIps?.some((range) => rangeWithin(subject.text, range)) ?? true;
    }
    if (subject.kind === "email") {
      return permittedEmails?.some((domain) => emailWithin(subject.text, domain)) ?? true;
    }
    if (subject.kind === "uri") {
      return permittedUris?.some((prefix) => uriBegins(subject.text, prefix)) ?? true;
    }
    return true;
  };
  return constrainedNames(names)
    .filter((subject) => !within(subject))
    .map((subject) => ({ name: subject.text, why: "not permitted" }));
}

type Constrained =
  | { readonly kind: "dns" | "ip" | "email" | "uri"; readonly text: string }
  /** A host or an address, but nobody knows which. */
  | { readonly kind: "unclear"; readonly text: string }
  | { readonly kind: "dirName"; readonly text: string; readonly name: Name };

/** SANs, every common name that reads as a host, e-mail attributes of the subject, and the subject itself. */
function constrainedNames(names: ConstrainedNames): readonly Constrained[] {
  const { subject, sans, forServers } = names;
  const hasHosts = sans.some(({ kind }) => kind === "dns" || kind === "ip");
  const reading = forServers && !hasHosts ? onlyHostIn : hostIn;
  const out: Constrained[] = sans.map(constrainedName);
  for (const { type, value } of subject.attributes) {
    if (type === "emailAddress") out.push({ kind: "email", text: value });
    const host = type === "CN" ? reading(value) : undefined;
    if (host !== undefined) out.push(host);
  }
  if (subject.attributes.length > 0) out.push({ kind: "dirName", text: "subject", name: subject });
  return out;
}

function constrainedName({ kind, value }: GeneralName): Constrained {
  if (kind !== "dns") return { kind, text: value };
  // A final dot means the same host; an asterisk anywhere but alone in front means what only some software expects.
  const text = value.toLowerCase().replace(/\.$/, "");
  const decidable = !endsInNumber(text) && !text.replace(/^\*\./, "").includes("*");
  return { kind: decidable ? "dns" : "unclear", text };
}

function judge(
  subject: Constrained,
  { permitted, excluded }: NameConstraints,
): NameViolation["why"] | undefined {
  const excludes = matches(subject, excluded, "excluded");
  if (excludes.includes(undefined)) return "not decidable";
  if (excludes.includes(true)) return "excluded";
  const permits = matches(subject, permitted, "permitted");
  if (permits.length === 0 || permits.includes(true)) return undefined;
  return permits.includes(undefined) ? "not decidable" : "not permitted";
}

/** One verdict per subtree of the name's kind; undefined where it cannot be interpreted. */
function matches(
  subject: Constrained,
  trees: Subtrees,
  side: "permitted" | "excluded",
): readonly (boolean | undefined)[] {
  switch (subject.kind) {
    case "dns":
      return trees.dns.map((base) =>
        side === "permitted" ? dnsWithin(subject.text, base) : dnsTouches(subject.text, base),
      );
    case "unclear":
      return [...trees.dns, ...trees.ip].map(() => undefined);
    case "ip":
      return trees.ip.map((range) =>
        parseCidr(range) === undefined ? undefined : rangeWithin(subject.text, range),
      );
    case "email":
      return trees.email.map((base) => emailWithin(subject.text, base));
    case "uri":
      return trees.uri.map((base) => uriWithin(subject.text, base));
    case "dirName":
      return trees.dirNames.map((base) => directoryWithin(subject.name, base));
    default:
      return subject satisfies never;
  }
}

/** `example.com` covers itself and subdomains, `.example.com` only subdomains, empty text everything. */
function dnsWithin(name: string, base: string): boolean {
  const host = name.toLowerCase().replace(/^\*\./, "wildcard.");
  const tree = base.toLowerCase();
  if (tree === "") return true;
  if (tree.startsWith(".")) return host.endsWith(tree);
  // A wildcard stands for names below its own base, so the base itself never permits less than it does.
  return host === tree || host.endsWith(`.${tree}`);
}

/** True when the name, or any name a wildcard stands for, lies in the excluded tree. */
function dnsTouches(name: string, base: string): boolean {
  if (dnsWithin(name, base)) return true;
  if (!name.startsWith("*.")) return false;
  const parent = name.slice(2).toLowerCase();
  const tree = base.toLowerCase().replace(/^\./, "");
  return tree.slice(tree.indexOf(".") + 1) === parent && tree.includes(".");
}

/** A mailbox covers itself, a host all its mailboxes, `.domain` those of all hosts below it. */
function emailWithin(mailbox: string, base: string): boolean {
  const at = mailbox.lastIndexOf("@");
  const host = mailbox.slice(at + 1).toLowerCase();
  const tree = base.toLowerCase();
  if (base.includes("@")) {
    const split = base.lastIndexOf("@");
    return (
      mailbox.slice(0, at) === base.slice(0, split) && host === base.slice(split + 1).toLowerCase()
    );
  }
  if (tree === "") return true;
  return tree.startsWith(".") ? host.endsWith(tree) : host === tree;
}

/** Undefined for a URI without a host name: RFC 5280 has it refused, permitted or excluded. */
function uriWithin(uri: string, base: string): boolean | undefined {
  const authority = parseUri(uri)?.authority;
  const host = authority && dnsHost(authority);
  if (host === undefined) return undefined;
  const tree = base.toLowerCase();
  if (tree === "") return true;
  return tree.startsWith(".") ? host.endsWith(tree) : host === tree;
}

/**
 * True when scheme and authority are those of the prefix, part by part, and what follows begins as it does; a prefix of a
 * scheme alone covers all of the scheme. A path that leads out again does not begin so.
 */
function uriBegins(uri: string, prefix: string): boolean {
  const name = parseUri(uri);
  if (name === undefined || hasDotSegments(name)) return false;
  if (/^[A-Za-z][A-Za-z0-9+.-]*:$/.test(prefix)) return `${name.scheme}:` === prefix.toLowerCase();
  const base = parseUri(prefix);
  if (base === undefined || base.scheme !== name.scheme) return false;
  const [a, b] = [name.authority, base.authority];
  const sameAuthority = a?.host === b?.host && a?.port === b?.port && a?.userinfo === b?.userinfo;
  return sameAuthority && name.rest.startsWith(base.rest);
}

/** True when the constraint's attributes are the first ones of the name (§7.1: without case, blanks folded). */
function directoryWithin(name: Name, base: Uint8Array): boolean {
  const wanted = parseName(base).attributes;
  return wanted.every(({ type, value }, index) => {
    const found = name.attributes[index];
    return found !== undefined && found.type === type && folded(found.value) === folded(value);
  });
}

/** True when every address of `inner`, an address or a range, lies in the range `outer`. */
function rangeWithin(inner: string, outer: string): boolean {
  const a = parseCidr(inner) ?? parseCidr(`${inner}/${inner.includes(":") ? 128 : 32}`);
  const b = parseCidr(outer);
  if (a === undefined || b === undefined || a.length !== b.length) return false;
  const half = a.length / 2;
  for (let at = 0; at < half; at++) {
    const mask = b[half + at] ?? 0;
    const covered = ((a[half + at] ?? 0) & mask) === mask;
    if (!covered || ((a[at] ?? 0) & mask) !== b[at]) return false;
  }
  return true;
}

const folded = (value: string) => value.trim().replace(/\s+/g, " ").toLowerCase();

function subtreeAllowed(
  kind: "dns" | "email" | "uri",
  value: string,
  path: readonly NameConstraints[],
): boolean {
  const host = value.replace(/^\./, "");
  const text =
    kind === "uri"
      ? `scheme://${host}/`
      : kind === "email" && !host.includes("@")
        ? `x@${host}`
        : host;
  return path.every((constraints) => judge({ kind, text }, constraints) === undefined);
}
