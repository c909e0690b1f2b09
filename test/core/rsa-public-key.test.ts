/** RSA signatures under exponents the runtime refuses, made by OpenSSL and verified here. */

import { describe, expect, test } from "bun:test";

import { importPublicKey, verifySignature } from "#core/crypto.ts";
import { decodePem } from "#core/asn1/pem.ts";
import { readWideRsaKey } from "#core/rsa-public-key.ts";
import { csrSignatureValid, csrSignatureVerified, parseCsr } from "#core/x509/csr.ts";
import { openssl, opensslText, scratchDirectory } from "#test/support/encodings/openssl.ts";
import { makeKey } from "#test/support/encodings/x509.ts";

const exponents = {
  "34 bits": 2n ** 33n + 17n,
  "64 bits": 2n ** 63n + 29n,
  "256 bits": 2n ** 255n + 95n,
};

for (const [length, exponent] of Object.entries(exponents)) {
  describe(`an exponent of ${length}`, () => {
    using scratch = scratchDirectory();
    const key = `${scratch.path}/key.pem`;
    const size = ["-pkeyopt", "rsa_keygen_bits:2048", "-pkeyopt", `rsa_keygen_pubexp:${exponent}`];
    openssl(["genpkey", "-algorithm", "RSA", ...size, "-out", key]);
    const request = (...options: readonly string[]) =>
      opensslText(["req", "-new", "-key", key, "-subj", "/CN=A leaf", ...options]);
    const pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"];
    const requests = {
      "PKCS #1 with SHA-256": request("-sha256"),
      "PKCS #1 with SHA-512": request("-sha512"),
      "PSS with SHA-256": request("-sha256", ...pss),
      "PSS with SHA-384": request("-sha384", ...pss),
    };
    for (const [what, pem] of Object.entries(requests)) {
      test(`a request signed by ${what} proves the possession of the key`, async () => {
        const csr = parseCsr(pem);
        expect(readWideRsaKey(csr.spki)).toBeDefined();
        expect(csrSignatureValid(csr)).toBe(true);
        expect(await csrSignatureVerified(csr)).toBe(true);
      });

      test(`one octet changed, ${what} does not`, () => {
        const csr = parseCsr(pem);
        for (const part of ["tbs", "signature"] as const) {
          const octets = Uint8Array.from(csr[part]);
          octets[octets.length - 9] = (octets.at(-9) ?? 0) ^ 1;
          expect(csrSignatureValid({ ...csr, [part]: octets })).toBe(false);
        }
        const cut = csr.signature.subarray(1);
        expect(csrSignatureValid({ ...csr, signature: cut })).toBe(false);
      });
    }
  });
}

test("usual exponents, other keys and rubbish are left to the runtime", () => {
  expect(readWideRsaKey(makeKey("rsa-2048").spki)).toBeUndefined();
  expect(readWideRsaKey(makeKey("ecdsa-p256").spki)).toBeUndefined();
  expect(readWideRsaKey(Uint8Array.of(48, 0))).toBeUndefined();
  expect(readWideRsaKey(new Uint8Array())).toBeUndefined();
});

test("a key verifies nothing by a scheme without a digest, or with SHA-1", () => {
  using scratch = scratchDirectory();
  const out = scratch.write("key.pem", "");
  const exponent = ["-pkeyopt", `rsa_keygen_pubexp:${exponents["64 bits"]}`];
  openssl(["genpkey", "-algorithm", "RSA", ...exponent, "-out", out]);
  const spki = decodePem(opensslText(["pkey", "-in", out, "-pubout"]), ["PUBLIC KEY"]);
  const key = importPublicKey(spki ?? new Uint8Array());
  const [message, signature] = [new Uint8Array(3), new Uint8Array(256)];
  expect(verifySignature(key, {}, message, signature)).toBe(false);
  expect(verifySignature(key, { hash: "sha1", padding: "pkcs1" }, message, signature)).toBe(false);
});
