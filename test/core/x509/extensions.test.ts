/** Extensions are, octet for octet, what openssl writes, and are read back strictly. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { DerError } from "#core/asn1/cursor.ts";
import * as der from "#core/asn1/der.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import * as x from "#core/x509/extensions.ts";
import { openssl, opensslText, scratchDirectory } from "#test/support/encodings/openssl.ts";
import { makeKey } from "#test/support/encodings/x509.ts";

const key = makeKey("ecdsa-p256");
const hex = (text: string): Uint8Array => Uint8Array.fromHex(text.replaceAll(" ", ""));
const refused = (read: () => unknown): void => expect(read).toThrow(DerError);

/** The extensions of a certificate that openssl makes from these configuration lines. */
function opensslExtensions(lines: readonly string[]): readonly x.Extension[] {
  using directory = scratchDirectory();
  const pem = key.privateKey.export({ format: "pem", type: "pkcs8" });
  const config = ["[req]", "distinguished_name=dn", "x509_extensions=v3", "[dn]", "[v3]", ...lines];
  const certificate = openssl([
    "req",
    "-new",
    "-x509",
    "-subj",
    "/CN=x",
    "-outform",
    "DER",
    "-config",
    directory.write("config", config.join("\n")),
    "-key",
    directory.write("key.pem", pem.toString()),
  ]);
  return parseCertificate(certificate).extensions;
}

const urls = { ocsp: "http://ca.example/ocsp", caIssuers: "http://ca.example/ca.cer" };

describe("openssl writes the same octets", () => {
  const rows: readonly (readonly [lines: readonly string[], ours: x.Extension])[] = [
    [["basicConstraints=critical,CA:TRUE"], x.basicConstraints(true, undefined)],
    [["basicConstraints=critical,CA:TRUE,pathlen:0"], x.basicConstraints(true, 0)],
    [["basicConstraints=critical,CA:FALSE"], x.basicConstraints(false, undefined)],
    [["keyUsage=critical,digitalSignature"], x.keyUsage(["digitalSignature"])],
    [
      ["keyUsage=critical,digitalSignature,keyCertSign,cRLSign"],
      x.keyUsage(["cRLSign", "digitalSignature", "keyCertSign"]),
    ],
    [["keyUsage=critical,decipherOnly"], x.keyUsage(["decipherOnly"])],
    [["extendedKeyUsage=serverAuth,1.2.3.4"], x.extendedKeyUsage(["serverAuth", "1.2.3.4"])],
    [["extendedKeyUsage=critical,timeStamping"], x.extendedKeyUsage(["timeStamping"], true)],
    [
      ["extendedKeyUsage=OCSPSigning,anyExtendedKeyUsage"],
      x.extendedKeyUsage(["OCSPSigning", "anyExtendedKeyUsage"]),
    ],
    [["subjectKeyIdentifier=hash"], x.subjectKeyIdentifier(x.subjectKeyId(key.spki, "sha1"))],
    [
      [
        "subjectAltName=critical,DNS:a.example,IP:192.0.2.1,IP:2001:db8::1,email:a@b.example,URI:urn:x",
      ],
      x.subjectAltName(
        [
          { kind: "dns", value: "a.example" },
          { kind: "ip", value: "192.0.2.1" },
          { kind: "ip", value: "2001:db8::1" },
          { kind: "email", value: "a@b.example" },
          { kind: "uri", value: "urn:x" },
        ],
        true,
      ),
    ],
    [
      ["certificatePolicies=@p", "[p]", "policyIdentifier=1.2.3.4", "CPS=http://ca.example/cps"],
      x.certificatePolicies({ oids: ["1.2.3.4"], cps: "http://ca.example/cps" }, false),
    ],
    [
      ["certificatePolicies=critical,1.2.3,2.5.29.32.0"],
      x.certificatePolicies({ oids: ["1.2.3", "2.5.29.32.0"] }, true),
    ],
    [
      [`authorityInfoAccess=OCSP;URI:${urls.ocsp},caIssuers;URI:${urls.caIssuers}`],
      x.authorityInfoAccess(urls),
    ],
    [
      [`authorityInfoAccess=caIssuers;URI:${urls.caIssuers}`],
      x.authorityInfoAccess({ caIssuers: urls.caIssuers }),
    ],
    [
      ["crlDistributionPoints=URI:http://ca.example/crl"],
      x.crlDistributionPoints(["http://ca.example/crl"]),
    ],
    [
      ["crlDistributionPoints=c", "[c]", "fullname=URI:http://a/,URI:http://b/"],
      x.crlDistributionPoints(["http://a/", "http://b/"]),
    ],
    [["tlsfeature=status_request"], x.mustStaple()],
    [["noCheck=ignored"], x.ocspNoCheck()],
  ];

  test.each(rows)("%j", (lines, ours) => {
    const made = opensslExtensions(lines).filter(({ oid }) => oid === ours.oid);
    expect(made.map(describeExtension)).toEqual([describeExtension(ours)]);
  });

  test("an authority key identifier carries the key identifier only", () => {
    const theirs = opensslExtensions([
      "subjectKeyIdentifier=hash",
      "authorityKeyIdentifier=keyid:always",
    ]);
    const ours = x.authorityKeyIdentifier(x.subjectKeyId(key.spki, "sha1"));
    expect(theirs.map(describeExtension)).toContainEqual(describeExtension(ours));
  });
});

const describeExtension = ({ oid, critical, value }: x.Extension): string =>
  `${oid} ${critical} ${value.toHex()}`;

test("RFC 7093 §2: a key identifier is the leftmost 160 bits of SHA-256 over the key's bits", () => {
  const bits = key.spki.slice(-65);
  const digest = opensslText(["dgst", "-sha256", "-r"], bits).slice(0, 40);
  expect(x.subjectKeyId(key.spki, "rfc7093").toHex()).toBe(digest);
  const sha1 = opensslText(["dgst", "-sha1", "-r"], bits).slice(0, 40);
  expect(x.subjectKeyId(key.spki, "sha1").toHex()).toBe(sha1);
});

test("what would be meaningless is a bug of the caller", () => {
  expect(() => x.basicConstraints(false, 1)).toThrow("assertion");
  expect(() => x.keyUsage([])).toThrow("assertion");
  expect(() => x.authorityInfoAccess({})).toThrow("assertion");
  expect(() => x.crlDistributionPoints([])).toThrow("assertion");
});

describe("lists of extensions", () => {
  const one = { oid: "1.2.3", critical: true, value: hex("0500") };

  test("are read back in order", () => {
    const extensions = [one, { oid: "1.2.4", critical: false, value: hex("") }];
    expect(x.parseExtensions(x.encodeExtensions(extensions))).toEqual(extensions);
  });

  test("an extension that occurs twice is refused", () =>
    refused(() => x.parseExtensions(x.encodeExtensions([one, one]))));

  test("a criticality of FALSE that is written out is refused", () =>
    refused(() => x.parseExtensions(hex("30 0b 30 09 06 02 2a 03 01 01 00 04 00"))));

  test("a criticality that is not DER is refused", () =>
    refused(() => x.parseExtensions(hex("30 0b 30 09 06 02 2a 03 01 01 01 04 00"))));

  test("octets after the value are refused", () =>
    refused(() => x.parseExtensions(hex("30 0a 30 08 06 02 2a 03 04 00 05 00"))));
});

describe("values", () => {
  test("are read back", () => {
    const keyId = hex("0102");
    expect(x.parseBasicConstraints(x.basicConstraints(true, 3).value)).toEqual({
      ca: true,
      pathLength: 3,
    });
    expect(x.parseBasicConstraints(hex("3000"))).toEqual({ ca: false, pathLength: undefined });
    expect(x.parseExtendedKeyUsage(x.extendedKeyUsage(["clientAuth"]).value)).toEqual([
      "1.3.6.1.5.5.7.3.2",
    ]);
    expect(x.parseSubjectKeyIdentifier(x.subjectKeyIdentifier(keyId).value)).toEqual(keyId);
    expect(x.parseAuthorityKeyIdentifier(x.authorityKeyIdentifier(keyId).value)).toEqual(keyId);
    expect(x.parseAuthorityKeyIdentifier(hex("3000"))).toBeUndefined();
    expect(x.parseTlsFeatures(x.mustStaple().value)).toEqual([5]);
    expect(x.parseCrlNumber(x.crlNumber(1_000_000).value)).toBe(1_000_000);
  });

  test("every set of key usages survives, in the order of the bits", () => {
    const all = Object.keys(x.keyUsageBits) as x.KeyUsage[]; // The keys of the table.
    fc.assert(
      fc.property(fc.subarray(all, { minLength: 1 }), (usages) => {
        expect(x.parseKeyUsage(x.keyUsage(usages.toReversed()).value)).toEqual(usages);
      }),
    );
  });

  test("an authority key identifier with issuer and serial is read", () => {
    const value = der.sequence(
      der.implicit(0, hex("07")),
      der.element(0xa1, hex("8200")),
      der.implicit(2, hex("05")),
    );
    expect(x.parseAuthorityKeyIdentifier(value)).toEqual(hex("07"));
  });

  test.each([
    ["a CA flag of FALSE that is written out", () => x.parseBasicConstraints(hex("3003 010100"))],
    ["a negative path length", () => x.parseBasicConstraints(hex("3006 0101ff 0201ff"))],
    ["a key usage without a name", () => x.parseKeyUsage(hex("03 03 06 00 40"))],
    ["a key usage with trailing zero bits", () => x.parseKeyUsage(hex("03 02 00 80"))],
    ["a key usage with a trailing zero octet", () => x.parseKeyUsage(hex("03 03 00 80 00"))],
    ["an extended key usage without usages", () => x.parseExtendedKeyUsage(hex("3000"))],
    ["a TLS feature list without features", () => x.parseTlsFeatures(hex("3000"))],
    ["octets after a key identifier", () => x.parseSubjectKeyIdentifier(hex("040107 00"))],
    ["a CRL number beyond 2^53", () => x.parseCrlNumber(hex("0208 0100000000000000"))],
  ])("%s is refused", (_name, read) => refused(read));
});
