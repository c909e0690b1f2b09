/** The reader of serials against OpenSSL, which prints them as plain hex and as hex with colons. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";

import {
  parseSerial,
  type Serial,
  selectReading,
  findSerials,
  formatSerialHex,
  readSerial,
} from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { scratchDirectory } from "#test/support/encodings/openssl.ts";

const limit = 1n << 160n;
const serials = fc.bigInt({ min: 1n, max: limit - 1n });
/** Every form of a serial that other programs print. */
const toForms = (value: bigint) => {
  const hex = value.toString(16);
  const even = hex.length % 2 === 0 ? hex : `0${hex}`;
  const colons = (even.match(/../g) ?? []).join(":");
  const unambiguous = [`0x${hex}`, `0X${hex.toUpperCase()}`, `0x00${hex}`];
  if (even.length > 2) unambiguous.push(colons, colons.toUpperCase(), `00:${colons}`);
  return { decimal: value.toString(10), hex, even, unambiguous };
};
const findCode = (read: () => unknown): string => {
  try {
    read();
    return "accepted";
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
};

test("every unambiguous form has one meaning, in a search and in a list of either base", () => {
  fc.assert(
    fc.property(serials, (value) => {
      const { unambiguous, decimal } = toForms(value);
      for (const form of unambiguous) {
        expect(String(parseSerial(form))).toBe(decimal);
        expect(findSerials(form).map(String)).toEqual([decimal]);
        expect(String(selectReading(readSerial(form), "hex"))).toBe(decimal);
        expect(findCode(() => selectReading(readSerial(form), "decimal"))).toBe("bad_serial");
      }
    }),
  );
});

test("digits alone are decimal in an operation, and both in a search", () => {
  fc.assert(
    fc.property(serials, fc.nat({ max: 3 }), (value, zeros) => {
      const text = "0".repeat(zeros) + value.toString(10);
      expect(String(parseSerial(text))).toBe(value.toString(10));
      const hex = BigInt(`0x${text}`);
      const meanings = new Set([value, ...(hex < limit ? [hex] : [])].map(String));
      expect(findSerials(text).map(String)).toEqual([...meanings]);
      if (hex < limit) expect(String(selectReading(readSerial(text), "hex"))).toBe(String(hex));
    }),
  );
});

test("plain hex needs a letter, or a list that is hex", () => {
  fc.assert(
    fc.property(serials, (value) => {
      const { even, decimal } = toForms(value);
      for (const form of [even, even.toUpperCase()]) {
        expect(String(selectReading(readSerial(form), "hex"))).toBe(decimal);
        const isDigits = /^[0-9]+$/.test(form);
        const meaning = isDigits ? BigInt(form) : value;
        const expected = meaning < limit ? meaning.toString(10) : "bad_serial";
        const read = findCode(() => parseSerial(form));
        expect(read === "accepted" ? String(parseSerial(form)) : read).toBe(expected);
      }
    }),
  );
});

test("the canonical text of a reading has the same meanings, and 0x hex has exactly one", () => {
  const forms = serials.chain((value) => {
    const { decimal, even, unambiguous } = toForms(value);
    return fc.constantFrom(decimal, even, ...unambiguous);
  });
  fc.assert(
    fc.property(forms, (form) => {
      const readings = readSerial(form);
      expect(readSerial(readings.text)).toEqual(readings);
      for (const serial of findSerials(form)) {
        expect(findSerials(formatSerialHex(serial))).toEqual([serial]);
      }
    }),
  );
});

describe("OpenSSL", () => {
  let scratch: ReturnType<typeof scratchDirectory>;
  let key: string;
  beforeAll(() => {
    scratch = scratchDirectory();
    const command = ["openssl", "genpkey", "-algorithm", "ed25519"];
    key = scratch.write("key.pem", Bun.spawnSync(command).stdout.toString());
  });
  afterAll(() => scratch[Symbol.dispose]());

  /** Prints the serial of a new certificate with this serial in two forms. */
  function printForms(value: bigint): readonly [plain: string, colons: string] {
    const subject = [
      "-new",
      "-subj",
      "/CN=a",
      "-key",
      key,
      "-set_serial",
      `0x${value.toString(16)}`,
    ];
    const run = Bun.spawnSync(["openssl", "x509", ...subject, "-noout", "-serial", "-text"]);
    const text = run.stdout.toString();
    const plain = /^serial=([0-9A-F]+)$/m.exec(text)?.[1] ?? "";
    const printed = /Serial Number:\s*(?:([0-9a-f]{2}(?::[0-9a-f]{2})+)|\d+ \(0x([0-9a-f]+)\))/;
    const [, colons, short] = printed.exec(text) ?? [];
    return [plain, colons ?? `0x${short}`];
  }

  test("prints serials that are read back, and digits alone only with the hex format", () => {
    // The second one is digits alone in hex: `openssl x509 -serial` prints 1234567890123456.
    const chosen = [1n, 0x1234567890123456n, 0xffn, limit - 1n, (limit >> 1n) - 1n, 0x80n];
    const random = fc.sample(serials, { numRuns: 20, seed: 31 });
    for (const value of [...chosen, ...random]) {
      const [plain, colons] = printForms(value);
      const serial = value.toString(10) as Serial;
      expect([plain, findSerials(plain).includes(serial)]).toEqual([plain, true]);
      expect(selectReading(readSerial(plain), "hex")).toBe(serial);
      if (/[A-F]/.test(plain)) expect(parseSerial(plain)).toBe(serial);
      else expect(String(parseSerial(plain))).toBe(BigInt(plain).toString(10));
      expect(parseSerial(colons)).toBe(serial);
    }
  }, 30_000);
});
