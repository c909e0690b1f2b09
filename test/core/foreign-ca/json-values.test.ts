/** JSON objects one after the other, or in one list. */

import { expect, test } from "bun:test";

import fc from "fast-check";

import { type FoundJson, JsonValues } from "#core/foreign-ca/json-values.ts";

function read(...pieces: readonly string[]): readonly FoundJson[] {
  const values = new JsonValues();
  return [...pieces.flatMap((piece) => [...values.push(piece)]), ...values.finish()];
}

test("objects a line each, over lines, and in a list are found with their first line", () => {
  const found = [
    { line: 1, text: '{"a":1}' },
    { line: 2, text: '{"b":\n"}"}' },
  ];
  expect(read('{"a":1}\n{"b":\n"}"}\n')).toEqual(found);
  expect(read('[{"a":1},\n{"b":\n"}"}]')).toEqual(found);
});

test("what is no object, breaks off or never ends is named, and nothing comes after it", () => {
  expect(read('{"a":1} nonsense {"b":2}')).toEqual([
    { line: 1, text: '{"a":1}' },
    { line: 1, fault: "is no JSON object" },
  ]);
  expect(read('{"a":\n1')).toEqual([{ line: 1, fault: "breaks off" }]);
  expect(read("[[]]")).toEqual([{ line: 1, fault: "is no JSON object" }]);
  expect(read(`{"a":"${"x".repeat(1_100_000)}`, '"}{}')).toEqual([
    { line: 1, fault: "is longer than 1048576 characters" },
  ]);
});

test("whatever JSON.stringify writes is found again, wherever the pieces end", () => {
  const objects = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 4 });
  const spaces = fc.constantFrom(0, 2);
  const cutsAt = fc.array(fc.nat(500), { maxLength: 4 });
  fc.assert(
    fc.property(objects, spaces, fc.boolean(), cutsAt, (values, indent, listed, cuts) => {
      const texts = values.map((value) => JSON.stringify(value, null, indent));
      const text = listed ? `[${texts.join(",")}]` : texts.join("\n");
      const ends = [...cuts.map((cut) => cut % (text.length + 1)), text.length].sort(
        (a, b) => a - b,
      );
      const found = read(...ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end)));
      expect(found.map((one) => ("text" in one ? one.text : one.fault))).toEqual(texts);
    }),
  );
});
