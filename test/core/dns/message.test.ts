/** DNS messages: bounded whatever arrives, and read as an independent resolver reads them. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { decodeMessage, encodeQuery } from "#core/dns/message.ts";
import { DnsError, encodeName, isWithin, mixedCase, parentOf, readName } from "#core/dns/names.ts";

const octets = (text: string) => Uint8Array.from(Buffer.from(text, "latin1"));
const u16 = (value: number) => [value >> 8, value & 255];
const answerHeader = (answers: number) => [0, 7, 0x81, 0xa0, 0, 1, ...u16(answers), 0, 0, 0, 0];
const question = [1, 97, 0, ...u16(257), 0, 1];
const record = (
  owner: readonly number[],
  type: number,
  rdata: readonly number[],
  ttl = [0, 0, 0, 60],
) => [...owner, ...u16(type), 0, 1, ...ttl, ...u16(rdata.length), ...rdata];
const withAnswers = (...records: readonly (readonly number[])[]) =>
  Uint8Array.of(...answerHeader(records.length), ...question, ...records.flat());
const pointer = [0xc0, 12];

function errorOf(read: () => unknown): string {
  try {
    read();
    return "read";
  } catch (error) {
    return error instanceof DnsError ? "DnsError" : String(error);
  }
}

test("random octets are read or refused, and nothing else happens", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      expect(["read", "DnsError"]).toContain(errorOf(() => decodeMessage(bytes)));
    }),
    { numRuns: 2000 },
  );
});

test("octets behind a plausible header are read or refused, and nothing else happens", () => {
  const counts = fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3));
  const bytes = fc.uint8Array({ maxLength: 300 });
  fc.assert(
    fc.property(counts, bytes, ([a, b, c], rest) => {
      const header = [0, 7, 0x80, 0, 0, 0, 0, a, 0, b, 0, c];
      const message = Uint8Array.of(...header, ...rest);
      expect(["read", "DnsError"]).toContain(errorOf(() => decodeMessage(message)));
    }),
    { numRuns: 2000 },
  );
});

test("a changed octet in a whole answer is read or refused, and nothing else happens", () => {
  const whole = withAnswers(
    record(pointer, 257, [0, 5, ...octets("issueca.example")]),
    record(pointer, 16, [1, 97, 2, 98, 99]),
    record(pointer, 5, [3, 119, 119, 119, ...pointer]),
    record(pointer, 6, [0, 0, ...new Array(20).fill(1)]),
  );
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.nat(255), (at, value) => {
      const changed = Uint8Array.from(whole);
      changed[at] = value;
      expect(["read", "DnsError"]).toContain(errorOf(() => decodeMessage(changed)));
    }),
    { numRuns: 2000 },
  );
});

test("a name survives encoding and reading", () => {
  const label = fc.stringMatching(/^[a-z0-9_*-]{1,63}$/);
  fc.assert(
    fc.property(fc.array(label, { minLength: 1, maxLength: 3 }), (labels) => {
      const name = labels.join(".");
      expect(readName(encodeName(name), 0)).toEqual({ name, next: name.length + 2 });
    }),
  );
});

test("octets that are no letters are escaped, and the escape encodes back", () => {
  const wire = Uint8Array.of(3, 97, 46, 255, 0);
  const { name } = readName(wire, 0);
  expect(name).toBe("a\\046\\255");
  expect(encodeName(name)).toEqual(wire);
});

test("labels of 63 and names of 255 octets are encoded, one octet more is refused", () => {
  const label = "a".repeat(63);
  expect(encodeName(label)).toHaveLength(65);
  expect(errorOf(() => encodeName(`${label}a`))).toBe("DnsError");
  const longest = [label, label, label, "a".repeat(61)].join(".");
  expect(encodeName(longest)).toHaveLength(255);
  expect(errorOf(() => encodeName(`${longest}a`))).toBe("DnsError");
  expect(errorOf(() => encodeName("a..b"))).toBe("DnsError");
  expect(errorOf(() => encodeName("a b"))).toBe("DnsError");
});

test.each([
  ["at itself", [0xc0, 0]],
  ["forward", [0xc0, 4, 0, 0, 1, 97, 0]],
  ["at each other", [1, 97, 0xc0, 4, 0xc0, 0]],
])("a pointer %s is refused", (_where, wire) => {
  expect(errorOf(() => readName(Uint8Array.from(wire), wire.length === 6 ? 4 : 0))).toBe(
    "DnsError",
  );
});

test("127 pointers are followed, one more is refused, and so is a name they make too long", () => {
  const wire = new Uint8Array(400);
  for (let at = 2; at < wire.length; at += 2)
    wire.set([0xc0 + ((at - 2) >> 8), (at - 2) & 255], at);
  expect(readName(wire, 254)).toEqual({ name: "", next: 256 });
  expect(errorOf(() => readName(wire, 256))).toBe("DnsError");
  const long = [...Array.from({ length: 8 }, () => [31, ...new Array(31).fill(97)]).flat(), 0];
  expect(errorOf(() => readName(Uint8Array.from(long), 0))).toBe("DnsError");
});

test("CAA-5, CAA-6: a query wants recursion, AD and 1232 octets, and never sets CD", () => {
  const query = encodeQuery(0x1234, { name: "A.example", type: "CAA" });
  expect([...query.subarray(0, 12)]).toEqual([0x12, 0x34, 0x01, 0x20, 0, 1, 0, 0, 0, 0, 0, 1]);
  expect((query[3] ?? 0) & 0x10).toBe(0);
  expect([...query.subarray(-11)]).toEqual([0, 0, 41, 1232 >> 8, 1232 & 255, 0, 0, 0, 0, 0, 0]);
  expect(decodeMessage(query).question).toEqual({ name: "A.example", type: 257 });
});

test("records of every type are read, names in lower case", () => {
  const { answers } = decodeMessage(
    withAnswers(
      record([1, 65, 0], 1, [192, 0, 2, 1]),
      record(pointer, 28, [0x20, 1, 0x0d, 0xb8, ...new Array(11).fill(0), 1]),
      record(pointer, 5, [1, 66, 0]),
      record(pointer, 39, [0]),
      record(pointer, 16, [1, 97, 0]),
      record(pointer, 257, [128, 5, ...octets("iSSue;")]),
      record(pointer, 99, [1, 2, 3], [0xff, 0, 0, 0]),
    ),
  );
  expect(answers.map(({ owner, ttlSeconds, ...content }) => content)).toEqual([
    { type: "A", address: "192.0.2.1" },
    { type: "AAAA", address: "2001:db8::1" },
    { type: "CNAME", target: "b" },
    { type: "DNAME", target: "" },
    { type: "TXT", strings: [octets("a"), new Uint8Array(0)] },
    { type: "CAA", critical: true, tag: "iSSue", value: ";" },
    { type: "other", code: 99 },
  ]);
  expect(answers.every(({ owner }) => owner === "a")).toBe(true);
  expect(answers.at(-1)?.ttlSeconds).toBe(0); // RFC 2181 §8.
});

test.each([
  ["a CAA record without a tag", record(pointer, 257, [0, 0])],
  ["a CAA tag longer than its record", record(pointer, 257, [0, 9, 97])],
  ["an address of five octets", record(pointer, 1, [1, 2, 3, 4, 5])],
  ["an alias with octets after the name", record(pointer, 5, [0, 0])],
  ["an empty text", record(pointer, 16, [])],
  ["a text longer than its record", record(pointer, 16, [9, 97])],
  ["a start of authority that is too short", record(pointer, 6, [0, 0, 1])],
  ["octets after the last record", [...record(pointer, 1, [1, 2, 3, 4]), 0]],
])("%s makes the message unreadable", (_what, wire) => {
  expect(errorOf(() => decodeMessage(withAnswers(wire)))).toBe("DnsError");
});

test("a truncated answer is its header and question only", () => {
  const whole = withAnswers(record(pointer, 1, [1, 2, 3, 4])).slice(0, -3);
  expect(errorOf(() => decodeMessage(whole))).toBe("DnsError");
  whole[2] = (whole[2] ?? 0) | 0x02;
  expect(decodeMessage(whole)).toMatchObject({ truncated: true, answers: [], authorities: [] });
});

test("the upper bits of the response code come from EDNS", () => {
  const opt = [0, ...u16(41), ...u16(1232), 1, 0, 0, 0, 0, 0];
  const message = Uint8Array.of(0, 7, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 1, ...question, ...opt);
  expect(decodeMessage(message).responseCode).toBe(16);
});

test("parents end below the root, and a name is within itself and above nothing like it", () => {
  expect(parentOf("a.b.c")).toBe("b.c");
  expect(parentOf("c")).toBeUndefined();
  expect([
    isWithin("a.b", "b"),
    isWithin("b", "b"),
    isWithin("ab", "b"),
    isWithin("x", ""),
  ]).toEqual([true, true, false, true]);
});

test("letters take the case their bits say, and the name stays the same", () => {
  expect(mixedCase("abcd.ef", Uint8Array.of(0b0010_0101))).toBe("AbCd.Ef");
  fc.assert(
    fc.property(
      fc.stringMatching(/^[a-z0-9.-]{1,60}$/),
      fc.uint8Array({ maxLength: 8 }),
      (name, bits) => {
        expect(mixedCase(name, bits).toLowerCase()).toBe(name);
      },
    ),
  );
});
