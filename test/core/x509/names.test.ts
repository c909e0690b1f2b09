/** Names are written in pkid's form, read in everybody's, and printed as openssl prints them. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { DerError } from "#core/asn1/cursor.ts";
import * as der from "#core/asn1/der.ts";
import { tags } from "#core/asn1/tags.ts";
import { assembleSigned, encodeTbsCertificate } from "#core/x509/certificate.ts";
import { attributeTypes } from "#core/x509/attribute-types.ts";
import { commonName, encodeName, nameText, parseName } from "#core/x509/names.ts";
import { openssl, opensslText } from "#test/support/encodings/openssl.ts";
import { makeKey, rootFields } from "#test/support/encodings/x509.ts";

const key = makeKey("ed25519");

/** What openssl prints for the subject of a certificate; its signature does not matter. */
function opensslSubject(subject: Uint8Array, form = "RFC2253"): string {
  const tbs = encodeTbsCertificate({ ...rootFields(key, "ed25519"), subject });
  const certificate = assembleSigned(tbs, "ed25519", new Uint8Array(64));
  const args = ["x509", "-inform", "DER", "-noout", "-subject", "-nameopt", form];
  return opensslText(args, certificate)
    .replace(/^subject=/, "")
    .replace(/\n$/, "");
}

const rdn = (...attributes: readonly Uint8Array[]): Uint8Array =>
  der.element(tags.set, ...attributes);
const attribute = (type: string, value: Uint8Array): Uint8Array =>
  der.sequence(der.oid(type), value);
const nameOf = (value: Uint8Array): Uint8Array => der.sequence(rdn(attribute("2.5.4.3", value)));

describe("printing", () => {
  const awkward = [
    "a,b",
    "a+b=c",
    'say "x"',
    "a\\b",
    "<a;b>",
    " lead",
    "trail ",
    " ",
    "#hash",
    "a#b",
    "Grüße",
    "日本",
    "😀",
    "tab\there",
    "nul\0",
    "\x7f",
    "*.example",
    "",
    "a  b",
    "=",
    "/x",
  ];

  test.each(awkward)("openssl prints %j alike", (value) => {
    const name = encodeName([{ type: "CN", value }]);
    expect(nameText(name)).toBe(opensslSubject(name.der));
  });

  test("every attribute type of the table has the name openssl gives it", () => {
    const types = Object.keys(attributeTypes);
    const name = encodeName(types.map((type) => ({ type, value: "AB" })));
    expect(nameText(name)).toBe(opensslSubject(name.der));
    expect(parseName(name.der).attributes).toEqual(types.map((type) => ({ type, value: "AB" })));
  });

  test("any text is printed as openssl prints it", () => {
    // openssl leaves a lone "#" as it is, where RFC 4514 §2.4 escapes it: a value it would read as
    // hex.
    const text = fc.string({ unit: "grapheme", maxLength: 12 }).filter((value) => value !== "#");
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (values) => {
        const name = encodeName(values.map((value) => ({ type: "O", value })));
        expect(nameText(name)).toBe(opensslSubject(name.der));
      }),
      { numRuns: 40 },
    );
  });

  test("RFC 4514 §2.4: a lone # is escaped", () => {
    expect(nameText(encodeName([{ type: "O", value: "#" }]))).toBe("O=\\#");
  });

  test("several attributes in one RDN and unknown types are printed as openssl does", () => {
    const octets = der.sequence(
      rdn(attribute("2.5.4.6", der.printableString("DE"))),
      rdn(attribute("2.5.4.3", der.utf8String("a")), attribute("2.5.4.10", der.utf8String("b"))),
      rdn(attribute("1.2.3.4.5", der.utf8String("x"))),
    );
    expect(nameText(parseName(octets))).toBe(opensslSubject(octets));
    expect(nameText(parseName(octets))).toBe("1.2.3.4.5=#0C0178,O=b+CN=a,C=DE");
  });

  test("the empty name is empty text", () => {
    expect(encodeName([]).der.toHex()).toBe("3000");
    expect(nameText(encodeName([]))).toBe("");
    expect(commonName(encodeName([]))).toBe("");
  });
});

describe("writing", () => {
  test("PRO-5: every attribute has the string type of its kind", () => {
    const name = encodeName([
      { type: "C", value: "DE" },
      { type: "CN", value: "a" },
      { type: "serialNumber", value: "12-3" },
      { type: "DC", value: "example" },
      { type: "emailAddress", value: "a@b.example" },
      { type: "1.2.3.4", value: "x" },
    ]);
    const tree = opensslText(["asn1parse", "-inform", "DER"], name.der);
    const strings = [...tree.matchAll(/prim: (\w+STRING)/g)].map(([, type]) => type);
    const [printable, utf8, ia5] = ["PRINTABLESTRING", "UTF8STRING", "IA5STRING"];
    expect(strings).toEqual([printable, utf8, printable, ia5, ia5, utf8]);
  });

  test("a value its string type cannot carry becomes UTF8String", () => {
    const name = encodeName([
      { type: "C", value: "Ö" },
      { type: "DC", value: "ö" },
    ]);
    const tree = opensslText(["asn1parse", "-inform", "DER"], name.der);
    expect(tree.match(/UTF8STRING/g)).toHaveLength(2);
  });

  test("a word that is no attribute type is a bug of the caller", () => {
    expect(() => encodeName([{ type: "cn", value: "a" }])).toThrow("well formed");
  });

  test("what is written is read back", () => {
    const type = fc.constantFrom(...Object.keys(attributeTypes), "1.2.3", "2.5.4.999");
    const value = fc.string({ unit: "grapheme", maxLength: 20 });
    fc.assert(
      fc.property(fc.array(fc.record({ type, value }), { maxLength: 6 }), (attributes) => {
        const name = encodeName(attributes);
        expect(parseName(name.der).attributes).toEqual(attributes);
        expect(encodeName(parseName(name.der).attributes).der.toHex()).toBe(name.der.toHex());
      }),
    );
  });
});

describe("reading", () => {
  test.each([
    ["TeletexString as Latin-1", der.element(tags.teletexString, Uint8Array.of(0x47, 0xfc)), "Gü"],
    ["BMPString", der.element(tags.bmpString, Uint8Array.of(0x65, 0xe5, 0, 0x41)), "日A"],
    ["UniversalString", der.element(tags.universalString, Uint8Array.of(0, 1, 0xf6, 0)), "😀"],
    ["PrintableString", der.printableString("a b"), "a b"],
    ["IA5String", der.ia5String("a@b"), "a@b"],
    ["VisibleString", der.element(tags.visibleString, Uint8Array.of(0x41)), "A"],
    ["NumericString", der.element(tags.numericString, Uint8Array.of(0x31)), "1"],
  ])("%s is text", (_name, value, text) => {
    const name = parseName(nameOf(value));
    expect(commonName(name)).toBe(text);
    // openssl does not read a VisibleString in a name.
    const visible = value[0] === tags.visibleString;
    expect(nameText(name)).toBe(visible ? `CN=${text}` : opensslSubject(name.der));
  });

  test.each([
    ["UTF-8 that is not", nameOf(der.element(tags.utf8String, Uint8Array.of(0xc0, 0x80)))],
    [
      "a PrintableString beyond ASCII",
      nameOf(der.element(tags.printableString, Uint8Array.of(0xe4))),
    ],
    ["half a BMPString character", nameOf(der.element(tags.bmpString, Uint8Array.of(0)))],
    ["a surrogate", nameOf(der.element(tags.bmpString, Uint8Array.of(0xd8, 0)))],
    [
      "a code beyond Unicode",
      nameOf(der.element(tags.universalString, Uint8Array.of(0, 0x11, 0, 0))),
    ],
    ["a common name that is a number", nameOf(der.integer(1))],
    ["an empty RDN", der.sequence(rdn())],
    [
      "an attribute with two values",
      der.sequence(rdn(der.sequence(der.oid("2.5.4.3"), der.utf8String("a"), der.utf8String("b")))),
    ],
    ["octets after the name", Uint8Array.of(0x30, 0, 0)],
    ["no name at all", new Uint8Array(0)],
  ])("%s is refused", (_name, octets) => expect(() => parseName(octets)).toThrow(DerError));

  test("an unknown attribute may be anything and is shown in hex", () => {
    const octets = der.sequence(rdn(attribute("1.2.3", der.bitString(Uint8Array.of(1)))));
    expect(parseName(octets).attributes).toEqual([{ type: "1.2.3", value: "#03020001" }]);
    expect(nameText(parseName(octets))).toBe(opensslSubject(octets));
  });

  test("the last common name counts", () => {
    const attributes = ["a", "b"].map((value) => ({ type: "CN", value }));
    expect(commonName(encodeName(attributes))).toBe("b");
  });

  test("a subject made by openssl keeps its octets", () => {
    const args = ["req", "-new", "-x509", "-nodes", "-keyout", "/dev/null", "-newkey", "ed25519"];
    const made = openssl([
      ...args,
      "-utf8",
      "-multivalue-rdn",
      "-outform",
      "DER",
      "-subj",
      "/C=DE/O=Grüße/UID=7+CN=Jo/emailAddress=a@b.example",
    ]);
    const subject = openssl(
      ["x509", "-inform", "DER", "-noout", "-subject", "-nameopt", "RFC2253"],
      made,
    );
    const at = made.indexOf(Buffer.from("550406", "hex")) - 8;
    const name = parseName(made.subarray(at, at + 2 + (made[at + 1] ?? 0)));
    expect(`subject=${nameText(name)}\n`).toBe(subject.toString());
  });
});
