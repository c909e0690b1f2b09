/** Distinguished names as people write them, held against names in DER. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { printableString, sequence, setOf, utf8String, oid } from "#core/asn1/der.ts";
import { attributeTypes } from "#core/x509/attribute-types.ts";
import { nameKey, parseNameText } from "#core/x509/name-text.ts";
import { encodeName, nameText, parseName } from "#core/x509/names.ts";

const keyOf = (...attributes: readonly (readonly [string, string])[]) =>
  nameKey(encodeName(attributes.map(([type, value]) => ({ type, value }))));

describe("a name as text", () => {
  test("means the same name as its DER, in the other order", () => {
    const key = keyOf(["C", "DE"], ["O", "Example, Inc."], ["CN", "robot"]);
    expect(parseNameText("CN=robot,O=Example\\, Inc.,C=DE")).toBe(key);
    expect(parseNameText("C=DE,O=Example\\, Inc.,CN=robot")).not.toBe(key);
  });

  test("may have types in any case or as OIDs, spaces around separators, and escapes in hex", () => {
    const key = keyOf(["C", "DE"], ["O", "Müller"], ["CN", " a#b "]);
    for (const text of [
      "cn=\\ a#b\\ ,o=Müller,c=DE",
      "2.5.4.3 = \\20a#b\\20 , O = M\\C3\\BCller , C = DE",
      "CN=\\ a\\#b\\ ,2.5.4.10=#0c074dc3bc6c6c6572,C=DE",
    ]) {
      expect([text, parseNameText(text)]).toEqual([text, key]);
    }
  });

  test("with several attributes in one RDN has them in any order, and is no other name", () => {
    const rdn = setOf([
      sequence(oid("2.5.4.3"), utf8String("robot")),
      sequence(oid("2.5.4.10"), printableString("Example")),
    ]);
    const key = nameKey({ der: sequence(rdn) });
    expect(parseNameText("CN=robot+O=Example")).toBe(key);
    expect(parseNameText("O=Example+CN=robot")).toBe(key);
    expect(parseNameText("O=Example,CN=robot")).not.toBe(key);
  });

  test("is the same whatever string type the certificate has", () => {
    const as = (value: Uint8Array) =>
      nameKey({ der: sequence(setOf([sequence(oid("2.5.4.3"), value)])) });
    expect(as(printableString("robot"))).toBe(as(utf8String("robot")));
    expect(parseNameText("CN=robot")).toBe(as(utf8String("robot")));
  });

  test("cannot pass for another by what its values hold", () => {
    const tricky = keyOf(["CN", "robot,O=Example"]);
    expect(parseNameText("CN=robot,O=Example")).not.toBe(tricky);
    expect(parseNameText("CN=robot\\,O\\=Example")).toBe(tricky);
    expect(keyOf(["CN", "#0c0161"])).not.toBe(keyOf(["CN", "a"]));
    expect(keyOf(["CN", "a"])).not.toBe(keyOf(["CN", "A"]));
    expect(keyOf(["CN", '"}'], ["CN", "x"])).not.toBe(keyOf(["CN", '"}","x']));
  });

  test.each([
    "",
    "robot",
    "CN",
    "=robot",
    "CN=a,",
    "CN=a+",
    ",CN=a",
    "CN=a;O=b",
    'CN="a"',
    "CN=a\\",
    "CN=a\\zz",
    "CN=<a>",
    "CN=#",
    "CN=#0",
    "CN=#0c",
    "CN=#0c0161ff",
    "CN=#300",
    "CN=\\ff",
    "FOO=a",
    "9.9.9=a",
    "/CN=robot",
  ])("%p is none", (text) => {
    expect(parseNameText(text)).toBeUndefined();
  });

  test("printed from any name reads back as that name", () => {
    const type = fc.constantFrom(...(Object.keys(attributeTypes) as string[]));
    const value = fc
      .string({ unit: "grapheme", maxLength: 20 })
      .filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(fc.array(fc.record({ type, value }), { minLength: 1, maxLength: 4 }), (of) => {
        const name = parseName(encodeName(of).der);
        expect(parseNameText(nameText(name))).toBe(nameKey(name));
      }),
      { numRuns: 500 },
    );
  });

  test("of any characters is read or refused, and never anything else", () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'CNO=,+\\#"; ab02') }));
    fc.assert(
      fc.property(text, (given) => {
        const key = parseNameText(given);
        expect(key === undefined || key.startsWith("[[")).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
