/**
 * Name constraints along a whole path (RFC 5280 §4.2.1.10), and the name policy of a profile in the
 * same terms.
 */

import { endsInNumber } from "#core/x509/addresses.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import type { NameConstraints, Subtrees } from "#core/x509/name-constraints.ts";
import { nameWithin } from "#core/x509/name-matching.ts";
import { type Name, nameText, parseName } from "#core/x509/names.ts";

import { hostIn, onlyHostIn } from "./host-names.ts";
import type { Profile } from "./profile.ts";
import {
  dnsTouches,
  dnsWithin,
  emailWithin,
  rangeWithin,
  treeWithin,
  uriBegins,
  uriWithin,
  type Within,
} from "./subtrees.ts";

export interface ConstrainedNames {
  readonly subject: Name;
  readonly sans: readonly GeneralName[];
  /**
   * True for a leaf that TLS servers may use; without other names its common name is the host,
   * dotted or not.
   */
  readonly forServers: boolean;
}

/** One name that a path or a profile does not allow. */
export interface NameViolation {
  readonly name: string;
  readonly why: "not permitted" | "excluded" | "not decidable";
}

/**
 * Every name that some certificate of the path forbids; a constraint that cannot be interpreted
 * forbids too.
 */
export function pathViolations(
  names: ConstrainedNames,
  path: readonly NameConstraints[],
): readonly NameViolation[] {
  if (path.length === 0) return [];
  const subjects = [...constrainedNames(names), ...addressesAsHosts(names)];
  const violations: NameViolation[] = [];
  // Both sides may be a stranger's: more comparisons than any honest path takes decide nothing.
  const trees = path.flatMap(({ permitted, excluded }) => [permitted, excluded]);
  const comparisons = subjects.reduce((sum, subject) => sum + comparedWith(subject, trees), 0);
  if (comparisons > comparisonsMax) {
    return [{ name: `${subjects.length} names`, why: "not decidable" }];
  }
  for (const constraints of path) {
    for (const subject of subjects) {
      const why = judge(subject, constraints);
      if (why !== undefined) violations.push({ name: subject.text, why });
    }
  }
  return violations;
}

/**
 * What a subordinate claims to permit although the path above does not (checked before it is
 * created).
 */
export function unpermittedSubtrees(
  claimed: NameConstraints,
  path: readonly NameConstraints[],
): readonly string[] {
  const { permitted } = claimed;
  const wrong: string[] = [];
  for (const kind of ["ip", "dns", "email", "uri"] as const) {
    for (const tree of permitted[kind]) {
      const allowed = path.every((above) =>
        allows(above.permitted[kind], above.excluded[kind], (base) => treeWithin(kind, tree, base)),
      );
      if (!allowed) wrong.push(`${kind}:${tree}`);
    }
  }
  for (const tree of permitted.dirNames) {
    const allowed = path.every((above) =>
      allows(above.permitted.dirNames, above.excluded.dirNames, (base) =>
        treeWithin("dirName", tree, base),
      ),
    );
    if (!allowed) wrong.push(`dirName:${nameText(parseName(tree))}`);
  }
  return wrong;
}

/**
 * A tree must lie in one that is permitted, if any is, and in none that is excluded: that would
 * leave nothing of it.
 */
function allows<T>(
  permitted: readonly T[],
  excluded: readonly T[],
  within: (base: T) => Within,
): boolean {
  const inside = permitted.length === 0 || permitted.some((base) => within(base) === true);
  return inside && excluded.every((base) => within(base) === false);
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
      return permittedDns?.some((suffix) => dnsWithin(subject.text, suffix) === true) ?? true;
    }
    if (subject.kind === "ip") {
      return permittedIps?.some((range) => rangeWithin(subject.text, range) === true) ?? true;
    }
    if (subject.kind === "email") {
      return permittedEmails?.some((base) => emailWithin(subject.text, base) === true) ?? true;
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

/**
 * SANs, every common name that reads as a host, e-mail attributes of the subject, and the subject
 * itself.
 */
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

/**
 * OpenSSL holds a common name against the constraints of DNS names also where it is an address,
 * unless there is a DNS name.
 */
function addressesAsHosts({ subject, sans }: ConstrainedNames): readonly Constrained[] {
  if (sans.some(({ kind }) => kind === "dns")) return [];
  return subject.attributes.flatMap(({ type, value }) => {
    const host = type === "CN" ? hostIn(value) : undefined;
    return host?.kind === "ip" ? [{ kind: "dns" as const, text: host.text }] : [];
  });
}

function constrainedName({ kind, value }: GeneralName): Constrained {
  if (kind !== "dns") return { kind, text: value };
  // A final dot means the same host; an asterisk anywhere but alone in front means what only some
  // software expects.
  const text = value.toLowerCase().replace(/\.$/, "");
  const decidable = !endsInNumber(text) && !text.replace(/^\*\./, "").includes("*");
  return { kind: decidable ? "dns" : "unclear", text };
}

function comparedWith({ kind }: Constrained, trees: readonly Subtrees[]): number {
  const of = (one: Subtrees): number => {
    if (kind === "dirName") return one.dirNames.length;
    return kind === "unclear" ? one.dns.length + one.ip.length : one[kind].length;
  };
  return trees.reduce((sum, one) => sum + of(one), 0);
}

/** A thousand names under a hundred subtrees. */
const comparisonsMax = 100_000;

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
): readonly Within[] {
  switch (subject.kind) {
    case "dns":
      return trees.dns.map((base) =>
        side === "permitted" ? dnsWithin(subject.text, base) : dnsTouches(subject.text, base),
      );
    case "unclear":
      return [...trees.dns, ...trees.ip].map(() => undefined);
    case "ip":
      return trees.ip.map((range) => rangeWithin(subject.text, range));
    case "email":
      return trees.email.map((base) => emailWithin(subject.text, base));
    case "uri":
      return trees.uri.map((base) => uriWithin(subject.text, base));
    case "dirName":
      return trees.dirNames.map((base) => nameWithin(subject.name.der, base));
    default:
      return subject satisfies never;
  }
}
