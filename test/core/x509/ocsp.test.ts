/** OCSP requests and responses, between pkid, openssl and pkijs. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import * as pkijs from "pkijs";

import { DerError } from "#core/asn1/cursor.ts";
import * as der from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { parseSerial } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import { hashIdentifier } from "#core/x509/algorithm-identifiers.ts";
import { encodeExtensions, type Extension } from "#core/x509/extensions.ts";
import * as ocsp from "#core/x509/ocsp.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { type RevocationReason, revocationReasons } from "#core/x509/reasons.ts";
import { openssl, opensslText, scratchDirectory } from "#test/support/encodings/openssl.ts";
import { certify, makeKey, rootFields, signWith } from "#test/support/encodings/x509.ts";

const key = makeKey("ecdsa-p256");
const root = rootFields(key, "ecdsa-sha256");
const rootDer = certify(key, root);
const rootPem = encodePem("CERTIFICATE", rootDer);
const at = instant(Date.UTC(2026, 0, 1, 2, 3, 4));
const later = instant(Date.UTC(2050, 0, 1));
const serial = parseSerial("0x80a1");
const nonce = new Uint8Array(32).fill(9);
const question = {
  issuerName: root.subject,
  issuerSpki: key.spki,
  serial,
  hash: "sha256",
} as const;

const certIdOf = (hash: "sha1" | "sha256" = "sha256"): Uint8Array =>
  ocsp.parseOcspRequest(ocsp.encodeOcspRequest({ ...question, hash }))?.certIds[0]?.der ??
  new Uint8Array(0);

/** A signed response with these answers. */
function respond(answers: readonly ocsp.SingleAnswer[], echoed?: Uint8Array): Uint8Array {
  const responseData = ocsp.encodeResponseData({
    responder: root.subject,
    producedAt: at,
    answers,
    nonce: echoed,
  });
  const signature = signWith(key, "ecdsa-sha256", responseData);
  return ocsp.encodeOcspResponse(responseData, "ecdsa-sha256", signature, [rootDer]);
}

const answer = (status: ocsp.SingleStatus): ocsp.SingleAnswer => ({
  certId: certIdOf(),
  status,
  thisUpdate: at,
  nextUpdate: later,
});

describe("requests", () => {
  test.each(["sha1", "sha256", "sha384", "sha512"] as const)(
    "openssl's request with %s is read",
    (hash) => {
      using directory = scratchDirectory();
      const path = directory.write("root.pem", rootPem);
      const made = `${directory.path}/request`;
      openssl([
        "ocsp",
        `-${hash}`,
        "-issuer",
        path,
        "-serial",
        "0x80a1",
        "-serial",
        "7",
        "-reqout",
        made,
      ]);
      const request = ocsp.parseOcspRequest(new Uint8Array(directory.read("request")));
      expect(request?.certIds.map((id) => [id.hash, id.serial])).toEqual([
        [hash, serial],
        [hash, parseSerial("7")],
      ]);
      expect(request?.nonce?.length).toBe(16);
      if (hash === "sha1" || hash === "sha256")
        expect(request?.certIds[0]?.der).toEqual(certIdOf(hash));
    },
  );

  test("a signed request of openssl with a requestor's name is read over", () => {
    using directory = scratchDirectory();
    const path = directory.write("root.pem", rootPem);
    const pem = key.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
    openssl([
      "ocsp",
      "-issuer",
      path,
      "-serial",
      "5",
      "-no_nonce",
      "-signer",
      path,
      "-signkey",
      directory.write("key.pem", pem),
      "-reqout",
      `${directory.path}/request`,
    ]);
    const request = ocsp.parseOcspRequest(new Uint8Array(directory.read("request")));
    expect(request?.certIds).toHaveLength(1);
    expect(request?.nonce).toBeUndefined();
  });

  test("openssl prints what pkid asks", () => {
    const made = ocsp.encodeOcspRequest({ ...question, nonce });
    using directory = scratchDirectory();
    const text = opensslText(["ocsp", "-reqin", directory.write("request", made), "-req_text"]);
    for (const line of ["Hash Algorithm: sha256", "Serial Number: 80A1", `0420${nonce.toHex()}`])
      expect(text).toContain(line);
  });

  test("pkijs makes and reads the same request", () => {
    const read = pkijs.OCSPRequest.fromBER(
      new Uint8Array(ocsp.encodeOcspRequest({ ...question, nonce })),
    );
    const [asked] = read.tbsRequest.requestList;
    expect(asked?.reqCert.serialNumber.valueBlock.toString()).toBe(serial);
    const again = ocsp.parseOcspRequest(new Uint8Array(read.toSchema(true).toBER()));
    expect(again).toMatchObject({ nonce, certIds: [{ serial, hash: "sha256" }] });
  });

  const hash = der.octetString(new Uint8Array(20));
  const certId = (number: Uint8Array, algorithm = hashIdentifier("sha1")): Uint8Array =>
    der.sequence(algorithm, hash, hash, number);
  const requestOf = (...parts: readonly Uint8Array[]): Uint8Array =>
    der.sequence(der.sequence(...parts));
  const one = der.sequence(certId(der.integer(5)));
  const extended = (extension: Extension): Uint8Array =>
    der.explicit(2, encodeExtensions([extension]));
  const nonceOf = (value: Uint8Array): Uint8Array =>
    requestOf(der.sequence(one), extended({ oid: oids.ocspNonce, critical: false, value }));

  test("serials no CA issues, and unknown digests, are left open", () => {
    const numbers = ["020100", "0201ff", `0215 01${"00".repeat(20)}`].map((hex) =>
      Uint8Array.fromHex(hex.replace(" ", "")),
    );
    const md5 = der.sequence(der.oid("1.2.840.113549.2.5"), der.nullElement());
    const list = [...numbers.map((number) => certId(number)), certId(der.integer(5), md5)].map(
      (id) => der.sequence(id),
    );
    const request = ocsp.parseOcspRequest(requestOf(der.sequence(...list)));
    expect(request?.certIds.map((id) => id.serial)).toEqual([
      undefined,
      undefined,
      undefined,
      parseSerial("5"),
    ]);
    expect(request?.certIds[3]?.hash).toBeUndefined();
  });

  test("digest parameters may be absent, and version 1 may be written out", () => {
    const bare = certId(der.integer(5), der.sequence(der.oid(oids.sha256)));
    const request = ocsp.parseOcspRequest(
      requestOf(der.explicit(0, der.integer(0)), der.sequence(der.sequence(bare))),
    );
    expect(request?.certIds[0]?.hash).toBe("sha256");
  });

  test("RFC 9654 §2.1: a nonce has 1 to 128 octets", () => {
    for (const length of [1, 128]) {
      expect(
        ocsp.parseOcspRequest(nonceOf(der.octetString(new Uint8Array(length))))?.nonce?.length,
      ).toBe(length);
    }
    for (const length of [0, 129]) {
      expect(
        ocsp.parseOcspRequest(nonceOf(der.octetString(new Uint8Array(length)))),
      ).toBeUndefined();
    }
  });

  test("a nonce that comes alone is read as the one among other extensions", () => {
    const lengths = fc.uint8Array({ minLength: 1, maxLength: 128 });
    const damages = fc.option(fc.tuple(fc.nat(160), fc.integer({ min: 1, max: 255 })));
    const other: Extension = { oid: "1.2.3", critical: false, value: der.nullElement() };
    const read = (list: Uint8Array) =>
      ocsp.parseOcspRequest(requestOf(der.sequence(one), der.explicit(2, list)))?.nonce;
    fc.assert(
      fc.property(lengths, damages, (octets, damage) => {
        const value = der.octetString(octets);
        const alone = encodeExtensions([{ oid: oids.ocspNonce, critical: false, value }]);
        const [, index = 0, mask = 0] = damage === null ? [] : [0, ...damage];
        alone[index % alone.length] = (alone[index % alone.length] ?? 0) ^ mask;
        // The same octets before a second extension; the list is what `readNonce` is given there.
        const first = alone.subarray(alone.length > 129 ? 3 : 2);
        const among = der.sequence(first, encodeExtensions([other]).subarray(2));
        const whole = index % alone.length >= alone.length - first.length || mask === 0;
        if (whole) expect(read(alone)).toEqual(read(among));
        else expect(read(alone)).toBeUndefined();
        if (mask === 0) expect(read(alone)).toEqual(octets);
      }),
      { numRuns: 2000 },
    );
  });

  test("32 entries are read and 33 are not", () => {
    const asking = (count: number): Uint8Array =>
      requestOf(der.sequence(...Array<Uint8Array>(count).fill(one)));
    expect(ocsp.parseOcspRequest(asking(32))?.certIds).toHaveLength(32);
    expect(ocsp.parseOcspRequest(asking(33))).toBeUndefined();
  });

  const unknown = { oid: "1.2.3", critical: true, value: der.nullElement() };
  test.each([
    ["no entry", requestOf(der.sequence())],
    ["no list", requestOf()],
    ["version 2", requestOf(der.explicit(0, der.integer(1)), der.sequence(one))],
    ["an unknown critical extension", requestOf(der.sequence(one), extended(unknown))],
    [
      "an unknown critical extension of an entry",
      requestOf(
        der.sequence(
          der.sequence(certId(der.integer(5)), der.explicit(0, encodeExtensions([unknown]))),
        ),
      ),
    ],
    ["a nonce that is no OCTET STRING", nonceOf(Uint8Array.of(1, 2, 3))],
    ["octets after the request", Uint8Array.of(...requestOf(der.sequence(one)), 0)],
    ["more than 64 KiB", der.sequence(der.octetString(new Uint8Array(65_536)))],
    ["nothing", new Uint8Array(0)],
  ])("malformed: %s", (_name, octets) => expect(ocsp.parseOcspRequest(octets)).toBeUndefined());

  test("an unknown extension that is not critical is read over", () => {
    const made = requestOf(der.sequence(one), extended({ ...unknown, critical: false }));
    expect(ocsp.parseOcspRequest(made)?.certIds).toHaveLength(1);
  });
});

describe("responses", () => {
  const statuses: readonly (readonly [string, ocsp.SingleStatus])[] = [
    ["good", { status: "good" }],
    ["unknown", { status: "unknown" }],
    ...Object.keys(revocationReasons).map(
      (reason) =>
        [
          `revoked (${reason})`,
          { status: "revoked", at, reason: reason as RevocationReason }, // A key of the table.
        ] as const,
    ),
  ];

  test.each(statuses)("%s is verified by openssl and read back", (name, status) => {
    using directory = scratchDirectory();
    const path = directory.write("root.pem", rootPem);
    const made = respond([answer(status)], nonce);
    const text = opensslText([
      "ocsp",
      "-reqin",
      directory.write("request", ocsp.encodeOcspRequest({ ...question, nonce })),
      "-respin",
      directory.write("response", made),
      "-CAfile",
      path,
      "-issuer",
      path,
      "-resp_text",
    ]);
    expect(text).toContain("Responder Id: C = DE, O = Example, CN = Test Root");
    expect(text).toContain("Produced At: Jan  1 02:03:04 2026 GMT");
    expect(text).toContain(`Cert Status: ${name.split(" ")[0]}`);
    // RFC 6960 §4.2.1: `unspecified` has no reason in the answer.
    const reason = status.status === "revoked" && status.reason !== "unspecified";
    expect(text.includes("Revocation Reason:")).toBe(reason);
    const { basic } = parseOcspResponse(made);
    expect(basic?.answers).toEqual([{ ...answer(status), serial }]);
    expect(basic).toMatchObject({
      producedAt: at,
      nonce,
      certificates: [rootDer],
      signatureName: "ecdsa-sha256",
    });
  });

  test("openssl takes the answer for the certificate it asks about", () => {
    using directory = scratchDirectory();
    const path = directory.write("root.pem", rootPem);
    const made = respond([{ ...answer({ status: "good" }), certId: certIdOf("sha1") }]);
    const text = opensslText([
      "ocsp",
      "-issuer",
      path,
      "-serial",
      "0x80a1",
      "-no_nonce",
      "-CAfile",
      path,
      "-respin",
      directory.write("response", made),
    ]);
    expect(text).toContain("0x80a1: good");
  });

  test("pkijs reads the same", () => {
    const made = respond([answer({ status: "good" }), answer({ status: "unknown" })]);
    const { responseBytes } = pkijs.OCSPResponse.fromBER(new Uint8Array(made));
    const basic = pkijs.BasicOCSPResponse.fromBER(
      responseBytes?.response.valueBlock.valueHexView.slice() ?? new Uint8Array(0),
    );
    expect(basic.tbsResponseData.responses).toHaveLength(2);
    expect(basic.tbsResponseData.producedAt.getTime()).toBe(at);
    expect(basic.certs).toHaveLength(1);
    expect(basic.tbsResponseData.responseExtensions).toBeUndefined();
  });

  test("an error is five octets", () => {
    const errors = [
      "malformedRequest",
      "internalError",
      "tryLater",
      "sigRequired",
      "unauthorized",
    ] as const;
    for (const status of errors) {
      const made = ocsp.encodeOcspError(status);
      expect(made.toHex()).toBe(`30030a010${ocsp.ocspStatus[status]}`);
      expect(parseOcspResponse(made)).toEqual({ status });
    }
  });

  test("without certificates and nonce neither is written", () => {
    const responseData = ocsp.encodeResponseData({
      responder: root.subject,
      producedAt: at,
      answers: [],
      nonce: undefined,
    });
    const made = ocsp.encodeOcspResponse(responseData, "ed25519", new Uint8Array(64), []);
    expect(parseOcspResponse(made).basic).toMatchObject({
      answers: [],
      certificates: [],
      nonce: undefined,
    });
  });

  test.each([
    ["an unknown status", Uint8Array.fromHex("30030a0104")],
    ["success without an answer", Uint8Array.fromHex("30030a0100")],
    ["an error with an answer", der.sequence(der.enumerated(6), der.explicit(0, der.sequence()))],
    [
      "an answer of an unknown type",
      der.sequence(
        der.enumerated(0),
        der.explicit(0, der.sequence(der.oid("1.2.3"), der.octetString(der.sequence()))),
      ),
    ],
    ["octets after the response", Uint8Array.of(...respond([answer({ status: "good" })]), 0)],
  ])("%s is refused", (_name, octets) => expect(() => parseOcspResponse(octets)).toThrow(DerError));

  test("any answers are read back", () => {
    const second = fc.integer({ min: 0, max: 2 ** 32 }).map((seconds) => instant(seconds * 1000));
    const reason = fc
      .constantFrom(...Object.keys(revocationReasons))
      .map((name) => name as RevocationReason);
    const status: fc.Arbitrary<ocsp.SingleStatus> = fc.oneof(
      fc.constant({ status: "good" } as const),
      fc.constant({ status: "unknown" } as const),
      fc.record({ status: fc.constant("revoked" as const), at: second, reason }),
    );
    const single = fc.record({
      certId: fc.constant(certIdOf()),
      status,
      thisUpdate: second,
      nextUpdate: second,
    });
    const echoed = fc.option(fc.uint8Array({ minLength: 1, maxLength: 128 }), { nil: undefined });
    fc.assert(
      fc.property(
        fc.array(single, { maxLength: 5 }),
        echoed,
        second,
        (answers, value, producedAt) => {
          const responseData = ocsp.encodeResponseData({
            responder: root.subject,
            producedAt,
            answers,
            nonce: value,
          });
          const made = ocsp.encodeOcspResponse(responseData, "ecdsa-sha256", new Uint8Array(8), []);
          const { basic } = parseOcspResponse(made);
          expect(basic?.answers).toEqual(answers.map((given) => ({ ...given, serial })));
          expect(basic?.nonce?.toHex()).toBe(value?.toHex());
          expect(basic?.producedAt).toBe(producedAt);
        },
      ),
    );
  });
});

test("a response made by openssl is read", () => {
  using directory = scratchDirectory();
  const path = directory.write("root.pem", rootPem);
  const pem = key.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  const index = "R\t300101000000Z\t250102030405Z,superseded\t80A1\tunknown\t/CN=a\n";
  openssl([
    "ocsp",
    "-index",
    directory.write("index", index),
    "-CA",
    path,
    "-rsigner",
    path,
    "-rkey",
    directory.write("key.pem", pem),
    "-ndays",
    "7",
    "-reqin",
    directory.write("request", ocsp.encodeOcspRequest({ ...question, nonce })),
    "-respout",
    `${directory.path}/response`,
  ]);
  const { basic } = parseOcspResponse(new Uint8Array(directory.read("response")));
  const revokedAt = instant(Date.UTC(2025, 0, 2, 3, 4, 5));
  expect(basic?.answers[0]).toMatchObject({
    serial,
    status: { status: "revoked", at: revokedAt, reason: "superseded" },
  });
  expect(basic?.nonce).toEqual(nonce);
});
