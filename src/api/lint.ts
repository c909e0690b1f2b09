/** Lint of any certificate in JSON. */

import { DerError } from "#core/asn1/cursor.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { type Finding, lintForeign, strictLint } from "#core/policy/lint.ts";
import type { Profile } from "#core/policy/profile.ts";
import type { ProfileSet } from "#core/policy/profiles.ts";
import { refuse } from "#core/problems.ts";
import {
  flag,
  type Input,
  integer,
  many,
  oneOf,
  optional,
  shape,
  text,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { secondsPerDay, timestamp } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { nameText } from "#core/x509/names.ts";
import { type Definition, operation } from "#domain/access/operation.ts";
import { anyScope } from "#domain/access/targets.ts";
import type { OperationName } from "#operations";
import { count, serialText, time } from "./shapes.ts";

/** Handler for `cert.lint`. */
export function lintHandlers({ profiles }: { readonly profiles: () => ProfileSet }) {
  return {
    "cert.lint": operation({
      summary: "Hold any certificate against the lint rules, as a profile applies them.",
      target: anyScope,
      input: lintFields,
      output: reportShape,
      run: async (call) => report(call.input, profiles()),
    }),
  } satisfies Partial<Record<OperationName, Definition>>;
}

const lintFields = {
  certificate: text({ min: 1, max: 131_072 }),
  profile: optional(text({ min: 1, max: 100 })),
  public: optional(flag()),
  mode: optional(oneOf(["enforce", "warn"])),
  max_validity_days: optional(integer(1, 36_500)),
};

/** What one rule has found. */
export const findingShape = shape({
  code: words(),
  mode: oneOf(["error", "warn"]),
  clause: words(),
  description: words(),
});

const reportShape = shape({
  subject: words(),
  serial: serialText,
  not_after: time,
  mode: oneOf(["enforce", "warn"]),
  public: flag(),
  pass: flag(),
  errors: count,
  warnings: count,
  summary: words(),
  findings: many(findingShape),
});

function report(
  asked: Input<typeof lintFields>,
  profiles: ProfileSet,
): ValueOf<typeof reportShape> {
  const profile = asked.profile === undefined ? undefined : profiles.named(asked.profile);
  const settings = settingsOf(asked, profile);
  const days = asked.max_validity_days;
  const secondsMax = days === undefined ? (profile?.maxValiditySeconds ?? 0) : days * secondsPerDay;
  const der = decodePem(asked.certificate, ["CERTIFICATE"]);
  if (der === undefined) throw refuse("bad_certificate", { reason: "syntax" });
  const { certificate, findings } = linted(der, settings, secondsMax);
  const errors = findings.filter(({ mode }) => mode === "error").length;
  const warnings = findings.length - errors;
  return {
    subject: nameText(certificate.subject),
    serial: certificate.serial,
    not_after: timestamp(certificate.notAfter),
    mode: settings.mode,
    public: settings.public,
    pass: errors === 0,
    errors,
    warnings,
    summary: `${counted(errors, "error")}, ${counted(warnings, "warning")}`,
    findings,
  };
}

/** Those of the profile, else strict ones; what the request names goes before both. */
function settingsOf(
  asked: Input<typeof lintFields>,
  profile: Profile | undefined,
): Profile["lint"] {
  const base = profile?.lint ?? strictLint;
  return { ...base, mode: asked.mode ?? base.mode, public: asked.public ?? base.public };
}

function linted(der: Uint8Array, settings: Profile["lint"], secondsMax: number) {
  try {
    const findings: readonly Finding[] = lintForeign(der, settings, secondsMax);
    return { certificate: parseCertificate(der), findings };
  } catch (error) {
    if (error instanceof DerError) throw refuse("bad_certificate", { reason: "syntax" });
    throw error;
  }
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;
