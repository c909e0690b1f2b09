/**
 * The extensions that steer certificate policies along a path (RFC 5280 §4.2.1.5, §4.2.1.11,
 * §4.2.1.14).
 */

import { implicit, integer, oid, sequence } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { assert } from "#core/problems.ts";

import type { Extension } from "./extensions.ts";

/** One policy of the issuer's domain that counts as one of the subject's; dotted OIDs. */
export interface PolicyMapping {
  readonly issuer: string;
  readonly subject: string;
}

/** At least one pair; anyPolicy is neither mapped nor mapped to. */
export function policyMappings(pairs: readonly PolicyMapping[]): Extension {
  assert(pairs.length > 0, "a policy mappings extension maps something");
  const any = pairs.some(({ issuer, subject }) => issuer === anyPolicy || subject === anyPolicy);
  assert(!any, "anyPolicy is not mapped");
  const value = sequence(
    ...pairs.map(({ issuer, subject }) => sequence(oid(issuer), oid(subject))),
  );
  return { oid: oids.policyMappings, critical: false, value };
}

/**
 * At least one of the two: how many certificates below this one are still free of the constraint.
 */
export function policyConstraints(skip: {
  readonly requireExplicitPolicy?: number | undefined;
  readonly inhibitPolicyMapping?: number | undefined;
}): Extension {
  const parts = [skip.requireExplicitPolicy, skip.inhibitPolicyMapping].flatMap((count, tag) =>
    count === undefined ? [] : [implicit(tag, countOctets(count))],
  );
  assert(parts.length > 0, "a policy constraints extension constrains something");
  return { oid: oids.policyConstraints, critical: true, value: sequence(...parts) };
}

/**
 * What a path of certificates must be told about policies, copied as it is from one certificate of
 * a key to the next. inhibitAnyPolicy comes only with the certificate of a CA elsewhere that is
 * cross-signed: nothing here asks for it.
 */
export const policyExtensionOids: readonly string[] = [
  oids.certificatePolicies,
  oids.policyMappings,
  oids.policyConstraints,
  oids.inhibitAnyPolicy,
];

export const anyPolicy = "2.5.29.32.0";

const countOctets = (count: number): Uint8Array => integer(count).subarray(2);
