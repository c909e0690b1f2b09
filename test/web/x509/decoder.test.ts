/** The console's decoder: it reads what pkid and others make, and whatever octets come. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { element, sequence } from "#core/asn1/der.ts";
import { decodePem } from "#core/asn1/pem.ts";
import * as extensions from "#core/x509/extensions.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import { nameConstraints } from "#core/x509/name-constraints.ts";
import { sctList } from "#core/transparency/sct.ts";
import { instant } from "#core/time.ts";
import { opensslText } from "#test/support/encodings/openssl.ts";
import { certify, makeKey, rootFields } from "#test/support/encodings/x509.ts";
import { mutations } from "#test/support/fuzz/mutations.ts";
import { decodeCertificate, fingerprintSection } from "#web/x509/certificate.ts";
import type { Section } from "#web/x509/decoded.ts";
import { extensionSection } from "#web/x509/extensions.ts";
import { parseScts } from "#web/x509/scts.ts";

const key = makeKey("ecdsa-p256");
const root = rootFields(key, "ecdsa-sha256");
const scts = sctList([
  {
    logId: new Uint8Array(32).fill(7),
    timestamp: instant(Date.UTC(2026, 0, 2)),
    extensions: new Uint8Array(),
    signature: { hash: 4, algorithm: 3, signature: new Uint8Array(70) },
  },
]);

/** Every extension that pkid makes, and one that nobody knows. */
const rich = certify(key, {
  ...root,
  extensions: [
    ...root.extensions,
    extensions.subjectAltName(
      [
        { kind: "dns", value: "a.example" },
        { kind: "ip", value: "2001:db8::1" },
        { kind: "email", value: "a@b.example" },
        { kind: "uri", value: "https://a.example/x" },
      ],
      false,
    ),
    extensions.extendedKeyUsage(["serverAuth", "1.2.3.4"]),
    extensions.certificatePolicies({ oids: ["2.23.140.1.2.1"], cps: "https://cps.example" }, false),
    extensions.authorityInfoAccess({ ocsp: "http://ocsp.example", caIssuers: "http://ca.example" }),
    extensions.crlDistributionPoints(["http://crl.example/1"]),
    extensions.mustStaple(),
    scts,
    nameConstraints({ permitted: { ...none(), dns: [".example"] }, excluded: none() }, true),
    { oid: "1.3.6.1.4.1.99999.1", critical: true, value: Uint8Array.of(4, 1, 0xab) },
  ],
});

function none() {
  return { dns: [], ip: [], email: [], uri: [], dirNames: [] };
}

/** Name and values of each line, section by section, for reading. */
const told = (sections: readonly Section[]) =>
  sections.map(({ name, critical, lines, fault }) => [
    critical === true ? `${name} (critical)` : name,
    ...lines.map((line) => `${line.name}: ${line.values.map(({ text }) => text).join(" | ")}`),
    ...(fault === undefined ? [] : [`fault: ${fault}`]),
  ]);

describe("the decoder of certificates", () => {
  test("reads every field and extension in words, and shows the others by OID and octets", () => {
    const sections = told(decodeCertificate(rich));
    const by = (name: string) => sections.find(([head]) => head?.startsWith(name))?.slice(1);
    expect(by("Subject alternative names")).toEqual([
      "DNS: a.example",
      "IP address: 2001:db8::1",
      "E-mail: a@b.example",
      "URI: https://a.example/x",
    ]);
    expect(by("Extended key usage")).toEqual(["Purpose: TLS server (1.3.6.1.5.5.7.3.1) | 1.2.3.4"]);
    expect(by("Certificate policies")).toEqual([
      "Policy: domain validated (CA/Browser Forum) (2.23.140.1.2.1)",
      "Practice statement: https://cps.example",
    ]);
    expect(by("Authority information access")).toEqual([
      "OCSP: http://ocsp.example",
      "CA certificate: http://ca.example",
    ]);
    expect(by("CRL distribution points")).toEqual(["Place: http://crl.example/1"]);
    expect(by("TLS features")).toEqual(["Feature: status request (5)"]);
    expect(by("Name constraints")).toEqual(["Permitted: DNS: .example"]);
    expect(by("Signed certificate timestamps")).toEqual([
      `Log: ${"07".repeat(32)}`,
      "Promised: 2026-01-02T00:00:00.000Z",
    ]);
    expect(by("Basic constraints")).toEqual(["CA: yes"]);
    expect(by("Extension that is not read here (critical)")).toEqual(["Octets: 0401ab"]);
    expect(by("Public key")?.slice(0, 2)).toEqual([
      "Algorithm: elliptic curve (1.2.840.10045.2.1)",
      "Curve: P-256 (1.2.840.10045.3.1.7)",
    ]);
    expect(sections.flat().filter((line) => line.startsWith("fault"))).toEqual([]);
  });

  test("says the serial, the times and the names as openssl does", () => {
    const pem = opensslText(
      "req -x509 -nodes -keyout /dev/null -newkey rsa:2048 -days 9 -set_serial 0xff01"
        .split(" ")
        .concat([
          "-subj",
          "/C=DE/O=Über GmbH/CN=x.example",
          "-addext",
          "subjectAltName=DNS:x.example,dirName:dn,otherName:1.2.3;UTF8:hi",
          "-config",
          "/dev/stdin",
        ]),
      "[req]\ndistinguished_name=dn\nutf8=yes\nstring_mask=utf8only\n[dn]\nCN=in the name\n",
    );
    const der = decodePem(pem.slice(pem.indexOf("-----BEGIN")), ["CERTIFICATE"]);
    const lines = told(decodeCertificate(der ?? new Uint8Array())).flat();
    expect(lines).toContain("Serial: 65281");
    expect(lines).toContain("Country (C): DE");
    expect(lines).toContain("Organisation (O): Über GmbH");
    expect(lines).toContain("Size: 2048 bits");
    expect(lines).toContain("Exponent: 65537");
    expect(lines).toContain("Directory name: CN=in the name");
    expect(lines.some((line) => line.startsWith("Other name 1.2.3: "))).toBe(true);
  });

  test("names certificate and key by the digests that others show", async () => {
    const { lines } = await fingerprintSection(rich);
    const [sha256, , own] = lines.map(({ values }) => values[0]?.text);
    expect(sha256).toBe(new Bun.CryptoHasher("sha256").update(rich).digest("hex"));
    expect(own).toBe(fingerprint(key.spki));
  });

  test("shows an extension that is not what it says by its octets, and the others all the same", () => {
    const broken = { oid: "2.5.29.17", critical: false, value: Uint8Array.of(0x30, 5, 0x82) };
    const section = extensionSection(broken);
    expect(section.fault).toContain("longer than what holds it");
    expect(section.lines).toEqual([
      { name: "Octets", values: [{ as: "hex", text: "300582" }], hint: undefined },
    ]);
    const cut = {
      oid: "1.3.6.1.4.1.11129.2.4.2",
      critical: false,
      value: scts.value.subarray(0, 9),
    };
    expect(extensionSection(cut).fault).toBeString();
    expect(told(decodeCertificate(Uint8Array.of(1, 2, 3)))).toEqual([
      ["Certificate", "Octets: 010203", expect.stringContaining("fault")],
    ]);
  });

  test("shows serials that nobody should have, and times that are none", () => {
    const tbs = sequence(
      element(0x02, Uint8Array.of(0xff)),
      sequence(),
      sequence(),
      sequence(element(0x17, new TextEncoder().encode("never")), element(0x05)),
      sequence(),
      sequence(),
    );
    const odd = sequence(tbs, sequence(), Uint8Array.of(3, 1, 0));
    const lines = told(decodeCertificate(odd)).flat();
    expect(lines).toContain("Serial: ff");
    expect(lines).toContain("Not before: 17056e65766572");
    expect(lines).toContain("Name: (empty)");
  });

  test("gives sections for any octets, whatever was done to a certificate", () => {
    for (const octets of mutations(rich, 3_000, "decoder")) {
      expect(decodeCertificate(octets).length).toBeGreaterThan(0);
    }
  });

  test("gives sections for any octets at all, in every extension that it reads", () => {
    const oids = decodeCertificate(rich).flatMap(({ oid }) => oid ?? []);
    const more = ["2.5.29.33", "2.5.29.36", "2.5.29.54", "2.5.29.73", "1.3.6.1.5.5.7.1.3"];
    const others = ["1.3.6.1.4.1.311.20.2", "1.3.6.1.4.1.311.21.7", "2.5.29.46", "2.5.29.18"];
    const oid = fc.constantFrom(...oids, ...more, ...others, "toString", "__proto__");
    const nested = fc.letrec<{ node: Uint8Array }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 4 },
        fc.uint8Array({ maxLength: 40 }),
        fc
          .tuple(
            fc.constantFrom(0x30, 0x31, 0xa0, 0xa1, 0xa4, 0x80, 0x82, 0x86, 0x04, 0x03, 0x06, 0x02),
            fc.array(tie("node"), { maxLength: 4 }),
          )
          .map(([tag, parts]) => element(tag, ...parts)),
      ),
    })).node;
    fc.assert(
      fc.property(oid, fc.boolean(), nested, (dotted, critical, value) => {
        const section = extensionSection({ oid: dotted, critical, value });
        expect(section.lines.every(({ values }) => Array.isArray(values))).toBe(true);
        decodeCertificate(value);
      }),
      { numRuns: 3_000 },
    );
  });

  test("passes over a timestamp of a version that nobody has defined", () => {
    const list = Uint8Array.of(0x04, 5, 0, 3, 0, 1, 9);
    expect(parseScts(list)).toEqual([]);
  });
});
