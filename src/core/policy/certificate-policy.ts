/**
 * Whether a path to the root allows what a certificate is for and by which policy: the gate
 * `certificate_policy` (EXT-1, RFC 5280 §6.1).
 */

import { oids } from "#core/asn1/oids.ts";
import { extensionOf } from "#core/x509/certificate.ts";
import { extendedKeyUsages, purposeOid } from "#core/x509/extensions.ts";
import {
  policiesForLast,
  type PolicyFacts,
  policyFactsIn,
  policyFault,
} from "#core/x509/path-policies.ts";
import { anyPolicy } from "#core/x509/policy-extensions.ts";

import type { Issuer, Plan } from "./plan.ts";

/**
 * Why relying parties would not accept the certificate under this CA; undefined when they would.
 */
export function policyObjection(plan: Plan, issuer: Issuer): string | undefined {
  if (plan.kind === "root" || plan.kind === "responder") return undefined;
  return purposeObjection(plan, issuer) ?? pathObjection(plan, issuer);
}

/**
 * The policies a responder needs to be accepted under its CA, dotted OIDs: none where a path to it
 * demands none, else those that are valid there, or anyPolicy where every one is. Empty too where
 * none can be: then no certificate of the CA is accepted by whoever processes policies, and it
 * answers for those that others accept.
 */
export function responderPolicies({ policyPath }: Pick<Issuer, "policyPath">): readonly string[] {
  const below = policyPath.concat(bare);
  if (policyFault(below) === undefined) return [];
  const named = [...policiesForLast(below)].filter((policy) => policy !== anyPolicy);
  if (named.length > 0) return named.slice(0, policiesMax);
  const any = { ...bare, policies: new Set([anyPolicy]) };
  return policyFault(policyPath.concat(any)) === undefined ? [anyPolicy] : [];
}

/**
 * What the public web wants of an intermediate whose leaves it shall trust, and the CA lacks (BR
 * 7.1.2.6, 7.1.2.10).
 */
export function publicCaWarning({ policyPath, purposes }: Issuer): string | undefined {
  const own = policyPath.at(-1);
  if (own === undefined) return undefined;
  if (purposes[0] === undefined) return "the CA is without extended key usages";
  return own.policies === undefined ? "the CA is without certificate policies" : undefined;
}

/**
 * A CA that says what its leaves are for certifies nothing else; most software holds the whole path
 * to it.
 */
function purposeObjection({ kind, extKeyUsages }: Plan, { purposes }: Issuer): string | undefined {
  const wanted = extKeyUsages.map(purposeOid);
  for (const allowed of purposes) {
    if (allowed === undefined || allowed.includes(extendedKeyUsages.anyExtendedKeyUsage)) continue;
    const missing = wanted.find((purpose) => !allowed.includes(purpose));
    if (missing !== undefined) return `the CA may not certify for the purpose ${missing}`;
    // A CA without purposes of its own has those of the CAs above it.
    if (wanted.length === 0 && kind === "leaf") return "the CA may not certify for every purpose";
  }
  return undefined;
}

function pathObjection(plan: Plan, { policyPath }: Issuer): string | undefined {
  const fault = policyFault([...policyPath, policyFactsIn(plan, false)]);
  if (fault === undefined) return undefined;
  if (fault.at < policyPath.length) return `the path of the CA ${fault.reason}`;
  return extensionOf(plan, oids.certificatePolicies) === undefined
    ? "the CA demands a policy, and the certificate has none"
    : "the CA demands a policy, and none of the certificate's is valid under it";
}

/** A certificate that says nothing of policies. */
const bare: PolicyFacts = {
  policies: undefined,
  mappings: [],
  requireExplicitPolicy: undefined,
  inhibitPolicyMapping: undefined,
  inhibitAnyPolicy: undefined,
  selfIssued: false,
};

/** One would do; a certificate of a responder goes along with every answer. */
const policiesMax = 100;
