/** A private key is known by its beginning, in every form it is copied in, and nothing else is. */

import { expect, test } from "bun:test";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import fc from "fast-check";

import { holdsSecretText, isSecretText } from "#web/secret-text.ts";

const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ed = generateKeyPairSync("ed25519");
const cipher = { cipher: "aes-256-cbc", passphrase: "x" };
const der = (key: KeyObject, type: "pkcs8" | "pkcs1" | "sec1", more = {}) =>
  new Uint8Array(key.export({ type, format: "der", ...more } as never) as never);

const secrets: readonly (readonly [string, Uint8Array])[] = [
  ["EC, PKCS #8", der(ec.privateKey, "pkcs8")],
  ["EC, SEC 1", der(ec.privateKey, "sec1")],
  ["RSA, PKCS #8", der(rsa.privateKey, "pkcs8")],
  ["RSA, PKCS #1", der(rsa.privateKey, "pkcs1")],
  ["Ed25519", der(ed.privateKey, "pkcs8")],
  ["encrypted", der(rsa.privateKey, "pkcs8", cipher)],
];

test.each(secrets)("%s is told in base64, in lines, and in a member", (_, octets) => {
  const base64 = octets.toBase64();
  const lines = `\n  ${base64.replace(/(.{10})/g, "$1\r\n")}`;
  expect([base64, lines].map(isSecretText)).toEqual([true, true]);
  expect(holdsSecretText({ q: "www", filter: { serials: ["1", base64] } })).toBe(true);
});

test.each([
  "-----BEGIN PRIVATE KEY-----",
  "BEGIN EC PRIVATE KEY",
  "begin  openssh private  key",
  "-----BEGIN ENCRYPTED PRIVATE KEY-----MIGH",
])("%s says so itself", (text) => {
  expect(isSecretText(text)).toBe(true);
});

test("certificates, public keys, signatures and other text are none", () => {
  const spki = ec.publicKey.export({ type: "spki", format: "der" }).toBase64();
  const signature = new Uint8Array([
    0x30,
    0x45,
    0x02,
    0x21,
    0x00,
    ...new Uint8Array(66),
  ]).toBase64();
  for (const text of [spki, signature, "MIGHTY.example.com", "", "M".repeat(44), "a private key"]) {
    expect([text, isSecretText(text)]).toEqual([text, false]);
  }
});

test("any text is told apart, however long", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), (text) => typeof isSecretText(text) === "boolean"),
  );
  fc.assert(fc.property(fc.jsonValue(), (value) => typeof holdsSecretText(value) === "boolean"));
  // Quadratic in its length, this would take minutes.
  expect(isSecretText("BEGIN ".repeat(200_000))).toBe(false);
});
