/** The DER reader refuses every encoding but the one X.690 §10 and §11 allow. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { type Cursor, DerError, depthMax, openDer, openSequence } from "#core/asn1/cursor.ts";
import {
  bitString,
  element,
  integer,
  oid,
  sequence,
  time,
  unsignedInteger,
} from "#core/asn1/der.ts";
import { tags } from "#core/asn1/tags.ts";
import { instant } from "#core/time.ts";

const hex = (text: string): Uint8Array => Uint8Array.fromHex(text.replaceAll(" ", ""));
const over = (text: string): Cursor => openDer(hex(text));
const refused = (read: () => unknown): void => expect(read).toThrow(DerError);

describe("lengths", () => {
  test.each([
    ["indefinite", "30 80 00 00"],
    ["long form of a short length", "04 81 01 00"],
    ["leading zero octet", "04 82 00 80"],
    ["five length octets", "04 85 00 00 00 00 01 00"],
    ["reserved FF", "04 ff 00"],
    ["length octets cut off", "04 82 01"],
    ["no length octet", "04"],
    ["content cut off", "04 02 00"],
    ["tag number above 30", "1f 81 00 00"],
  ])("%s is refused", (_name, text) => refused(() => over(text).element()));

  test("the shortest long forms are read", () => {
    for (const length of [0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000]) {
      const der = element(tags.octetString, new Uint8Array(length));
      expect(openDer(der).octetString().length).toBe(length);
    }
  });

  test("an element cannot reach beyond the element that holds it", () => {
    const cursor = over("30 03 04 02 00 00");
    const inner = cursor.enter(tags.sequence);
    refused(() => inner.element());
  });

  test("octets after the last element are refused", () => {
    refused(() => openSequence(hex("30 00 00")));
    const cursor = over("05 00 05 00");
    cursor.null();
    expect(cursor.finished).toBe(false);
    refused(() => cursor.finish());
  });
});

test("elements may be nested 32 deep and no deeper", () => {
  const enter = (levels: number): Cursor => {
    let der: Uint8Array = new Uint8Array(0);
    for (let level = 0; level < levels; level++) der = element(tags.sequence, der);
    let cursor = openDer(der);
    for (let level = 0; level < levels; level++) cursor = cursor.enter(tags.sequence);
    return cursor;
  };
  expect(enter(depthMax).finished).toBe(true);
  refused(() => enter(depthMax + 1));
});

describe("values", () => {
  test.each([
    ["an empty integer", (): unknown => over("02 00").integer()],
    ["a padded positive integer", () => over("02 02 00 7f").integer()],
    ["a padded negative integer", () => over("02 02 ff 80").integer()],
    ["a negative number where none may be", () => over("02 01 80").unsigned()],
    ["a number above 2^53", () => over("02 08 00 ff ff ff ff ff ff ff").small()],
    ["a boolean of 01", () => over("01 01 01").boolean()],
    ["a boolean of two octets", () => over("01 02 ff ff").boolean()],
    ["a null with content", () => over("05 01 00").null()],
    ["an empty OID", () => over("06 00").oid()],
    ["an OID with a padded arc", () => over("06 03 2a 80 01").oid()],
    ["an OID cut within an arc", () => over("06 02 2a 86").oid()],
    ["an OID of 65 octets", () => openDer(element(tags.oid, new Uint8Array(65).fill(1))).oid()],
    ["a bit string without its first octet", () => over("03 00").bits()],
    ["a bit string with 8 unused bits", () => over("03 02 08 00").bits()],
    ["an empty bit string with unused bits", () => over("03 01 01").bits()],
    ["a bit string with an unused bit set", () => over("03 02 01 01").bits()],
    ["a key that does not fill its octets", () => over("03 02 01 00").wholeBits()],
    ["a serial of 21 octets", () => openDer(unsignedInteger(new Uint8Array(21).fill(1))).serial()],
    ["another tag than expected", () => over("04 00").enter(tags.sequence)],
    ["an element past the end", () => over("").element()],
  ])("%s is refused", (_name, read) => refused(read));

  test("canonical values are read", () => {
    expect(over("01 01 00").boolean()).toBe(false);
    expect(over("01 01 ff").boolean()).toBe(true);
    expect(over("02 01 80").integer().toHex()).toBe("80");
    expect(over("02 02 00 80").small()).toBe(128);
    expect(over("02 07 1f ff ff ff ff ff ff").small()).toBe(Number.MAX_SAFE_INTEGER);
    expect(over("02 01 00").serial()).toBe("0" as never);
    expect(over("06 03 2a 86 48").oid()).toBe("1.2.840");
    expect(over("03 02 01 fe").bits()).toEqual({ octets: hex("fe"), unused: 1 });
  });

  test("a Buffer gives plain views", () => {
    const cursor = openDer(Buffer.from(hex("04 01 07")));
    expect(cursor.octetString().constructor).toBe(Uint8Array);
  });
});

describe("times", () => {
  const utc = (text: string) => () => openDer(element(tags.utcTime, Buffer.from(text))).time();
  const general = (text: string) => () =>
    openDer(element(tags.generalizedTime, Buffer.from(text))).time();

  test.each([
    ["without seconds", utc("2501010000Z")],
    ["with an offset", utc("250101000000+0000")],
    ["with letters", utc("25010100000xZ")],
    ["in month 13", utc("251301000000Z")],
    ["in month 0", utc("250001000000Z")],
    ["on 30 February", utc("240230000000Z")],
    ["on 29 February of a common year", utc("250229000000Z")],
    ["on day 0", utc("250100000000Z")],
    ["at hour 24", utc("250101240000Z")],
    ["at minute 60", utc("250101006000Z")],
    ["at second 60", utc("250101000060Z")],
    ["with a fraction", general("20250101000000.5Z")],
    ["in local time", general("20250101000000")],
    ["in year 0999", general("09990101000000Z")],
    ["with lower-case z", general("20250101000000z")],
  ])("a time %s is refused", (_name, read) => refused(read));

  test("the century of a UTCTime turns at 50", () => {
    expect(utc("491231235959Z")()).toBe(instant(Date.UTC(2049, 11, 31, 23, 59, 59)));
    expect(utc("500101000000Z")()).toBe(instant(Date.UTC(1950, 0, 1)));
    expect(utc("240229000000Z")()).toBe(instant(Date.UTC(2024, 1, 29)));
    expect(general("99991231235959Z")()).toBe(instant(Date.UTC(9999, 11, 31, 23, 59, 59)));
  });

  test("RFC 5280 §4.1.2.5: a time is UTCTime through 2049 and reads back to the second", () => {
    const range = { min: Date.UTC(1000, 0, 1), max: Date.UTC(9999, 11, 31, 23, 59, 59) };
    fc.assert(
      fc.property(fc.integer(range), (at) => {
        const der = time(instant(at));
        const year = new Date(at).getUTCFullYear();
        expect(der[0]).toBe(year >= 1950 && year < 2050 ? tags.utcTime : tags.generalizedTime);
        expect(openDer(der).time()).toBe(instant(Math.floor(at / 1000) * 1000));
      }),
    );
  });
});

describe("properties", () => {
  test("what is written is read back", () => {
    const arcs = fc.array(fc.bigInt({ min: 0n, max: 1n << 100n }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(
        fc.maxSafeNat(),
        fc.uint8Array({ maxLength: 300 }),
        arcs,
        (number, octets, rest) => {
          const dotted = `2.${rest.join(".")}`;
          const inner = openSequence(
            sequence(integer(number), bitString(octets), oid(dotted), unsignedInteger(octets)),
          );
          expect(inner.small()).toBe(number);
          expect(inner.wholeBits().toHex()).toBe(octets.toHex());
          expect(inner.oid()).toBe(dotted);
          const magnitude = inner.unsigned().toHex();
          expect(BigInt(`0x${magnitude}`)).toBe(BigInt(`0x0${octets.toHex()}`));
          inner.finish();
        },
      ),
    );
  });

  test("random octets are walked to their end or refused with DerError", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (octets) => {
        const walk = (cursor: Cursor): void => {
          while (!cursor.finished) {
            const { tag = 0 } = cursor;
            if ((tag & 0x20) !== 0) walk(cursor.enter(tag));
            else readPrimitive(cursor, tag);
          }
        };
        try {
          walk(openDer(octets));
        } catch (error) {
          expect(error).toBeInstanceOf(DerError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

function readPrimitive(cursor: Cursor, tag: number): void {
  switch (tag) {
    case tags.boolean:
      cursor.boolean();
      return;
    case tags.integer:
      cursor.serial();
      return;
    case tags.oid:
      cursor.oid();
      return;
    case tags.bitString:
      cursor.bits();
      return;
    case tags.utcTime:
    case tags.generalizedTime:
      cursor.time();
      return;
    default:
      cursor.element();
  }
}
