/** Judges a path from a certificate to its anchor, check by check (RFC 5280 §6.1). */

import { DerError } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { type Instant, timestamp } from "#core/time.ts";
import { extensionOf, type ParsedCertificate } from "#core/x509/certificate.ts";
import {
  isForServers,
  parseBasicConstraints,
  parseExtendedKeyUsage,
  parseKeyUsage,
} from "#core/x509/extensions.ts";
import { parseGeneralNames } from "#core/x509/general-names.ts";
import { type NameConstraints, parseNameConstraints } from "#core/x509/name-constraints.ts";
import { nameText } from "#core/x509/names.ts";
import { isSelfIssued, isValidAt } from "#core/x509/path.ts";
import { policyFactsOf, policyFault } from "#core/x509/path-policies.ts";

import { weaknessOf } from "./key-quality.ts";
import { pathViolations } from "./name-constraints.ts";

/** What can be known of a revocation; `skipped` where nobody wanted to. */
export const revocationStates = ["good", "revoked", "held", "unknown", "skipped"] as const;

/** Who may know it. */
export const revocationSources = ["store", "none"] as const;

/** What is known of a certificate's revocation, and who says it. */
export interface RevocationState {
  readonly state: (typeof revocationStates)[number];
  readonly revokedAt?: Instant;
  readonly reason?: string;
  /** `store`: this instance issued it; `none`: nobody here can say. */
  readonly source: (typeof revocationSources)[number];
}

export interface JudgedPath {
  /** From the certificate to the anchor. */
  readonly path: readonly ParsedCertificate[];
  /** One for each certificate of the path but the anchor. */
  readonly revocation: readonly RevocationState[];
  readonly now: Instant;
}

/** What comes of a check. */
export const checkStatuses = ["pass", "fail", "warn", "skipped"] as const;

export interface Check {
  readonly name: CheckName;
  readonly status: (typeof checkStatuses)[number];
  readonly detail?: string;
}

/** What is said of a path, by name. */
export const checkNames = [
  "chain",
  "validity",
  "revocation",
  "name_constraints",
  "certificate_policy",
  "key_usage",
  "weak_key",
  "weak_signature",
] as const;
export type CheckName = (typeof checkNames)[number];

/** Every check of a path that was built; one that cannot decide fails. */
export function judgePath(judged: JudgedPath): readonly Check[] {
  return checks.map(([name, check]) => ({ name, ...decided(() => check(judged)) }));
}

/** True when no check fails but revocation, of which the path alone says nothing. */
export const isFaultless = (path: readonly ParsedCertificate[], now: Instant): boolean =>
  checks.every(([, check]) => {
    return decided(() => check({ path, revocation: [], now })).status !== "fail";
  });

/**
 * The same for who is not asked whether keys are any good: the path of a client, whom TLS has heard
 * use its key.
 */
export const isSoundPath = (path: readonly ParsedCertificate[], now: Instant): boolean =>
  checks.every(([name, check]) => {
    if (name === "weak_key") return true;
    return decided(() => check({ path, revocation: [], now })).status !== "fail";
  });

/** What is said when no path was found: nothing below can be decided. */
export const unbuilt: readonly Check[] = [
  { name: "chain", status: "fail", detail: "no path to the trust anchor" },
];

type Verdict = Omit<Check, "name">;

// biome-ignore format: the table is read by column.
const checks: readonly (readonly [CheckName, (judged: JudgedPath) => Verdict])[] = [
  ["chain",              criticalExtensions],
  ["validity",           validity],
  ["revocation",         revocation],
  ["name_constraints",   nameConstraints],
  ["certificate_policy", policies],
  ["key_usage",          keyUsage],
  ["weak_key",           weakKey],
  ["weak_signature",     weakSignature],
];

function decided(check: () => Verdict): Verdict {
  try {
    return check();
  } catch (error) {
    if (error instanceof DerError) return { status: "fail", detail: error.message };
    throw error;
  }
}

/** RFC 5280 §6.1.5 f: a critical extension nobody here understands refuses the path. */
function criticalExtensions({ path }: JudgedPath): Verdict {
  for (const certificate of path) {
    const unknown = certificate.extensions.find(({ oid, critical }) => critical && !known.has(oid));
    if (unknown) return fails(certificate, `has an unknown critical extension ${unknown.oid}`);
  }
  return passed;
}

function validity({ path, now }: JudgedPath): Verdict {
  for (const certificate of path) {
    const { notBefore, notAfter } = certificate;
    if (now < notBefore) return fails(certificate, `is not valid before ${timestamp(notBefore)}`);
    if (!isValidAt(certificate, now))
      return fails(certificate, `expired at ${timestamp(notAfter)}`);
  }
  return passed;
}

function revocation({ path, revocation: states }: JudgedPath): Verdict {
  let skipped = false;
  let unknown: Verdict | undefined;
  for (const [at, { state, source }] of states.entries()) {
    const certificate = path[at];
    if (certificate === undefined) continue;
    if (state === "revoked" || state === "held") return fails(certificate, `is ${state}`);
    if (state === "unknown" && source === "store") {
      return fails(certificate, "was never issued by the CA that it names");
    }
    if (state === "unknown") {
      unknown ??= { ...fails(certificate, "has a status nobody here knows"), status: "warn" };
    }
    skipped ||= state === "skipped";
  }
  if (skipped) return { status: "skipped" };
  return unknown ?? passed;
}

/**
 * RFC 5280 §6.1.4 g, §6.1.3 b: each certificate against every one above it; self-issued ones only
 * when they are the last.
 */
function nameConstraints({ path }: JudgedPath): Verdict {
  for (const [at, certificate] of path.slice(0, -1).entries()) {
    if (at > 0 && isSelfIssued(certificate)) continue;
    const found = extensionOf(certificate, oids.subjectAltName);
    const { names, unsupported } = found ? parseGeneralNames(found.value) : none;
    const above = path.slice(at + 1).flatMap(constraintsOf);
    if (above.length > 0 && unsupported.length > 0) {
      return fails(certificate, "has names whose constraints cannot be decided");
    }
    const forServers = at === 0 && isForServers(purposesOf(certificate));
    const { subject } = certificate;
    const [violation] = pathViolations({ subject, sans: names, forServers }, above);
    if (violation) return fails(certificate, `has the name ${violation.name}: ${violation.why}`);
  }
  return passed;
}

/** RFC 5280 §6.1.3 d to f, §6.1.4 a to j, §6.1.5 a, b and g, from below the anchor down. */
function policies({ path }: JudgedPath): Verdict {
  const below = path.slice(0, -1).toReversed();
  const fault = policyFault(below.map(policyFactsOf));
  const certificate = fault && below[fault.at];
  return certificate === undefined ? passed : fails(certificate, fault?.reason ?? "");
}

/** RFC 5280 §6.1.4 k to n. */
function keyUsage({ path }: JudgedPath): Verdict {
  let between = 0;
  for (const [at, certificate] of path.entries()) {
    if (at === 0) continue;
    const basic = extensionOf(certificate, oids.basicConstraints);
    const { ca, pathLength } = basic ? parseBasicConstraints(basic.value) : noCa;
    if (!ca) return fails(certificate, "is not a CA");
    const usage = extensionOf(certificate, oids.keyUsage);
    if (usage && !parseKeyUsage(usage.value).includes("keyCertSign")) {
      return fails(certificate, "may not sign certificates");
    }
    if (pathLength !== undefined && between > pathLength) {
      return fails(certificate, `allows ${pathLength} CAs below it`);
    }
    if (!isSelfIssued(certificate)) between++;
  }
  return passed;
}

function weakKey({ path }: JudgedPath): Verdict {
  for (const certificate of path) {
    const weakness = weaknessOf(certificate.spki);
    if (weakness !== undefined) return fails(certificate, `has a weak key: ${weakness}`);
  }
  return passed;
}

/** The anchor is trusted for its key; nobody relies on the signature it has. */
function weakSignature({ path }: JudgedPath): Verdict {
  const weak = path.slice(0, -1).find(({ signatureName }) => signatureName === undefined);
  return weak ? fails(weak, `is signed with ${weak.signatureOid}`) : passed;
}

function purposesOf(certificate: ParsedCertificate): readonly string[] {
  const found = extensionOf(certificate, oids.extKeyUsage);
  return found === undefined ? [] : parseExtendedKeyUsage(found.value);
}

function constraintsOf(certificate: ParsedCertificate): readonly NameConstraints[] {
  const found = extensionOf(certificate, oids.nameConstraints);
  return found === undefined ? [] : [parseNameConstraints(found.value)];
}

const fails = (certificate: ParsedCertificate, what: string): Verdict => ({
  status: "fail",
  detail: `${nameText(certificate.subject) || "the certificate"} ${what}`,
});

const passed = { status: "pass" } as const;
const none = { names: [], unsupported: [] };
const noCa = { ca: false, pathLength: undefined };

const known: ReadonlySet<string> = new Set([
  oids.basicConstraints,
  oids.keyUsage,
  oids.extKeyUsage,
  oids.subjectAltName,
  oids.nameConstraints,
  oids.certificatePolicies,
  oids.policyMappings,
  oids.policyConstraints,
  oids.inhibitAnyPolicy,
  oids.tlsFeature,
  oids.subjectKeyIdentifier,
  oids.authorityKeyIdentifier,
  oids.crlDistributionPoints,
  oids.authorityInfoAccess,
]);
