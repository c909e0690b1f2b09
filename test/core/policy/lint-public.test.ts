/**
 * Lint of the public web, of mail, and of forms: each rule refuses what it is about, and a proper
 * certificate passes all.
 */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { element, integer, oid as objectIdentifier, sequence, setOf } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { parseSerial } from "#core/ids.ts";
import { lintCertificate, lintForeign, lintUnsigned, strictLint } from "#core/policy/lint.ts";
import { derFault } from "#core/policy/lint/der-walk.ts";
import type { LintContext } from "#core/policy/lint/linted.ts";
import { tlsDaysMax } from "#core/policy/tls-schedule.ts";
import { addSeconds, type Instant, instant } from "#core/time.ts";
import { assembleSigned, encodeTbsCertificate } from "#core/x509/certificate.ts";
import {
  authorityInfoAccess,
  authorityKeyIdentifier,
  basicConstraints,
  certificatePolicies,
  crlDistributionPoints,
  type Extension,
  extendedKeyUsage,
  keyUsage,
  mustStaple,
  subjectAltName,
  subjectKeyIdentifier,
} from "#core/x509/extensions.ts";
import type { GeneralName } from "#core/x509/general-names.ts";
import { encodeName, type NameAttribute } from "#core/x509/names.ts";
import { newKey, spkiOf } from "#test/support/worlds/issuance.ts";

const now = instant(Date.parse("2026-06-01T12:00:00Z"));
const day = 86_400;
const keyId = new Uint8Array(20).fill(7);
const issuer = encodeName([{ type: "CN", value: "Issuer" }]).der;
const ecKey = spkiOf(newKey("ecdsa-p256").publicKey);
const pointers = crlDistributionPoints(["http://pki.test/crl"]);
const context: LintContext = {
  kind: "leaf",
  issuer: {
    subject: issuer,
    keyId,
    signature: "ecdsa-sha256",
    alternative: undefined,
    notBefore: addSeconds(now, -900 * day),
    notAfter: addSeconds(now, 3650 * day),
  },
  maxValiditySeconds: 0,
  public: true,
  now,
  requireMustStaple: false,
  made: { serialDrawn: true, distributionPoints: pointers.value },
};

interface Given {
  readonly subject?: readonly NameAttribute[];
  readonly names?: readonly GeneralName[];
  readonly purposes?: readonly string[];
  readonly policies?: readonly string[];
  readonly cps?: string;
  /** Extensions by OID that replace those of the proper certificate; undefined leaves one out. */
  readonly with?: Readonly<Record<string, Extension | undefined>>;
  readonly seconds?: number;
  readonly notBefore?: Instant;
  readonly context?: Partial<LintContext>;
}

const dns = (value: string): GeneralName => ({ kind: "dns", value });
const domainValidated = "2.23.140.1.2.1";

function tbsOf(given: Given): Uint8Array {
  const proper = [
    { oid: oids.basicConstraints, critical: true, value: sequence() },
    keyUsage(["digitalSignature"]),
    extendedKeyUsage(given.purposes ?? ["serverAuth"]),
    subjectKeyIdentifier(keyId),
    authorityKeyIdentifier(keyId),
    subjectAltName(given.names ?? [dns("www.pkid.dev")], given.subject?.length === 0),
    certificatePolicies({ oids: given.policies ?? [domainValidated], cps: given.cps }, false),
    authorityInfoAccess({ ocsp: "http://pki.test/ocsp", caIssuers: "http://pki.test/ca" }),
    pointers,
  ];
  const change = given.with ?? {};
  const extensions = proper
    .flatMap((e) => (Object.hasOwn(change, e.oid) ? [change[e.oid]] : [e]))
    .concat(Object.values(change).filter((e) => !proper.some(({ oid }) => oid === e?.oid)))
    .filter((e) => e !== undefined);
  const notBefore = given.notBefore ?? addSeconds(now, -300);
  return encodeTbsCertificate({
    serial: parseSerial("12345"),
    signature: "ecdsa-sha256",
    issuer,
    notBefore,
    extensions,
    notAfter: addSeconds(notBefore, (given.seconds ?? 90 * day) - 1),
    spki: ecKey,
    subject: encodeName(given.subject ?? [{ type: "CN", value: "www.pkid.dev" }]).der,
  });
}

const found = (given: Given = {}) =>
  lintUnsigned(tbsOf(given), "ecdsa-sha256", { ...context, ...given.context }, strictLint).map(
    ({ code, mode }) => `${code} ${mode}`,
  );

test("a certificate as the public web wants it passes every rule", () => {
  expect(found()).toEqual([]);
});

const mail: Given = {
  purposes: ["emailProtection"],
  names: [{ kind: "email", value: "a@pkid.dev" }],
  context: { public: false },
  subject: [{ type: "CN", value: "Ann" }],
};
const oddPoint = { oid: oids.tlsFeature, critical: false, value: integer(5) };
const without = (oid: string) => ({ with: { [oid]: undefined } });

// biome-ignore format: the table is read by column.
const cases: readonly [rule: string, what: string, given: Given][] = [
  ["san_present error",        "only a mailbox",               { names: [{ kind: "email", value: "a@pkid.dev" }] }],
  ["cn_in_san error",          "another common name",          { subject: [{ type: "CN", value: "pkid.dev" }] }],
  ["internal_name error",      "a single label",               { names: [dns("www")] }],
  ["internal_name error",      "a special-use domain",         { names: [dns("a.local")] }],
  ["internal_name error",      "home.arpa",                    { names: [dns("a.home.arpa")] }],
  ["internal_name error",      "digits on top",                { names: [dns("a.b1")] }],
  ["internal_name error",      "a code ISO never assigns",     { names: [dns("a.zz")] }],
  ["reserved_ip error",        "a private address",            { names: [{ kind: "ip", value: "172.31.255.255" }] }],
  ["reserved_ip error",        "a documentation address",      { names: [{ kind: "ip", value: "2001:db8::1" }] }],
  ["reserved_ip error",        "a link-local address",         { names: [{ kind: "ip", value: "fe80::1" }] }],
  ["wildcard error",           "an asterisk in a label",       { names: [dns("w*.pkid.dev")] }],
  ["wildcard error",           "a second label",               { names: [dns("a.*.pkid.dev")] }],
  ["wildcard error",           "a top-level domain",           { names: [dns("*.dev")] }],
  ["wildcard error",           "a registry's domain",          { names: [dns("*.co.uk")] }],
  ["public_subject error",     "an organizational unit",       { subject: [{ type: "OU", value: "x" }] }],
  ["public_subject error",     "an organization under DV",     { subject: [{ type: "O", value: "x" }] }],
  ["public_policy_oid error",  "a policy of one's own only",   { policies: ["1.2.3"] }],
  ["public_policy_oid error",  "two reserved policies",        { policies: [domainValidated, "2.23.140.1.2.2"] }],
  ["public_policy_oid error",  "anyPolicy",                    { policies: [domainValidated, "2.5.29.32.0"] }],
  ["public_pointers error",    "no pointers for 90 days",      { with: { [oids.authorityInfoAccess]: undefined, [oids.crlDistributionPoints]: undefined } }],
  ["public_pointers warn",     "no caIssuers",                 without(oids.authorityInfoAccess)],
  ["public_eku error",         "no serverAuth",                { purposes: ["clientAuth"] }],
  ["public_eku error",         "code signing beside it",       { purposes: ["serverAuth", "codeSigning"] }],
  ["public_eku warn",          "clientAuth beside it",         { purposes: ["serverAuth", "clientAuth"] }],
  ["validity_tls_max error",   "a second over 200 days",       { seconds: 200 * day + 1 }],
  ["validity_tls_max warn",    "the last day of 200",          { seconds: 200 * day }],
  ["san_dns_idn error",        "punycode that is none",        { names: [dns("xn--zzzz99999.pkid.dev")] }],
  ["subject_placeholder error", "a lone dash",                 { subject: [{ type: "L", value: "-" }] }],
  ["subject_placeholder error", "N/A",                         { subject: [{ type: "L", value: "n/A" }] }],
  ["policy_unique error",      "a policy twice",               { policies: [domainValidated, domainValidated] }],
  ["policy_cps_uri error",     "a CPS that is no URL",         { cps: "ask us" }],
  ["tls_feature_form error",   "a feature without its list",   { with: { [oids.tlsFeature]: oddPoint } }],
  ["extension_der error",      "a BOOLEAN of 1",               { with: { "1.2.3.4": { oid: "1.2.3.4", critical: false, value: Uint8Array.of(1, 1, 1) } } }],
  ["cdp_stamp error",          "another CRL",                  { with: { [oids.crlDistributionPoints]: crlDistributionPoints(["http://pki.test/2"]) } }],
  ["cdp_stamp error",          "no CRL",                       without(oids.crlDistributionPoints)],
  ["serial_entropy error",     "a serial from elsewhere",      { context: { made: { serialDrawn: false, distributionPoints: pointers.value } } }],
  ["must_staple warn",         "no must-staple where wanted",  { context: { requireMustStaple: true } }],
  ["mail_san error",           "no mailbox",                   { ...mail, names: [dns("pkid.dev")] }],
  ["mail_subject_match error", "another mailbox as subject",   { ...mail, subject: [{ type: "emailAddress", value: "b@pkid.dev" }] }],
];

for (const [expected, what, given] of cases) {
  test(`${expected.replace(" ", " is an ")}: ${what}`, () => {
    expect(found(given)).toContain(expected);
  });
}

test("what lies just inside every rule passes", () => {
  expect(found({ seconds: 199 * day })).toEqual([]);
  expect(found({ names: [dns("*.pkid.dev"), dns("www.pkid.dev")] })).toEqual([]);
  expect(found({ names: [{ kind: "ip", value: "172.32.0.1" }], subject: [] })).toEqual([]);
  expect(found({ names: [{ kind: "ip", value: "2a00::1" }], subject: [] })).toEqual([]);
  expect(found({ names: [dns("xn--bcher-kva.pkid.dev")], subject: [] })).toEqual([]);
  const validated = [{ type: "O", value: "Pkid" }] as const;
  expect(found({ subject: validated, policies: ["2.23.140.1.2.2", "1.2.3"] })).toEqual([]);
  const short = { [oids.crlDistributionPoints]: undefined };
  const made = { serialDrawn: true, distributionPoints: undefined };
  expect(found({ seconds: 7 * day, with: short, context: { made } })).toEqual([]);
  const stapled = { [oids.tlsFeature]: mustStaple() };
  expect(found({ with: stapled, context: { requireMustStaple: true } })).toEqual([]);
  expect(found(mail)).toEqual([]);
});

test("the rules of the public web are silent elsewhere", () => {
  const asked: Given = {
    names: [dns("www")],
    subject: [{ type: "OU", value: "x" }],
    policies: ["1.2.3"],
  };
  expect(found({ ...asked, context: { public: false } })).toEqual([]);
});

test("BR 6.3.2: the longest validity shrinks on three days", () => {
  const at = (text: string) => tlsDaysMax(instant(Date.parse(text)));
  expect([at("2026-03-14T23:59:59Z"), at("2026-03-15T00:00:00Z")]).toEqual([398, 200]);
  expect([at("2027-03-14T23:59:59Z"), at("2027-03-15T00:00:00Z")]).toEqual([200, 100]);
  expect([at("2029-03-14T23:59:59Z"), at("2029-03-15T00:00:00Z")]).toEqual([100, 47]);
});

test("name_constraints_form refuses a minimum that is not zero", () => {
  const base = element(0x82, new TextEncoder().encode("pkid.dev"));
  const constraints = (subtree: Uint8Array) => ({
    oid: oids.nameConstraints,
    critical: true,
    value: sequence(element(0xa0, subtree)),
  });
  const asked = (subtree: Uint8Array): Given => ({
    context: { kind: "intermediate", public: false },
    with: {
      [oids.basicConstraints]: basicConstraints(true, 0),
      [oids.keyUsage]: keyUsage(["keyCertSign"]),
      [oids.extKeyUsage]: undefined,
      [oids.nameConstraints]: constraints(subtree),
    },
  });
  expect(found(asked(sequence(base)))).toEqual([]);
  const minimum = element(0x80, Uint8Array.of(1));
  expect(found(asked(sequence(base, minimum)))).toEqual(["name_constraints_form error"]);
});

test("X.690: a value is DER to its last octet, or it is said what is wrong", () => {
  const good = [sequence(integer(1), setOf([integer(2), integer(1)])), Uint8Array.of(5, 0)];
  for (const octets of good) expect(derFault(octets)).toBeUndefined();
  const wrong = ["", "0500 00", "0201", "02020001", "3003 0201", "3103 020102 0201", "2403 040100"];
  for (const hex of [...wrong, "3106 020102 020101", "0101 01", "0302 0801", "1000"]) {
    expect(derFault(Uint8Array.fromHex(hex.replaceAll(" ", "")))).toBeDefined();
  }
});

test("whatever octets an extension has, lint answers and never throws", () => {
  const known = [
    oids.basicConstraints,
    oids.keyUsage,
    oids.extKeyUsage,
    oids.subjectAltName,
    oids.certificatePolicies,
    oids.authorityInfoAccess,
    oids.crlDistributionPoints,
    oids.nameConstraints,
    oids.tlsFeature,
    oids.authorityKeyIdentifier,
    "1.2.3.4",
  ];
  const piece = fc.letrec<{ value: Uint8Array }>((tie) => ({
    value: fc.oneof(
      fc.uint8Array({ maxLength: 12 }),
      fc.integer({ min: 0, max: 9 }).map((n) => integer(n)),
      fc.array(tie("value"), { maxLength: 3 }).map((parts) => sequence(...parts)),
      fc.constantFrom(...known).map((dotted) => objectIdentifier(dotted)),
      fc
        .tuple(fc.constantFrom(0x80, 0x81, 0x82, 0x86, 0x87, 0xa0, 0xa1), tie("value"))
        .map(([tag, inner]) => element(tag, inner)),
    ),
  })).value;
  const changes = fc.dictionary(fc.constantFrom(...known), piece, { maxKeys: 4 });
  const settings = { ...strictLint, public: true };
  fc.assert(
    fc.property(changes, fc.constantFrom("leaf", "intermediate", "root"), (values, kind) => {
      const replaced = Object.entries(values).map(([oid, value]) => [
        oid,
        { oid, critical: false, value },
      ]);
      const tbs = tbsOf({ with: Object.fromEntries(replaced) });
      const der = assembleSigned(tbs, "ecdsa-sha256", new Uint8Array(8));
      const findings = lintCertificate(der, { ...context, kind }, settings);
      for (const { code, description } of findings) expect(`${code}${description}`).not.toBe("");
      lintForeign(der, settings, 0);
    }),
    { numRuns: 600 },
  );
});
