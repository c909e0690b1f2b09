/** What a preview is asked with, and how it is shown (PRO-3). */

import { oids } from "#core/asn1/oids.ts";
import { gateStatuses } from "#core/policy/gates.ts";
import { daysRoundedUp, defaultProfile } from "#core/policy/profiles.ts";
import { refuse } from "#core/problems.ts";
import {
  flag,
  type Input,
  integer,
  list,
  many,
  oneOf,
  optional,
  otherwise,
  type Output,
  shape,
  text,
  type ValueOf,
  words,
} from "#core/shape.ts";
import { timestamp } from "#core/time.ts";
import { canonicalDnsName, ipText, parseIpAddress } from "#core/x509/addresses.ts";
import {
  keyUsages,
  parseAuthorityKeyIdentifier,
  parseSubjectKeyIdentifier,
} from "#core/x509/extensions.ts";
import { type GeneralName, generalNameText } from "#core/x509/general-names.ts";
import { encodeName, nameText } from "#core/x509/names.ts";
import { type Preview, type PreviewRequest, previewedGates } from "#domain/certificates/preview.ts";
import { quotaNames } from "#domain/tenants/quotas.ts";
import { findingShape } from "./lint.ts";
import { count, fingerprintText, time } from "./shapes.ts";

const names = () => optional(list(text({ min: 1, max: 2048 }), 0, 1000));

/** Either a request or names, never both. */
export const previewFields = {
  csr: optional(text({ min: 1, max: 131_072 })),
  common_name: optional(text({ min: 1, max: 64 })),
  dns_names: names(),
  ip_addresses: names(),
  email_addresses: names(),
  uris: names(),
  profile: otherwise(text({ min: 1, max: 100 }), defaultProfile),
  validity_days: optional(integer(1, 36_500)),
  must_staple: optional(flag()),
};

/**
 * The request a body stands for. Refuses `conflicting_fields`, `missing_field`, and `invalid_field`
 * for names that are none.
 */
export function previewRequest(body: Input<typeof previewFields>): PreviewRequest {
  const { csr, profile, validity_days: validityDays, must_staple: mustStaple } = body;
  const named = nameFields.filter((name) => body[name] !== undefined);
  if (csr !== undefined && named.length > 0) {
    throw refuse("conflicting_fields", { fields: ["csr", ...named] });
  }
  if (csr === undefined && named.length === 0) throw refuse("missing_field", { field: "csr" });
  return { asked: csr === undefined ? namesIn(body) : { csr }, profile, validityDays, mustStaple };
}

const keyIdShapes = {
  subject_key_id: optional(fingerprintText),
  authority_key_id: optional(fingerprintText),
};

/** Preview. */
export const previewShape = shape({
  ca_id: words(),
  ca_label: words(),
  profile: words(),
  decision: oneOf(["accept", "park", "reject"]),
  would_issue: flag(),
  would_park: flag(),
  requires_approval: flag(),
  subject: words(),
  sans: many(words()),
  key_usages: many(oneOf(keyUsages)),
  ext_key_usages: many(words()),
  not_before: time,
  not_after: time,
  validity_days: count,
  requested_validity_days: optional(count),
  max_validity_days: count,
  ...keyIdShapes,
  subject_key_provided: flag(),
  must_staple: flag(),
  extensions: many(shape({ oid: words(), name: words(), critical: flag() })),
  gates: many(
    shape({
      name: oneOf(previewedGates),
      status: oneOf(gateStatuses),
      reason: optional(words()),
      findings: optional(many(findingShape)),
    }),
  ),
  quotas: many(shape({ quota: oneOf(quotaNames), limit: count, left: count })),
});

/** Preview; `requested` are the days asked for. */
export function previewJson(
  preview: Preview,
  requested: number | undefined,
): ValueOf<typeof previewShape> {
  const { plan, profile, signer, accepted, parks, keyProvided, gates } = preview;
  return {
    ca_id: signer.ca.id,
    ca_label: signer.ca.label,
    profile: profile.name,
    decision: accepted ? (parks ? "park" : "accept") : "reject",
    would_issue: accepted && !parks,
    would_park: parks,
    requires_approval: profile.requireApproval,
    subject: nameText(plan.subject),
    sans: plan.sans.map(generalNameText),
    key_usages: plan.keyUsages,
    ext_key_usages: plan.extKeyUsages,
    not_before: timestamp(plan.notBefore),
    not_after: timestamp(plan.notAfter),
    // Both ends are inclusive, so the span is one second more than their difference.
    validity_days: daysRoundedUp((plan.notAfter - plan.notBefore) / 1000 + 1),
    ...(requested === undefined ? {} : { requested_validity_days: requested }),
    max_validity_days: daysRoundedUp(profile.maxValiditySeconds),
    ...keyIds(preview),
    subject_key_provided: keyProvided,
    must_staple: plan.mustStaple,
    extensions: plan.extensions.map(({ oid, critical }) => ({
      oid,
      name: extensionNames.get(oid) ?? oid,
      critical,
    })),
    gates,
    quotas: preview.room,
  };
}

function keyIds({ plan, keyProvided }: Preview): Output<typeof keyIdShapes> {
  const extensionValue = (oid: string) => plan.extensions.find((one) => one.oid === oid)?.value;
  const subject = keyProvided ? extensionValue(oids.subjectKeyIdentifier) : undefined;
  const authority = extensionValue(oids.authorityKeyIdentifier);
  const issuer = authority && parseAuthorityKeyIdentifier(authority);
  return {
    ...(subject && { subject_key_id: colons(parseSubjectKeyIdentifier(subject)) }),
    ...(issuer && { authority_key_id: colons(issuer) }),
  };
}

function namesIn(body: Input<typeof previewFields>) {
  const { common_name: common, dns_names: dns = [], ip_addresses: ips = [] } = body;
  const { email_addresses: emails = [], uris = [] } = body;
  const sans: GeneralName[] = [
    ...dns.map((value) => ({ kind: "dns" as const, value: canonicalDnsName(value) ?? value })),
    ...ips.map((value) => ({ kind: "ip" as const, value: addressIn(value) })),
    ...emails.map((value) => ({ kind: "email" as const, value })),
    ...uris.map((value) => ({ kind: "uri" as const, value })),
  ];
  for (const { kind, value } of sans) {
    if (!ascii.test(value)) throw refuse("invalid_field", { field: kind, reason: "is not ASCII" });
  }
  const subject = encodeName(common === undefined ? [] : [{ type: "CN", value: common }]);
  return { subject, sans };
}

function addressIn(value: string): string {
  const octets = parseIpAddress(value);
  if (octets !== undefined) return ipText(octets);
  throw refuse("invalid_field", { field: "ip_addresses", reason: "must be addresses" });
}

const colons = (octets: Uint8Array): string => octets.toHex().replace(/..(?=.)/g, "$&:");

const ascii = /^[\x20-\x7e]+$/;
const nameFields = ["common_name", "dns_names", "ip_addresses", "email_addresses", "uris"] as const;

const extensionNames: ReadonlyMap<string, string> = new Map(
  Object.entries(oids).map(([name, oid]): [string, string] => [oid, name]),
);
