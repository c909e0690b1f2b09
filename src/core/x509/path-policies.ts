/**
 * Certificate policies along a path, as RFC 5280 §6.1 and RFC 9618 process them for a relying party
 * that accepts any.
 */

import { type Cursor, DerError, openSequence } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { contextual, tags } from "#core/asn1/tags.ts";

import { extensionOf, type ParsedCertificate } from "./certificate.ts";
import { isSelfIssued } from "./path.ts";
import { anyPolicy, type PolicyMapping } from "./policy-extensions.ts";

/** What one certificate says of policies. */
export interface PolicyFacts {
  /** Dotted OIDs; undefined without the extension. */
  readonly policies: ReadonlySet<string> | undefined;
  readonly mappings: readonly PolicyMapping[];
  /**
   * How many certificates below may still be free of the constraint; undefined where it sets none.
   */
  readonly requireExplicitPolicy: number | undefined;
  readonly inhibitPolicyMapping: number | undefined;
  readonly inhibitAnyPolicy: number | undefined;
  readonly selfIssued: boolean;
}

/** Reads the four extensions of a certificate; throws DerError. */
export function policyFactsOf(certificate: ParsedCertificate): PolicyFacts {
  return policyFactsIn(certificate, isSelfIssued(certificate));
}

/** The same of a certificate that is still to be signed. */
export function policyFactsIn(
  from: Pick<ParsedCertificate, "extensions">,
  selfIssued: boolean,
): PolicyFacts {
  const read = <T>(oid: string, reader: (value: Uint8Array) => T): T | undefined => {
    const found = extensionOf(from, oid);
    return found && reader(found.value);
  };
  const limits = read(oids.policyConstraints, readConstraints);
  return {
    policies: read(oids.certificatePolicies, readPolicies),
    mappings: read(oids.policyMappings, readMappings) ?? [],
    requireExplicitPolicy: limits?.requireExplicitPolicy,
    inhibitPolicyMapping: limits?.inhibitPolicyMapping,
    inhibitAnyPolicy: read(oids.inhibitAnyPolicy, readCount),
    selfIssued,
  };
}

/**
 * Why no policy makes the path valid, with the place of the certificate at which that shows;
 * undefined when one does or none is demanded. The path begins below the trust anchor and ends with
 * the certificate that is judged.
 */
export const policyFault = (
  path: readonly PolicyFacts[],
): { readonly at: number; readonly reason: string } | undefined =>
  path.every(demandsNothing) ? undefined : processed(path).fault;

/** Nearly all: where no certificate of a path demands or maps a policy, none can be missing. */
const demandsNothing = ({ requireExplicitPolicy, mappings }: PolicyFacts): boolean =>
  requireExplicitPolicy === undefined && mappings.length === 0;

/**
 * The policies, dotted OIDs, that the last certificate of the path may name so that one is valid;
 * anyPolicy stands for every one. Empty where none is valid above it.
 */
export const policiesForLast = (path: readonly PolicyFacts[]): ReadonlySet<string> =>
  processed(path).expected;

function processed(path: readonly PolicyFacts[]): {
  readonly fault: { readonly at: number; readonly reason: string } | undefined;
  readonly expected: ReadonlySet<string>;
} {
  const n = path.length;
  const left = { explicit: n + 1, mapping: n + 1, any: n + 1 };
  // RFC 9618 §5: which policies are valid so far, each with those that the next certificate may
  // name for it.
  let valid: Valid | undefined = new Map([[anyPolicy, new Set([anyPolicy])]]);
  let expected: ReadonlySet<string> = new Set();
  for (const [at, facts] of path.entries()) {
    const isLast = at === n - 1;
    if (isLast) expected = valid === undefined ? new Set() : expectedIn(valid);
    const mayBeAny = left.any > 0 || (!isLast && facts.selfIssued);
    valid = valid && facts.policies && nextValid(valid, facts.policies, mayBeAny);
    if (left.explicit === 0 && valid === undefined) {
      return { fault: { at, reason: noneValid }, expected };
    }
    if (isLast) break;
    if (
      facts.mappings.some(({ issuer, subject }) => issuer === anyPolicy || subject === anyPolicy)
    ) {
      return { fault: { at, reason: "maps anyPolicy" }, expected };
    }
    valid = valid && mapped(valid, facts.mappings, left.mapping > 0);
    lower(left, facts);
  }
  // RFC 5280 §6.1.5 a, b.
  const demanded = left.explicit <= 1 || path.at(-1)?.requireExplicitPolicy === 0;
  const fault = demanded && valid === undefined ? { at: n - 1, reason: noneValid } : undefined;
  return { fault, expected };
}

/** What is left of each limit: RFC 5280 §6.1.4 h to j. */
interface Left {
  explicit: number;
  mapping: number;
  any: number;
}

type Valid = ReadonlyMap<string, ReadonlySet<string>>;

/** What the next certificate may name for any of them. */
const expectedIn = (valid: Valid): ReadonlySet<string> =>
  new Set([...valid.values()].flatMap((set) => [...set]));

/** RFC 5280 §6.1.3 d. */
function nextValid(
  valid: Valid,
  policies: ReadonlySet<string>,
  mayBeAny: boolean,
): Valid | undefined {
  const expected = expectedIn(valid);
  const next = new Map<string, ReadonlySet<string>>();
  for (const policy of policies) {
    if (policy === anyPolicy) continue;
    if (expected.has(policy) || valid.has(anyPolicy)) next.set(policy, new Set([policy]));
  }
  if (policies.has(anyPolicy) && mayBeAny) {
    for (const policy of expected) if (!next.has(policy)) next.set(policy, new Set([policy]));
  }
  return next.size === 0 ? undefined : next;
}

/** RFC 5280 §6.1.4 b. */
function mapped(
  valid: Valid,
  mappings: readonly PolicyMapping[],
  isAllowed: boolean,
): Valid | undefined {
  if (mappings.length === 0) return valid;
  const next = new Map(valid);
  const subjects = new Map<string, Set<string>>();
  for (const { issuer, subject } of mappings) {
    const known = subjects.get(issuer);
    if (known === undefined) subjects.set(issuer, new Set([subject]));
    else known.add(subject);
  }
  for (const [issuer, those] of subjects) {
    if (!isAllowed) next.delete(issuer);
    else if (next.has(issuer) || next.has(anyPolicy)) next.set(issuer, those);
  }
  return next.size === 0 ? undefined : next;
}

function lower(left: Left, facts: PolicyFacts): void {
  if (!facts.selfIssued) {
    left.explicit = Math.max(0, left.explicit - 1);
    left.mapping = Math.max(0, left.mapping - 1);
    left.any = Math.max(0, left.any - 1);
  }
  left.explicit = Math.min(left.explicit, facts.requireExplicitPolicy ?? left.explicit);
  left.mapping = Math.min(left.mapping, facts.inhibitPolicyMapping ?? left.mapping);
  left.any = Math.min(left.any, facts.inhibitAnyPolicy ?? left.any);
}

function readPolicies(value: Uint8Array): ReadonlySet<string> {
  const found = new Set<string>();
  const list = openSequence(value);
  do {
    const policy = list.enter(tags.sequence).oid();
    // RFC 5280 §4.2.1.4: a policy must not stand twice.
    if (found.has(policy)) throw new DerError("a policy stands twice");
    found.add(policy);
  } while (!list.finished);
  return found;
}

function readMappings(value: Uint8Array): readonly PolicyMapping[] {
  const found: PolicyMapping[] = [];
  const list = openSequence(value);
  do {
    const pair = list.enter(tags.sequence);
    found.push({ issuer: pair.oid(), subject: pair.oid() });
    pair.finish();
  } while (!list.finished);
  return found;
}

function readConstraints(value: Uint8Array) {
  const sequence = openSequence(value);
  const requireExplicitPolicy = optionalCount(sequence, 0);
  const inhibitPolicyMapping = optionalCount(sequence, 1);
  sequence.finish();
  return { requireExplicitPolicy, inhibitPolicyMapping };
}

function optionalCount(sequence: Cursor, tag: number): number | undefined {
  if (sequence.finished || sequence.tag !== contextual(tag)) return undefined;
  return countOf(sequence.content(contextual(tag)));
}

function readCount(value: Uint8Array): number {
  if (value[0] !== tags.integer || value[1] !== value.length - 2) {
    throw new DerError("a count is no INTEGER");
  }
  return countOf(value.subarray(2));
}

/**
 * Content of an INTEGER that is not negative; a count beyond any path is as good as the longest.
 */
function countOf(content: Uint8Array): number {
  const [first, second = 0] = content;
  const isPadded = content.length > 1 && first === 0 && second < 0x80;
  if (first === undefined || first >= 0x80 || isPadded || content.length > octetsMax) {
    throw new DerError("a count is negative, padded or too large");
  }
  return content.reduce((count, octet) => count * 256 + octet, 0);
}

const noneValid = "demands a policy and none is valid";
const octetsMax = 6;
