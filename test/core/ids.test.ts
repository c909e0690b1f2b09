/** Serials: one number, many spellings, one text. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { parseSerial, serialFromBytes, serialToBytes } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";

test("007, 0x07 and 7 are one serial, and so are hex with colons and upper case", () => {
  for (const text of ["7", "007", "0x07", "00:07", "0:7"]) {
    expect(String(parseSerial(text))).toBe("7");
  }
  expect(String(parseSerial("0xAbCd"))).toBe(String(parseSerial("ab:CD")));
});

test("zero, signs, blanks, bare hex and anything from 2^160 on are refused", () => {
  const texts = ["", "0", "0x0", "-1", "+1", " 1", "1 ", "ab", "0x", "1:", ":1", "1e3", "0b1"];
  for (const text of [...texts, String(1n << 160n), "9".repeat(500)]) {
    expect(() => parseSerial(text)).toThrow(Problem);
  }
  expect(String(parseSerial(String((1n << 160n) - 1n)))).toBe(String((1n << 160n) - 1n));
});

test("octets, decimal and hex spell the same serial", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: (1n << 160n) - 1n }), (value) => {
      const serial = parseSerial(`0x${value.toString(16)}`);
      expect(String(serial)).toBe(value.toString(10));
      expect(serialFromBytes(serialToBytes(serial))).toBe(serial);
      expect(serialToBytes(serial)[0]).not.toBe(0);
    }),
  );
});

test("no text makes the parser throw anything but a refusal", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        parseSerial(text);
      } catch (error) {
        expect(error).toBeInstanceOf(Problem);
      }
    }),
  );
});
