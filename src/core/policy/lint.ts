/** Lint: holds a to-be-signed certificate against every rule and says what it finds. */

import { DerError } from "#core/asn1/cursor.ts";
import { compareOctets } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import type { SignatureName } from "#core/x509/algorithms.ts";
import { assembleSigned, parseCertificate } from "#core/x509/certificate.ts";
import {
  extendedKeyUsages,
  isForServers,
  parseAuthorityKeyIdentifier,
  parseBasicConstraints,
} from "#core/x509/extensions.ts";

import type { Profile } from "./profile.ts";
import { fieldRules } from "#core/policy/lint/fields.ts";
import { formRules } from "#core/policy/lint/forms.ts";
import { type LintContext, type Linted, layOpen } from "#core/policy/lint/linted.ts";
import { mailRules } from "#core/policy/lint/mail.ts";
import { nameRules } from "#core/policy/lint/names.ts";
import { publicRules } from "#core/policy/lint/public.ts";
import type { LintRule, Verdict } from "#core/policy/lint/rule.ts";
import { usageRules } from "#core/policy/lint/usages.ts";

/** One thing a gate found; `error` refuses, `warn` is only reported. */
export interface Finding {
  readonly code: string;
  readonly mode: "error" | "warn";
  readonly clause: string;
  readonly description: string;
}

/** THE RULES. */
export const lintRules: readonly LintRule[] = [
  ...fieldRules,
  ...formRules,
  ...usageRules,
  ...nameRules,
  ...mailRules,
  ...publicRules,
];

/** Lints octets that are still to be signed, completed with a dummy signature (LINT-1). */
export function lintUnsigned(
  tbs: Uint8Array,
  signature: SignatureName,
  context: LintContext,
  settings: Profile["lint"],
): readonly Finding[] {
  return lintCertificate(assembleSigned(tbs, signature, dummySignature), context, settings);
}

/** Lints a certificate; one that is not strict DER has this one finding. */
export function lintCertificate(
  der: Uint8Array,
  context: LintContext,
  settings: Profile["lint"],
): readonly Finding[] {
  let certificate: Linted;
  try {
    certificate = layOpen(der, context);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return [{ code: "extension_der", mode: "error", clause: "X.690", description: error.message }];
  }
  const findings: Finding[] = [];
  const scopes = scopesOf(certificate);
  for (const rule of lintRules) {
    const mode = scopes[rule.scope] ? modeOf(rule, settings, context.public) : "off";
    const verdict = mode === "off" ? undefined : verdictOf(rule, certificate);
    if (mode === "off" || verdict === undefined) continue;
    const { id: code, clause } = rule;
    if (typeof verdict === "string") findings.push({ code, mode, clause, description: verdict });
    else findings.push({ code, mode: "warn", clause, description: verdict.warning });
  }
  return findings;
}

/**
 * Lints a certificate somebody made, with what it says of its issuer as all that is known of it:
 * rules that compare the two have nothing to find. Throws DerError for what is no certificate.
 */
export function lintForeign(
  der: Uint8Array,
  settings: Profile["lint"],
  maxValiditySeconds: number,
): readonly Finding[] {
  const certificate = parseCertificate(der);
  const { issuer, signatureName, notBefore, notAfter, extensions } = certificate;
  const value = (oid: string) => extensions.find((extension) => extension.oid === oid)?.value;
  const [constraints, identifier] = [
    value(oids.basicConstraints),
    value(oids.authorityKeyIdentifier),
  ];
  const isCa = constraints !== undefined && saysCa(constraints);
  const isRoot = isCa && compareOctets(issuer.der, certificate.subject.der) === 0;
  const context: LintContext = {
    kind: isRoot ? "root" : isCa ? "intermediate" : "leaf",
    issuer: {
      subject: issuer.der,
      keyId: identifier === undefined ? noKey : keyOf(identifier),
      signature: signatureName ?? "ecdsa-sha256",
      alternative: undefined,
      notBefore,
      notAfter,
    },
    maxValiditySeconds,
    public: settings.public,
    now: notBefore,
    made: undefined,
    requireMustStaple: settings.requireMustStaple,
  };
  const findings = lintCertificate(der, context, settings);
  // An algorithm without a name is `signature_algorithm_weak`, or has wrong parameters; it matches
  // nothing.
  return signatureName === undefined
    ? findings.filter(({ code }) => code !== "signature_algorithm_match")
    : findings;
}

/** A value that cannot be read is another rule's finding. */
function tolerant<T>(read: (value: Uint8Array) => T, otherwise: T): (value: Uint8Array) => T {
  return (value) => {
    try {
      return read(value);
    } catch (error) {
      if (error instanceof DerError) return otherwise;
      throw error;
    }
  };
}

const noKey = new Uint8Array();
const saysCa = tolerant((value) => parseBasicConstraints(value).ca, false);
const keyOf = tolerant((value) => parseAuthorityKeyIdentifier(value) ?? noKey, noKey);

/** Which rules concern the certificate. */
function scopesOf(certificate: Linted): Readonly<Record<LintRule["scope"], boolean>> {
  const { isCa, extKeyUsages = [] } = certificate;
  return {
    all: true,
    ca: isCa,
    leaf: !isCa,
    public: !isCa && certificate.public,
    mail: !isCa && extKeyUsages.includes(mail),
    server: !isCa && isForServers(extKeyUsages),
  };
}

function verdictOf(rule: LintRule, certificate: Linted): Verdict {
  try {
    return rule.check(certificate);
  } catch (error) {
    if (error instanceof DerError) return error.message;
    throw error;
  }
}

/** A fixed rule always refuses; the others follow the override, else the profile's mode. */
function modeOf(
  rule: LintRule,
  settings: Profile["lint"],
  inPublic: boolean,
): "error" | "warn" | "off" {
  if (rule.fixed) return "error";
  if (settings.disabled) return "off";
  const severity = inPublic ? (rule.inPublic ?? rule.severity) : rule.severity;
  const override = settings.overrides[rule.id];
  if (override !== undefined) return override === "enforce" ? "error" : "warn";
  return settings.mode === "warn" ? "warn" : severity;
}

/** Lint as a CA or responder certificate meets it: nothing relaxed. */
export const strictLint: Profile["lint"] = {
  disabled: false,
  mode: "enforce",
  public: false,
  requireMustStaple: false,
  overrides: {},
};

const mail = extendedKeyUsages.emailProtection;
const dummySignature = new Uint8Array(64).fill(0x5a);

/** Names of all rules, for checking configured overrides. */
export const isLintRule = (id: string): boolean => lintRules.some((rule) => rule.id === id);

/** Rules no profile may relax. */
export const isFixedLintRule = (id: string): boolean =>
  lintRules.some((rule) => rule.id === id && rule.fixed);
