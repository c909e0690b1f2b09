/** What the DER writer gives is what openssl and asn1js read. */
import { describe, expect, test } from "bun:test";
import { fromBER } from "asn1js";

import * as der from "#core/asn1/der.ts";
import { encodedOids, oids } from "#core/asn1/oids.ts";
import { isOid } from "#core/asn1/oid-octets.ts";
import { tags } from "#core/asn1/tags.ts";
import { instant } from "#core/time.ts";
import { opensslText } from "#test/support/encodings/openssl.ts";

const parsed = (octets: Uint8Array): string =>
  opensslText(["asn1parse", "-inform", "DER"], octets).trim();

describe("openssl asn1parse reads", () => {
  test.each([
    ["INTEGER           :00", der.integer(0)],
    ["INTEGER           :7F", der.integer(127)],
    ["INTEGER           :80", der.integer(128)],
    ["INTEGER           :01000000", der.integer(0x1000000)],
    ["INTEGER           :1FFFFFFFFFFFFF", der.integer(Number.MAX_SAFE_INTEGER)],
    ["INTEGER           :FF", der.unsignedInteger(Uint8Array.of(0, 0, 255))],
    ["INTEGER           :00", der.unsignedInteger(new Uint8Array(0))],
    ["ENUMERATED        :05", der.enumerated(5)],
    ["BOOLEAN           :255", der.booleanTrue()],
    ["NULL", der.nullElement()],
    ["OBJECT            :X509v3 Key Usage", der.oid("2.5.29.15")],
    [
      "OBJECT            :2.999.340282366920938463463374607431768211456",
      der.oid("2.999.340282366920938463463374607431768211456"),
    ],
    ["UTF8STRING        :Grüße", der.utf8String("Grüße")],
    ["PRINTABLESTRING   :DE", der.printableString("DE")],
    ["IA5STRING         :a@b", der.ia5String("a@b")],
    ["UTCTIME           :491231235959Z", der.time(instant(Date.UTC(2049, 11, 31, 23, 59, 59)))],
    ["GENERALIZEDTIME   :20500101000000Z", der.time(instant(Date.UTC(2050, 0, 1)))],
    [
      "GENERALIZEDTIME   :20250102030405Z",
      der.generalizedTime(instant(Date.UTC(2025, 0, 2, 3, 4, 5, 999))),
    ],
  ])("%s", (text, octets) => expect(parsed(octets)).toEndWith(text));

  test("lengths of every form", () => {
    for (const length of [0, 1, 127, 128, 255, 256, 65_535, 65_536]) {
      const octets = der.octetString(new Uint8Array(length));
      expect(parsed(octets)).toContain(` l=${String(length).padStart(4)} prim: OCTET STRING`);
    }
  });
});

test("named bits leave out trailing zeros", () => {
  expect(der.namedBits([]).toHex()).toBe("030100");
  expect(der.namedBits([0]).toHex()).toBe("03020780");
  expect(der.namedBits([5, 6, 0]).toHex()).toBe("03020186");
  expect(der.namedBits([8]).toHex()).toBe("0303070080");
});

test("the members of a SET OF are in the order of their octets", () => {
  const members = [der.integer(300), der.integer(2), der.integer(1)];
  expect(der.setOf(members).toHex()).toBe("310a02010102010202020 12c".replaceAll(" ", ""));
});

test("context tags are implicit over content and explicit around elements", () => {
  expect(der.implicit(2, Uint8Array.of(0x61)).toHex()).toBe("820161");
  expect(der.explicit(3, der.integer(1)).toHex()).toBe("a303020101");
});

test("asn1js reads the same object identifiers", () => {
  expect(encodedOids.size).toBe(new Set(Object.values(oids)).size);
  for (const [dotted, octets] of encodedOids) {
    const block: unknown = fromBER(new Uint8Array(octets)).result.valueBlock;
    expect(String(block)).toBe(dotted);
  }
});

test("texts that are no object identifiers are bugs of the caller", () => {
  for (const text of ["", "1", "1.40", "3.1", "1.02", "1.2.", "1..2", "1.2.x", "0.-1"]) {
    expect(isOid(text)).toBe(false);
    expect(() => der.oid(text)).toThrow("well formed");
  }
  expect(isOid("2.47.0")).toBe(true);
});

test("a list of a hundred thousand elements is written", () => {
  const one = der.integer(1);
  const list = der.elementOf(tags.sequence, Array<Uint8Array>(100_000).fill(one));
  expect(list.length).toBe(300_005);
});
