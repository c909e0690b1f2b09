/** Certification requests as openssl, devices and attackers write them. */
import { describe, expect, test } from "bun:test";

import { Problem } from "#core/problems.ts";
import { generalNameText } from "#core/x509/general-names.ts";
import { csrSignatureValid, parseCsr } from "#core/x509/csr.ts";
import { nameText } from "#core/x509/names.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";
import { openssl, opensslText, scratchDirectory } from "#test/support/openssl.ts";

const keyArguments = {
  "ecdsa-p256": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
  "ecdsa-p384": ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
  "ecdsa-p521": ["ec", "-pkeyopt", "ec_paramgen_curve:P-521"],
  "rsa-2048": ["rsa:2048"],
  ed25519: ["ed25519"],
} as const;

/** A request by openssl in PEM. */
function request(newkey: readonly string[], options: readonly string[] = []): string {
  return opensslText([
    ...["req", "-new", "-nodes", "-keyout", "/dev/null", "-newkey", ...newkey],
    ...(options.includes("-subj") ? [] : ["-subj", "/C=DE/O=Example/CN=a.example"]),
    ...options,
  ]);
}

describe("requests made by openssl", () => {
  test.each(Object.entries(keyArguments))(
    "a %s request is read and its signature holds",
    (type, newkey) => {
      const csr = parseCsr(request(newkey, ["-addext", "subjectAltName=DNS:A.example,IP:::1"]));
      expect(nameText(csr.subject)).toBe("CN=a.example,O=Example,C=DE");
      expect(csr.sans.map(generalNameText)).toEqual(["dns:a.example", "ip:::1"]);
      expect(parsePublicKey(csr.spki).keyType).toBe(type as keyof typeof keyArguments);
      expect(csrSignatureValid(csr)).toBe(true);
    },
  );

  test.each(["sha256", "sha384", "sha512"])("an RSASSA-PSS request with %s is verified", (hash) => {
    const pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"];
    const csr = parseCsr(request(["rsa:2048"], [`-${hash}`, ...pss]));
    expect(csr.signatureName).toBe(`rsa-pss-${hash}` as "rsa-pss-sha256");
    expect(csrSignatureValid(csr)).toBe(true);
  });

  test("a SHA-1 signature proves nothing", () => {
    const csr = parseCsr(request(["rsa:2048"], ["-sha1"]));
    expect(csr.signatureName).toBeUndefined();
    expect(csrSignatureValid(csr)).toBe(false);
  });

  test("DER is read as PEM is", () => {
    const pem = request(keyArguments["ecdsa-p256"]);
    const der = openssl(["req", "-outform", "DER"], pem);
    expect(parseCsr(der).der.toHex()).toBe(parseCsr(pem).der.toHex());
    expect(parseCsr(new TextEncoder().encode(pem)).der.toHex()).toBe(parseCsr(pem).der.toHex());
  });
});

test("what cannot be read is refused with its reason", () => {
  const reason = (input: string | Uint8Array): unknown => {
    try {
      parseCsr(input);
    } catch (error) {
      if (error instanceof Problem) return [error.code, error.facts.reason];
      throw error;
    }
    return "accepted";
  };
  const pem = request(keyArguments["ecdsa-p256"]);
  const der = parseCsr(pem).der;
  expect(reason("hello")).toEqual(["bad_csr", "not_pem"]);
  expect(reason(`${pem}${pem}`)).toEqual(["bad_csr", "not_pem"]);
  expect(reason(Uint8Array.of(...der, 0))).toEqual(["bad_csr", "malformed"]);
  expect(reason(der.subarray(0, -1))).toEqual(["bad_csr", "malformed"]);
  expect(reason("x".repeat(65_537))).toEqual(["bad_csr", "too_large"]);
  using directory = scratchDirectory();
  expect(directory.path).not.toBe("");
});
