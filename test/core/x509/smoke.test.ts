/** The shortest proof that certificates can be made and read. */
import { expect, test } from "bun:test";

import { importPublicKey, verifySignature } from "#core/crypto.ts";
import { defaultSignature, keyTypes, schemeOf } from "#core/x509/algorithms.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { nameText } from "#core/x509/names.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";
import { opensslText } from "#test/support/openssl.ts";
import { certify, makeKey, rootFields } from "#test/support/x509.ts";

test.each(["ecdsa-p256", "rsa-2048", "ed25519", "ml-dsa-65"] as const)(
  "a self-signed %s certificate is read back and verifies",
  (type) => {
    const key = makeKey(type);
    const signature = defaultSignature(type);
    const der = certify(key, rootFields(key, signature));
    const read = parseCertificate(der);
    expect(nameText(read.subject)).toBe("CN=Test Root,O=Example,C=DE");
    expect(parsePublicKey(read.spki).keyType).toBe(type);
    const scheme = schemeOf(signature);
    expect(verifySignature(importPublicKey(read.spki), scheme, read.tbs, read.signature)).toBe(
      true,
    );
    if (keyTypes[type][0] !== "ml-dsa") {
      expect(opensslText(["x509", "-inform", "DER", "-noout", "-text"], der)).toContain("CA:TRUE");
    }
  },
);
