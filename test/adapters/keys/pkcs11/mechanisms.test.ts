/** ECDSA values from a token become the DER of RFC 3279 that everybody else reads. */

import { expect, test } from "bun:test";
import { createHash, generateKeyPairSync, publicDecrypt, sign, verify } from "node:crypto";
import fc from "fast-check";

import { ecdsaDer, hsmTokenSignature } from "#adapters/keys/pkcs11/mechanisms.ts";

test("r and s side by side verify as DER, on every curve and for short numbers", () => {
  for (const curve of ["P-256", "P-384", "P-521"]) {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: curve });
    for (let round = 0; round < 100; round += 1) {
      const message = Buffer.from(`${curve} ${round}`);
      const value = sign("sha256", message, { key: privateKey, dsaEncoding: "ieee-p1363" });
      expect(verify("sha256", message, publicKey, ecdsaDer(value))).toBe(true);
    }
  }
});

test("numbers are minimal and positive", () => {
  const octets = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
  fc.assert(
    fc.property(octets(32), octets(32), (r, s) => {
      const der = Buffer.from(ecdsaDer(Buffer.concat([r, s])));
      const first = der.subarray(4, 4 + (der[3] ?? 0));
      const rest = der.subarray(4 + first.length);
      for (const [digits, whole] of [
        [first, r],
        [rest.subarray(2), s],
      ] as const) {
        expect((digits[0] ?? 0x80) < 0x80).toBe(true);
        if (digits.length > 1 && digits[0] === 0) expect((digits[1] ?? 0) >= 0x80).toBe(true);
        expect(BigInt(`0x${digits.toString("hex")}`)).toBe(
          BigInt(`0x${Buffer.from(whole).toHex()}`),
        );
      }
      expect(der.length).toBe(2 + (der[1] ?? 0));
    }),
  );
});

test("RFC 8017 §9.2: the DigestInfo of PKCS#1 is what goes to the token", () => {
  const message = Buffer.from("abc");
  const { input } = hsmTokenSignature("rsa-2048", "rsa-pkcs1-sha256", message);
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const made = sign("sha256", message, privateKey);
  const opened = publicDecrypt(publicKey, made);
  expect(Buffer.from(input).equals(opened)).toBe(true);
});

test("FIPS 186-5 §6.4.1: a digest longer than the order loses its right end", () => {
  const message = Buffer.from("abc");
  const { input } = hsmTokenSignature("ecdsa-p256", "ecdsa-sha512", message);
  expect(input).toEqual(createHash("sha512").update(message).digest().subarray(0, 32));
});
