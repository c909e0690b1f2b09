/** Blocklists of weak keys: their lines, and what of a key they are about. */

import { expect, test } from "bun:test";

import { digest } from "#core/crypto.ts";
import { isListedWeak, parseBlocklist } from "#core/policy/weak-keys.ts";
import { fingerprint, parsePublicKey, type PublicKey } from "#core/x509/public-keys.ts";
import { newKey, spkiOf } from "#test/support/worlds/issuance.ts";
import { opensslText } from "#test/support/encodings/openssl.ts";

const key = parsePublicKey(spkiOf(newKey("rsa-2048").publicKey));
const other = parsePublicKey(spkiOf(newKey("ecdsa-p256").publicKey));
if (key.family !== "rsa") throw new Error("an RSA key is one");
const modulus = Uint8Array.fromHex(key.modulus.toString(16));

const listed = (text: string, of: PublicKey = key) => {
  const list = parseBlocklist(text);
  return "digests" in list && isListedWeak(of, new Set(list.digests));
};

test("a key is found by SHA-1 and SHA-256 of key and modulus, in any spelling", () => {
  const sha1 = digest("sha1", key.spki).toHex();
  expect(listed(`# weak\r\n\r\n${sha1.toUpperCase()}   # this one\n`)).toBe(true);
  expect(listed(digest("sha256", key.spki).toHex())).toBe(true);
  expect(listed(fingerprint(key.spki))).toBe(true);
  expect(listed(`${fingerprint(key.spki)}=`.replace("SHA256", "sha256"))).toBe(true);
  expect(listed(digest("sha1", modulus).toHex())).toBe(true);
  expect(listed(digest("sha256", modulus).toHex())).toBe(true);
  expect(listed(fingerprint(other.spki), other)).toBe(true);
});

test("Debian's lists find a key, by the twenty digits they keep and by whole digests", () => {
  // As `openssl rsa -noout -modulus | sha1sum` gives it.
  const line = `Modulus=${modulus.toHex().toUpperCase()}\n`;
  const sum = digest("sha1", new TextEncoder().encode(line)).toHex();
  expect(listed(sum)).toBe(true);
  expect(listed(sum.slice(20))).toBe(true);
  expect(listed(sum.slice(20).toUpperCase())).toBe(true);
  expect(listed(sum.slice(0, 20))).toBe(false);
  expect(listed(sum.slice(20), other)).toBe(false);
});

test("openssl prints the line the lists are made of", () => {
  const out = opensslText(["rsa", "-pubin", "-noout", "-modulus", "-inform", "DER"], key.spki);
  const sum = digest("sha1", new TextEncoder().encode(out)).toHex();
  expect(listed(sum.slice(-20))).toBe(true);
});

test("another key is not found, and an empty list finds nothing", () => {
  expect(listed(digest("sha1", other.spki).toHex())).toBe(false);
  expect(listed("# nothing\n")).toBe(false);
});

test("a line that is no digest is named by its number", () => {
  const good = digest("sha1", key.spki).toHex();
  for (const wrong of ["zz", good.slice(1), `${good}00`, `SHA256:${good}`, `${good} ${good}`]) {
    expect(parseBlocklist(`${good}\n${wrong}\n`)).toEqual({ wrongLine: 2 });
  }
});
