/** The JSON of messages: one reading, whoever reads it. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { readJsonObject, readJsonText } from "#core/acme/strict-json.ts";

describe("an object is read as any parser reads it", () => {
  test("whatever it holds", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), (value) => {
        // Parsed once first: JSON has no minus zero of its own.
        const text = JSON.stringify(value);
        expect(readJsonText(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each([
    ['{"a:b{[":"\\"}:","c":["{\\\\",":"]}'],
    ['{"__proto__":{"constructor":1}}'],
    [' {\t"a" :\n{ } , "b" : [ ] }\r'],
    ['{"\\\\":"\\\\\\\\","\\"":"\\\\\\""}'],
  ])("%s", (text) => {
    expect(readJsonText(text)).toEqual(JSON.parse(text));
  });
});

describe("nothing is read of", () => {
  test.each([
    ["a member that stands twice", '{"a":1,"a":1}'],
    ["one that stands twice in another spelling", '{"alg":"ES256","\\u0061lg":"none"}'],
    ["one that stands twice further inside", '{"a":[{"b":{"c":1,"d":2,"c":3}}]}'],
    ["__proto__ twice", '{"__proto__":1,"__proto__":2}'],
    ["a list", '[{"a":1}]'],
    ["null", "null"],
    ["a text", '"a"'],
    ["no text at all", ""],
    ["two values", '{"a":1}{"b":2}'],
    ["a comma too many", '{"a":1,}'],
    ["a mark of the byte order", '\ufeff{"a":1}'],
    ["a text without end", '{"a":"\\"'],
    ["33 levels", `${'{"a":'.repeat(33)}1${"}".repeat(33)}`],
    ["levels without end", "[".repeat(100_000)],
  ])("%s", (_what, text) => {
    expect(readJsonText(text)).toBeUndefined();
    expect(readJsonObject(Buffer.from(text))).toBeUndefined();
  });

  test("octets that are no UTF-8, overlong ones and halves of pairs", () => {
    for (const octets of [[0xff], [0xc0, 0xa2], [0xed, 0xa0, 0x80]]) {
      const text = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(octets), Buffer.from('"}')]);
      expect(readJsonObject(text)).toBeUndefined();
    }
  });
});

test("32 levels are read", () => {
  expect(readJsonText(`${'{"a":'.repeat(32)}1${"}".repeat(32)}`)).toBeDefined();
});

test("whatever members are doubled, the object is refused", () => {
  const name = fc.string();
  fc.assert(
    fc.property(fc.dictionary(name, fc.jsonValue({ maxDepth: 3 })), name, (others, twice) => {
      const inner = JSON.stringify({ ...others, [twice]: 1 }).slice(1, -1);
      const text = `{${inner},${JSON.stringify(twice)}:2}`;
      expect(readJsonText(text)).toBeUndefined();
      expect(readJsonText(`{"":[${text}]}`)).toBeUndefined();
    }),
  );
});
