/** Certification requests as openssl, devices and attackers write them. */
import { describe, expect, test } from "bun:test";
import * as pkijs from "pkijs";

import * as der from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { tags } from "#core/asn1/tags.ts";
import { Problem } from "#core/problems.ts";
import { generalNameText } from "#core/x509/general-names.ts";
import type { SignatureName } from "#core/x509/algorithms.ts";
import { assembleSigned } from "#core/x509/certificate.ts";
import { type CertificationRequest, csrSignatureValid, parseCsr } from "#core/x509/csr.ts";
import { encodeExtensions } from "#core/x509/extensions.ts";
import { encodeName, nameText } from "#core/x509/names.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";
import { openssl, opensslText, scratchDirectory } from "#test/support/encodings/openssl.ts";
import { x509 } from "#test/support/encodings/peculiar.ts";
import { makeKey, signWith } from "#test/support/encodings/x509.ts";

const keyArguments = {
  "ecdsa-p256": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
  "ecdsa-p384": ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
  "ecdsa-p521": ["ec", "-pkeyopt", "ec_paramgen_curve:P-521"],
  "rsa-2048": ["rsa:2048"],
  ed25519: ["ed25519"],
} as const;

/** A request by openssl in PEM. */
function request(newkey: readonly string[], options: readonly string[] = []): string {
  return opensslText([
    "req",
    "-new",
    "-nodes",
    "-keyout",
    "/dev/null",
    "-newkey",
    ...newkey,
    ...(options.includes("-config") ? [] : ["-subj", "/C=DE/O=Example/CN=a.example"]),
    ...options,
  ]);
}

describe("requests made by openssl", () => {
  test.each(Object.entries(keyArguments))(
    "a %s request is read and its signature holds",
    (type, newkey) => {
      const csr = parseCsr(request(newkey, ["-addext", "subjectAltName=DNS:A.example,IP:::1"]));
      expect(nameText(csr.subject)).toBe("CN=a.example,O=Example,C=DE");
      expect(csr.sans.map(generalNameText)).toEqual(["dns:a.example", "ip:::1"]);
      expect(parsePublicKey(csr.spki).keyType).toBe(type as keyof typeof keyArguments);
      expect(csrSignatureValid(csr)).toBe(true);
    },
  );

  test.each(["sha256", "sha384", "sha512"])("an RSASSA-PSS request with %s is verified", (hash) => {
    const pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"];
    const csr = parseCsr(request(["rsa:2048"], [`-${hash}`, ...pss]));
    expect(csr.signatureName).toBe(`rsa-pss-${hash}` as "rsa-pss-sha256");
    expect(csrSignatureValid(csr)).toBe(true);
  });

  test("a SHA-1 signature proves nothing", () => {
    const csr = parseCsr(request(["rsa:2048"], ["-sha1"]));
    expect(csr.signatureName).toBeUndefined();
    expect(csrSignatureValid(csr)).toBe(false);
  });

  test("DER is read as PEM is", () => {
    const pem = request(keyArguments["ecdsa-p256"]);
    const der = openssl(["req", "-outform", "DER"], pem);
    expect(parseCsr(der).der.toHex()).toBe(parseCsr(pem).der.toHex());
    expect(parseCsr(new TextEncoder().encode(pem)).der.toHex()).toBe(parseCsr(pem).der.toHex());
  });
});

describe("what a request asks", () => {
  test("names, TLS feature and challenge password are read; other extensions are ignored", () => {
    using directory = scratchDirectory();
    const config = [
      "[req]",
      "distinguished_name=dn",
      "attributes=a",
      "req_extensions=e",
      "prompt=no",
      "[dn]",
      "CN=a.example",
      "[a]",
      "challengePassword=sesame",
      "unstructuredName=ignored",
      "[e]",
      "basicConstraints=critical,CA:TRUE",
      "keyUsage=critical,keyCertSign",
      "tlsfeature=status_request",
      "subjectAltName=DNS:*.a.example,email:a@b.example,URI:urn:x,otherName:1.2.3;UTF8:x,RID:1.2.4",
    ].join("\n");
    const csr = parseCsr(request(["ed25519"], ["-config", directory.write("config", config)]));
    expect(csr.sans.map(generalNameText)).toEqual([
      "dns:*.a.example",
      "email:a@b.example",
      "uri:urn:x",
    ]);
    expect(csr.unsupportedNames).toEqual(["otherName:1.2.3", "registeredID:1.2.4"]);
    expect([csr.mustStaple, csr.challengePassword]).toEqual([true, "sesame"]);
  });

  test("a request without attributes asks nothing", () => {
    const csr = parseCsr(request(["ed25519"]));
    expect(csr).toMatchObject({ sans: [], unsupportedNames: [], mustStaple: false });
    expect(csr.challengePassword).toBeUndefined();
  });

  test("another TLS feature is no must-staple", () => {
    expect(
      parseCsr(request(["ed25519"], ["-addext", "tlsfeature=status_request_v2"])).mustStaple,
    ).toBe(false);
  });

  test("a U-label becomes an A-label", () => {
    const csr = parseCsr(request(["ed25519"], ["-addext", "subjectAltName=DNS:bücher.example"]));
    expect(csr.sans.map(generalNameText)).toEqual(["dns:xn--bcher-kva.example"]);
  });

  test("pkijs reads the same request", () => {
    const { der, spki, tbs } = parseCsr(request(["ed25519"], ["-addext", "subjectAltName=DNS:a"]));
    const read = pkijs.CertificationRequest.fromBER(new Uint8Array(der));
    expect(new Uint8Array(read.tbsView).toHex()).toBe(tbs.toHex());
    expect(new Uint8Array(read.subjectPublicKeyInfo.toSchema().toBER()).toHex()).toBe(spki.toHex());
  });

  test("a request made by @peculiar/x509 is read and its signature holds", async () => {
    const algorithm = { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" };
    const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const made = await x509.Pkcs10CertificateRequestGenerator.create({
      name: "CN=a.example, O=Example",
      keys,
      signingAlgorithm: algorithm,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: "dns", value: "a.example" }])],
      attributes: [new x509.ChallengePasswordAttribute("sesame")],
    });
    const csr = parseCsr(made.toString("pem"));
    expect(nameText(csr.subject)).toBe("O=Example,CN=a.example");
    expect(csr.sans.map(generalNameText)).toEqual(["dns:a.example"]);
    expect([csr.challengePassword, csrSignatureValid(csr)]).toEqual(["sesame", true]);
  });
});

describe("possession of the key", () => {
  const key = makeKey("ecdsa-p256");
  const none = der.element(0xa0);
  const requestInfo = (spki: Uint8Array, attributes = none, version = 0): Uint8Array =>
    der.sequence(der.integer(version), encodeName([]).der, spki, attributes);
  const signed = (tbs: Uint8Array, name: SignatureName, signer = key): CertificationRequest =>
    parseCsr(assembleSigned(tbs, name, signWith(signer, name, tbs)));

  test.each(["ml-dsa-44", "ml-dsa-65", "ml-dsa-87"] as const)("is proven with %s", (name) => {
    const own = makeKey(name);
    expect(csrSignatureValid(signed(requestInfo(own.spki), name, own))).toBe(true);
    const csr = signed(requestInfo(own.spki), name, own);
    const flipped = csr.signature.with(9, (csr.signature[9] ?? 0) ^ 1);
    expect(csrSignatureValid({ ...csr, signature: flipped })).toBe(false);
  });

  test("is not proven by another key", () => {
    const other = makeKey("ecdsa-p256");
    expect(csrSignatureValid(signed(requestInfo(other.spki), "ecdsa-sha256"))).toBe(false);
  });

  test("is not proven when a word of the request changed", () => {
    const csr = signed(requestInfo(key.spki), "ecdsa-sha256");
    expect(csrSignatureValid(csr)).toBe(true);
    expect(csrSignatureValid({ ...csr, tbs: requestInfo(key.spki, none, 1) })).toBe(false);
  });

  test("is not proven with an algorithm of another family", () => {
    const tbs = requestInfo(key.spki);
    const csr = signed(tbs, "ecdsa-sha256");
    for (const signatureName of ["rsa-pkcs1-sha256", "ed25519", "ml-dsa-65", undefined] as const) {
      expect(csrSignatureValid({ ...csr, signatureName })).toBe(false);
    }
  });

  test("is not proven by a key that is no point of its curve, and nothing is thrown", () => {
    const spki = key.spki.with(-1, (key.spki.at(-1) ?? 0) ^ 1);
    expect(csrSignatureValid(signed(requestInfo(spki), "ecdsa-sha256"))).toBe(false);
    const strange = der.sequence(der.sequence(der.oid("1.2.3")), der.bitString(new Uint8Array(1)));
    expect(csrSignatureValid(signed(requestInfo(strange), "ecdsa-sha256"))).toBe(false);
    expect(csrSignatureValid(signed(requestInfo(der.sequence()), "ecdsa-sha256"))).toBe(false);
  });

  describe("requests are refused", () => {
    const attribute = (type: string, ...values: readonly Uint8Array[]): Uint8Array =>
      der.sequence(der.oid(type), der.element(tags.set, ...values));
    const password = attribute(oids.challengePassword, der.utf8String("x"));
    const san = (value: Uint8Array): Uint8Array =>
      attribute(
        oids.extensionRequest,
        encodeExtensions([{ oid: oids.subjectAltName, critical: false, value }]),
      );
    const names = san(der.sequence(der.implicit(2, Uint8Array.of(0x61))));
    const asking = (...attributes: readonly Uint8Array[]): Uint8Array =>
      requestInfo(key.spki, der.element(0xa0, ...attributes));
    const reasonOf = (tbs: Uint8Array): unknown =>
      refusal(assembleSigned(tbs, "ecdsa-sha256", new Uint8Array(8)));

    test("as of unknown version", () => {
      expect(reasonOf(requestInfo(key.spki, none, 1))).toEqual(["bad_csr", "unsupported_version"]);
    });

    const twice = { oid: oids.tlsFeature, critical: false, value: der.sequence(der.integer(5)) };
    test.each([
      [
        "without the place of the attributes",
        der.sequence(der.integer(0), encodeName([]).der, key.spki),
      ],
      [
        "with octets after the attributes",
        der.sequence(der.integer(0), encodeName([]).der, key.spki, none, none),
      ],
      ["with two lists of extensions", asking(names, names)],
      [
        "with a list of extensions too many in an attribute",
        asking(attribute(oids.extensionRequest, encodeExtensions([]), encodeExtensions([]))),
      ],
      [
        "with the same extension twice",
        asking(attribute(oids.extensionRequest, encodeExtensions([twice, twice]))),
      ],
      ["with two challenge passwords", asking(password, password)],
      [
        "with a challenge password of two values",
        asking(attribute(oids.challengePassword, der.utf8String("a"), der.utf8String("b"))),
      ],
      [
        "with a challenge password that is a number",
        asking(attribute(oids.challengePassword, der.integer(1))),
      ],
      ["with no alternative name in the list", asking(san(der.sequence()))],
      [
        "with an alternative name of 5 octets",
        asking(san(der.sequence(der.implicit(7, new Uint8Array(5))))),
      ],
    ])("%s", (_name, tbs) => expect(reasonOf(tbs)).toEqual(["bad_csr", "malformed"]));
  });

  test("attributes that are not known may say anything", () => {
    const strange = der.sequence(der.oid("1.2.3"), der.element(tags.set, der.integer(1)));
    expect(signed(requestInfo(key.spki, der.element(0xa0, strange)), "ecdsa-sha256").sans).toEqual(
      [],
    );
  });
});

/** Code and reason of the refusal of `input`. */
function refusal(input: string | Uint8Array): unknown {
  try {
    parseCsr(input);
  } catch (error) {
    if (error instanceof Problem) return [error.code, error.facts.reason];
    throw error;
  }
  return "accepted";
}

test("what cannot be read is refused with its reason", () => {
  const pem = request(["ed25519"]);
  const { der: octets } = parseCsr(pem);
  expect(refusal("hello")).toEqual(["bad_csr", "not_pem"]);
  expect(refusal("")).toEqual(["bad_csr", "not_pem"]);
  expect(refusal(new Uint8Array(0))).toEqual(["bad_csr", "not_pem"]);
  expect(refusal(`${pem}${pem}`)).toEqual(["bad_csr", "not_pem"]);
  expect(refusal(pem.replaceAll("CERTIFICATE REQUEST", "CERTIFICATE"))).toEqual([
    "bad_csr",
    "not_pem",
  ]);
  expect(refusal(pem.replaceAll("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"))).toBe(
    "accepted",
  );
  expect(refusal(Uint8Array.of(...octets, 0))).toEqual(["bad_csr", "malformed"]);
  expect(refusal(octets.subarray(0, -1))).toEqual(["bad_csr", "malformed"]);
  expect(refusal("x".repeat(65_536))).toEqual(["bad_csr", "not_pem"]);
  expect(refusal("x".repeat(65_537))).toEqual(["bad_csr", "too_large"]);
  expect(refusal(new Uint8Array(65_537))).toEqual(["bad_csr", "too_large"]);
});
