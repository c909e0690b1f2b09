/**
 * Every kind of the kit keeps what all kinds promise: what it writes it reads, what its schema says
 * it does, and what it refuses it refuses in words.
 */

import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { sentenceOf } from "#config/faults.ts";
import { Problem } from "#core/problems.ts";
import {
  anything,
  decimal,
  either,
  flag,
  integer,
  type Kind,
  list,
  many,
  mapOf,
  object,
  oneOf,
  optional,
  otherwise,
  parsed,
  type Place,
  text,
  words,
  WrongValue,
} from "#core/shape.ts";
import { rawOf, sampleOf, typeText } from "#core/shape/described.ts";
import {
  absoluteUrl,
  address,
  block,
  checkedText,
  dnsName,
  hostAndPort,
  label,
  lines,
  objectId,
  serverAndPort,
  span,
  textual,
} from "#core/shape/texts.ts";
import { accepts } from "./schema-checker.ts";

/** A kind, how the reference page calls it, and values it reads. */
interface Row {
  readonly kind: Kind<unknown>;
  readonly type: string;
  readonly good: fc.Arbitrary<unknown>;
  /** True when the schema says everything: a value is read exactly when the schema accepts it. */
  readonly complete: boolean;
}

const row = <T>(type: string, kind: Kind<T>, good: fc.Arbitrary<unknown>, complete = true) => ({
  type,
  // What a kind writes is asked only of what it has read.
  kind: kind as Kind<unknown>,
  good,
  complete,
});
const partly = <T>(type: string, kind: Kind<T>, good: fc.Arbitrary<unknown>) =>
  row(type, kind, good, false);

const some = (...values: readonly unknown[]) => fc.constantFrom(...values);
const capital = parsed({ type: "string", examples: ["A"] }, (given) => {
  if (!/^[A-Z]+$/.test(given)) throw new WrongValue("must be capital letters");
  return given;
});
const hex = parsed(
  { type: "string", examples: ["ff"] },
  (given) => {
    if (!/^[0-9a-f]+$/i.test(given)) throw new WrongValue("must be hex digits");
    return BigInt(`0x${given}`);
  },
  (value) => value.toString(16),
);
const person = object({
  name: text({ min: 1, max: 5 }),
  age: optional(integer(0, 150)),
  tags: otherwise(list(oneOf(["a", "b"]), 0, 2), []),
});
const people = fc.record(
  { name: some("ann", "bob"), age: fc.nat(150), tags: fc.subarray(["a", "b"]) },
  { requiredKeys: ["name"], noNullPrototype: true },
);

const kinds: Readonly<Record<string, Row>> = {
  truth: row("bool", flag(), fc.boolean()),
  whole: row("int 1..5", integer(1, 5), fc.integer({ min: 1, max: 5 })),
  "whole without end": row(
    "int ≥ -1",
    integer(-1, Number.MAX_SAFE_INTEGER),
    fc.maxSafeNat().map((value) => value - 1),
  ),
  decimal: row("number", decimal(), fc.double({ noNaN: true, noDefaultInfinity: true })),
  amount: row(
    "number ≥ 0",
    decimal({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    fc.double({ min: 0, max: 9e15, noNaN: true }),
  ),
  word: row("a | b", oneOf(["a", "b"]), some("a", "b")),
  text: row("string", text({ min: 1, max: 5 }), fc.string({ minLength: 1, maxLength: 5 })),
  "text by pattern": row(
    "string",
    { ...text({ pattern: /^a*$/, max: 3 }), sample: "a" },
    some("", "a", "aaa"),
  ),
  words: row("string", words(), fc.string()),
  line: row("slug", textual("slug", "web", { max: 4, pattern: /^[a-z]+$/ }), some("a", "abcd")),
  checked: partly(
    "even",
    checkedText("even", "ab", (value) => (value.length % 2 === 0 ? undefined : "must be even")),
    some("ab", "abcd"),
  ),
  lines: partly("string", lines, some("a", "a\nb\n", "-----BEGIN X-----\r\nAA==\r\n")),
  parsed: partly("string", capital, some("A", "ABC")),
  written: partly("string", hex, some("0", "ff", "00FF", "0123456789abcdef0")),
  base: partly("URL", absoluteUrl("base"), some("https://a.test", "HTTP://a.test/x//")),
  url: partly("URL", absoluteUrl("any"), some("https://u@a.test/?q", "http://[::1]:80/")),
  duration: row("duration", span, some("1s", "90m", "36h", "90d", "999999999d")),
  "host:port": partly("host:port", hostAndPort, some("a:1", "[::1]:8080", "10.0.0.1:0")),
  "host:port of a server": partly(
    "host:port",
    serverAndPort,
    some("[::1]:53", "192.0.2.1:65535", "dns:53", "dns-1.example.internal:5353"),
  ),
  address: partly("IP address", address, fc.oneof(fc.ipV4(), fc.ipV6())),
  block: partly(
    "CIDR",
    block,
    fc.tuple(fc.ipV4(), fc.nat(32)).map((parts) => parts.join("/")),
  ),
  name: row("DNS name", dnsName, some("a", "pki.example.internal", "_x.y-z")),
  label: row("name", label, some("server", "a.b_c-1")),
  oid: partly("OID", objectId, some("1.2.3", "2.999.1", "0.39", "1.3.6.1.4.1.55555")),
  list: row(
    "(a | b)[]",
    list(oneOf(["a", "b"]), 1, 3),
    fc.array(some("a", "b"), { minLength: 1, maxLength: 3 }),
  ),
  many: row("int 0..9[]", many(integer(0, 9)), fc.array(fc.nat(9))),
  mapping: row(
    "name → bool",
    mapOf(flag()),
    fc.dictionary(fc.string(), fc.boolean(), { noNullPrototype: true }),
  ),
  object: row("object", person, people),
  nested: row("object[][]", many(many(person)), fc.array(fc.array(people))),
  any: row("any", anything(), fc.jsonValue()),
  either: row("any", either(flag(), integer(1, 2)), some(true, false, 1, 2)),
};

/** JSON of every sort, and what the other kinds read. */
const anyJson = fc.oneof(fc.jsonValue(), ...Object.values(kinds).map(({ good }) => good));
const wrongType = fc.anything({ withBigInt: true, withDate: true, withMap: true });

/** The value, or what is wrong; anything else that is thrown is a fault of the kit. */
function reading(kind: Kind<unknown>, value: unknown, at?: Place) {
  try {
    return { value: kind.read(value, at) };
  } catch (error) {
    if (error instanceof WrongValue || error instanceof Problem) return { wrong: error };
    throw error;
  }
}

const isRead = (kind: Kind<unknown>, value: unknown) => "value" in reading(kind, value);

/** Text that schemas do not speak of: RFC 7493 §2.1, and control characters in a line. */
const isPlain = (value: unknown) => !/[\p{Cc}\p{Cs}]|\\u/u.test(JSON.stringify(value) ?? "");

describe.each(Object.entries(kinds))("%s", (_name, { kind, type, good, complete }) => {
  test("reads its own values, and what it writes of them is read as the same", () => {
    fc.assert(
      fc.property(good, (generated) => {
        // As it comes: JSON has no negative zero (RFC 8259 §6 leaves it to the reader).
        const raw: unknown = JSON.parse(JSON.stringify(generated));
        const value = kind.read(raw);
        const written = kind.write(value);
        expect(kind.read(JSON.parse(JSON.stringify(written)))).toEqual(value as never);
        expect(kind.write(kind.read(written))).toEqual(written as never);
      }),
    );
  });

  test("reads nothing that its schema does not accept", () => {
    fc.assert(
      fc.property(anyJson.filter(isPlain), (value) => {
        const accepted = accepts(kind.schema, value);
        if (complete)
          expect({ value, read: isRead(kind, value) }).toEqual({ value, read: accepted });
        else if (isRead(kind, value))
          expect({ value, accepted }).toEqual({ value, accepted: true });
      }),
      { numRuns: 500 },
    );
  });

  test("refuses anything else in words, the same whether one fault is wanted or all", () => {
    fc.assert(
      fc.property(fc.oneof(anyJson, wrongType), (value) => {
        const first = reading(kind, value);
        const told: WrongValue[] = [];
        const all = reading(kind, value, { path: "", tell: (_, wrong) => told.push(wrong) });
        const wrongs = "wrong" in all ? [...told, all.wrong] : told;
        expect(wrongs.length > 0).toBe("wrong" in first);
        if ("value" in first) expect(all).toEqual(first as never);
        for (const wrong of wrongs.filter((one) => one instanceof WrongValue)) {
          expect(wrong.message).not.toEndWith(".");
          expect(sentenceOf(wrong)).toMatch(/^[A-Z].*\.$/s);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("has the name people know, and a sample it reads", () => {
    expect(typeText(kind)).toBe(type);
    expect(isRead(kind, sampleOf(kind))).toBe(true);
  });
});

const scalars = Object.entries(kinds).filter(
  ([, { kind, type }]) =>
    ["string", "integer", "boolean"].includes(String(kind.schema.type)) && type !== "any",
);

test.each(scalars)("%s is read from text as from JSON", (_name, { kind, good }) => {
  fc.assert(
    fc.property(
      // Texts of numbers have up to 15 digits.
      good.filter((raw) => typeof raw !== "number" || Math.abs(raw) < 1e15),
      (raw) => {
        expect(rawOf(kind, String(raw))).toBe(raw);
        expect(rawOf(list(kind), `[${JSON.stringify(raw)}]`)).toEqual([raw]);
      },
    ),
  );
});

describe("a text stands for", () => {
  // biome-ignore format: the table is read by column.
  const cases: readonly (readonly [string, Kind<unknown>, string, unknown])[] = [
    ["a fraction", decimal(), "1.5", 1.5],
    ["no fraction in another spelling", decimal(), "1e3", "1e3"],
    ["no number with more digits than one keeps", integer(0, 9), "9007199254740993", "9007199254740993"],
    ["no truth in another word", flag(), "yes", "yes"],
    ["a list with commas", list(integer(0, 9)), "1, 2,x", [1, 2, "x"]],
    ["an empty list", list(text()), " ", []],
    ["a list in JSON", list(text()), ' ["a,b"]', ["a,b"]],
    ["a list of structures in JSON only", list(person), "[", "["],
    ["a mapping in JSON", mapOf(flag()), '{"a":true}', { a: true }],
    ["itself where nothing is said of it", anything(), "5", "5"],
  ];
  test.each(cases)("%s", (_what, kind, given, raw) => {
    expect(rawOf(kind, given)).toEqual(raw as never);
  });
});

describe("with a place", () => {
  const told = (kind: Kind<unknown>, value: unknown) => {
    const faults: string[] = [];
    const tell: Place["tell"] = (path, wrong) => faults.push(`${path}: ${wrong.message}`);
    return { value: kind.read(value, { path: "key", tell }), faults };
  };

  test("every fault of every entry is told where it is, and the others are read", () => {
    const kind = mapOf(list(integer(1, 5)));
    expect(told(kind, { a: [1, 9, "x"], b: 7, c: [2] })).toEqual({
      value: { a: [1], c: [2] },
      faults: [
        "key.a[1]: must be within 1..5",
        "key.a[2]: must be an integer",
        "key.b: must be a list",
      ],
    });
  });

  test("too many names and a value of another type are faults of the whole", () => {
    const kind = mapOf(flag(), 1);
    expect(() => told(kind, { a: true, b: true })).toThrow("must have at most 1 names");
    expect(() => told(kind, [])).toThrow("must be an object");
    expect(told(kind, { a: true })).toEqual({ value: { a: true }, faults: [] });
  });
});

test("a fault is a fact where the configuration has words of its own", () => {
  // biome-ignore format: the table is read by column.
  const facts: readonly (readonly [Kind<unknown>, unknown, string, string])[] = [
    [integer(1, 5), "1", "must be an integer", "Must be a whole number."],
    [integer(1, 5), 0, "must be within 1..5", "Must be at least 1."],
    [integer(1, 5), 6, "must be within 1..5", "Must be at most 5."],
    [text({ min: 1 }), 5, "must be a string", "Must be text; put it in quotes."],
    [text({ min: 1 }), "", "must have at least 1 characters", "Must not be empty."],
    [text({ min: 2 }), "a", "must have at least 2 characters", "Must have at least 2 characters."],
    [mapOf(flag()), [], "must be an object", "Must be a mapping of names to values."],
    [flag(), "yes", "must be true or false", "Must be true or false."],
  ];
  for (const [kind, value, phrase, sentence] of facts) {
    const { wrong } = reading(kind, value);
    expect(wrong).toBeInstanceOf(WrongValue);
    expect([wrong?.message, wrong instanceof WrongValue && sentenceOf(wrong)]).toEqual([
      phrase,
      sentence,
    ]);
  }
});

describe("text that no place of ours keeps is refused", () => {
  test.each(["\0", "a\ud800", "\udc00b"])("%j", (value) => {
    for (const kind of [text(), textual("string", "text"), label, lines]) {
      expect(() => kind.read(value)).toThrow(WrongValue);
    }
    expect(text({ characters: "any" }).read(value)).toBe(value);
  });

  test("a line has no control characters, other text has", () => {
    for (const value of ["a\nb", "\t", "\u0085"]) {
      expect(() => textual("string", "text").read(value)).toThrow("control characters");
      expect(text().read(value)).toBe(value);
    }
  });
});

test("what looks like an address, a block or an identifier and is none is refused", () => {
  for (const value of ["1.2.3", "01.2.3.4", "::1%lo", "1::2::3", "1.2.3.4.5"]) {
    expect(() => address.read(value)).toThrow("IPv4 or IPv6");
  }
  for (const value of ["10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/08", "10.0.0.0/8/8"]) {
    expect(() => block.read(value)).toThrow("address block");
  }
  for (const value of ["[1.2.3.4]:53", "::1:53", "1.2.3.4:0", "1.2.3.4:65536", "host:0", "host"]) {
    expect(() => serverAndPort.read(value)).toThrow("must be a host and a port");
  }
  for (const value of ["1.2.3.400:53", "1.2.3:53", "-a:53", "[a]:53", "a b:53", ":53", "a:5 3"]) {
    expect(() => serverAndPort.read(value)).toThrow("must be a host and a port");
  }
  for (const value of ["1.05.3", "3.1", "1.40", "1", "1.2.", "1..2"]) {
    expect(() => objectId.read(value)).toThrow("dotted object identifier");
  }
  for (const value of ["1", "a.1", "127.1", "0x7f", "-a", "a-", "a..b", "a."]) {
    expect(() => dnsName.read(value)).toThrow("must be DNS name");
  }
});
