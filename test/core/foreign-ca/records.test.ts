/** The records of step-ca, cfssl, Vault and EJBCA, by the names their tables have. */

import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { encodePem } from "#core/asn1/pem.ts";
import { recordReaders, type Row } from "#core/foreign-ca/records.ts";
import { parseSerial } from "#core/ids.ts";
import { instant } from "#core/time.ts";

const der = new Uint8Array([0x30, 0x03, 0x02, 0x01, 0x05]);
const pem = encodePem("CERTIFICATE", der);
const when = instant(Date.UTC(2026, 0, 2, 3, 4, 5));
const serial = parseSerial("42");
const inBase64 = (text: string) => Buffer.from(text).toString("base64");

describe("step-ca", () => {
  const read = recordReaders["step-ca"];
  test("a certificate and a revocation are two records, and other tables say nothing", () => {
    expect(read({ bucket: "x509_certs", key: "42", value: der.toBase64() })).toEqual({
      certificate: der,
      serial,
      revoked: undefined,
    });
    const said = JSON.stringify({ Serial: "42", ReasonCode: 1, RevokedAt: "2026-01-02T03:04:05Z" });
    expect(read({ bucket: "revoked_x509_certs", key: "42", value: inBase64(said) })).toEqual({
      certificate: undefined,
      serial,
      revoked: { at: when, reason: "keyCompromise" },
    });
    expect(read({ bucket: "acme_orders", key: "x", value: "" })).toBeUndefined();
  });
  test("keys, values and times that are none are named", () => {
    const bucket = "x509_certs";
    expect(read({ bucket, key: "0x2a", value: "" })).toEqual({
      fault: expect.stringContaining("no serial"),
    });
    expect(read({ bucket, key: "42", value: "%" })).toEqual({
      fault: expect.stringContaining("not base64"),
    });
    const value = inBase64("{}");
    expect(read({ bucket: "revoked_x509_certs", key: "42", value })).toEqual({
      fault: "says not when it was revoked",
    });
  });
});

describe("cfssl", () => {
  const read = recordReaders.cfssl;
  test("a row is a certificate, with its revocation in whatever form a database gives a time", () => {
    expect(read({ serial_number: "42", status: "good", pem })).toEqual({
      certificate: der,
      serial,
      revoked: undefined,
    });
    for (const revoked_at of [
      "2026-01-02T03:04:05Z",
      "2026-01-02 03:04:05+00:00",
      "2026-01-02 03:04:05.000+00",
      "2026-01-02 04:04:05+0100",
      "2026-01-02 03:04:05",
    ]) {
      const row = { serial_number: "42", status: "revoked", reason: "4", revoked_at, pem };
      expect(read(row)).toMatchObject({ revoked: { at: when, reason: "superseded" } });
    }
  });
  test("what is revoked stays so without a certificate, what is good is refused without one", () => {
    const revoked_at = "2026-01-02T03:04:05Z";
    expect(read({ serial_number: "42", status: "revoked", revoked_at, pem: "?" })).toMatchObject({
      certificate: undefined,
      revoked: { at: when },
    });
    expect(read({ serial_number: "42", status: "good", pem: "?" })).toEqual({
      fault: expect.stringContaining("pem"),
    });
    expect(read({ serial_number: "42", status: "expired", pem })).toEqual({
      fault: expect.stringContaining("status"),
    });
  });
});

describe("vault", () => {
  const read = recordReaders.vault;
  test("an answer of pki/cert is a certificate, revoked when it has a time", () => {
    const answer = { certificate: pem, revocation_time: 0 };
    expect(read({ data: answer })).toMatchObject({ certificate: der, revoked: undefined });
    expect(read(answer)).toMatchObject({ certificate: der });
    expect(read({ data: { certificate: pem, revocation_time: when / 1000 } })).toMatchObject({
      revoked: { at: when, reason: "unspecified" },
    });
  });
  test("an answer without certificate, or with a time that is none, is named", () => {
    expect(read({ data: null })).toEqual({ fault: "has no data" });
    expect(read({ data: {} })).toEqual({ fault: "has no certificate in PEM" });
    expect(read({ data: { certificate: pem, revocation_time: "soon" } })).toEqual({
      fault: expect.stringContaining("revocation_time"),
    });
  });
});

describe("ejbca", () => {
  const read = recordReaders.ejbca;
  test("names may be in any case; reasons are numbers or names", () => {
    const base64Cert = der.toBase64();
    const good = { serialNumber: "42", base64Cert, revocationReason: -1, status: 20 };
    expect(read(good)).toEqual({ certificate: der, serial, revoked: undefined });
    const revocationDate = String(when);
    for (const revocationReason of ["1", 1, "keyCompromise"]) {
      const row = { ...good, status: 40, revocationDate, revocationReason };
      expect(read(row)).toMatchObject({ revoked: { at: when, reason: "keyCompromise" } });
    }
    expect(read({ ...good, revocationReason: 8, revocationDate })).toMatchObject({
      revoked: undefined,
    });
  });
  test("revoked without a time, or for a reason nobody knows, is named", () => {
    const row = { serialNumber: "42", base64Cert: der.toBase64(), status: 40 };
    expect(read({ ...row, revocationReason: 1, revocationDate: -1 })).toEqual({
      fault: "says not when it was revoked",
    });
    expect(read({ ...row, revocationReason: "because", revocationDate: String(when) })).toEqual({
      fault: "has a revocationReason nobody knows",
    });
  });
});

test("no row of any form makes a reader throw", () => {
  const names = [
    ["bucket", "key", "value"],
    ["serial_number", "status", "pem", "revoked_at", "reason"],
    ["data", "certificate", "revocation_time"],
    ["serialNumber", "base64Cert", "revocationReason", "revocationDate", "status"],
  ].flat();
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom("x509_certs", "revoked_x509_certs", "42", "good", "revoked", pem, 40, 0),
  );
  const row = fc.dictionary(fc.constantFrom(...names), value);
  fc.assert(
    fc.property(row, (given) => {
      for (const read of Object.values(recordReaders)) {
        const found = read(given as Row); // Names with anything behind them, as the type says.
        expect(found === undefined || "fault" in found || "revoked" in found).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});
