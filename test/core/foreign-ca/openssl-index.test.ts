/** The database of `openssl ca`, line by line. */

import { expect, test } from "bun:test";

import fc from "fast-check";

import { parseSerial } from "#core/ids.ts";
import { parseIndexLine } from "#core/foreign-ca/openssl-index.ts";
import { instant, parseTimestamp } from "#core/time.ts";

const at = (text: string) => parseTimestamp(text) ?? instant(0);
const line = (...fields: readonly string[]) => fields.join("\t");

test("what is valid, revoked and expired is read with serial, time and reason", () => {
  expect(parseIndexLine(line("V", "270101000000Z", "", "0A", "unknown", "/CN=a"))).toEqual({
    serial: parseSerial("10"),
    name: "0A",
    revoked: undefined,
    valid: true,
  });
  const revoked = line("R", "20510101000000Z", "260102030405Z,keyCompromise", "FF", "x", "/CN=b");
  expect(parseIndexLine(revoked)).toMatchObject({
    serial: parseSerial("255"),
    revoked: { at: at("2026-01-02T03:04:05Z"), reason: "keyCompromise" },
    valid: false,
  });
  expect(parseIndexLine(line("E", "990101000000Z", "", "1", "x", "/CN=c"))).toMatchObject({
    valid: false,
    revoked: undefined,
  });
});

test.each([
  ["260101000000Z", "unspecified"],
  ["260101000000Z,superseded", "superseded"],
  ["260101000000Z,CAkeyTime,20251231000000Z", "cACompromise"],
  ["260101000000Z,keyTime,20251231000000Z", "keyCompromise"],
  ["260101000000Z,holdInstruction,holdInstructionReject", "certificateHold"],
  ["260101000000Z,removeFromCRL", "unspecified"],
])("a revocation of %s has the reason %s", (field, reason) => {
  const found = parseIndexLine(line("R", "300101000000Z", field, "01", "x", "/CN=a"));
  expect(found).toMatchObject({ revoked: { at: at("2026-01-01T00:00:00Z"), reason } });
});

test.each([
  ["V\t270101000000Z\t\t01\tunknown", "5 fields"],
  [line("X", "270101000000Z", "", "01", "x", "/CN=a"), "neither V, R nor E"],
  [line("V", "270101000000Z", "", "xyz", "x", "/CN=a"), "no serial"],
  [line("V", "270231000000Z", "", "01", "x", "/CN=a"), "no time of expiry"],
  [line("V", "270101000000Z", "260101000000Z", "01", "x", "/CN=a"), "is not revoked"],
  [line("R", "270101000000Z", "", "01", "x", "/CN=a"), "says not when"],
  [line("R", "270101000000Z", "260101000000Z,because", "01", "x", "/CN=a"), "nobody knows"],
])("%j is refused: %s", (text, fault) => {
  expect(parseIndexLine(text)).toEqual({ fault: expect.stringContaining(fault) });
});

test("an empty line says nothing", () => {
  expect(parseIndexLine("  ")).toBeUndefined();
});

test("whatever openssl writes is read as it was meant, and whatever else comes throws nothing", () => {
  const two = (number: number) => String(number).padStart(2, "0");
  const moment = fc.record({
    year: fc.integer({ min: 1950, max: 2400 }),
    month: fc.integer({ min: 1, max: 12 }),
    day: fc.integer({ min: 1, max: 28 }),
    hour: fc.integer({ min: 0, max: 23 }),
  });
  fc.assert(
    fc.property(moment, fc.bigInt({ min: 1n, max: 2n ** 150n }), (one, serial) => {
      const { year, month, day, hour } = one;
      const rest = `${two(month)}${two(day)}${two(hour)}0000Z`;
      const short = year < 2050 ? two(year % 100) : String(year);
      const digits = serial.toString(16).toUpperCase();
      const name = digits.length % 2 === 0 ? digits : `0${digits}`;
      const text = line("R", short + rest, `${short}${rest},superseded`, name, "x", "/CN=\\x09");
      expect(parseIndexLine(text)).toEqual({
        serial: parseSerial(String(serial)),
        name,
        revoked: {
          at: at(`${year}-${two(month)}-${two(day)}T${two(hour)}:00:00Z`),
          reason: "superseded",
        },
        valid: false,
      });
    }),
  );
  const fields = fc.array(fc.oneof(fc.string(), fc.constantFrom("R", "V", "01", "260101000000Z")));
  fc.assert(
    fc.property(fields, (parts) => {
      const found = parseIndexLine(line(...parts));
      expect(found === undefined || "fault" in found || found.serial !== "").toBe(true);
    }),
  );
});
