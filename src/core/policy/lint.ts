/** Lint: holds a to-be-signed certificate against every rule and says what it finds. */

import { DerError } from "#core/asn1/cursor.ts";
import type { SignatureName } from "#core/x509/algorithms.ts";
import { assembleSigned } from "#core/x509/certificate.ts";

import type { Profile } from "./profile.ts";
import { fieldRules } from "#core/policy/lint/fields.ts";
import { type LintContext, type Linted, layOpen } from "#core/policy/lint/linted.ts";
import { nameRules } from "#core/policy/lint/names.ts";
import type { LintRule } from "#core/policy/lint/rule.ts";
import { usageRules } from "#core/policy/lint/usages.ts";

/** One thing a gate found; `error` refuses, `warn` is only reported. */
export interface Finding {
  readonly code: string;
  readonly mode: "error" | "warn";
  readonly clause: string;
  readonly description: string;
}

/** THE RULES. */
export const lintRules: readonly LintRule[] = [...fieldRules, ...usageRules, ...nameRules];

/** Lints octets that are still to be signed, completed with a dummy signature (behaviour.md §6.1). */
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
  for (const rule of lintRules) {
    if (rule.scope !== "all" && (rule.scope === "ca") !== certificate.isCa) continue;
    const mode = modeOf(rule, settings, context.public);
    const description = mode === "off" ? undefined : rule.check(certificate);
    if (mode === "off" || description === undefined) continue;
    findings.push({ code: rule.id, mode, clause: rule.clause, description });
  }
  return findings;
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
  ...{ disabled: false, mode: "enforce", public: false, overrides: {} },
};

const dummySignature = new Uint8Array(64).fill(0x5a);

/** Names of all rules, for checking configured overrides. */
export const isLintRule = (id: string): boolean => lintRules.some((rule) => rule.id === id);

/** Rules no profile may relax. */
export const isFixedLintRule = (id: string): boolean =>
  lintRules.some((rule) => rule.id === id && rule.fixed);
