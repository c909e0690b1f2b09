/**
 * Decides what a requested certificate would say, and every reason against it that names, profile
 * and limits give.
 */

import type { Problem } from "#core/problems.ts";
import { refuse } from "#core/problems.ts";
import { type Instant, secondsPerDay } from "#core/time.ts";
import type { CertificationRequest } from "#core/x509/csr.ts";
import { isForRootsOnly } from "#core/x509/algorithms.ts";
import { type PublicKey, parsePublicKey } from "#core/x509/public-keys.ts";
import { DerError } from "#core/asn1/cursor.ts";

import { leafExtensions, usagesFor } from "./certificate-extensions.ts";
import { algorithmObjection, alternativeRequest, type SecondKeyRequest } from "./key-algorithms.ts";
import { namesOf, type RequestedNames } from "./names.ts";
import type { IssuanceSections, Issuer, Objection, Plan } from "./plan.ts";
import type { Profile } from "./profile.ts";
import { tlsDaysMax } from "./tls-schedule.ts";
import { placeValidity } from "./validity.ts";

/**
 * How a certificate is asked for. Protocols have a validity above a limit shortened; all others are
 * refused (PRO-2). `approved`: interactive, and other people have agreed or will be asked.
 */
export type Caller = "interactive" | "approved" | "protocol";

/** What a caller asks for; the CSR is parsed and its signature verified. */
export interface LeafRequest {
  readonly csr: Pick<
    CertificationRequest,
    "subject" | "sans" | "unsupportedNames" | "mustStaple" | "spki"
  > &
    SecondKeyRequest;
  readonly validitySeconds: number | undefined;
  /** Undefined: as the profile says. */
  readonly mustStaple: boolean | undefined;
  /**
   * Protocols have a validity above the limits shortened; people, JSON and the CLI are refused
   * (PRO-2).
   */
  readonly caller: Caller;
}

export type Admission =
  | { readonly readable: false; readonly refusal: Problem }
  /** The plan is complete also where it is objected to, so that all gates can report together. */
  | { readonly readable: true; readonly plan: Plan; readonly objections: readonly Objection[] };

/** Plans a leaf. */
export function admit(
  request: LeafRequest,
  profile: Profile,
  issuer: Issuer,
  config: IssuanceSections,
  now: Instant,
): Admission {
  const names = namesOf(request.csr);
  if ("refusal" in names) return { readable: false, refusal: names.refusal };
  const publicKey = publicKeyOf(request.csr.spki);
  if (publicKey === undefined) {
    return { readable: false, refusal: refuse("bad_csr", { reason: "public_key" }) };
  }
  const alternative = alternativeRequest(request.csr, profile);
  if ("refusal" in alternative) return { readable: false, refusal: alternative.refusal };
  const keyUsages = usagesFor(profile.keyUsages, publicKey.family);
  const staple = stapleRequest(request, profile);
  const validity = leafValidity(request, profile, issuer, config, now);
  const emptySubject = names.subject.attributes.length === 0;
  const extensions = leafExtensions({
    profile,
    keyUsages,
    spki: publicKey.spki,
    skiMethod: config.issuance.ski_method,
    repeated: issuer.repeated,
    sans: names.sans,
    emptySubject,
    mustStaple: staple.wanted,
    alternativeSpki: alternative.key?.spki,
  });
  const objections = [
    nameObjection(names, profile, config),
    usageObjection(profile, keyUsages.length, publicKey),
    algorithmObjection(profile, publicKey, alternative.key, issuer),
    staple.objection,
    validity.objection,
    approvalObjection(request, profile),
  ].filter((objection) => objection !== undefined);
  const plan: Plan = {
    kind: "leaf",
    profile: profile.name,
    subject: names.subject,
    sans: names.sans,
    publicKey,
    notBefore: validity.notBefore,
    notAfter: validity.notAfter,
    clamped: validity.clamped,
    keyUsages,
    extKeyUsages: profile.extKeyUsages,
    mustStaple: staple.wanted,
    extensions,
    alternativeKey: alternative.key,
  };
  return { readable: true, plan, objections };
}

function publicKeyOf(spki: Uint8Array): PublicKey | undefined {
  try {
    return parsePublicKey(spki);
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

function leafValidity(
  request: LeafRequest,
  profile: Profile,
  issuer: Issuer,
  config: IssuanceSections,
  now: Instant,
) {
  const { defaultValiditySeconds, maxValiditySeconds } = profile;
  const wanted = defaultValiditySeconds || maxValiditySeconds || fallbackSeconds;
  return placeValidity(
    {
      requestedSeconds: request.validitySeconds,
      defaultSeconds: profile.lint.public ? Math.min(wanted, publicSeconds(now)) : wanted,
      profileMaxSeconds: maxValiditySeconds,
      policyMaxSeconds: config.policy.max_cert_validity_days * secondsPerDay,
      issuer,
      backdateSeconds: config.issuance.backdate_seconds,
      shorten: request.caller === "protocol",
    },
    now,
  );
}

/**
 * One day below what the public web allows, so that neither clock nor rounding decides (LINT-3).
 */
const publicSeconds = (now: Instant): number => (tlsDaysMax(now) - 1) * secondsPerDay;

/**
 * The request's own word counts where the profile lets it; a CSR's TLS feature alone is never
 * refused (PRO-4).
 */
function stapleRequest(
  request: LeafRequest,
  profile: Profile,
): { readonly wanted: boolean; readonly objection: Objection | undefined } {
  const { mustStaple, allowMustStapleOverride } = profile;
  if (allowMustStapleOverride) {
    const wanted = request.mustStaple ?? (mustStaple || request.csr.mustStaple);
    return { wanted, objection: undefined };
  }
  const contradicts = request.mustStaple !== undefined && request.mustStaple !== mustStaple;
  return {
    wanted: mustStaple,
    objection: contradicts
      ? { gate: "must_staple", reason: "the profile does not let requests decide" }
      : undefined,
  };
}

function nameObjection(
  names: RequestedNames,
  profile: Profile,
  config: IssuanceSections,
): Objection | undefined {
  if (names.sans.length > config.issuance.max_names) {
    return { gate: "names", reason: `more than ${config.issuance.max_names} names` };
  }
  if (profile.names.requireSan && names.sans.length === 0) {
    return { gate: "names", reason: "the profile wants a subject alternative name" };
  }
  if (profile.names.requireEmail && !names.sans.some(({ kind }) => kind === "email")) {
    return { gate: "names", reason: "the profile wants an e-mail address" };
  }
  return undefined;
}

function usageObjection(profile: Profile, usable: number, key: PublicKey): Objection | undefined {
  const forRoots = key.keyType !== undefined && isForRootsOnly(key.keyType);
  if (!forRoots && (usable > 0 || profile.keyUsages.length === 0)) return undefined;
  return {
    gate: "certificate_policy",
    reason: forRoots
      ? "SLH-DSA keys are for roots only"
      : "the key can serve none of the profile's usages",
    code: "key_usage_unsuitable",
    facts: { key_type: key.keyType ?? key.family },
  };
}

/**
 * What nobody can approve, because approvals do not guard it, is not issued; protocols are never
 * asked (APR-1).
 */
function approvalObjection(request: LeafRequest, profile: Profile): Objection | undefined {
  if (!profile.requireApproval || request.caller !== "interactive") return undefined;
  return { gate: "approval", reason: "the profile wants an approval, and none can be given here" };
}

/** A configured profile may name neither default nor maximum; only the caps bind it then. */
const fallbackSeconds = 365 * secondsPerDay;
