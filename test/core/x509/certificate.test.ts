/**
 * Certificates: what pkid encodes is what openssl, @peculiar/x509 and pkijs read, and the reverse.
 */
import { describe, expect, test } from "bun:test";
import * as pkijs from "pkijs";

import { DerError, openSequence } from "#core/asn1/cursor.ts";
import * as der from "#core/asn1/der.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { importPublicKey, verifySignature } from "#core/crypto.ts";
import { parseSerial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import { algorithmIdentifier } from "#core/x509/algorithm-identifiers.ts";
import { type SignatureName, schemeOf } from "#core/x509/algorithms.ts";
import * as certificates from "#core/x509/certificate.ts";
import * as extensions from "#core/x509/extensions.ts";
import { encodeName, nameText } from "#core/x509/names.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";
import { openssl, opensslText, scratchDirectory } from "#test/support/encodings/openssl.ts";
import { x509 } from "#test/support/encodings/peculiar.ts";
import { certify, makeKey, rootFields } from "#test/support/encodings/x509.ts";

const { parseCertificate } = certificates;
const day = 86_400_000;
const rsa = makeKey("rsa-2048");

const keyIds = { subject: new Uint8Array(20).fill(1), authority: new Uint8Array(20).fill(2) };
const leafExtensions: readonly extensions.Extension[] = [
  extensions.basicConstraints(false, undefined),
  extensions.keyUsage(["digitalSignature"]),
  extensions.extendedKeyUsage(["serverAuth", "clientAuth"]),
  extensions.subjectKeyIdentifier(keyIds.subject),
  extensions.authorityKeyIdentifier(keyIds.authority),
  extensions.subjectAltName(
    [
      { kind: "dns", value: "a.example" },
      { kind: "ip", value: "192.0.2.1" },
    ],
    false,
  ),
  extensions.authorityInfoAccess({ ocsp: "http://ca/ocsp", caIssuers: "http://ca/ca" }),
  extensions.crlDistributionPoints(["http://ca/crl"]),
];

describe("every signature algorithm", () => {
  const rows: readonly (readonly [SignatureName, ReturnType<typeof makeKey>])[] = [
    ...(["rsa-pkcs1-sha256", "rsa-pkcs1-sha384", "rsa-pkcs1-sha512"] as const).map(
      (name) => [name, rsa] as const,
    ),
    ...(["rsa-pss-sha256", "rsa-pss-sha384", "rsa-pss-sha512"] as const).map(
      (name) => [name, rsa] as const,
    ),
    ["ecdsa-sha256", makeKey("ecdsa-p256")],
    ["ecdsa-sha384", makeKey("ecdsa-p384")],
    ["ecdsa-sha512", makeKey("ecdsa-p521")],
    ["ed25519", makeKey("ed25519")],
  ];

  test.each(rows)("openssl verifies a root signed with %s", (name, key) => {
    using directory = scratchDirectory();
    const root = certify(key, rootFields(key, name));
    const pem = directory.write("root.pem", encodePem("CERTIFICATE", root));
    expect(opensslText(["verify", "-x509_strict", "-check_ss_sig", "-CAfile", pem, pem])).toEndWith(
      ": OK\n",
    );
    expect(parseCertificate(root).signatureName).toBe(name);
  });

  test.each(["ml-dsa-44", "ml-dsa-65", "ml-dsa-87"] as const)(
    "a self-signed %s certificate verifies with the key it carries",
    (name) => {
      const key = makeKey(name);
      const read = parseCertificate(certify(key, rootFields(key, name)));
      expect(read.signatureName).toBe(name);
      expect(parsePublicKey(read.spki).keyType).toBe(name);
      const verified = (message: Uint8Array): boolean =>
        verifySignature(importPublicKey(read.spki), schemeOf(name), message, read.signature);
      expect(verified(read.tbs)).toBe(true);
      expect(verified(read.tbs.slice(1))).toBe(false);
      // RFC 9881 §2: parameters are absent, in the signature and in the key.
      const identifier = algorithmIdentifier(name);
      expect(identifier.toHex()).toStartWith("300b0609608648016503040 3".replaceAll(" ", ""));
    },
  );
});

describe("fields", () => {
  const key = makeKey("ecdsa-p256");
  const subject = encodeName([
    { type: "C", value: "DE" },
    { type: "CN", value: "a.example" },
  ]);
  const fields = {
    ...rootFields(key, "ecdsa-sha256"),
    subject: subject.der,
    extensions: leafExtensions,
  };
  const leaf = certify(key, fields);

  test("pkid reads back what it wrote", () => {
    const read = parseCertificate(leaf);
    expect(read).toMatchObject({
      version: 3,
      serial: fields.serial,
      notBefore: fields.notBefore,
      notAfter: fields.notAfter,
      signatureOid: "1.2.840.10045.4.3.2",
      signatureName: "ecdsa-sha256",
    });
    expect(read.issuer.der).toEqual(fields.issuer);
    expect(read.subject).toEqual(subject);
    expect(read.spki).toEqual(key.spki);
    expect(read.extensions).toEqual(leafExtensions);
    expect(
      certificates.encodeTbsCertificate({
        ...read,
        signature: "ecdsa-sha256",
        issuer: read.issuer.der,
        subject: read.subject.der,
      }),
    ).toEqual(read.tbs);
  });

  test("@peculiar/x509 reads the same", () => {
    const read = new x509.X509Certificate(new Uint8Array(leaf));
    expect(read.serialNumber).toBe(BigInt(fields.serial).toString(16));
    expect(read.subject).toBe("C=DE, CN=a.example");
    expect([read.notBefore.getTime(), read.notAfter.getTime()]).toEqual([
      fields.notBefore,
      fields.notAfter,
    ]);
    const found = read.extensions.map(
      ({ type, critical, value }) => `${type} ${critical} ${new Uint8Array(value).toHex()}`,
    );
    const written = leafExtensions.map(
      ({ oid, critical, value }) => `${oid} ${critical} ${value.toHex()}`,
    );
    expect(found).toEqual(written);
    expect(new Uint8Array(read.publicKey.rawData).toHex()).toBe(key.spki.toHex());
  });

  test("pkijs reads the same", () => {
    const read = pkijs.Certificate.fromBER(new Uint8Array(leaf));
    expect(read.version).toBe(2);
    expect(read.serialNumber.valueBlock.valueHexView.toHex()).toBe(
      BigInt(fields.serial).toString(16),
    );
    expect(new Uint8Array(read.tbsView).toHex()).toBe(parseCertificate(leaf).tbs.toHex());
    expect(read.extensions?.map(({ extnID, critical }) => [extnID, critical])).toEqual(
      leafExtensions.map(({ oid, critical }) => [oid, critical]),
    );
    expect(read.notAfter.value.getTime()).toBe(fields.notAfter);
  });

  test("openssl prints the same", () => {
    const text = opensslText(
      ["x509", "-inform", "DER", "-noout", "-text", "-nameopt", "RFC2253"],
      leaf,
    );
    for (const line of [
      "Version: 3 (0x2)",
      "Subject: CN=a.example,C=DE",
      "Issuer: CN=Test Root,O=Example,C=DE",
      "Not Before: Jan  1 00:00:00 2025 GMT",
      "Not After : Jan  1 00:00:00 2051 GMT",
      "DNS:a.example, IP Address:192.0.2.1",
      "OCSP - URI:http://ca/ocsp",
      "CA Issuers - URI:http://ca/ca",
      "URI:http://ca/crl",
      "TLS Web Server Authentication, TLS Web Client Authentication",
    ])
      expect(text).toContain(line);
  });

  test("@peculiar/x509 encodes an equal certificate to the same octets", async () => {
    const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
      "sign",
      "verify",
    ]);
    const serial = parseSerial("0x0a1b2c3d4e5f60718293a4b5c6d7e8f9");
    const theirs = await x509.X509CertificateGenerator.create({
      serialNumber: BigInt(serial).toString(16).padStart(32, "0"),
      subject: new x509.Name([
        { C: [{ printableString: "DE" }] },
        { CN: [{ utf8String: "a.example" }] },
      ]),
      issuer: new x509.Name([{ O: [{ utf8String: "Example" }] }]),
      notBefore: new Date(Date.UTC(2025, 5, 1)),
      notAfter: new Date(Date.UTC(2026, 5, 1)),
      publicKey: pair.publicKey,
      signingKey: pair.privateKey,
      signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension(["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]),
        new x509.SubjectKeyIdentifierExtension(keyIds.subject.toHex()),
        new x509.AuthorityKeyIdentifierExtension(keyIds.authority.toHex()),
        new x509.SubjectAlternativeNameExtension([
          { type: "dns", value: "a.example" },
          { type: "ip", value: "192.0.2.1" },
        ]),
        new x509.AuthorityInfoAccessExtension({
          ocsp: "http://ca/ocsp",
          caIssuers: "http://ca/ca",
        }),
        new x509.CRLDistributionPointsExtension(["http://ca/crl"]),
      ],
    });
    const read = parseCertificate(new Uint8Array(theirs.rawData));
    const tbs = certificates.encodeTbsCertificate({
      serial,
      signature: "ecdsa-sha256",
      subject: subject.der,
      issuer: encodeName([{ type: "O", value: "Example" }]).der,
      notBefore: instant(Date.UTC(2025, 5, 1)),
      notAfter: instant(Date.UTC(2026, 5, 1)),
      spki: new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey)),
      extensions: leafExtensions,
    });
    expect(tbs.toHex()).toBe(read.tbs.toHex());
    const ours = certificates.assembleSigned(tbs, "ecdsa-sha256", read.signature);
    expect(ours.toHex()).toBe(new Uint8Array(theirs.rawData).toHex());
  });

  test("serials keep their sign octet", () => {
    for (const hex of ["01", "7f", "80", "ff".repeat(20)]) {
      const serial = parseSerial(`0x${hex}`);
      const made = certify(key, { ...fields, serial });
      expect(parseCertificate(made).serial).toBe(serial);
      const text = opensslText(["x509", "-inform", "DER", "-noout", "-serial"], made);
      expect(text).toBe(`serial=${hex.toUpperCase()}\n`);
    }
  });

  test("RFC 5280 §4.1.2.5: the time form changes with the year 2050", () => {
    const last = instant(Date.UTC(2050, 0, 1) - 1000);
    const first = instant(Date.UTC(2050, 0, 1));
    const made = certify(key, { ...fields, notBefore: last, notAfter: first });
    const tree = opensslText(["asn1parse", "-inform", "DER"], made);
    expect(tree).toContain("UTCTIME           :491231235959Z");
    expect(tree).toContain("GENERALIZEDTIME   :20500101000000Z");
    expect(parseCertificate(made)).toMatchObject({ notBefore: last, notAfter: first });
  });
});

describe("certificates made by openssl", () => {
  const kinds = {
    "ecdsa-p256": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "rsa-2048": ["rsa:2048"],
    ed25519: ["ed25519"],
  };
  test.each(Object.entries(kinds))("%s certificates are read", (type, newkey) => {
    const made = openssl([
      "req",
      "-new",
      "-x509",
      "-nodes",
      "-keyout",
      "/dev/null",
      "-newkey",
      ...newkey,
      "-days",
      "30",
      "-subj",
      "/C=DE/CN=x",
      "-set_serial",
      "0x1234",
      "-outform",
      "DER",
    ]);
    const read = parseCertificate(made);
    expect([nameText(read.subject), read.serial, read.version]).toEqual([
      "CN=x,C=DE",
      parseSerial("0x1234"),
      3,
    ]);
    expect(read.notAfter - read.notBefore).toBe(30 * day);
    expect(parsePublicKey(read.spki).keyType).toBe(type as "ed25519");
    const name = read.signatureName;
    expect(
      name && verifySignature(importPublicKey(read.spki), schemeOf(name), read.tbs, read.signature),
    ).toBe(true);
    expect(certificates.extensionOf(read, "2.5.29.19")?.value.toHex()).toBe("30030101ff");
    expect(certificates.extensionOf(read, "1.2.3")).toBeUndefined();
  });

  test("a version 1 certificate without extensions is read", () => {
    using directory = scratchDirectory();
    const pem = makeKey("ecdsa-p256").privateKey.export({ format: "pem", type: "pkcs8" });
    const path = directory.write("key.pem", pem.toString());
    const request = openssl(["req", "-new", "-key", path, "-subj", "/CN=x"]);
    const made = openssl(["x509", "-req", "-key", path, "-outform", "DER"], request);
    expect(parseCertificate(made)).toMatchObject({ version: 1, extensions: [] });
  });
});

describe("refused", () => {
  const key = makeKey("ed25519");
  const fields = rootFields(key, "ed25519");
  const tbs = certificates.encodeTbsCertificate(fields);
  const signed = (part: Uint8Array, name: SignatureName = "ed25519"): Uint8Array =>
    certificates.assembleSigned(part, name, new Uint8Array(64));
  /** The TBSCertificate with other elements in some places. */
  const altered = (change: (parts: Uint8Array[]) => void): Uint8Array => {
    const parts = elementsOf(tbs);
    change(parts);
    return signed(der.sequence(...parts));
  };

  test.each([
    ["inner and outer algorithms that differ", signed(tbs, "ecdsa-sha256")],
    ["octets after the certificate", Uint8Array.of(...signed(tbs), 0)],
    [
      "octets after the signature",
      der.sequence(tbs, algorithmIdentifier("ed25519"), der.bitString(tbs), der.nullElement()),
    ],
    [
      "version 1 written out",
      altered((parts) => parts.splice(0, 1, der.explicit(0, der.integer(0)))),
    ],
    ["version 4", altered((parts) => parts.splice(0, 1, der.explicit(0, der.integer(3))))],
    [
      "extensions in version 2",
      altered((parts) => parts.splice(0, 1, der.explicit(0, der.integer(1)))),
    ],
    ["extensions in version 1", altered((parts) => parts.shift())],
    ["a negative serial", altered((parts) => parts.splice(1, 1, Uint8Array.of(2, 1, 0x80)))],
    [
      "a serial of 21 octets",
      altered((parts) => parts.splice(1, 1, der.unsignedInteger(new Uint8Array(21).fill(1)))),
    ],
    [
      "an empty list of extensions",
      altered((parts) => parts.splice(-1, 1, der.explicit(3, der.sequence()))),
    ],
    ["an element after the extensions", altered((parts) => parts.push(der.nullElement()))],
    [
      "one time only",
      altered((parts) => parts.splice(4, 1, der.sequence(der.time(fields.notBefore)))),
    ],
  ])("%s", (_name, octets) => expect(() => parseCertificate(octets)).toThrow(DerError));

  test("an extension that occurs twice", () => {
    const [extension] = fields.extensions;
    const twice = extension ? [extension, extension] : [];
    const octets = signed(certificates.encodeTbsCertificate({ ...fields, extensions: twice }));
    expect(() => parseCertificate(octets)).toThrow("an extension occurs twice");
  });

  test("unique identifiers are read over", () => {
    const octets = altered((parts) =>
      parts.splice(-1, 0, Uint8Array.of(0x81, 2, 0, 1), Uint8Array.of(0x82, 2, 0, 1)),
    );
    expect(parseCertificate(octets).extensions).toHaveLength(3);
  });
});

test("an algorithm the table does not have is given by its OID alone", () => {
  const made = openssl([
    "req",
    "-new",
    "-x509",
    "-nodes",
    "-keyout",
    "/dev/null",
    "-newkey",
    "rsa:2048",
    "-sha1",
    "-subj",
    "/CN=x",
    "-outform",
    "DER",
  ]);
  expect(parseCertificate(made)).toMatchObject({
    signatureOid: "1.2.840.113549.1.1.5",
    signatureName: undefined,
  });
});

function elementsOf(sequence: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  const cursor = openSequence(sequence);
  while (!cursor.finished) parts.push(cursor.element());
  return parts;
}
