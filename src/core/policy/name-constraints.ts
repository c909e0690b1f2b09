/**
 * Name constraints along a whole path (RFC 5280 §4.2.1.10), and the name policy of a profile in the
 * same terms.
 */

import { endsInNumber } from "#core/x509/addresses.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import type { NameConstraints, Subtrees } from "#core/x509/name-constraints.ts";
import { type Name, nameText, parseName } from "#core/x509/names.ts";

import { hostIn, onlyHostIn } from "./host-names.ts";
import type { Profile } from "./profile.ts";
import {
  indexed,
  type IndexedConstraints,
  type SubtreeMatch,
  SubtreeIndex,
} from "./subtree-index.ts";
import { uriBegins } from "./subtrees.ts";

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
  for (const constraints of path.map(indexed)) {
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
  const above = path.map(indexed);
  const isAllowed = (match: (trees: SubtreeIndex) => SubtreeMatch) =>
    above.every(({ permits, excludes }) => allows(match(permits), match(excludes)));
  const wrong: string[] = [];
  for (const kind of ["ip", "dns", "email", "uri"] as const) {
    for (const tree of permitted[kind]) {
      if (!isAllowed((trees) => trees.ofTree(kind, tree))) wrong.push(`${kind}:${tree}`);
    }
  }
  for (const tree of permitted.dirNames) {
    if (isAllowed((trees) => trees.ofTree("dirName", tree))) continue;
    wrong.push(`dirName:${nameText(parseName(tree))}`);
  }
  return wrong;
}

/**
 * A tree must lie in one that is permitted, if any is, and in none that is excluded: that would
 * leave nothing of it.
 */
const allows = (permitted: SubtreeMatch, excluded: SubtreeMatch): boolean =>
  (!permitted.constrained || permitted.within) && !excluded.within && !excluded.unclear;

/** Every name outside the profile's own policy. */
export function profileViolations(
  names: ConstrainedNames,
  policy: Profile["names"],
): readonly NameViolation[] {
  const { permittedDns, permittedIps, permittedEmails, permittedUris, allowWildcards } = policy;
  const permitted = new SubtreeIndex({
    dns: permittedDns ?? [],
    ip: permittedIps ?? [],
    email: permittedEmails ?? [],
    uri: [],
    dirNames: [],
  });
  const within = (subject: Constrained): boolean => {
    if (subject.kind === "unclear") {
      return permittedDns === undefined && permittedIps === undefined;
    }
    if (subject.kind === "dns") {
      if (subject.text.startsWith("*.") && !allowWildcards) return false;
      return permittedDns === undefined || permitted.ofDns(subject.text, false).within;
    }
    if (subject.kind === "ip") {
      return permittedIps === undefined || permitted.ofIp(subject.text).within;
    }
    if (subject.kind === "email") {
      return permittedEmails === undefined || permitted.ofEmail(subject.text).within;
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
  { permits: permittedHere, excludes: excludedHere }: IndexedConstraints,
): NameViolation["why"] | undefined {
  const excludes = matchOf(subject, excludedHere, "excluded");
  if (excludes.unclear) return "not decidable";
  if (excludes.within) return "excluded";
  const permits = matchOf(subject, permittedHere, "permitted");
  if (!permits.constrained || permits.within) return undefined;
  return permits.unclear ? "not decidable" : "not permitted";
}

function matchOf(
  subject: Constrained,
  trees: SubtreeIndex,
  side: "permitted" | "excluded",
): SubtreeMatch {
  switch (subject.kind) {
    case "dns":
      return trees.ofDns(subject.text, side === "excluded");
    case "unclear":
      return trees.ofUnclear();
    case "ip":
      return trees.ofIp(subject.text);
    case "email":
      return trees.ofEmail(subject.text);
    case "uri":
      return trees.ofUri(subject.text);
    case "dirName":
      return trees.ofDirName(subject.name.der);
    default:
      return subject satisfies never;
  }
}
