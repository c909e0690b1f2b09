/**
 * Judging OCSP answers that openssl made: what is believed, and everything that is not (RFC 6960
 * §3.2).
 */

import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { decodePem } from "#core/asn1/pem.ts";
import { parseSerial } from "#core/ids.ts";
import { addSeconds, type Instant, instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { encodeOcspRequest } from "#core/x509/ocsp.ts";
import { csrSignatureValid, parseCsr } from "#core/x509/csr.ts";
import { judgeAnswer, type Verdict } from "#core/x509/ocsp-verdict.ts";
import { keyPem, newKey, requestFor } from "#cli/new-request.ts";

const home = mkdtempSync(join(tmpdir(), "pkid-ocsp-"));
const nonce = new Uint8Array(32).fill(7);

setDefaultTimeout(60_000);

beforeAll(() => {
  root("ca", "/CN=CA");
  root("stranger", "/CN=CA");
  delegate("responder", "extendedKeyUsage=OCSPSigning");
  delegate("server", "extendedKeyUsage=serverAuth");
  writeFileSync(
    join(home, "index.txt"),
    "V\t491231235959Z\t\t0A\tunknown\t/CN=good\nR\t491231235959Z\t250101000000Z,keyCompromise\t0B\tunknown\t/CN=bad\n",
  );
});

describe("an answer is believed", () => {
  test("when the CA itself signed it", () => {
    expect(ask("ca", "10")).toMatchObject({ trusted: true, status: "good", responder: "CN=CA" });
  });

  test("when a certificate of the CA with OCSPSigning signed it", () => {
    const verdict = ask("responder", "10");
    expect(verdict).toMatchObject({ trusted: true, status: "good", responder: "CN=responder" });
  });

  test("about a revoked certificate, with time and reason", () => {
    expect(ask("responder", "11")).toMatchObject({
      trusted: true,
      status: "revoked",
      reason: "keyCompromise",
      revokedAt: instant(Date.parse("2025-01-01T00:00:00Z")),
    });
  });

  test("about a certificate the responder does not know", () => {
    expect(ask("ca", "12")).toMatchObject({ trusted: true, status: "unknown" });
  });

  test("when it echoes the nonce", () => {
    expect(ask("ca", "10", { nonce })).toMatchObject({ trusted: true, nonce: "echoed" });
  });

  test("until its nextUpdate, clocks differing by five minutes", () => {
    const der = answerOf("ca", "10", undefined);
    const { thisUpdate } = judge(der, "10");
    if (thisUpdate === undefined) throw new Error("openssl says when it answered");
    const after = (seconds: number) => judge(der, "10", { at: addSeconds(thisUpdate, seconds) });
    expect([after(-300).trusted, after(65 * 60).trusted]).toEqual([true, true]);
    expect(after(65 * 60 + 1)).toMatchObject({
      trusted: false,
      fault: "its nextUpdate has passed.",
    });
    expect(after(-301)).toMatchObject({
      trusted: false,
      fault: "its thisUpdate lies in the future.",
    });
  });
});

describe("an answer is not believed", () => {
  const signer = "no certificate that may sign for this CA verifies it.";

  test("when a stranger of the same name signed it", () => {
    expect(ask("stranger", "10")).toMatchObject({ trusted: false, fault: signer });
  });

  test("when a certificate of the CA without OCSPSigning signed it", () => {
    expect(ask("server", "10")).toMatchObject({ trusted: false, fault: signer });
  });

  test("when the responder's certificate has expired", () => {
    const at = addSeconds(instant(Date.now()), 40 * 86_400);
    expect(ask("responder", "10", { at })).toMatchObject({ trusted: false, fault: signer });
  });

  test("when one octet of it was changed", () => {
    const der = answerOf("ca", "10", undefined);
    let refused = 0;
    for (let at = 0; at < der.length; at += 7) {
      const changed = Uint8Array.from(der);
      changed[at] = (changed[at] ?? 0) ^ 1;
      const verdict = judge(changed, "10");
      // Octets outside what is signed may change without harm; then the answer says the same.
      if (verdict.trusted) expect(verdict.status).toBe("good");
      else refused++;
    }
    expect(refused).toBeGreaterThan(10);
  });

  test("when it is about another certificate", () => {
    const verdict = judge(answerOf("ca", "10", undefined), "11");
    expect(verdict).toMatchObject({ trusted: false, fault: "it is about another certificate." });
  });

  test("when the nonce sent is missing or another one", () => {
    const fault = "it does not echo the nonce.";
    const missing = judge(answerOf("ca", "10", undefined), "10", { nonce });
    expect(missing).toMatchObject({ trusted: false, fault });
    const other = judge(answerOf("ca", "10", new Uint8Array(32).fill(8)), "10", { nonce });
    expect(other).toMatchObject({ trusted: false, fault });
  });

  test("when it is an error status or no answer at all", () => {
    const tryLater = Uint8Array.of(0x30, 0x03, 0x0a, 0x01, 0x03);
    expect(judge(tryLater, "10")).toMatchObject({ trusted: false, status: "tryLater" });
    expect(judge(new Uint8Array(0), "10").trusted).toBe(false);
    expect(judge(new TextEncoder().encode("<html>"), "10").trusted).toBe(false);
  });
});

test("the request of quickstart is one that openssl and pkid accept", () => {
  for (const [name, kind] of [
    ["pki.example.test", "dns"],
    ["192.0.2.7", "ip"],
    ["2001:db8::1", "ip"],
  ] as const) {
    const made = newKey("ecdsa-p256");
    const [key, csr] = [keyPem(made), requestFor(made, [name])];
    writeFileSync(join(home, "new.csr"), csr);
    const text = openssl(["req", "-in", "new.csr", "-noout", "-verify", "-text"]);
    expect(text).toContain(kind === "dns" ? `DNS:${name}` : "IP Address:");
    const parsed = parseCsr(csr);
    expect(csrSignatureValid(parsed)).toBe(true);
    expect(parsed.sans).toEqual([{ kind, value: name }]);
    expect(key).toStartWith("-----BEGIN PRIVATE KEY-----");
  }
});

function ask(
  signer: string,
  serial: string,
  options: { nonce?: Uint8Array; at?: Instant } = {},
): Verdict {
  return judge(answerOf(signer, serial, options.nonce), serial, options);
}

function judge(
  der: Uint8Array,
  serial: string,
  options: { nonce?: Uint8Array; at?: Instant } = {},
): Verdict {
  const issuer = certificate("ca");
  // Read after openssl has made certificates and answer: read before, it may lie before their
  // notBefore.
  const at = options.at ?? instant(Date.now());
  return judgeAnswer(der, { issuer, serial: parseSerial(serial), nonce: options.nonce, now: at });
}

function answerOf(signer: string, serial: string, sent: Uint8Array | undefined): Uint8Array {
  const issuer = certificate("ca");
  const question = {
    issuerName: issuer.subject.der,
    issuerSpki: issuer.spki,
    hash: "sha1",
  } as const;
  const request = encodeOcspRequest({
    ...question,
    serial: parseSerial(serial),
    nonce: sent,
  });
  writeFileSync(join(home, "request.der"), request);
  openssl([
    "ocsp",
    "-index",
    "index.txt",
    "-CA",
    "ca.pem",
    "-reqin",
    "request.der",
    "-nmin",
    "60",
    "-rsigner",
    `${signer}.pem`,
    "-rkey",
    `${signer}.key`,
    "-respout",
    "answer.der",
  ]);
  return new Uint8Array(readFileSync(join(home, "answer.der")));
}

function certificate(name: string) {
  const der = decodePem(readFileSync(join(home, `${name}.pem`), "utf8"), ["CERTIFICATE"]);
  if (der === undefined) throw new Error("openssl writes PEM");
  return parseCertificate(der);
}

function root(name: string, subject: string): void {
  openssl([
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-subj",
    subject,
    "-days",
    "100",
    "-keyout",
    `${name}.key`,
    "-out",
    `${name}.pem`,
  ]);
}

function delegate(name: string, usage: string): void {
  openssl([
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-subj",
    `/CN=${name}`,
    "-days",
    "30",
    "-keyout",
    `${name}.key`,
    "-out",
    `${name}.pem`,
    "-CA",
    "ca.pem",
    "-CAkey",
    "ca.key",
    "-addext",
    usage,
  ]);
}

function openssl(args: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["openssl", ...args], { cwd: home });
  if (exitCode !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`);
  return String(stdout);
}
