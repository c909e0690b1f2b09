/** Public keys are told apart by their algorithm and its exact parameters. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { DerError } from "#core/asn1/cursor.ts";
import { bitString, integer, nullElement, oid, sequence, unsignedInteger } from "#core/asn1/der.ts";
import { oids } from "#core/asn1/oids.ts";
import { readSlhDsaKey, slhDsaSpki } from "#core/slh-dsa.ts";
import { Problem } from "#core/problems.ts";
import { type KeyType, keyTypes, type SignatureName, signatures } from "#core/x509/algorithms.ts";
import * as keys from "#core/x509/public-keys.ts";
import { openssl, opensslText } from "#test/support/encodings/openssl.ts";
import { makeKey } from "#test/support/encodings/x509.ts";

const types = Object.keys(keyTypes) as KeyType[]; // The keys of the table.
// Making RSA keys is slow; the sizes beyond 2048 are those of openssl below.
const quick = types.filter((type) => !/rsa-[34]|slh/.test(type));

test.each(quick)("%s keys of the runtime are recognised", (type) => {
  const key = keys.parsePublicKey(makeKey(type).spki);
  expect(key.keyType).toBe(type);
  expect(key.family).toBe(keyTypes[type][0]);
});

test.each([
  ["slh-dsa-sha2-128s", 32, 20],
  ["slh-dsa-sha2-192s", 48, 22],
  ["slh-dsa-sha2-256s", 64, 24],
] as const)("RFC 9909 §4: a raw key of %s octets is recognised by its OID", (type, octets, arc) => {
  const raw = new Uint8Array(octets).fill(7);
  const algorithm = sequence(oid(`2.16.840.1.101.3.4.3.${arc}`));
  const spki = sequence(algorithm, bitString(raw));
  expect(keys.parsePublicKey(spki)).toEqual({ spki, keyType: type, family: "slh-dsa", raw });
  expect(slhDsaSpki(type, raw)).toEqual(spki);
  expect(readSlhDsaKey(spki)?.set).toBe(type);
  expect(readSlhDsaKey(sequence(algorithm, bitString(raw.slice(1))))).toBeUndefined();
  expect(() =>
    keys.parsePublicKey(sequence(sequence(oid(`2.16.840.1.101.3.4.3.${arc}`), nullElement()))),
  ).toThrow(DerError);
});

test("an RSA key has the numbers openssl sees", () => {
  const pem = openssl(["genrsa", "1024"]);
  const spki = openssl(["rsa", "-pubout", "-outform", "DER"], pem);
  const modulus = opensslText(["rsa", "-noout", "-modulus"], pem).trim().replace("Modulus=", "");
  const key = keys.parsePublicKey(spki);
  if (key.family !== "rsa") throw new Error("not an RSA key");
  expect(key.modulus).toBe(BigInt(`0x${modulus}`));
  expect([key.exponent, key.bits, key.keyType]).toEqual([65_537n, 1024, undefined]);
});

test("the bits of a modulus are counted from its highest one", () => {
  for (const [modulus, bits] of [
    [(1n << 2047n) | 1n, 2048],
    [(1n << 2046n) | 1n, 2047],
    [(1n << 2048n) | 1n, 2049],
  ] as const) {
    const key = keys.parsePublicKey(rsaSpki(modulus));
    expect(key.family === "rsa" && [key.bits, key.modulus]).toEqual([bits, modulus]);
  }
});

test("a curve pkid does not use is named by its OID", () => {
  const pem = openssl(["ecparam", "-name", "secp256k1", "-genkey", "-noout"]);
  const spki = openssl(["ec", "-pubout", "-outform", "DER"], pem);
  expect(keys.parsePublicKey(spki)).toMatchObject({
    family: "ec",
    curve: "1.3.132.0.10",
    bits: 256,
    keyType: undefined,
  });
});

test("an unknown algorithm is named by its OID", () => {
  const spki = openssl(
    ["pkey", "-pubout", "-outform", "DER"],
    openssl(["genpkey", "-algorithm", "x25519"]),
  );
  expect(keys.parsePublicKey(spki)).toMatchObject({ family: "unknown", oid: "1.3.101.110" });
});

const rsaSpki = (modulus: bigint): Uint8Array => {
  const text = modulus.toString(16);
  const octets = Uint8Array.fromHex(text.length % 2 === 0 ? text : `0${text}`);
  const numbers = sequence(unsignedInteger(octets), integer(3));
  return sequence(sequence(oid(oids.rsaEncryption), nullElement()), bitString(numbers));
};

describe("refused", () => {
  const bits = bitString(new Uint8Array(32));
  const rsa = bitString(sequence(integer(15), integer(3)));
  const algorithm = (...parts: readonly Uint8Array[]): Uint8Array => sequence(...parts);
  test.each([
    ["RSA without NULL", sequence(algorithm(oid(oids.rsaEncryption)), rsa)],
    ["EC without a curve", sequence(algorithm(oid(oids.ecPublicKey)), bits)],
    ["EC with explicit parameters", sequence(algorithm(oid(oids.ecPublicKey), sequence()), bits)],
    [
      "EC with more than a curve",
      sequence(algorithm(oid(oids.ecPublicKey), oid(oids.p256), nullElement()), bits),
    ],
    ["Ed25519 with NULL", sequence(algorithm(oid(oids.ed25519), nullElement()), bits)],
    ["ML-DSA with NULL", sequence(algorithm(oid(oids.mlDsa65), nullElement()), bits)],
    [
      "an RSA key of one number",
      sequence(algorithm(oid(oids.rsaEncryption), nullElement()), bitString(sequence(integer(15)))),
    ],
    [
      "an RSA modulus of zero",
      sequence(
        algorithm(oid(oids.rsaEncryption), nullElement()),
        bitString(sequence(integer(0), integer(3))),
      ),
    ],
    ["an RSA key of 16392 bits", rsaSpki(1n << 16_391n)],
    ["octets after the key", sequence(algorithm(oid(oids.ed25519)), bits, nullElement())],
    ["no key", sequence(algorithm(oid(oids.ed25519)))],
  ])("%s", (_name, spki) => expect(() => keys.parsePublicKey(spki)).toThrow(DerError));
});

describe("fingerprints", () => {
  const { spki } = makeKey("ed25519");
  const hex = opensslText(["dgst", "-sha256", "-r"], spki).slice(0, 64);

  test("are SHA-256 over the DER", () => {
    expect(keys.spkiSha256(spki)).toBe(hex);
    expect(keys.keyIdOf(spki)).toBe(hex.slice(0, 40));
    const base64 = Buffer.from(hex, "hex").toString("base64").replace("=", "");
    expect(keys.fingerprint(spki)).toBe(`SHA256:${base64}`);
  });

  test("are read in every spelling", () => {
    const colons = hex.toUpperCase().replace(/..(?=.)/g, "$&:");
    for (const text of [
      hex,
      colons,
      ` ${hex.slice(0, 10)} ${hex.slice(10)}\n`,
      keys.fingerprint(spki),
      `${keys.fingerprint(spki)}=`,
    ]) {
      expect(keys.parseFingerprint(text)).toBe(hex);
    }
  });

  test("anything else is refused", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) =>
        expect(() => keys.parseFingerprint(text)).toThrow(Problem),
      ),
    );
    for (const text of [
      hex.slice(1),
      `${hex}0`,
      `SHA256:${"A".repeat(42)}`,
      `SHA256:${"A".repeat(42)}B`,
      `SHA256:${hex}`,
    ]) {
      expect(() => keys.parseFingerprint(text)).toThrow(Problem);
    }
  });
});

test("a signature fits only a key of its family", () => {
  const names = Object.keys(signatures) as SignatureName[]; // The keys of the table.
  const fitting = (type: KeyType): readonly SignatureName[] => {
    const key = keys.parsePublicKey(makeKey(type).spki);
    return names.filter((name) => keys.signatureFits(key, name));
  };
  expect(fitting("ml-dsa-65")).toEqual(["ml-dsa-65"]);
  expect(fitting("ed25519")).toEqual(["ed25519"]);
  expect(fitting("ecdsa-p384")).toEqual(["ecdsa-sha256", "ecdsa-sha384", "ecdsa-sha512"]);
  expect(fitting("rsa-2048")).toHaveLength(6);
});
