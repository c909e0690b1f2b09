/**
 * Lint rules of the public web: what the CA/Browser Forum's Baseline Requirements want of a server
 * certificate.
 */

import { openSequence } from "#core/asn1/cursor.ts";
import { oids } from "#core/asn1/oids.ts";
import { tags } from "#core/asn1/tags.ts";
import { secondsPerDay } from "#core/time.ts";
import { attributeTypes } from "#core/x509/attribute-types.ts";
import { extendedKeyUsages } from "#core/x509/extensions.ts";

import { tlsDaysMax } from "#core/policy/tls-schedule.ts";
import type { Linted } from "./linted.ts";
import { internalNameFault, isPublicSuffix, isReservedAddress } from "./public-names.ts";
import type { LintRule } from "./rule.ts";

// biome-ignore format: the table is read by column.
export const publicRules: readonly LintRule[] = [
  { id: "validity_tls_max",   severity: "error", fixed: false, scope: "public", clause: "BR 6.3.2",                    check: tlsMax },
  { id: "san_present",        severity: "error", fixed: false, scope: "public", clause: "BR 7.1.2.7.12",               check: sanPresent },
  { id: "cn_in_san",          severity: "error", fixed: false, scope: "public", clause: "BR 7.1.4.3",                  check: commonNameInSan },
  { id: "internal_name",      severity: "error", fixed: false, scope: "public", clause: "BR 7.1.2.7.12",               check: internalName },
  { id: "reserved_ip",        severity: "error", fixed: false, scope: "public", clause: "BR 7.1.2.7.12",               check: reservedIp },
  { id: "wildcard",           severity: "error", fixed: false, scope: "public", clause: "BR 7.1.2.7.12, 3.2.2.6",      check: wildcard },
  { id: "public_subject",     severity: "error", fixed: false, scope: "public", clause: "BR 7.1.2.7.2, 7.1.2.7.4",     check: subjectAttributes },
  { id: "public_policy_oid",  severity: "error", fixed: false, scope: "public", clause: "BR 7.1.2.7.9",                check: policyOid },
  { id: "public_pointers",    severity: "error", fixed: false, scope: "public", clause: "BR 7.1.2.7.7, 7.1.2.11.2",    check: pointers },
  { id: "public_eku",         severity: "error", fixed: false, scope: "public", clause: "BR 7.1.2.7.10",               check: purposes },
  { id: "rsa_size_multiple",  severity: "error", fixed: false, scope: "public", clause: "BR 6.1.5",                    check: rsaSize },
];

function tlsMax({ certificate }: Linted) {
  const { notBefore, notAfter } = certificate;
  const days = tlsDaysMax(notBefore);
  const span = (notAfter - notBefore) / 1000 + 1;
  if (span > days * secondsPerDay) return `longer than ${days} days`;
  // Clocks and rounding must not decide whether a browser accepts it.
  return span > (days - 1) * secondsPerDay
    ? { warning: `within the last of ${days} days` }
    : undefined;
}

function sanPresent({ names }: Linted) {
  return names.some(({ kind }) => kind === "dns" || kind === "ip")
    ? undefined
    : "there is no DNS name or address";
}

function commonNameInSan({ subject, names }: Linted) {
  const listed = new Set(
    names.filter(({ kind }) => kind === "dns" || kind === "ip").map(({ value }) => value),
  );
  const stray = subject.find(
    ({ oid, text }) => oid === attributeTypes.CN[0] && !listed.has(text.toLowerCase()),
  );
  return stray === undefined ? undefined : "the common name is none of the names";
}

function internalName({ names }: Linted) {
  for (const { kind, value } of names) {
    const fault = kind === "dns" ? internalNameFault(value) : undefined;
    // The wildcard rule speaks of what stands directly under a suffix.
    if (fault !== undefined) return `${value}: ${fault}`;
  }
  return undefined;
}

function reservedIp({ names }: Linted) {
  const found = names.find(({ kind, value }) => kind === "ip" && isReservedAddress(value));
  return found === undefined ? undefined : `${found.value}: a reserved address`;
}

function wildcard({ names }: Linted) {
  for (const { kind, value } of names) {
    if (kind !== "dns" || !value.includes("*")) continue;
    if (!/^\*\.[^*]+$/.test(value)) return `${value}: the asterisk is not alone as leftmost label`;
    if (isPublicSuffix(value.slice(2))) return `${value}: directly under a public suffix`;
  }
  return undefined;
}

function subjectAttributes({ subject, policies }: Linted) {
  const type = policies.map(({ oid }) => allowedAttributes.get(oid)).find((row) => row);
  for (const { oid } of subject) {
    if (oid === attributeTypes.OU[0]) return "the subject has an organizational unit";
    if (type !== undefined && !type.has(oid)) return `the policy does not allow attribute ${oid}`;
  }
  return undefined;
}

function policyOid({ policies }: Linted) {
  if (policies.some(({ oid }) => oid === anyPolicy)) return "anyPolicy is present";
  const reserved = policies.filter(({ oid }) => allowedAttributes.has(oid));
  return reserved.length === 1
    ? undefined
    : "there is not exactly one of the four reserved policies";
}

function pointers({ certificate, extension }: Linted) {
  const access = extension(oids.authorityInfoAccess);
  const methods = access === undefined ? [] : accessMethods(access.value);
  const { notBefore, notAfter } = certificate;
  const isShort = (notAfter - notBefore) / 1000 + 1 <= 7 * secondsPerDay;
  const hasPointer =
    extension(oids.crlDistributionPoints) !== undefined || methods.includes(oids.accessOcsp);
  if (!isShort && !hasPointer) return "there is neither a CRL nor an OCSP pointer";
  return methods.includes(oids.accessCaIssuers)
    ? undefined
    : { warning: "there is no pointer to the CA's certificate" };
}

function accessMethods(value: Uint8Array): readonly string[] {
  const methods: string[] = [];
  const list = openSequence(value);
  while (!list.finished) methods.push(list.enter(tags.sequence).oid());
  return methods;
}

function purposes({ extKeyUsages = [] }: Linted) {
  if (!extKeyUsages.includes(oids.serverAuth)) return "the purpose serverAuth is missing";
  const forbidden = extKeyUsages.find((purpose) => forbiddenPurposes.has(purpose));
  if (forbidden !== undefined) return `purpose ${forbidden} beside serverAuth`;
  return extKeyUsages.includes(oids.clientAuth)
    ? { warning: "the purpose clientAuth beside serverAuth" }
    : undefined;
}

function rsaSize({ publicKey }: Linted) {
  return publicKey.family === "rsa" && publicKey.bits % 8 !== 0
    ? `the RSA modulus has ${publicKey.bits} bits, which 8 does not divide`
    : undefined;
}

const anyPolicy = "2.5.29.32.0";
const forbiddenPurposes: ReadonlySet<string> = new Set([
  extendedKeyUsages.codeSigning,
  extendedKeyUsages.emailProtection,
  extendedKeyUsages.timeStamping,
  extendedKeyUsages.OCSPSigning,
]);

const attributes = (...words: readonly (keyof typeof attributeTypes)[]): ReadonlySet<string> =>
  new Set(words.map((word) => attributeTypes[word][0]));

/**
 * What the subject may have, by reserved policy: domain, organization, individual and extended
 * validated.
 */
const allowedAttributes: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["2.23.140.1.2.1", attributes("C", "CN")],
  ["2.23.140.1.2.2", attributes("C", "ST", "L", "postalCode", "street", "O", "CN", "DC")],
  [
    "2.23.140.1.2.3",
    attributes("C", "ST", "L", "postalCode", "street", "O", "CN", "DC", "givenName", "surname"),
  ],
  [
    "2.23.140.1.1",
    attributes(
      "C",
      "ST",
      "L",
      "postalCode",
      "street",
      "O",
      "CN",
      "serialNumber",
      "businessCategory",
      "organizationIdentifier",
      "jurisdictionC",
      "jurisdictionST",
      "jurisdictionL",
    ),
  ],
]);
