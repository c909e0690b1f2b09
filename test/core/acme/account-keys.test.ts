/** Keys of accounts: one key has one spelling, and a weak one is none (AC-3). */

import { describe, expect, test } from "bun:test";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { calculateJwkThumbprint } from "jose";
import fc from "fast-check";

import {
  accountKeyOf,
  algorithmFits,
  canonicalJwk,
  readAccountKey,
} from "#core/acme/account-keys.ts";

import { type Pair, pairs, publicJwk, signers } from "./client.ts";
import { codeOf, refusedBy } from "./refused.ts";

/** RFC 7638 §3.1. */
const exampleModulus =
  "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";

test("RFC 7638 §3.1: the thumbprint of the example", () => {
  const jwk = { kty: "RSA", n: exampleModulus, e: "AQAB", alg: "RS256", kid: "2011-04-29" };
  const key = readAccountKey(jwk, "RS256");
  expect(key.thumbprint).toBe("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
  expect(key.jwk).toBe(`{"e":"AQAB","kty":"RSA","n":"${exampleModulus}"}`);
});

test("RFC 8037 A.3: the thumbprint of an Ed25519 key", () => {
  const jwk = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
  expect(readAccountKey(jwk, "EdDSA").thumbprint).toBe(
    "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
  );
});

describe("an account key", () => {
  test.each(signers)("for %s is what the runtime and a library say it is", async (alg, pair) => {
    const jwk = publicJwk(pair);
    const key = readAccountKey({ ...jwk, use: "sig", x5c: ["ignored"] }, alg);
    expect(key.thumbprint).toBe(await calculateJwkThumbprint(jwk, "sha256"));
    const spki = pair.publicKey.export({ format: "der", type: "spki" });
    expect(Buffer.from(key.spki).equals(spki)).toBe(true);
    expect(
      createPublicKey({ key: JSON.parse(key.jwk), format: "jwk" }).equals(pair.publicKey),
    ).toBe(true);
    const { key: _runtime, ...told } = accountKeyOf(key.jwk);
    const { key: _same, ...read } = key;
    expect(told).toEqual(read);
    expect(canonicalJwk(jwk)).toBe(key.jwk);
  });

  test("fits the algorithms of its kind only", () => {
    for (const [alg, pair] of signers) {
      const key = readAccountKey(publicJwk(pair), alg);
      const fitting = signers.filter(([other]) => algorithmFits(key, other)).map(([, one]) => one);
      expect(new Set(fitting)).toEqual(new Set<Pair>([pair]));
    }
  });
});

const rsa = publicJwk(pairs.RSA);
const p256 = publicJwk(pairs["P-256"]);
const p521 = publicJwk(pairs["P-521"]);
const octets = (text = "") => Buffer.from(text, "base64url");
const changed = (text = "") => {
  const other = octets(text);
  other[20] = (other[20] ?? 0) ^ 1;
  return other.toString("base64url");
};

describe("AC-3: not acceptable is", () => {
  const modulus = (bits: number) =>
    publicJwk(generateKeyPairSync("rsa", { modulusLength: bits }) satisfies Pair);
  const even = octets(rsa.n);
  even[255] = 0;
  // biome-ignore format: the table is read by column.
  const wrong: readonly (readonly [string, object, "RS256" | "ES256" | "ES384" | "ES512" | "EdDSA"])[] = [
    ["RSA of 1024 bits",                    modulus(1024), "RS256"],
    ["RSA of 2047 bits",                    { ...rsa, n: Buffer.concat([Buffer.of(0x7f), octets(rsa.n).subarray(1)]).toString("base64url") }, "RS256"],
    ["RSA of more than 8192 bits",          { ...rsa, n: Buffer.alloc(1025, 0xff).toString("base64url") }, "RS256"],
    ["RSA with a number in front of zero",  { ...rsa, n: Buffer.concat([Buffer.of(0), octets(rsa.n)]).toString("base64url") }, "RS256"],
    ["RSA with an exponent of four octets for three", { ...rsa, e: "AAEAAQ" }, "RS256"],
    ["RSA with the exponent 1",             { ...rsa, e: "AQ" }, "RS256"],
    ["RSA with the exponent 3",             { ...rsa, e: "Aw" }, "RS256"],
    ["RSA with an even exponent",           { ...rsa, e: "AQAC" }, "RS256"],
    ["RSA with an even modulus",            { ...rsa, n: even.toString("base64url") }, "RS256"],
    ["P-256 off its curve",                 { ...p256, y: changed(p256.y) }, "ES256"],
    ["P-256 at the origin",                 { ...p256, x: b0(32), y: b0(32) }, "ES256"],
    ["P-256 cut short",                     { ...p256, x: octets(p256.x).subarray(1).toString("base64url") }, "ES256"],
    ["P-521 without its zero in front",     { ...p521, x: octets(p521.x).subarray(1).toString("base64url") }, "ES512"],
    ["Ed25519 of low order",                { kty: "OKP", crv: "Ed25519", x: b0(32) }, "EdDSA"],
    ["Ed25519 of 31 octets",                { kty: "OKP", crv: "Ed25519", x: b0(31) }, "EdDSA"],
    ["a key of another curve",              p256, "ES384"],
    ["a key of another kind",               rsa, "ES256"],
    ["X25519",                              { kty: "OKP", crv: "X25519", x: b0(32) }, "EdDSA"],
    ["secp256k1",                           { ...p256, crv: "secp256k1" }, "ES256"],
    ["a kind nobody knows",                 { kty: "toString" }, "ES256"],
  ];
  test.each(wrong)("%s", (_what, jwk, alg) => {
    expect(codeOf(() => readAccountKey(jwk, alg))).toBe("acme_bad_public_key");
  });
});

describe("malformed is", () => {
  // biome-ignore format: the table is read by column.
  const wrong: readonly (readonly [string, unknown])[] = [
    ["a text",                         "key"],
    ["null",                           null],
    ["a list",                         [p256]],
    ["no kty",                         { ...p256, kty: undefined }],
    ["a private key",                  pairs["P-256"].privateKey.export({ format: "jwk" })],
    ["a private key of RSA",           pairs.RSA.privateKey.export({ format: "jwk" })],
    ["a secret",                       { kty: "oct", k: "AAAA" }],
    ["no y",                           { ...p256, y: undefined }],
    ["a number for a text",            { ...p256, x: 1 }],
    ["padding",                        { ...p256, x: `${p256.x}=` }],
    ["a text that breaks out of JSON", { ...p256, x: `","y":"` }],
  ];
  test.each(wrong)("%s", (_what, jwk) => {
    expect(codeOf(() => readAccountKey(jwk, "ES256"))).toBe("acme_malformed");
  });
});

test("AC-8: the reader of keys searches no factors", () => {
  // 3 divides it; the key of an account is checked before it is stored.
  const composite = { ...rsa, n: Buffer.alloc(256, 0xff).toString("base64url") };
  expect(readAccountKey(composite, "RS256").kind).toBe("RSA");
});

test("no private member is repeated in a refusal", () => {
  const jwk = pairs["P-256"].privateKey.export({ format: "jwk" });
  expect(JSON.stringify(refusedBy(() => readAccountKey(jwk, "ES256")))).not.toContain(jwk.d ?? "-");
});

test("whatever comes as a key is read or refused", () => {
  const members = fc.record({
    kty: fc.constantFrom("RSA", "EC", "OKP"),
    crv: fc.constantFrom("P-256", "P-384", "P-521", "Ed25519"),
    n: fc.base64String(),
    e: fc.base64String(),
    x: fc.base64String(),
    y: fc.base64String(),
  });
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), members), (jwk) => {
      const codes = ["acme_malformed", "acme_bad_public_key"];
      for (const [alg] of signers) expect(codes).toContain(codeOf(() => readAccountKey(jwk, alg)));
    }),
  );
});

function b0(length: number): string {
  return Buffer.alloc(length).toString("base64url");
}
