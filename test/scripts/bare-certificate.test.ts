/** The bare CA of the bench makes certificates that are ones. */

import { generateKeyPairSync, sign, X509Certificate } from "node:crypto";

import { expect, test } from "bun:test";

import { decodePem } from "#core/asn1/pem.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { parseCsr } from "#core/x509/csr.ts";
import {
  commonName,
  encodeSigned,
  encodeTbs,
  readRequest,
} from "#scripts/bench/bare-certificate.ts";
import { newIssuer, selfSigned, validity } from "#scripts/bench/bare-issuer.ts";
import { csr, newKey } from "#test/support/worlds/issuance.ts";

test("a certificate is read back as it was meant, and verifies", () => {
  const issuer = newIssuer("Bare CA");
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki = publicKey.export({ format: "der", type: "spki" });
  const tbs = encodeTbs({
    serial: Uint8Array.of(0x99, 1),
    issuer: issuer.name,
    subject: commonName("bench.example.test"),
    spki,
    ...validity(),
  });
  const der = encodeSigned(tbs, sign("sha256", tbs, issuer.privateKey));
  const read = new X509Certificate(der);
  expect(read.verify(issuer.publicKey)).toBe(true);
  expect([read.serialNumber, read.subject]).toEqual(["9901", "CN=bench.example.test"]);
  expect(parseCertificate(der).spki).toEqual(new Uint8Array(spki));
});

test("its own certificate verifies with its own key", () => {
  const issuer = newIssuer("127.0.0.1");
  expect(new X509Certificate(selfSigned(issuer)).verify(issuer.publicKey)).toBe(true);
});

test("a request is taken apart as pkid's own strict reader does it", () => {
  const pem = csr({ key: newKey("ecdsa-p256"), dns: ["bench.example.test"], subject: [] });
  const der = decodePem(pem, ["CERTIFICATE REQUEST"]) ?? new Uint8Array();
  const strict = parseCsr(pem);
  expect(readRequest(der)).toEqual({
    covered: strict.tbs,
    subject: strict.subject.der,
    spki: strict.spki,
    signature: strict.signature,
  });
});

test("what is no request is refused", () => {
  expect(() => readRequest(Uint8Array.of(0x30, 0))).toThrow("this is no request");
});
