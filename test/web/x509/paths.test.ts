/** The path that the file of a certificate holds: everything above it but a root. */

import { describe, expect, test } from "bun:test";

import { encodeName } from "#core/x509/names.ts";
import { certify, makeKey, rootFields } from "#test/support/encodings/x509.ts";
import { certificatesIn, isRoot, pathOf, pemOf, spkiOf } from "#web/x509/paths.ts";

const key = makeKey("ecdsa-p256");
const fields = rootFields(key, "ecdsa-sha256");
const named = (cn: string) => encodeName([{ type: "CN", value: cn }]).der;
const root = certify(key, fields);
const issuing = certify(key, { ...fields, subject: named("issuing") });
const leaf = certify(key, { ...fields, subject: named("leaf"), issuer: named("issuing") });

describe("the path of a certificate", () => {
  test("has what stands above it in that order, without the root", () => {
    expect(pathOf(leaf, [issuing, root])).toEqual([leaf, issuing]);
    expect(pathOf(leaf, [root])).toEqual([leaf]);
    expect(pathOf(leaf, [])).toEqual([leaf]);
  });

  test("keeps the last one where its root is not known, or where it cannot be read", () => {
    expect(pathOf(leaf, [issuing])).toEqual([leaf, issuing]);
    const broken = new Uint8Array([0x30, 0x00]);
    expect(isRoot(broken)).toBe(false);
    expect(pathOf(leaf, [issuing, broken])).toEqual([leaf, issuing, broken]);
  });

  test("is one text, of which nothing is read where a part is broken", () => {
    const text = pemOf([leaf, issuing]);
    expect(certificatesIn(text)).toEqual([leaf, issuing]);
    expect(certificatesIn(text.replace("-----END CERTIFICATE-----", ""))).toEqual([]);
    expect(spkiOf(leaf)).toEqual(new Uint8Array(key.spki));
  });
});
