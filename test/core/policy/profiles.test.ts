/**
 * The built-in profiles: what each says octet by octet, read back by others, and how sets replace
 * one another.
 */

import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";

import * as pkijs from "pkijs";

import { bitString, oid, sequence } from "#core/asn1/der.ts";
import { caId } from "#core/ids.ts";
import { admit, type LeafRequest } from "#core/policy/admit.ts";
import { repeatedExtensions } from "#core/policy/certificate-extensions.ts";
import { clear } from "#core/policy/gates.ts";
import type { IssuanceSections, Issuer } from "#core/policy/plan.ts";
import type { Profile } from "#core/policy/profile.ts";
import { markerOf, ProfileSet, profileJson } from "#core/policy/profiles.ts";
import { Problem } from "#core/problems.ts";
import { addSeconds, instant, secondsPerDay } from "#core/time.ts";
import type { Algorithm } from "#core/x509/algorithms.ts";
import { assembleSigned, parseCertificate } from "#core/x509/certificate.ts";
import { encodeName } from "#core/x509/names.ts";
import { expectGolden } from "#test/support/golden.ts";
import { drawnSerial, soundKey } from "#test/support/worlds/issuance.ts";
import { openssl, opensslText } from "#test/support/encodings/openssl.ts";
import { x509 } from "#test/support/encodings/peculiar.ts";
import { makeKey, signWith } from "#test/support/encodings/x509.ts";

const now = instant(Date.parse("2026-06-01T12:00:00Z"));
const keyId = new Uint8Array(20).fill(9);
const id = caId("11111111-1111-4111-8111-111111111111");
const issuer: Issuer = {
  id,
  subject: encodeName([{ type: "CN", value: "Issuer" }]).der,
  keyId,
  spkiSha256: "",
  signature: "ecdsa-sha256",
  maxPathLength: undefined,
  constraints: [],
  notBefore: addSeconds(now, -86_400),
  notAfter: addSeconds(now, 3650 * secondsPerDay),
  policyPath: [],
  purposes: [],
  repeated: repeatedExtensions({ id, keyId, urlBase: "https://pki.example" }),
};
const config: IssuanceSections = {
  issuance: { backdate_seconds: 300, ski_method: "rfc7093", max_names: 3 },
  policy: { max_cert_validity_days: 0 },
};
const everyBuiltin = new ProfileSet().sorted();
const builtins = everyBuiltin.filter(({ algorithm }) => algorithm === "classical");
/** The CA each algorithm needs. */
const issuers: Readonly<Record<Algorithm, Issuer>> = {
  classical: issuer,
  pqc: { ...issuer, signature: "ml-dsa-65" },
  hybrid: { ...issuer, alternative: "ml-dsa-65" },
};

/** The to-be-signed certificate of a profile for one fixed request, cleared by every gate. */
function tbsOf(profile: Profile): Uint8Array {
  const mail = profile.name === "email";
  const san = mail
    ? { kind: "email" as const, value: "ada@a.example" }
    : { kind: "dns" as const, value: "a.example" };
  const csr = {
    subject: encodeName([{ type: "CN", value: mail ? "Ada" : "a.example" }]),
    spki: profile.algorithm === "pqc" ? fixedQuantumKey : fixedKey,
    sans: [san],
    unsupportedNames: [],
    mustStaple: false,
    ...(profile.algorithm === "hybrid" ? { alternativeSpki: fixedQuantumKey } : {}),
  };
  const issuer = issuers[profile.algorithm];
  const request: LeafRequest = {
    csr,
    validitySeconds: undefined,
    mustStaple: undefined,
    caller: "interactive",
  };
  const admitted = admit(request, profile, issuer, config, now);
  if (!admitted.readable) throw admitted.refusal;
  const { plan, objections } = admitted;
  const drawn = drawnSerial("123456789abcdef0123456789abcdef0");
  const asked = { plan, objections, profile, drawn, now, issuer };
  const clearance = clear({ ...asked, keyFacts: soundKey, alternativeFacts: soundKey });
  if (!clearance.cleared) throw clearance.refusal;
  return clearance.plan.tbs;
}

test("the built-in profiles give these octets", () => {
  const lines = everyBuiltin.map((profile) => {
    const hex = tbsOf(profile).toHex();
    return `${profile.name}\n${hex.replace(/.{96}(?=.)/g, "$&\n")}\n`;
  });
  expectGolden("profile-certificates.txt", lines.join("\n"));
});

test("what openssl reads in a certificate of each built-in profile", () => {
  const texts = everyBuiltin.map((profile) => {
    const extensions = openssl(["x509", "-noout", "-ext", extensionNames], signed(profile));
    return `${profile.name}\n${extensions}`;
  });
  expectGolden("profile-extensions.txt", texts.join("\n"));
});

describe.each(everyBuiltin)("$name", (profile) => {
  test("is read alike by openssl, @peculiar/x509 and pkijs, and lives as long as its default says", () => {
    const der = signed(profile);
    const own = parseCertificate(der);
    const serial = "123456789abcdef0123456789abcdef0";
    const [notBefore, notAfter] = [new Date(own.notBefore), new Date(own.notAfter)];
    const oids = own.extensions.map(({ oid, critical }) => [oid, critical]);

    const text = opensslText(["x509", "-noout", "-serial", "-dates"], der);
    expect(text.toLowerCase()).toContain(`serial=${serial}`);
    const [, begin = "", end = ""] = /notBefore=(.*)\nnotAfter=(.*)/.exec(text) ?? [];
    expect([new Date(begin), new Date(end)]).toEqual([notBefore, notAfter]);

    const other = new x509.X509Certificate(new Uint8Array(der));
    expect(other.serialNumber).toBe(serial);
    expect([other.notBefore, other.notAfter]).toEqual([notBefore, notAfter]);
    expect(other.extensions.map(({ type, critical }) => [type, critical])).toEqual(oids);

    const third = pkijs.Certificate.fromBER(new Uint8Array(der));
    expect(new Uint8Array(third.serialNumber.valueBlock.valueHexView).toHex()).toBe(serial);
    expect([third.notBefore.value, third.notAfter.value]).toEqual([notBefore, notAfter]);
    const extensions = third.extensions?.map(({ extnID, critical }) => [extnID, critical]);
    expect(extensions).toEqual(oids);

    const span = notAfter.getTime() - notBefore.getTime();
    expect(span).toBe((profile.defaultValiditySeconds - 1) * 1000);
  });

  test("is shown with its exact seconds, and days that are never 0", () => {
    const shown = profileJson(profile);
    expect(shown).toMatchObject({
      name: profile.name,
      builtin: true,
      is_ca: false,
      require_approval: false,
      default_validity_seconds: profile.defaultValiditySeconds,
    });
    expect(shown.default_validity_days).toBeGreaterThan(0);
    expect(shown.max_validity_days * secondsPerDay).toBeGreaterThanOrEqual(
      profile.maxValiditySeconds,
    );
  });
});

test("a validity of minutes spans exactly that, and is backdated by a twelfth at most", () => {
  const minutes = { ...new ProfileSet().named("client"), defaultValiditySeconds: 600 };
  const der = assembled(tbsOf(minutes));
  const { validFromDate, validToDate } = new X509Certificate(der);
  expect(validToDate.getTime() - validFromDate.getTime()).toBe(599_000);
  expect(now - validFromDate.getTime()).toBe(50_000);
});

test("a configured profile replaces the built-in one of exactly its name", () => {
  const client = new ProfileSet().named("client");
  const set = new ProfileSet([{ ...client, name: "server", builtin: false }]);
  expect(set.named("server").extKeyUsages).toEqual(["clientAuth"]);
  expect(() => set.named("Server")).toThrow(Problem);
  expect(set.sorted()).toHaveLength(new ProfileSet().sorted().length);
});

test("only certificates of the canary profile are marked", () => {
  expect(builtins.map(({ name }) => markerOf(name)).filter((marker) => marker !== "")).toEqual([
    "canary",
  ]);
});

const signer = makeKey("ecdsa-p256");
const assembled = (tbs: Uint8Array) =>
  assembleSigned(tbs, "ecdsa-sha256", signWith(signer, "ecdsa-sha256", tbs));
const quantumSigner = makeKey("ml-dsa-65");
function signed(profile: Profile): Uint8Array {
  const tbs = tbsOf(profile);
  if (profile.algorithm !== "pqc") return assembled(tbs);
  return assembleSigned(tbs, "ml-dsa-65", signWith(quantumSigner, "ml-dsa-65", tbs));
}

const extensionNames = [
  "basicConstraints",
  "keyUsage",
  "extendedKeyUsage",
  "subjectAltName",
  "tlsfeature",
  "authorityKeyIdentifier",
  "authorityInfoAccess",
  "crlDistributionPoints",
].join(",");

/** An ML-DSA-65 key (RFC 9881 §4) whose octets count up: of the right form, and nobody's. */
const fixedQuantumKey = sequence(
  sequence(oid("2.16.840.1.101.3.4.3.18")),
  bitString(Uint8Array.from({ length: 1952 }, (_, at) => at)),
);

/**
 * The generator of P-256 as a public key: a point that is certainly on the curve and belongs to
 * nobody.
 */
const fixedKey = Uint8Array.fromHex(
  "3059301306072a8648ce3d020106082a8648ce3d030107034200" +
    "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296" +
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
);
