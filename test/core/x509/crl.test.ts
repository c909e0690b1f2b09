/**
 * Revocation lists: what pkid encodes is what openssl, @peculiar/x509 and pkijs read, and the
 * reverse.
 */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import * as pkijs from "pkijs";

import { DerError, openSequence } from "#core/asn1/cursor.ts";
import * as der from "#core/asn1/der.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { parseSerial, serialFromBytes } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import { assembleSigned } from "#core/x509/certificate.ts";
import * as crls from "#core/x509/crl.ts";
import {
  authorityKeyIdentifier,
  crlNumber,
  encodeExtensions,
  type Extension,
} from "#core/x509/extensions.ts";
import { nameText, parseName } from "#core/x509/names.ts";
import { type RevocationReason, revocationReasons } from "#core/x509/reasons.ts";
import { openssl, opensslText, scratchDirectory } from "#test/support/encodings/openssl.ts";
import { x509 } from "#test/support/encodings/peculiar.ts";
import { certify, makeKey, rootFields, signWith } from "#test/support/encodings/x509.ts";

const key = makeKey("ecdsa-p256");
const root = rootFields(key, "ecdsa-sha256");
const at = instant(Date.UTC(2026, 0, 1));
const later = instant(Date.UTC(2050, 5, 1));
const reasons = Object.keys(revocationReasons) as RevocationReason[]; // The keys of the table.

const entries: readonly crls.CrlEntry[] = [...reasons, "removeFromCRL" as const].map(
  (reason, index) => ({ serial: parseSerial(String(2 ** 40 + index)), revokedAt: at, reason }),
);
const fields: crls.TbsCertList = {
  signature: "ecdsa-sha256",
  issuer: root.subject,
  thisUpdate: at,
  nextUpdate: later,
  entries: entries.map(crls.encodeCrlEntry),
  extensions: [authorityKeyIdentifier(new Uint8Array(20)), crlNumber(77)],
};

/** The list with these fields changed, signed by the root. */
function list(changes: Partial<crls.TbsCertList> = {}): Uint8Array {
  const tbs = crls.encodeTbsCertList({ ...fields, ...changes });
  return assembleSigned(tbs, "ecdsa-sha256", signWith(key, "ecdsa-sha256", tbs));
}

describe("a list with every reason", () => {
  const made = list();

  test("is read back by pkid", () => {
    const read = crls.parseCrl(made);
    expect(read).toMatchObject({
      thisUpdate: at,
      nextUpdate: later,
      number: 77,
      signatureName: "ecdsa-sha256",
    });
    expect(read.entries).toEqual(entries);
    expect(read.extensions).toEqual(fields.extensions);
    expect(read.issuer).toEqual(root.subject);
  });

  test("is verified and printed by openssl", () => {
    using directory = scratchDirectory();
    const pem = directory.write("root.pem", encodePem("CERTIFICATE", certify(key, root)));
    const args = ["crl", "-inform", "DER", "-noout", "-text", "-CAfile", pem, "-verify"];
    const text = opensslText(args, made);
    for (const line of [
      "Version 2 (0x1)",
      "Last Update: Jan  1 00:00:00 2026 GMT",
      "Next Update: Jun  1 00:00:00 2050 GMT",
      "X509v3 CRL Number: \n                77",
      "Remove From CRL",
    ]) {
      expect(text).toContain(line);
    }
    expect(text.match(/Serial Number:/g)).toHaveLength(entries.length);
    expect(text.match(/CRL entry extensions:/g)).toHaveLength(entries.length - 1);
  });

  test("is read alike by @peculiar/x509", () => {
    const read = new x509.X509Crl(new Uint8Array(made));
    const found = read.entries.map((entry) => [
      BigInt(`0x${entry.serialNumber}`),
      entry.reason ?? 0,
    ]);
    const codes = { ...revocationReasons, removeFromCRL: 8 };
    expect(found).toEqual(entries.map(({ serial, reason }) => [BigInt(serial), codes[reason]]));
    expect([read.thisUpdate.getTime(), read.nextUpdate?.getTime()]).toEqual([at, later]);
  });

  test("is read alike by pkijs", () => {
    const read = pkijs.CertificateRevocationList.fromBER(new Uint8Array(made));
    expect(read.version).toBe(1);
    expect(read.revokedCertificates).toHaveLength(entries.length);
    expect(read.crlExtensions?.extensions.map(({ extnID }) => extnID)).toEqual([
      "2.5.29.35",
      "2.5.29.20",
    ]);
  });
});

// Every entry has a reason: for one without, the library writes an empty list of extensions, which
// RFC 5280 §5.3 forbids.
test("@peculiar/x509 encodes an equal list to the same octets", async () => {
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
    "sign",
    "verify",
  ]);
  const theirs = await x509.X509CrlGenerator.create({
    issuer: new x509.Name(parseNameJson()),
    thisUpdate: new Date(at),
    nextUpdate: new Date(later),
    entries: [
      { serialNumber: "7fff", revocationDate: new Date(at), reason: x509.X509CrlReason.superseded },
      {
        serialNumber: "05",
        revocationDate: new Date(at),
        reason: x509.X509CrlReason.keyCompromise,
      },
    ],
    signingKey: pair.privateKey,
    signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
    extensions: [new x509.AuthorityKeyIdentifierExtension("00".repeat(20))],
  });
  const ours = crls.encodeTbsCertList({
    ...fields,
    entries: [
      crls.encodeCrlEntry({ serial: parseSerial("0x7fff"), revokedAt: at, reason: "superseded" }),
      crls.encodeCrlEntry({ serial: parseSerial("5"), revokedAt: at, reason: "keyCompromise" }),
    ],
    extensions: [authorityKeyIdentifier(new Uint8Array(20))],
  });
  expect(ours.toHex()).toBe(crls.parseCrl(new Uint8Array(theirs.rawData)).tbs.toHex());
});

const parseNameJson = () => [
  { C: [{ printableString: "DE" }] },
  { O: [{ utf8String: "Example" }] },
  { CN: [{ utf8String: "Test Root" }] },
];

test("RFC 5280 §5.1.2.6: without entries the list is absent", () => {
  const made = list({ entries: [] });
  expect(opensslText(["crl", "-inform", "DER", "-noout", "-text"], made)).toContain(
    "No Revoked Certificates.",
  );
  expect(crls.parseCrl(made).entries).toEqual([]);
});

test("any list is read back", () => {
  const entry = fc.record({
    serial: fc.uint8Array({ minLength: 1, maxLength: 20 }).map(serialFromBytes),
    revokedAt: fc.integer({ min: 0, max: 2 ** 32 }).map((seconds) => instant(seconds * 1000)),
    reason: fc.constantFrom(...reasons, "removeFromCRL" as const),
  });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 20 }), fc.maxSafeNat(), (given, number) => {
      const encoded = given.map(crls.encodeCrlEntry);
      const tbs = crls.encodeTbsCertList({
        ...fields,
        entries: encoded,
        extensions: [crlNumber(number)],
      });
      const read = crls.parseCrl(assembleSigned(tbs, "ecdsa-sha256", new Uint8Array(8)));
      expect(read.entries).toEqual(given);
      expect(read.number).toBe(number);
    }),
  );
});

test("a list of 200,000 entries is written whole", () => {
  const [first] = fields.entries;
  const many = Array<Uint8Array>(200_000).fill(first ?? new Uint8Array(0));
  expect(crls.parseCrl(list({ entries: many })).entries).toHaveLength(200_000);
});

test("lists made by openssl are read", () => {
  using directory = scratchDirectory();
  const pem = key.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  const index = [
    "R\t300101000000Z\t250102030405Z,keyCompromise\t0A\tunknown\t/CN=a",
    "R\t300101000000Z\t250102030405Z\t0B\tunknown\t/CN=b\n",
  ];
  const config = directory.write(
    "config",
    [
      "[ca]",
      "default_ca=c",
      "[c]",
      `database=${directory.write("index", index.join("\n"))}`,
      "default_md=sha256",
      `crlnumber=${directory.write("number", "10\n")}`,
      "crl_extensions=e",
      "[e]",
    ].join("\n"),
  );
  const made = openssl([
    "ca",
    "-gencrl",
    "-config",
    config,
    "-crldays",
    "7",
    "-cert",
    directory.write("root.pem", encodePem("CERTIFICATE", certify(key, root))),
    "-keyfile",
    directory.write("key.pem", pem),
  ]);
  const read = crls.parseCrl(openssl(["crl", "-outform", "DER"], made));
  const revokedAt = instant(Date.UTC(2025, 0, 2, 3, 4, 5));
  expect(read.entries).toEqual([
    { serial: parseSerial("10"), revokedAt, reason: "keyCompromise" },
    { serial: parseSerial("11"), revokedAt, reason: "unspecified" },
  ]);
  expect(read.number).toBe(16);
  expect(nameText(parseName(read.issuer))).toBe("CN=Test Root,O=Example,C=DE");
});

describe("refused", () => {
  const tbs = crls.encodeTbsCertList(fields);
  const signed = (part: Uint8Array): Uint8Array =>
    assembleSigned(part, "ecdsa-sha256", new Uint8Array(8));
  const altered = (change: (parts: Uint8Array[]) => void): Uint8Array => {
    const parts: Uint8Array[] = [];
    const cursor = openSequence(tbs);
    while (!cursor.finished) parts.push(cursor.element());
    change(parts);
    return signed(der.sequence(...parts));
  };
  const withEntry = (extension: Extension): Uint8Array => {
    const entry = der.sequence(der.integer(5), der.time(at), encodeExtensions([extension]));
    return list({ entries: [entry] });
  };
  const reason = (value: Uint8Array): Uint8Array =>
    withEntry({ oid: "2.5.29.21", critical: false, value });

  test.each([
    ["algorithms that differ", assembleSigned(tbs, "ed25519", new Uint8Array(8))],
    ["octets after the list", Uint8Array.of(...signed(tbs), 0)],
    ["version 3", altered((parts) => parts.splice(0, 1, der.integer(2)))],
    ["extensions without a version", altered((parts) => parts.shift())],
    ["an empty list of entries", altered((parts) => parts.splice(5, 1, der.sequence()))],
    ["no issue date", altered((parts) => parts.splice(3, 2))],
    ["reason 7", reason(der.enumerated(7))],
    ["reason 11", reason(der.enumerated(11))],
    ["a reason that is no ENUMERATED", reason(der.integer(1))],
    [
      "an entry of an indirect CRL",
      withEntry({ oid: "2.5.29.29", critical: true, value: der.sequence() }),
    ],
    [
      "a CRL number beyond 2^53",
      list({
        extensions: [
          {
            oid: "2.5.29.20",
            critical: false,
            value: der.unsignedInteger(new Uint8Array(8).fill(1)),
          },
        ],
      }),
    ],
  ])("%s", (_name, octets) => expect(() => crls.parseCrl(octets)).toThrow(DerError));

  test("an entry with an unknown extension that is not critical is read", () => {
    const made = withEntry({ oid: "2.5.29.24", critical: false, value: der.generalizedTime(at) });
    expect(crls.parseCrl(made).entries[0]?.reason).toBe("unspecified");
  });
});
