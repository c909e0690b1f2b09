/**
 * The subtrees of one side of a constraint, looked up: a name costs its labels, however many
 * subtrees there are.
 */

import { type NameConstraints, parseCidr, type Subtrees } from "#core/x509/name-constraints.ts";
import { preparedName } from "#core/x509/name-matching.ts";
import { hostMax, isDnsBase, isEmailBase, isHost, isUriBase } from "#core/x509/subtree-forms.ts";
import { dnsHost, parseUri } from "#core/x509/uris.ts";

/** How a name matches all subtrees of its kind. */
export interface SubtreeMatch {
  /** There are subtrees of the kind. */
  readonly constrained: boolean;
  /** It lies in one of them. */
  readonly within: boolean;
  /** Of one of them nobody can say, because it or the name can be read in more than one way. */
  readonly unclear: boolean;
}

/**
 * One side. A DNS base covers itself and what lies below it, with a dot in front only what lies
 * below; a mailbox itself, a host all its mailboxes, `.domain` those of the hosts below it; a URI
 * counts by its host (RFC 5280 §4.2.1.10). A subtree that is spelled as none is unclear to every
 * name of its kind.
 */
export class SubtreeIndex {
  readonly #trees: Subtrees;
  #dns: Domains | undefined;
  #email: Domains | undefined;
  #uri: Domains | undefined;
  #ip: Ranges | undefined;
  #dirNames: Directory | undefined;

  constructor(trees: Subtrees) {
    this.#trees = trees;
  }

  /**
   * A wildcard stands for names below its own base, so the base itself never permits less than it
   * does; with `touching`, for what is excluded, a subtree that one of those names lies in counts
   * too.
   */
  ofDns(name: string, touching: boolean): SubtreeMatch {
    this.#dns ??= new Domains(this.#trees.dns, isDnsBase);
    const text = name.toLowerCase();
    const touches = touching && text.startsWith("*.") && this.#dns.hasChildOf(text.slice(2));
    const within = this.#dns.cover(text.replace(/^\*\./, "wildcard."), true);
    return this.#dns.match(within || touches);
  }

  /** A host or an address, but nobody knows which. */
  ofUnclear(): SubtreeMatch {
    const constrained = this.#trees.dns.length + this.#trees.ip.length > 0;
    return { constrained, within: false, unclear: constrained };
  }

  /** An address, or all of a CIDR. */
  ofIp(address: string): SubtreeMatch {
    this.#ip ??= new Ranges(this.#trees.ip);
    return this.#ip.match(address);
  }

  ofEmail(mailbox: string): SubtreeMatch {
    this.#email ??= new Domains(this.#trees.email, isEmailBase);
    // RFC 5321 §2.4: what stands before the @ is compared as it is.
    const at = mailbox.lastIndexOf("@");
    const host = mailbox.slice(at + 1).toLowerCase();
    const local = mailbox.slice(0, at);
    if (at < 1 || local.includes("@") || !isHost(host)) return this.#email.undecided;
    return this.#email.match(this.#email.cover(host, false) || this.#email.hasMailbox(local, host));
  }

  /**
   * By the host of the URI. Unclear without a host name, which RFC 5280 has refused, permitted or
   * excluded, and where software disagrees about the host: OpenSSL takes user information, and a
   * query without a path, for part of it.
   */
  ofUri(uri: string): SubtreeMatch {
    this.#uri ??= new Domains(this.#trees.uri, isUriBase);
    const { authority, rest = "" } = parseUri(uri) ?? {};
    const agreed = authority?.userinfo === undefined && /^(?:\/|$)/.test(rest);
    const host = authority && agreed ? dnsHost(authority) : undefined;
    return host === undefined ? this.#uri.undecided : this.#uri.match(this.#uri.cover(host, false));
  }

  /** DER of a Name. Throws DerError. */
  ofDirName(name: Uint8Array): SubtreeMatch {
    this.#dirNames ??= new Directory(this.#trees.dirNames);
    return this.#dirNames.match(name);
  }

  /** All names of a subtree at once; DER for `dirName`. */
  ofTree(
    ...[kind, tree]:
      | readonly ["dns" | "email" | "uri" | "ip", string]
      | readonly ["dirName", Uint8Array]
  ): SubtreeMatch {
    switch (kind) {
      case "dns":
        this.#dns ??= new Domains(this.#trees.dns, isDnsBase);
        return this.#dns.ofTree(tree, true);
      case "uri":
        this.#uri ??= new Domains(this.#trees.uri, isUriBase);
        return this.#uri.ofTree(tree, false);
      case "email":
        if (tree.includes("@")) return this.ofEmail(tree);
        this.#email ??= new Domains(this.#trees.email, isEmailBase);
        return this.#email.ofTree(tree, false);
      case "ip":
        return this.ofIp(tree);
      case "dirName":
        return this.ofDirName(tree);
      default:
        return kind satisfies never;
    }
  }
}

/**
 * Constraints with both sides looked up; whoever holds them against many names keeps one of these.
 */
export class IndexedConstraints implements NameConstraints {
  readonly permitted: Subtrees;
  readonly excluded: Subtrees;
  readonly permits: SubtreeIndex;
  readonly excludes: SubtreeIndex;

  constructor({ permitted, excluded }: NameConstraints) {
    this.permitted = permitted;
    this.excluded = excluded;
    this.permits = new SubtreeIndex(permitted);
    this.excludes = new SubtreeIndex(excluded);
  }
}

/** The same constraints; what is looked up already stays as it is. */
export const indexed = (constraints: NameConstraints): IndexedConstraints =>
  constraints instanceof IndexedConstraints ? constraints : new IndexedConstraints(constraints);

/**
 * Domains with and without a dot in front, and mailboxes; in lower case but for what stands before
 * the @.
 */
class Domains {
  readonly #isBase: (base: string) => boolean;
  readonly #bare = new Set<string>();
  readonly #dotted = new Set<string>();
  readonly #mailboxes = new Map<string, Set<string>>();
  /** What stands above each of them. */
  readonly #parents = new Set<string>();
  readonly #count: number;
  #all = false;
  #unclear = false;

  constructor(bases: readonly string[], isBase: (base: string) => boolean) {
    this.#isBase = isBase;
    this.#count = bases.length;
    for (const base of bases) {
      if (isBase(base)) this.#take(base);
      else this.#unclear = true;
    }
  }

  #take(base: string): void {
    const tree = base.toLowerCase();
    const at = tree.lastIndexOf("@");
    if (at >= 0) {
      const host = tree.slice(at + 1);
      const known = this.#mailboxes.get(host);
      if (known === undefined) this.#mailboxes.set(host, new Set([base.slice(0, at)]));
      else known.add(base.slice(0, at));
      return;
    }
    if (tree === "") this.#all = true;
    else if (tree.startsWith(".")) this.#dotted.add(tree);
    else this.#bare.add(tree);
    const labels = tree.replace(/^\./, "");
    const dot = labels.indexOf(".");
    if (dot >= 0) this.#parents.add(labels.slice(dot + 1));
  }

  /**
   * `deep`: a domain without a dot covers what lies below it too, as it does for DNS names only.
   */
  cover(host: string, deep: boolean): boolean {
    if (this.#all || this.#bare.has(host)) return true;
    // No base is longer.
    const end = host.length > hostMax + 1 ? host.slice(-hostMax - 1) : host;
    for (let dot = end.indexOf("."); dot >= 0; dot = end.indexOf(".", dot + 1)) {
      if (this.#dotted.has(end.slice(dot))) return true;
      if (deep && this.#bare.has(end.slice(dot + 1))) return true;
    }
    return false;
  }

  hasMailbox(local: string, host: string): boolean {
    return this.#mailboxes.get(host)?.has(local) === true;
  }

  hasChildOf(parent: string): boolean {
    return this.#parents.has(parent);
  }

  ofTree(tree: string, deep: boolean): SubtreeMatch {
    if (!this.#isBase(tree)) return this.undecided;
    return this.match(tree === "" ? this.#all : this.cover(tree.toLowerCase(), deep));
  }

  match(within: boolean): SubtreeMatch {
    return { constrained: this.#count > 0, within, unclear: this.#unclear };
  }

  get undecided(): SubtreeMatch {
    return { constrained: this.#count > 0, within: false, unclear: this.#count > 0 };
  }
}

/** Address ranges by family and the length of their prefix. */
class Ranges {
  /** By the octets of an address, then by the bits of a prefix: the prefixes in hex. */
  readonly #prefixes = new Map<number, Map<number, Set<string>>>();
  readonly #count: number;
  #unclear = false;

  constructor(ranges: readonly string[]) {
    this.#count = ranges.length;
    for (const range of ranges) {
      const parsed = parseCidr(range);
      if (parsed === undefined) this.#unclear = true;
      else this.#take(parsed);
    }
  }

  #take(range: Uint8Array): void {
    const size = range.length / 2;
    const family = this.#prefixes.get(size) ?? new Map<number, Set<string>>();
    this.#prefixes.set(size, family);
    const bits = bitsOf(range.subarray(size));
    const known = family.get(bits) ?? new Set<string>();
    family.set(bits, known);
    known.add(range.subarray(0, size).toHex());
  }

  match(text: string): SubtreeMatch {
    const found = parseCidr(text) ?? parseCidr(`${text}/${text.includes(":") ? 128 : 32}`);
    const within = found !== undefined && this.#covers(found);
    return { constrained: this.#count > 0, within, unclear: this.#unclear };
  }

  #covers(range: Uint8Array): boolean {
    const size = range.length / 2;
    const own = bitsOf(range.subarray(size));
    for (const [bits, prefixes] of this.#prefixes.get(size) ?? []) {
      if (bits <= own && prefixes.has(cut(range.subarray(0, size), bits).toHex())) return true;
    }
    return false;
  }
}

/** Directory names as a tree of their RDNs, each prepared for comparison. */
class Directory {
  readonly #root: Branch = { below: new Map(), ends: false };
  readonly #count: number;
  #unclear = false;

  constructor(names: readonly Uint8Array[]) {
    this.#count = names.length;
    for (const name of names) {
      const { rdns, comparable } = preparedName(name);
      if (comparable) this.#take(rdns);
      else this.#unclear = true;
    }
  }

  #take(rdns: readonly string[]): void {
    let branch = this.#root;
    for (const rdn of rdns) {
      const next = branch.below.get(rdn) ?? { below: new Map(), ends: false };
      branch.below.set(rdn, next);
      branch = next;
    }
    branch.ends = true;
  }

  match(name: Uint8Array): SubtreeMatch {
    const constrained = this.#count > 0;
    return { constrained, within: constrained && this.#covers(name), unclear: this.#unclear };
  }

  #covers(name: Uint8Array): boolean {
    let branch: Branch | undefined = this.#root;
    for (const rdn of preparedName(name).rdns) {
      if (branch === undefined || branch.ends) break;
      branch = branch.below.get(rdn);
    }
    return branch?.ends === true;
  }
}

interface Branch {
  readonly below: Map<string, Branch>;
  ends: boolean;
}

/** Leading ones of a mask, which is a prefix. */
const bitsOf = (mask: Uint8Array): number =>
  mask.reduce((bits, octet) => bits + octet.toString(2).replaceAll("0", "").length, 0);

/** The first `bits` of an address, the others zero. */
const cut = (address: Uint8Array, bits: number): Uint8Array =>
  address.map((octet, at) => {
    const kept = Math.min(8, Math.max(0, bits - at * 8));
    return octet & (0xff << (8 - kept));
  });
