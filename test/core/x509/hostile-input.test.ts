/**
 * Whatever octets arrive, a parser gives a value or throws DerError or a refusal, and never hangs.
 */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { DerError } from "#core/asn1/cursor.ts";
import { Problem } from "#core/problems.ts";
import { instant } from "#core/time.ts";
import { readAlgorithm, readHash } from "#core/x509/algorithm-identifiers.ts";
import { algorithmIdentifier } from "#core/x509/algorithm-identifiers.ts";
import { assembleSigned, parseCertificate } from "#core/x509/certificate.ts";
import { encodeCrlEntry, encodeTbsCertList, parseCrl } from "#core/x509/crl.ts";
import { csrSignatureValid, parseCsr } from "#core/x509/csr.ts";
import * as extensions from "#core/x509/extensions.ts";
import { encodeGeneralNames, parseGeneralNames } from "#core/x509/general-names.ts";
import { nameConstraints, parseNameConstraints } from "#core/x509/name-constraints.ts";
import { encodeName, nameText, parseName } from "#core/x509/names.ts";
import {
  encodeOcspRequest,
  encodeOcspResponse,
  encodeResponseData,
  parseOcspRequest,
} from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";
import { opensslText } from "#test/support/encodings/openssl.ts";
import { certify, makeKey, rootFields } from "#test/support/encodings/x509.ts";

const key = makeKey("ecdsa-p256");
const rsa = makeKey("rsa-2048");
const root = rootFields(key, "ecdsa-sha256");
const at = instant(Date.UTC(2026, 0, 1));
const none = { dns: [], ip: [], email: [], uri: [], dirNames: [] };
const names = encodeGeneralNames([
  { kind: "dns", value: "a.example" },
  { kind: "ip", value: "2001:db8::1" },
  { kind: "email", value: "a@b.example" },
]);
const signature = new Uint8Array(64);
const csrPem = opensslText([
  "req",
  "-new",
  "-nodes",
  "-keyout",
  "/dev/null",
  "-newkey",
  "ed25519",
  "-subj",
  "/C=DE/CN=x",
  "-addext",
  "subjectAltName=DNS:a.example,IP:::1",
  "-addext",
  "tlsfeature=status_request",
]);

const certificate = certify(key, {
  ...root,
  extensions: [...root.extensions, { oid: "2.5.29.17", critical: false, value: names }],
});
const crl = assembleSigned(
  encodeTbsCertList({
    signature: "ecdsa-sha256",
    issuer: root.subject,
    thisUpdate: at,
    nextUpdate: at,
    entries: [encodeCrlEntry({ serial: root.serial, revokedAt: at, reason: "superseded" })],
    extensions: [extensions.crlNumber(300)],
  }),
  "ecdsa-sha256",
  signature,
);
const ocspRequest = encodeOcspRequest({
  issuerName: root.subject,
  issuerSpki: key.spki,
  serial: root.serial,
  hash: "sha256",
  nonce: new Uint8Array(16),
});
const ocspResponse = encodeOcspResponse(
  encodeResponseData({
    responder: root.subject,
    producedAt: at,
    nonce: new Uint8Array(16),
    answers: (parseOcspRequest(ocspRequest)?.certIds ?? []).map((id) => ({
      certId: id.der,
      thisUpdate: at,
      nextUpdate: at,
      status: { status: "revoked", at, reason: "keyCompromise" },
    })),
  }),
  "ecdsa-sha256",
  signature,
  [certificate],
);

/** Columns: parser, an input it accepts. */
const parsers: Readonly<Record<string, readonly [(octets: Uint8Array) => unknown, Uint8Array]>> = {
  certificate: [parseCertificate, certificate],
  crl: [parseCrl, crl],
  "ocsp request": [parseOcspRequest, ocspRequest],
  "ocsp response": [parseOcspResponse, ocspResponse],
  request: [(octets) => csrSignatureValid(parseCsr(octets)), parseCsr(csrPem).der],
  name: [
    (octets) => nameText(parseName(octets)),
    encodeName([
      { type: "CN", value: "Grüße" },
      { type: "1.2.3", value: "x" },
    ]).der,
  ],
  "general names": [parseGeneralNames, names],
  extensions: [extensions.parseExtensions, extensions.encodeExtensions(root.extensions)],
  "basic constraints": [
    extensions.parseBasicConstraints,
    extensions.basicConstraints(true, 1).value,
  ],
  "key usage": [
    extensions.parseKeyUsage,
    extensions.keyUsage(["decipherOnly", "keyCertSign"]).value,
  ],
  "extended key usage": [
    extensions.parseExtendedKeyUsage,
    extensions.extendedKeyUsage(["serverAuth"]).value,
  ],
  "name constraints": [
    parseNameConstraints,
    nameConstraints(
      {
        permitted: { ...none, ip: ["10.0.0.0/9"], dns: ["a"], dirNames: [root.subject] },
        excluded: none,
      },
      true,
    ).value,
  ],
  "authority key identifier": [
    extensions.parseAuthorityKeyIdentifier,
    extensions.authorityKeyIdentifier(new Uint8Array(20)).value,
  ],
  "subject key identifier": [
    extensions.parseSubjectKeyIdentifier,
    extensions.subjectKeyIdentifier(new Uint8Array(20)).value,
  ],
  "tls features": [extensions.parseTlsFeatures, extensions.mustStaple().value],
  "crl number": [extensions.parseCrlNumber, extensions.crlNumber(300).value],
  "rsa key": [parsePublicKey, rsa.spki],
  "ec key": [parsePublicKey, key.spki],
  "signature algorithm": [readAlgorithm, algorithmIdentifier("rsa-pss-sha384")],
  "hash algorithm": [readHash, Uint8Array.fromHex("300906052b0e03021a0500")],
};

describe.each(Object.entries(parsers))("the parser of: %s", (_name, [parse, valid]) => {
  const survives = (octets: Uint8Array): void => {
    try {
      parse(octets);
    } catch (error) {
      if (!(error instanceof DerError) && !(error instanceof Problem)) throw error;
    }
  };

  test("reads the valid input the mutations start from", () => {
    expect(parse(valid)).toBeDefined();
  });

  test("survives random octets", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), survives), { numRuns: 300 });
  });

  test("survives every cut", () => {
    for (let length = 0; length < valid.length; length++) survives(valid.subarray(0, length));
    for (let start = 1; start < valid.length; start++) survives(valid.subarray(start));
  });

  test("survives changed, dropped and repeated octets", () => {
    const place = fc.nat(valid.length - 1);
    const change = fc.record({
      place,
      octet: fc.nat(255),
      kind: fc.constantFrom("set", "drop", "insert", "copy"),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const octets = [...valid];
        for (const { place: where, octet, kind } of changes) {
          if (kind === "set") octets[where] = octet;
          else if (kind === "drop") octets.splice(where, 1);
          else if (kind === "insert") octets.splice(where, 0, octet);
          else octets.splice(where, 0, ...octets.slice(where, where + octet));
        }
        survives(Uint8Array.from(octets));
      }),
      { numRuns: 500 },
    );
  });

  test("refuses an octet after the end", () => {
    const longer = Uint8Array.of(...valid, 0);
    const refused = (): unknown => {
      const value = parse(longer);
      if (value === undefined) throw new DerError("malformedRequest");
      return value;
    };
    expect(refused).toThrow();
  });
});

test("PEM that is nearly right is refused or read, and nothing else", () => {
  const place = fc.nat(csrPem.length - 1);
  fc.assert(
    fc.property(place, fc.string({ maxLength: 3 }), (where, text) => {
      try {
        parseCsr(csrPem.slice(0, where) + text + csrPem.slice(where + 1));
      } catch (error) {
        expect(error).toBeInstanceOf(Problem);
      }
    }),
    { numRuns: 500 },
  );
});

test("a request of 64 KiB of nested elements is refused at once", () => {
  const octets = new Uint8Array(65_536).fill(0x30);
  expect(() => parseCsr(octets)).toThrow(Problem);
});
