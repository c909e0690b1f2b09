/** Proofs of control, as far as octets decide them. */

import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";

import {
  acmeIdentifierExtension,
  challengeNames,
  dnsDigest,
  dnsName,
  httpBodyMatches,
  judgeAlpnCertificate,
  keyAuthorization,
  proves,
} from "#core/acme/challenges.ts";
import type { Identifier } from "#core/acme/identifiers.ts";

// RFC 8555 §8.3 and RFC 7638 §3.1 have these two.
const token = "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0";
const thumbprint = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs";
const authorization = keyAuthorization(token, thumbprint);
const octets = (text: string) => Buffer.from(text);

test("RFC 8555 §8.1: a key authorization is token and thumbprint with a dot between them", () => {
  expect(authorization).toBe(`${token}.${thumbprint}`);
});

test("which challenge proves what", () => {
  const [dns, ip] = [{ type: "dns" }, { type: "ip" }] as const;
  const rows = challengeNames.map((type) => [
    type,
    proves(type, dns, false),
    proves(type, dns, true),
    proves(type, ip, false),
  ]);
  // biome-ignore format: the table is read by column.
  expect(rows).toEqual([
    ["http-01",        true, false, true],
    ["dns-01",         true, true,  false],
    ["tls-alpn-01",    true, false, true],
    ["dns-account-01", true, true,  false],
    ["dns-persist-01", true, true,  false],
  ]);
});

describe("in the DNS", () => {
  test("RFC 8555 §8.4: the value is the digest of the key authorization", () => {
    const digest = createHash("sha256").update(authorization).digest("base64url");
    expect(dnsDigest(authorization)).toBe(digest);
  });

  test("each way asks at its own name", () => {
    const account = "https://example.com/acme/acct/ExampleAccount";
    expect(dnsName("dns-01", "www.example.org", account)).toBe("_acme-challenge.www.example.org");
    expect(dnsName("dns-persist-01", "www.example.org", account)).toBe(
      "_validation-persist.www.example.org",
    );
    // The example of draft-ietf-acme-dns-account-label.
    expect(dnsName("dns-account-01", "www.example.org", account)).toBe(
      "_ujmmovf2vn55tgye._acme-challenge.www.example.org",
    );
  });
});

describe("over HTTP", () => {
  test.each(["", "\n", "\r\n", " \t\r\n\v\f "])("a body that ends with %j is taken", (end) => {
    expect(httpBodyMatches(octets(authorization + end), authorization)).toBe(true);
  });

  test("anything in front, behind or instead is not", () => {
    const { length } = authorization;
    const wrong = [
      "",
      "\n",
      `\n${authorization}`,
      `${authorization}\n.`,
      `${authorization}\0`,
      `${authorization}\u00a0`,
      authorization.toUpperCase(),
      authorization.slice(0, length - 1),
      token,
    ];
    for (const body of wrong) expect(httpBodyMatches(octets(body), authorization)).toBe(false);
  });
});

/** A certificate of openssl, self-signed, DER. */
function certificate(...extensions: readonly string[]): Buffer {
  const added = extensions.flatMap((extension) => ["-addext", extension]);
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const args = [
    "req",
    "-x509",
    ...key,
    "-keyout",
    "/dev/null",
    "-subj",
    "/CN=x",
    "-outform",
    "DER",
  ];
  return execFileSync("openssl", [...args, ...added], { stdio: ["ignore", "pipe", "ignore"] });
}

const proof = `DER:${acmeIdentifierExtension(authorization).toHex()}`;
const oid = "1.3.6.1.5.5.7.1.31";
const good = `${oid}=critical,${proof}`;
const name: Identifier = { type: "dns", value: "a.example" };
const san = "subjectAltName=DNS:a.example";

describe("over TLS", () => {
  test("RFC 8737 §3: the extension is the digest in an octet string", () => {
    const digest = createHash("sha256").update(authorization).digest("hex");
    expect(acmeIdentifierExtension(authorization).toHex()).toBe(`0420${digest}`);
  });

  test("RFC 8737 §3, RFC 8738 §4: a certificate for exactly the identifier proves it", () => {
    const judged = (identifier: Identifier, names: string) =>
      judgeAlpnCertificate(certificate(`subjectAltName=${names}`, good), identifier, authorization);
    expect(judged(name, "DNS:a.example")).toBeUndefined();
    expect(judged(name, "DNS:A.Example")).toBeUndefined();
    expect(judged({ type: "ip", value: "192.0.2.1" }, "IP:192.0.2.1")).toBeUndefined();
    expect(judged({ type: "ip", value: "2001:db8::1" }, "IP:2001:db8::1")).toBeUndefined();
  });

  // biome-ignore format: the table is read by column.
  const wrong: readonly (readonly [string, string, readonly string[]])[] = [
    ["another name",                 "another subject alternative name", ["subjectAltName=DNS:b.example", good]],
    ["a wildcard",                   "another subject alternative name", ["subjectAltName=DNS:*.example", good]],
    ["the name as an address",       "another subject alternative name", ["subjectAltName=IP:192.0.2.1", good]],
    ["the name as a mail address",   "another subject alternative name", ["subjectAltName=email:a@a.example", good]],
    ["two names",                    "exactly one", ["subjectAltName=DNS:a.example,DNS:b.example", good]],
    ["the name twice",               "exactly one", ["subjectAltName=DNS:a.example,DNS:a.example", good]],
    ["a name of another kind beside it", "exactly one", ["subjectAltName=DNS:a.example,RID:1.2.3", good]],
    ["no name",                      "no subject alternative name", [good]],
    ["no proof",                     "no acmeIdentifier", [san]],
    ["a proof that is not critical", "not critical", [san, `${oid}=${proof}`]],
    ["the proof of another key",     "another key authorization", [san, `${oid}=critical,DER:${acmeIdentifierExtension("other").toHex()}`]],
    ["a proof that is cut short",    "another key authorization", [san, `${oid}=critical,DER:0402abcd`]],
    ["a proof with something behind", "cannot be read", [san, `${good}00`]],
    ["a proof of another type",      "cannot be read", [san, `${oid}=critical,DER:0500`]],
  ];
  test.each(wrong)("a certificate with %s does not", (_what, words, extensions) => {
    const judged = judgeAlpnCertificate(certificate(...extensions), name, authorization);
    expect(judged).toContain(words);
  });

  test("a certificate that another key signed, or another subject, does not", () => {
    const der = certificate(san, good);
    der[der.length - 1] = (der.at(-1) ?? 0) ^ 1;
    expect(judgeAlpnCertificate(der, name, authorization)).toContain("not self-signed");
    const other = certificate(san, good);
    // The first CN is the issuer's.
    other[other.indexOf(Buffer.from("0c0178", "hex")) + 2] = 0x79;
    expect(judgeAlpnCertificate(other, name, authorization)).toContain("not self-signed");
  });

  test("octets that are no certificate do not", () => {
    const der = certificate(san, good);
    for (const some of [Buffer.alloc(0), der.subarray(1), Buffer.concat([der, der])]) {
      expect(judgeAlpnCertificate(some, name, authorization)).toContain("cannot be read");
    }
  });
});
