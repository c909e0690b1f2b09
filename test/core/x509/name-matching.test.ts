/** Directory names as RFC 5280 §7.1 compares them. */

import { expect, test } from "bun:test";

import { oid, printableString, sequence, setOf, utf8String } from "#core/asn1/der.ts";
import { SubtreeIndex } from "#core/policy/subtree-index.ts";
import { preparedValue } from "#core/x509/name-matching.ts";
import { encodeName } from "#core/x509/names.ts";

const name = (...values: readonly string[]) =>
  encodeName(values.map((value) => ({ type: "O", value }))).der;
const none = { dns: [], ip: [], email: [], uri: [] };
const nameWithin = (one: Uint8Array, base: Uint8Array): boolean | undefined => {
  const { within, unclear } = new SubtreeIndex({ ...none, dirNames: [base] }).ofDirName(one);
  return unclear ? undefined : within;
};
const attribute = (type: string, value: Uint8Array) => sequence(oid(type), value);

// biome-ignore format: the table is read by column.
const equal: readonly [one: string, other: string][] = [
  ["Example  Corp",        " example corp "],
  ["GRÜN",                 "grün"],
  ["Gru\u0308n",           "Grün"],
  ["Straße",               "STRASSE"],
  ["ＥＸＡＭＰＬＥ",           "example"],
  ["ΟΔΟΣ",                 "οδος"],
  ["a\u00a0b",             "a b"],
  ["a\u00ad\u200bb",       "ab"],
  ["ﬁn",                   "fin"],
];

for (const [one, other] of equal) {
  test(`${JSON.stringify(one)} and ${JSON.stringify(other)} are one value`, () => {
    expect(nameWithin(name(one), name(other))).toBe(true);
  });
}

test("other letters, other accents and inner blanks are other values", () => {
  for (const [one, other] of [
    ["a", "b"],
    ["grun", "grün"],
    ["ab", "a b"],
  ] as const) {
    expect(nameWithin(name(one), name(other))).toBe(false);
  }
});

test("the string type makes no difference", () => {
  const as = (value: Uint8Array) => sequence(setOf([attribute("2.5.4.10", value)]));
  expect(nameWithin(as(printableString("EXAMPLE")), as(utf8String("example")))).toBe(true);
});

test("whole names at the beginning count, in their order", () => {
  expect(nameWithin(name("a", "b"), name("a"))).toBe(true);
  expect(nameWithin(name("a", "b"), name("b"))).toBe(false);
  expect(nameWithin(name("a"), name("a", "b"))).toBe(false);
  expect(nameWithin(name(), name())).toBe(true);
});

test("one RDN of two attributes is not two RDNs, and its order does not matter", () => {
  const [o, ou] = [attribute("2.5.4.10", utf8String("a")), attribute("2.5.4.11", utf8String("b"))];
  const together = sequence(setOf([o, ou]));
  expect(nameWithin(sequence(setOf([ou, o])), together)).toBe(true);
  expect(nameWithin(sequence(setOf([o]), setOf([ou])), together)).toBe(false);
  expect(nameWithin(together, sequence(setOf([o])))).toBe(false);
});

test("with characters that comparison is not defined for nothing can be decided", () => {
  expect(preparedValue("a\ue000")).toBeUndefined();
  expect(nameWithin(name("a"), name("a\ue000"))).toBeUndefined();
  expect(nameWithin(name("a\ue000"), name("a"))).toBe(false);
});
