/** Alternative names and addresses have one spelling, whatever the request said. */
import { describe, expect, test } from "bun:test";
import { isIP } from "node:net";
import fc from "fast-check";

import { DerError } from "#core/asn1/cursor.ts";
import { element, explicit, implicit, integer, oid, sequence, utf8String } from "#core/asn1/der.ts";
import { canonicalDnsName, ipText, parseIpAddress } from "#core/x509/addresses.ts";
import {
  encodeGeneralNames,
  type GeneralName,
  generalNameText,
  parseGeneralNames,
} from "#core/x509/general-names.ts";
import { encodeName } from "#core/x509/names.ts";

const utf8 = new TextEncoder();

describe("IP addresses", () => {
  test.each([
    ["192.0.2.1", "192.0.2.1"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["::", "::"],
    ["::1", "::1"],
    ["1::", "1::"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["::FFFF:192.0.2.1", "::ffff:192.0.2.1"],
    ["::ffff:c000:201", "::ffff:192.0.2.1"],
    ["64:ff9b::192.0.2.33", "64:ff9b::c000:221"],
    ["0001:02::0a", "1:2::a"],
  ])("RFC 5952: %s is written %s", (given, text) => {
    const octets = parseIpAddress(given);
    expect(octets && ipText(octets)).toBe(text);
  });

  test.each([
    "",
    "1",
    "1.2.3",
    "1.2.3.4.5",
    "01.2.3.4",
    "256.1.1.1",
    "1.2.3.4 ",
    "0x1.2.3.4",
    ":",
    ":::",
    "1:::2",
    "1::2::3",
    "::1%eth0",
    "[::1]",
    "12345::",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::8:9",
    "1.2.3.4::",
    "::1.2.3",
    "::01.2.3.4",
    "1:2:3:4:5:6:7:1.2.3.4",
    "::g",
    "1:2:3:4:5:6:7:8::",
  ])("%j is no address", (text) => expect(parseIpAddress(text)).toBeUndefined());

  test("every address survives, and node agrees on what is one", () => {
    const size = fc.constantFrom(4, 16);
    const octets = size.chain((n) => fc.uint8Array({ minLength: n, maxLength: n }));
    fc.assert(
      fc.property(octets, (given) => {
        expect(parseIpAddress(ipText(given))?.toHex()).toBe(given.toHex());
      }),
    );
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({ maxLength: 20 })), (text) => {
        expect(parseIpAddress(text) !== undefined).toBe(isIP(text) !== 0 && !text.includes("%"));
      }),
    );
  });
});

describe("DNS names", () => {
  test.each([
    ["A.Example", "a.example"],
    ["*.a.example", "*.a.example"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["BÜCHER.example", "xn--bcher-kva.example"],
    ["*.日本.example", "*.xn--wgv71a.example"],
    ["a。b", "a.b"],
    ["_x.bü.example.", "_x.xn--b-eha.example."],
    ["faß.de", "xn--fa-hia.de"],
  ])("%s becomes %s", (given, name) => expect(canonicalDnsName(given)).toBe(name));

  test.each([
    "",
    "a b",
    "a\0b",
    "a\nb",
    "ü b",
    "ü\tb",
    "ü/x",
    "ü@x",
    "ü:80",
    "ü%41",
    "ü#",
    "ü?",
    "ü\\x",
    "ü／x",
    "ü＠x",
    "ü：80",
    "ü％41",
    "ü＃",
    "ü？",
    "[ü]",
    "１２３",
    "\u{ad}",
    "\ud800",
    "\u{2028}",
    "x".repeat(1025),
  ])("%j cannot be spelled", (text) => expect(canonicalDnsName(text)).toBeUndefined());

  test("the canonical form is a fixed point", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 12 }), (text) => {
        const name = canonicalDnsName(text);
        if (name !== undefined) expect(canonicalDnsName(name)).toBe(name);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("general names", () => {
  const names: readonly GeneralName[] = [
    { kind: "dns", value: "a.example" },
    { kind: "ip", value: "192.0.2.1" },
    { kind: "ip", value: "2001:db8::1" },
    { kind: "email", value: "a@b.example" },
    { kind: "uri", value: "urn:x:Y" },
  ];

  test("the kinds pkid issues are read back", () => {
    expect(parseGeneralNames(encodeGeneralNames(names))).toEqual({ names, unsupported: [] });
    expect(names.map(generalNameText)[2]).toBe("ip:2001:db8::1");
  });

  test("DNS names are lower-cased, and U-labels become A-labels", () => {
    const octets = sequence(
      implicit(2, utf8.encode("A.Example")),
      implicit(2, utf8.encode("ü.example")),
    );
    const values = parseGeneralNames(octets).names.map(({ value }) => value);
    expect(values).toEqual(["a.example", "xn--tda.example"]);
  });

  test("other kinds are named", () => {
    const octets = sequence(
      element(0xa0, oid("1.2.3"), explicit(0, utf8String("x"))),
      element(0xa3, integer(1)),
      explicit(4, encodeName([{ type: "CN", value: "x" }]).der),
      element(0xa5, integer(1)),
      implicit(8, oid("1.2.3").subarray(2)),
    );
    const { unsupported } = parseGeneralNames(octets);
    expect(unsupported).toEqual([
      "otherName:1.2.3",
      "x400Address",
      "dirName:CN=x",
      "ediPartyName",
      "registeredID:1.2.3",
    ]);
  });

  test.each([
    ["an empty list", sequence()],
    ["an address of 5 octets", sequence(implicit(7, new Uint8Array(5)))],
    ["an address with a mask", sequence(implicit(7, new Uint8Array(8)))],
    ["a DNS name with a blank", sequence(implicit(2, utf8.encode("a b")))],
    ["an empty DNS name", sequence(implicit(2, new Uint8Array(0)))],
    ["a DNS name in Latin-1", sequence(implicit(2, Uint8Array.of(0xfc)))],
    ["an e-mail address beyond ASCII", sequence(implicit(1, utf8.encode("ü@x")))],
    ["a URI beyond ASCII", sequence(implicit(6, utf8.encode("http://ü/")))],
    ["a constructed DNS name", sequence(element(0xa2, implicit(2, utf8.encode("a"))))],
    ["a kind that does not exist", sequence(implicit(9, new Uint8Array(0)))],
    ["octets after the list", Uint8Array.of(...encodeGeneralNames(names), 0)],
  ])("%s is refused", (_name, octets) => expect(() => parseGeneralNames(octets)).toThrow(DerError));

  test("names that are not canonical are bugs of the caller", () => {
    expect(() => encodeGeneralNames([{ kind: "ip", value: "x" }])).toThrow("assertion");
    expect(() => encodeGeneralNames([{ kind: "dns", value: "ü" }])).toThrow("assertion");
  });
});
