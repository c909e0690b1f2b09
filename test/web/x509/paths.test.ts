/** The path that the file of a certificate holds: everything above it but a root. */

import { describe, expect, test } from "bun:test";

import { implicit, sequence } from "#core/asn1/der.ts";
import {
  authorityKeyIdentifier,
  type Extension,
  subjectKeyId,
  subjectKeyIdentifier,
} from "#core/x509/extensions.ts";
import { encodeName } from "#core/x509/names.ts";
import { certify, makeKey, rootFields } from "#test/support/encodings/x509.ts";
import { certificatesIn, isRoot, pathOf, pemOf, spkiOf } from "#web/x509/paths.ts";

const key = makeKey("ecdsa-p256");
const fields = rootFields(key, "ecdsa-sha256");
const named = (cn: string) => encodeName([{ type: "CN", value: cn }]).der;
const root = certify(key, fields);
const issuing = certify(key, { ...fields, subject: named("issuing") });
const leaf = certify(key, { ...fields, subject: named("leaf"), issuer: named("issuing") });

/** An identifier of the key above as other software writes it: a serial and no key. */
const bySerial = (serial: string): Extension => ({
  oid: "2.5.29.35",
  critical: false,
  value: sequence(implicit(2, Uint8Array.fromHex(serial))),
});
const broken: Extension = { oid: "2.5.29.35", critical: false, value: Uint8Array.of(0x30, 1) };

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

  test("keeps a new key that the old one of the same name vouches for, which is no root", () => {
    const id = subjectKeyId(key.spki, "rfc7093");
    const next = makeKey("ecdsa-p256");
    const own = subjectKeyIdentifier(subjectKeyId(next.spki, "rfc7093"));
    const having = (...extensions: Extension[]) =>
      certify(key, { ...fields, spki: next.spki, extensions });
    const newWithOld = having(own, authorityKeyIdentifier(id));
    expect(isRoot(newWithOld)).toBe(false);
    expect(pathOf(leaf, [issuing, newWithOld])).toEqual([leaf, issuing, newWithOld]);
    // What does not say which key it has does not say that it has signed itself.
    expect(isRoot(having(authorityKeyIdentifier(id)))).toBe(false);
    expect(isRoot(having(own, bySerial("0102")))).toBe(false);
    expect(isRoot(having(own, broken))).toBe(false);
  });

  test("leaves out a root that names its own key, by itself or by its serial, or none", () => {
    const id = subjectKeyId(key.spki, "rfc7093");
    const having = (...extensions: Extension[]) => certify(key, { ...fields, extensions });
    for (const naming of [
      [authorityKeyIdentifier(id)],
      [bySerial("6b1d2c3b4a59687786a5b4c3d2e1f001")],
      [],
    ]) {
      const itself = having(...naming, subjectKeyIdentifier(id));
      expect(isRoot(itself)).toBe(true);
      expect(pathOf(leaf, [issuing, itself])).toEqual([leaf, issuing]);
    }
  });

  test("is one text, of which nothing is read where a part is broken", () => {
    const text = pemOf([leaf, issuing]);
    expect(certificatesIn(text)).toEqual([leaf, issuing]);
    expect(certificatesIn(text.replace("-----END CERTIFICATE-----", ""))).toEqual([]);
    expect(spkiOf(leaf)).toEqual(new Uint8Array(key.spki));
  });
});
