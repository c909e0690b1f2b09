/** Serials: one number, many spellings, one text. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { orderedId, parseSerial, serialFromBytes, serialToBytes } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { instant } from "#core/time.ts";

test("007, 0x07 and 7 are one serial, and so are hex with colons and upper case", () => {
  for (const text of ["7", "007", "0x07", "00:07", "0:7"]) {
    expect(String(parseSerial(text))).toBe("7");
  }
  expect(String(parseSerial("0xAbCd"))).toBe(String(parseSerial("ab:CD")));
});

test("zero, signs, blanks and anything from 2^160 on are refused", () => {
  const texts = ["", "0", "0x0", "-1", "+1", " 1", "1 ", "0x", "1:", ":1", "xyz", "0g", "-ab"];
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

test("RFC 9562 §5.7: an ordered id begins with its time, sorts by it, and keeps 74 random bits", () => {
  // The example of RFC 9562 appendix A.6.
  const at = instant(0x017f22e279b0);
  const random = Uint8Array.fromHex("0cc318c4dc0c0c07398f");
  expect(orderedId(at, random)).toBe("017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
  const octets = fc.uint8Array({ minLength: 10, maxLength: 10 });
  const time = fc.integer({ min: 0, max: 2 ** 48 - 2 });
  fc.assert(
    fc.property(time, octets, octets, (ms, one, other) => {
      const first = orderedId(instant(ms), one);
      expect(first).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
      expect(first < orderedId(instant(ms + 1), other)).toBe(true);
    }),
  );
});
