/**
 * THE GATES: every check between a plan and a signature, one row each; only they make what the
 * signer accepts.
 */

import type { Serial } from "#core/ids.ts";
import { compareOctets } from "#core/asn1/der.ts";
import { assert, Problem, type ProblemCode } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { SignatureName } from "#core/x509/algorithms.ts";
import {
  altSignatureAlgorithm,
  altSignatureValue,
  preTbsCertificate,
} from "#core/x509/alternative.ts";
import { encodeTbsCertificate } from "#core/x509/certificate.ts";
import { crlDistributionPoints, isForServers } from "#core/x509/extensions.ts";

import { policyObjection, publicCaWarning } from "./certificate-policy.ts";
import { crlPointerFor, withCrlPointer } from "./crl-pointer.ts";
import type { DrawnSerial } from "./drawn-serial.ts";
import { checkKey, type KeyFacts, strictKeyChecks } from "./key-quality.ts";
import { type Finding, lintUnsigned, strictLint } from "./lint.ts";
import { type NameViolation, pathViolations, profileViolations } from "./name-constraints.ts";
import type { CrlPointer, Issuer, Objection, Plan } from "./plan.ts";
import type { Profile } from "./profile.ts";

/** A plan with the serial drawn for it, before anybody has cleared it. */
export interface Candidate {
  readonly plan: Plan;
  readonly objections: readonly Objection[];
  readonly issuer: Issuer;
  /** Undefined for CA and responder certificates: nothing is relaxed for them. */
  readonly profile: Profile | undefined;
  readonly keyFacts: KeyFacts;
  /** Of the second key, where the plan has one. */
  readonly alternativeFacts?: KeyFacts | undefined;
  readonly drawn: DrawnSerial;
  readonly now: Instant;
}

/** What comes of a gate. */
export const gateStatuses = ["pass", "fail", "warn", "skipped"] as const;

/** What a gate says. */
export interface GateReport {
  readonly name: GateName;
  /** `skipped`: switched off, or not reached because a gate that needs no network has refused. */
  readonly status: (typeof gateStatuses)[number];
  readonly reason?: string;
  readonly findings?: readonly Finding[];
  /** What the event of the gate says beside its profile and findings; no answer shows it. */
  readonly event?: Readonly<Record<string, string>>;
}

export type GateOutcome = Omit<GateReport, "name">;

declare const cleared: unique symbol;
declare const locallyCleared: unique symbol;

/**
 * Octets that passed every gate: the only thing the signer accepts, and only `conclude` makes one.
 */
export interface ClearedPlan extends Cleared {
  readonly [cleared]: true;
}

/** Octets that passed the gates that need no network; CAA has yet to be asked. */
export interface LocallyCleared extends Cleared {
  readonly [locallyCleared]: true;
}

interface Cleared {
  readonly plan: Plan;
  readonly issuer: Issuer;
  readonly serial: Serial;
  /** The CRL pointer to be recorded with the serial; undefined where the certificate has none. */
  readonly crlPointer: CrlPointer | undefined;
  /** The to-be-signed certificate exactly as it was linted. */
  readonly tbs: Uint8Array;
  readonly gates: readonly GateReport[];
  /**
   * Of a hybrid issuer: what its second key signs before `tbs`, which still lacks that signature,
   * may be signed.
   */
  readonly alternative:
    | { readonly algorithm: SignatureName; readonly preTbs: Uint8Array }
    | undefined;
}

export type Clearance<P extends Cleared = ClearedPlan> =
  | { readonly cleared: true; readonly plan: P }
  | {
      readonly cleared: false;
      readonly refusal: Problem;
      readonly gates: readonly GateReport[];
    };

interface GateRow {
  readonly name: GateName;
  readonly clause: string;
  /** Undefined: needs the network, and is asked when all others pass. */
  readonly run: ((checked: Checked) => GateOutcome) | undefined;
}

interface Checked extends Candidate {
  /** False for a serial that was cleared before. */
  readonly serialDrawn: boolean;
  readonly crlPointer: CrlPointer | undefined;
  readonly tbs: Uint8Array;
}

/** Their names, in the order of the table. */
export const gateNames = [
  "names",
  "certificate_policy",
  "must_staple",
  "lint",
  "caa",
  "name_constraints",
  "keycheck",
  "validity",
  "approval",
] as const;
export type GateName = (typeof gateNames)[number];

// biome-ignore format: the table is read by column.
export const gates: readonly GateRow[] = [
  { name: "names",              clause: "PRO-4, PRO-5",          run: objectionsOf("names") },
  { name: "certificate_policy", clause: "EXT-1, RFC 5280 §6.1",  run: certificatePolicy },
  { name: "must_staple",        clause: "PRO-4",                 run: objectionsOf("must_staple") },
  { name: "lint",               clause: "LINT-1",                run: lint },
  { name: "caa",                clause: "RFC 8659, 8657, 9495",  run: undefined },
  { name: "name_constraints",   clause: "RFC 5280 §4.2.1.10",    run: nameConstraints },
  { name: "keycheck",           clause: "KCK-1",                 run: keyCheck },
  { name: "validity",           clause: "PRO-2",                 run: objectionsOf("validity") },
  { name: "approval",           clause: "APR-1",                 run: objectionsOf("approval") },
];

/** Runs every gate that needs no network; all report together, and one that throws has refused. */
export function clear(candidate: Candidate): Clearance<LocallyCleared> {
  const { issuer, drawn } = candidate;
  const serial = drawn.value;
  const crlPointer = crlPointerFor(candidate.plan, issuer, candidate.profile, serial);
  const plan = withCrlPointer(candidate.plan, crlPointer);
  const tbs = encodeTbs({ plan, issuer, serial }, dummySignature);
  const checked = { ...candidate, plan, crlPointer, tbs, serialDrawn: drawn.spend() };
  const reports = gates.map((gate) => reportBy(gate.name, judgement(gate, checked)));
  if (reports.some(({ status }) => status === "fail")) {
    return { cleared: false, refusal: refusalFor(candidate, reports), gates: reports };
  }
  const { alternative: algorithm } = issuer;
  const alternative = algorithm && { algorithm, preTbs: preTbsCertificate(tbs) };
  // The brand exists only in the types: this is the one place that may claim it.
  return {
    cleared: true,
    plan: {
      plan,
      issuer,
      serial,
      crlPointer,
      tbs,
      alternative,
      gates: reports,
    } as unknown as LocallyCleared,
  };
}

/** Adds what the gate that needs the network says; only now may the plan be signed. */
export function conclude(local: LocallyCleared, caa: GateOutcome): Clearance {
  const reports = local.gates.map((report) =>
    report.name === "caa" ? reportBy(report.name, caa) : report,
  );
  if (caa.status === "fail") {
    return {
      cleared: false,
      refusal: refusalFor({ objections: [] }, reports),
      gates: reports,
    };
  }
  // As above: every gate has said its word.
  return { cleared: true, plan: { ...local, gates: reports } as unknown as ClearedPlan };
}

/** A report as answers show it (GATE-2). */
export const gateJson = ({ event: _, ...report }: GateReport): Omit<GateReport, "event"> => report;

/**
 * The cleared plan of a hybrid issuer with its alternative signature in place: the octets the
 * native key signs (PQ-6).
 */
export function withAlternativeSignature(cleared: ClearedPlan, signature: Uint8Array): ClearedPlan {
  const tbs = encodeTbs(cleared, signature);
  const { alternative } = cleared;
  assert(
    alternative !== undefined && compareOctets(preTbsCertificate(tbs), alternative.preTbs) === 0,
    "the alternative signature covers the certificate it is put into",
  );
  return { ...cleared, tbs, alternative: undefined };
}

/** `value` is the alternative signature, where the issuer makes one. */
function encodeTbs(
  { plan, issuer, serial }: Pick<Cleared, "plan" | "issuer" | "serial">,
  value: Uint8Array,
): Uint8Array {
  const { alternative } = issuer;
  const extensions =
    alternative === undefined
      ? plan.extensions
      : [...plan.extensions, altSignatureAlgorithm(alternative), altSignatureValue(value)];
  return encodeTbsCertificate({
    serial,
    signature: issuer.signature,
    issuer: issuer.subject,
    notBefore: plan.notBefore,
    notAfter: plan.notAfter,
    subject: plan.subject.der,
    spki: plan.publicKey.spki,
    extensions,
  });
}

/** Nearly always there is nothing to say but the status. */
function reportBy(name: GateName, outcome: GateOutcome): GateReport {
  if (outcome === passed) return { name, status: "pass" };
  return { name, ...outcome };
}

function judgement(gate: GateRow, checked: Checked): GateOutcome {
  if (gate.run === undefined) return { status: "skipped" };
  try {
    return gate.run(checked);
  } catch {
    // Whatever kept it from deciding, a gate that cannot decide has refused.
    return { status: "fail", reason: "the gate could not decide" };
  }
}

function objectionsOf(gate: Objection["gate"]): (checked: Checked) => GateOutcome {
  return ({ objections }) => {
    const objection = objections.find((candidate) => candidate.gate === gate);
    return objection === undefined ? passed : { status: "fail", reason: objection.reason };
  };
}

function certificatePolicy(checked: Checked): GateOutcome {
  const { plan, issuer, profile } = checked;
  const outcome = objectionsOf("certificate_policy")(checked);
  if (outcome.status === "fail") return outcome;
  const reason = policyObjection(plan, issuer);
  if (reason !== undefined) return { status: "fail", reason };
  const warning = profile?.lint.public ? publicCaWarning(issuer) : undefined;
  return warning === undefined ? passed : { status: "warn", reason: warning };
}

function lint({ plan, issuer, profile, tbs, now, serialDrawn, crlPointer }: Checked) {
  const settings = profile?.lint ?? strictLint;
  const pointers = crlPointer && crlDistributionPoints([crlPointer.url]).value;
  const made = { serialDrawn, distributionPoints: pointers };
  const context = {
    kind: plan.kind,
    issuer,
    now,
    made,
    public: settings.public,
    maxValiditySeconds: profile?.maxValiditySeconds ?? 0,
    requireMustStaple: settings.requireMustStaple,
  };
  return reportOf(lintUnsigned(tbs, issuer.signature, context, settings));
}

function keyCheck({ plan, profile, keyFacts, alternativeFacts }: Checked) {
  const settings = profile?.keyChecks ?? strictKeyChecks;
  const { publicKey, alternativeKey } = plan;
  const found = checkKey(publicKey, settings, keyFacts);
  if (alternativeKey === undefined) return reportOf(found);
  // A second key nobody looked up cannot be judged, and so refuses.
  if (alternativeFacts === undefined) return { status: "fail" as const };
  return reportOf([...found, ...checkKey(alternativeKey, settings, alternativeFacts)]);
}

function nameConstraints({ plan, issuer, profile }: Checked): GateOutcome {
  const { subject, sans, kind, extKeyUsages } = plan;
  const names = { subject, sans, forServers: kind === "leaf" && isForServers(extKeyUsages) };
  const violations: readonly NameViolation[] = [
    // RFC 5280 §6.1.4: a self-issued root is bound by nobody.
    ...(plan.kind === "root" ? [] : pathViolations(names, issuer.constraints)),
    ...(profile === undefined ? [] : profileViolations(names, profile.names)),
  ];
  if (violations.length === 0) return passed;
  const findings = violations.map(({ name, why }) => ({
    code: "name_not_allowed",
    mode: "error" as const,
    clause: "RFC 5280 4.2.1.10",
    description: `${name}: ${why}`,
  }));
  return { status: "fail", findings };
}

function reportOf(findings: readonly Finding[]): GateOutcome {
  if (findings.length === 0) return passed;
  const refuses = findings.some(({ mode }) => mode === "error");
  return { status: refuses ? "fail" : "warn", findings };
}

/**
 * The code of the only gate that refused when it has one, else `gate_refused` with every gate that
 * refused.
 */
function refusalFor(
  { objections }: Pick<Candidate, "objections">,
  reports: readonly GateReport[],
): Problem {
  const failed = reports.filter(({ status }) => status === "fail");
  const [only] = failed;
  const objection =
    failed.length === 1 ? objections.find(({ gate }) => gate === only?.name) : undefined;
  const code: ProblemCode = objection?.code ?? "gate_refused";
  return new Problem(
    code,
    objection?.code ? (objection.facts ?? {}) : { gates: failed.map(gateJson) },
  );
}

const passed = { status: "pass" } as const;
const dummySignature = new Uint8Array(64).fill(0x5a);
