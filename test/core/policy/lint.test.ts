/** Lint: every rule refuses the certificate it is about, and what pkid makes passes all of them. */

import { expect, test } from "bun:test";

import { oids } from "#core/asn1/oids.ts";
import {
  element,
  explicit,
  generalizedTime,
  implicit,
  integer,
  oid,
  sequence,
  setOf,
  time,
} from "#core/asn1/der.ts";
import { parseSerial, type Serial } from "#core/ids.ts";
import { lintCertificate, lintRules, lintUnsigned, strictLint } from "#core/policy/lint.ts";
import type { LintContext } from "#core/policy/lint/linted.ts";
import { addSeconds, instant } from "#core/time.ts";
import { algorithmIdentifier } from "#core/x509/algorithm-identifiers.ts";
import {
  altSignatureAlgorithm,
  altSignatureValue,
  subjectAltPublicKeyInfo,
} from "#core/x509/alternative.ts";
import {
  assembleSigned,
  encodeTbsCertificate,
  type TbsCertificate,
} from "#core/x509/certificate.ts";
import {
  authorityKeyIdentifier,
  basicConstraints,
  crlDistributionPoints,
  encodeExtensions,
  type Extension,
  extendedKeyUsage,
  keyUsage,
  subjectAltName,
  subjectKeyIdentifier,
} from "#core/x509/extensions.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import { encodeName, type NameAttribute } from "#core/x509/names.ts";
import { newKey, spkiOf } from "#test/support/worlds/issuance.ts";

const now = instant(Date.parse("2026-06-01T12:00:00Z"));
const keyId = new Uint8Array(20).fill(7);
const issuerName = encodeName([{ type: "CN", value: "Issuer" }]).der;
const ecKey = spkiOf(newKey("ecdsa-p256").publicKey);
const leafContext: LintContext = {
  kind: "leaf",
  issuer: {
    subject: issuerName,
    keyId,
    signature: "ecdsa-sha256",
    notBefore: addSeconds(now, -86_400),
    notAfter: addSeconds(now, 365 * 86_400),
  },
  maxValiditySeconds: 90 * 86_400,
  public: false,
  now,
  requireMustStaple: false,
  made: { serialDrawn: true, distributionPoints: undefined },
};
const hybridContext: LintContext = {
  ...leafContext,
  issuer: { ...leafContext.issuer, alternative: "ml-dsa-65" },
};
const secondKey = subjectAltPublicKeyInfo(ecKey);
const secondAlgorithm = altSignatureAlgorithm("ml-dsa-65");
const secondValue = altSignatureValue(new Uint8Array(8));
const caContext: LintContext = { ...leafContext, kind: "intermediate", maxValiditySeconds: 0 };

const name = (...attributes: NameAttribute[]) => encodeName(attributes).der;
const cn = (value: string) => name({ type: "CN", value });
const san = (...names: GeneralName[]) => subjectAltName(names, false);
const dns = (value: string): GeneralName => ({ kind: "dns", value });

const leaf: readonly Extension[] = [
  { oid: oids.basicConstraints, critical: true, value: sequence() },
  keyUsage(["digitalSignature"]),
  extendedKeyUsage(["serverAuth"]),
  subjectKeyIdentifier(keyId),
  authorityKeyIdentifier(keyId),
  san(dns("a.example")),
];
const authority: readonly Extension[] = [
  basicConstraints(true, 0),
  keyUsage(["keyCertSign", "cRLSign"]),
  subjectKeyIdentifier(keyId),
  authorityKeyIdentifier(keyId),
];
const replaced = (list: readonly Extension[], ...by: Extension[]) => [
  ...list.filter(({ oid: id }) => !by.some((extension) => extension.oid === id)),
  ...by,
];
const without = (list: readonly Extension[], id: string) => list.filter((e) => e.oid !== id);

const fields = (given: Partial<TbsCertificate> = {}): TbsCertificate => ({
  serial: parseSerial("12345"),
  signature: "ecdsa-sha256",
  issuer: issuerName,
  notBefore: addSeconds(now, -300),
  notAfter: addSeconds(now, 86_400),
  subject: cn("a.example"),
  spki: ecKey,
  extensions: leaf,
  ...given,
});
const codes = (given: Partial<TbsCertificate>, context = leafContext, settings = strictLint) =>
  lintUnsigned(encodeTbsCertificate(fields(given)), "ecdsa-sha256", context, settings).map(
    ({ code }) => code,
  );
/** A name of one attribute whose value has this string type. */
const typed = (type: string, tag: number, text: string) =>
  sequence(setOf([sequence(oid(type), element(tag, new TextEncoder().encode(text)))]));
const zero = "0" as Serial; // No draw can give it, which is what the rule is about.
const longLabel = "a".repeat(64);

test("a leaf and a CA as pkid makes them pass every rule", () => {
  expect(codes({})).toEqual([]);
  expect(codes({ extensions: authority }, caContext)).toEqual([]);
  const both = [secondAlgorithm, secondValue];
  expect(codes({ extensions: [...leaf, ...both] }, hybridContext)).toEqual([]);
  expect(codes({ extensions: [...leaf, secondKey, ...both] }, hybridContext)).toEqual([]);
});

// biome-ignore format: the table is read by column.
const cases: readonly [rule: string, what: string, given: Partial<TbsCertificate>, context?: LintContext][] = [
  ["serial_positive",            "serial zero",                  { serial: zero }],
  ["alt_signature_set",          "a value without algorithm",    { extensions: [...leaf, secondValue] }],
  ["alt_signature_set",          "an algorithm without value",   { extensions: [...leaf, secondAlgorithm] }],
  ["alt_signature_set",          "a second key alone",           { extensions: [...leaf, secondKey] }],
  ["alt_signature_set",          "the value before the rest",    { extensions: [...leaf, secondValue, secondAlgorithm] }],
  ["alt_signature_set",          "a critical value",             { extensions: [...leaf, secondAlgorithm, { ...secondValue, critical: true }] }],
  ["alt_signature_set",          "none, of a hybrid CA",         {}, hybridContext],
  ["alt_signature_set",          "another algorithm",            { extensions: [...leaf, altSignatureAlgorithm("ml-dsa-44"), secondValue] }, hybridContext],
  ["issuer_bytes",               "another issuer name",          { issuer: cn("issuer") }],
  ["validity_order",             "notBefore at notAfter",        { notAfter: addSeconds(now, -300) }],
  ["validity_order",             "a start in three days",        { notBefore: addSeconds(now, 3 * 86_400), notAfter: addSeconds(now, 4 * 86_400) }],
  ["validity_within_ca",         "a start before the CA's",      { notBefore: addSeconds(now, -86_401) }],
  ["validity_within_ca",         "an end after the CA's",        { notAfter: addSeconds(now, 366 * 86_400) }],
  ["validity_cap",               "91 days",                      { notBefore: now, notAfter: addSeconds(now, 90 * 86_400) }],
  ["leaf_not_ca",                "the CA flag",                  { extensions: replaced(leaf, basicConstraints(true, undefined)) }],
  ["key_usage_leaf",             "keyCertSign",                  { extensions: replaced(leaf, keyUsage(["digitalSignature", "keyCertSign"])) }],
  ["key_usage_leaf",             "cRLSign",                      { extensions: replaced(leaf, keyUsage(["digitalSignature", "cRLSign"])) }],
  ["ca_basic_constraints",       "a CA without the flag",        { extensions: without(authority, oids.basicConstraints) }, caContext],
  ["ca_basic_constraints",       "constraints not critical",     { extensions: replaced(authority, { ...basicConstraints(true, 0), critical: false }) }, caContext],
  ["ca_key_usage",               "a CA without keyCertSign",     { extensions: replaced(authority, keyUsage(["cRLSign"])) }, caContext],
  ["key_usage_key_type",         "keyEncipherment on EC",        { extensions: replaced(leaf, keyUsage(["digitalSignature", "keyEncipherment"])) }],
  ["eku_ku_consistency",         "code signing without DS",      { extensions: replaced(leaf, keyUsage(["nonRepudiation"]), extendedKeyUsage(["codeSigning"])) }],
  ["eku_any",                    "anyExtendedKeyUsage",          { extensions: replaced(leaf, extendedKeyUsage(["anyExtendedKeyUsage"])) }],
  ["key_identifiers",            "no SKI",                       { extensions: without(leaf, oids.subjectKeyIdentifier) }],
  ["key_identifiers",            "no AKI",                       { extensions: without(leaf, oids.authorityKeyIdentifier) }],
  ["key_identifiers",            "a foreign AKI",                { extensions: replaced(leaf, authorityKeyIdentifier(new Uint8Array(20))) }],
  ["url_form",                   "an ldap CDP",                  { extensions: [...leaf, crlDistributionPoints(["ldap://a.example/"])] }],
  ["san_empty_subject_critical", "no subject, plain SAN",        { subject: name() }],
  ["san_empty_subject_critical", "a critical SAN with subject",  { extensions: replaced(leaf, subjectAltName([dns("a.example")], true)) }],
  ["san_dns_syntax",             "a label of 64",                { extensions: replaced(leaf, san(dns(`${longLabel}.example`))) }],
  ["san_dns_syntax",             "a trailing dot",               { extensions: replaced(leaf, san(dns("a.example."))) }],
  ["san_dns_syntax",             "an inner asterisk",            { extensions: replaced(leaf, san(dns("a.*.example"))) }],
  ["san_dns_syntax",             "an outer hyphen",              { extensions: replaced(leaf, san(dns("-a.example"))) }],
  ["san_dns_syntax",             "an underscore in public",      { extensions: replaced(leaf, san(dns("_a.example"))) }, { ...leafContext, public: true }],
  ["san_uri_syntax",             "a relative URI",               { extensions: replaced(leaf, san({ kind: "uri", value: "/a" })) }],
  ["san_email_syntax",           "no mailbox",                   { extensions: replaced(leaf, san({ kind: "email", value: "a.example" })) }],
  ["san_duplicate",              "one name twice",               { extensions: replaced(leaf, san(dns("a.example"), dns("a.example"))) }],
  ["subject_encoding",           "a T61String",                  { subject: typed("2.5.4.3", 0x14, "a") }],
  ["subject_encoding",           "a country of three letters",   { subject: name({ type: "C", value: "DEU" }) }],
  ["subject_encoding",           "a small country",              { subject: name({ type: "C", value: "de" }) }],
  ["subject_length",             "65 characters of CN",          { subject: cn("é".repeat(65)) }],
  ["subject_length",             "an empty value",               { subject: cn("") }],
  ["subject_whitespace",         "a leading blank",              { subject: cn(" a") }],
  ["subject_whitespace",         "a control character",          { subject: cn("a\u0007b") }],
  ["subject_control",            "NUL",                          { subject: cn("a.example\0.b.example") }],
  ["subject_control",            "a bell in another attribute",  { subject: name({ type: "O", value: "a\u0007b" }) }],
  ["subject_control",            "C1",                           { subject: cn("a\u0085") }],
  ["subject_control",            "a reversed direction",         { subject: cn("a\u202eb") }],
  ["subject_single_cn",          "two common names",             { subject: name({ type: "CN", value: "b.example" }, { type: "CN", value: "a.example" }) }],
  ["cn_is_name",                 "a host that is no SAN",        { subject: cn("b.example") }],
  ["cn_is_name",                 "the same with a final dot",    { subject: cn("b.example.") }],
  ["cn_is_name",                 "a host behind blanks",         { subject: cn("\u00a0b.example ") }],
  ["cn_is_name",                 "an address",                   { subject: cn("192.0.2.1") }],
  ["cn_is_name",                 "an address and a dot",         { subject: cn("192.0.2.1.") }],
  ["cn_is_name",                 "a short address",              { subject: cn("127.1") }],
  ["cn_is_name",                 "localhost",                    { subject: cn("localhost") }],
  ["cn_is_name",                 "a wildcard that is no SAN",    { subject: cn("*.example") }],
  ["cn_is_name",                 "a host of no purpose",         { subject: cn("b.example"), extensions: without(leaf, oids.extKeyUsage) }],
  ["san_dns_syntax",             "an address as DNS name",       { extensions: replaced(leaf, san(dns("192.0.2.1"))) }],
  ["san_dns_syntax",             "a number as DNS name",         { extensions: replaced(leaf, san(dns("2130706433"))) }],
  ["san_dns_syntax",             "a hexadecimal last label",     { extensions: replaced(leaf, san(dns("a.0x7f"))) }],
];

for (const [rule, what, given, context] of cases) {
  test(`${rule} refuses ${what}`, () => {
    expect(codes(given, context)).toContain(rule);
  });
}

test("values at the bounds pass", () => {
  expect(codes({ subject: cn("é".repeat(64)) })).toEqual([]);
  const label63 = `${"a".repeat(63)}.example`;
  const beside = (other: string) => replaced(leaf, san(dns("a.example"), dns(other)));
  expect(codes({ extensions: beside(label63) })).toEqual([]);
  expect(codes({ extensions: beside("_a.example") })).toEqual([]);
  expect(codes({ extensions: beside("2.0x7f.example") })).toEqual([]);
  const atCap = { notBefore: now, notAfter: addSeconds(now, 90 * 86_400 - 1) };
  expect(codes(atCap)).toEqual([]);
  expect(
    codes({ notAfter: leafContext.issuer.notAfter }, { ...leafContext, maxValiditySeconds: 0 }),
  ).toEqual([]);
});

test("a common name that is one of the names, or is no host, or is not for servers passes", () => {
  for (const text of ["A.Example", "a.example.", "Jane Doe", "jane", "über uns"]) {
    expect({ text, found: codes({ subject: cn(text) }) }).toEqual({ text, found: [] });
  }
  const extensions = replaced(leaf, extendedKeyUsage(["clientAuth"]));
  expect(codes({ subject: cn("b.example"), extensions })).toEqual([]);
  const addressed = replaced(leaf, san({ kind: "ip", value: "192.0.2.1" }));
  expect(codes({ subject: cn("192.0.2.1"), extensions: addressed })).toEqual([]);
});

test("signature_algorithm_match refuses an algorithm the CA does not sign with", () => {
  const tbs = encodeTbsCertificate(fields({ signature: "ecdsa-sha384" }));
  const findings = lintUnsigned(tbs, "ecdsa-sha384", leafContext, strictLint);
  expect(findings.map(({ code }) => code)).toEqual(["signature_algorithm_match"]);
});

test("algorithm_parameters and signature_algorithm_weak refuse what the table does not have", () => {
  const tbs = encodeTbsCertificate(fields());
  const swapped = (from: string, to: string) => {
    const hex = assembleSigned(tbs, "ecdsa-sha256", new Uint8Array(8)).toHex();
    return Uint8Array.fromHex(hex.replaceAll(from, to));
  };
  const known = "06082a8648ce3d040302";
  const sha1 = swapped(known, "06082a8648ce3d040101");
  const found = lintCertificate(sha1, leafContext, strictLint).map(({ code }) => code);
  expect(found).toContain("signature_algorithm_weak");
});

/** A TBSCertificate spelled by hand, for what our own encoder never writes. */
function handMade(given: { version?: number; times?: readonly Uint8Array[]; unique?: boolean }) {
  const { serial, issuer, subject, spki, notBefore, notAfter, extensions } = fields();
  const tbs = sequence(
    explicit(0, integer(given.version ?? 2)),
    integer(Number(serial)),
    algorithmIdentifier("ecdsa-sha256"),
    issuer,
    sequence(...(given.times ?? [time(notBefore), time(notAfter)])),
    subject,
    spki,
    ...(given.unique ? [implicit(1, Uint8Array.of(0, 1))] : []),
    explicit(3, encodeExtensions(extensions)),
  );
  return lintUnsigned(tbs, "ecdsa-sha256", leafContext, strictLint).map(({ code }) => code);
}

test("version_v3 refuses version 2 and unique identifiers", () => {
  expect(handMade({})).toEqual([]);
  expect(handMade({ unique: true })).toEqual(["version_v3"]);
  // Extensions in a version 2 certificate are not even strict DER of one.
  expect(handMade({ version: 1 })).toHaveLength(1);
});

test("validity_encoding refuses GeneralizedTime before 2050", () => {
  const times = [time(addSeconds(now, -300)), generalizedTime(addSeconds(now, 86_400))];
  expect(handMade({ times })).toEqual(["validity_encoding"]);
});

test("an extension that occurs twice is refused", () => {
  const extensions = [...leaf, san(dns("a.example"))];
  const found = codes({ extensions });
  expect(found).toHaveLength(1);
  expect(["extension_der", "extension_duplicate"]).toContain(found[0] ?? "");
});

test("octets that are not strict DER are one finding", () => {
  const der = assembleSigned(encodeTbsCertificate(fields()), "ecdsa-sha256", new Uint8Array(8));
  const longer = Uint8Array.from([...der, 0]);
  const found = lintCertificate(longer, leafContext, strictLint);
  expect(found.map(({ code }) => code)).toEqual(["extension_der"]);
});

test("a relaxed rule is reported without refusing, a fixed one refuses all the same", () => {
  const relaxed = { ...strictLint, overrides: { eku_any: "warn", leaf_not_ca: "warn" } } as const;
  const extensions = replaced(
    leaf,
    extendedKeyUsage(["anyExtendedKeyUsage"]),
    basicConstraints(true, undefined),
  );
  const tbs = encodeTbsCertificate(fields({ extensions }));
  const modes = lintUnsigned(tbs, "ecdsa-sha256", leafContext, relaxed).map(
    ({ code, mode }) => `${code} ${mode}`,
  );
  expect(modes).toEqual(["leaf_not_ca error", "eku_any warn"]);
});

test("disabled lint still runs the fixed rules and no other", () => {
  const disabled = { ...strictLint, disabled: true };
  const extensions = replaced(leaf, extendedKeyUsage(["anyExtendedKeyUsage"]));
  expect(codes({ extensions }, leafContext, disabled)).toEqual([]);
  expect(codes({ issuer: cn("other") }, leafContext, disabled)).toEqual(["issuer_bytes"]);
});

test("whitespace is a warning, and an error under the rules of the public web", () => {
  const tbs = encodeTbsCertificate(fields({ subject: cn("a ") }));
  const mode = (context: LintContext) =>
    lintUnsigned(tbs, "ecdsa-sha256", context, strictLint)
      .filter(({ code }) => code === "subject_whitespace")
      .map((finding) => finding.mode);
  expect(mode(leafContext)).toEqual(["warn"]);
  expect(mode({ ...leafContext, public: true })).toEqual(["error"]);
});

test("every rule cites its clause and no id occurs twice", () => {
  expect(new Set(lintRules.map(({ id }) => id)).size).toBe(lintRules.length);
  for (const { clause } of lintRules) expect(clause).not.toBe("");
});
