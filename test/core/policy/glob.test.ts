/** Globs over names, held against the regular expression each of them stands for. */

import { expect, test } from "bun:test";

import fc from "fast-check";

import { parseGlob } from "#core/policy/glob.ts";

const matches = (pattern: string, text: string) => parseGlob(pattern)?.(text);

test("BLK-2: a star is any run, slashes and nothing included, and a question mark one character", () => {
  expect(matches("*.example.com", "www.example.com")).toBe(true);
  expect(matches("*.example.com", ".example.com")).toBe(true);
  expect(matches("https://*", "https://a/b/c")).toBe(true);
  expect(matches("n?.example", "n1.example")).toBe(true);
  expect(matches("n?.example", "n.example")).toBe(false);
  expect(matches("?", "🙂")).toBe(true);
});

test("BLK-2: a pattern is anchored at both ends and has no case", () => {
  expect(matches("example", "www.example")).toBe(false);
  expect(matches("example", "example.org")).toBe(false);
  expect(matches("EXAMPLE", "Example")).toBe(true);
  expect(matches("", "")).toBe(true);
  expect(matches("*", "")).toBe(true);
});

test("BLK-2: a set holds single characters and ranges, and may be negated", () => {
  expect(matches("n[0-9].x", "n7.x")).toBe(true);
  expect(matches("n[0-9].x", "na.x")).toBe(false);
  expect(matches("n[!0-9].x", "na.x")).toBe(true);
  expect(matches("n[^0-9].x", "n7.x")).toBe(false);
  expect(matches("[]]", "]")).toBe(true);
  expect(matches("[*?]", "*")).toBe(true);
  expect(matches("[*?]", "a")).toBe(false);
  expect(matches("[a-]", "-")).toBe(true);
});

test("a set that is not closed and a range that runs backwards are no pattern", () => {
  for (const pattern of ["[", "a[b", "[!", "[]", "[9-0]"])
    expect(parseGlob(pattern)).toBeUndefined();
});

test("every pattern of stars, marks and letters selects what its regular expression does", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "*", "?", "."), maxLength: 8 });
  const texts = fc.string({ unit: fc.constantFrom("a", "b", "B", "."), maxLength: 12 });
  fc.assert(
    fc.property(letters, texts, (pattern, text) => {
      const source = pattern.replaceAll(/\*+/g, "\0").replaceAll(".", "\\.").replaceAll("?", ".");
      const expected = new RegExp(`^${source.replaceAll("\0", ".*")}$`, "i").test(text);
      expect(matches(pattern, text)).toBe(expected);
    }),
    { numRuns: 2000 },
  );
});

test("no pattern makes a long name cost more than the product of their lengths", () => {
  const steps = matches(`${"*a".repeat(500)}*b`, "a".repeat(2000));
  expect(steps).toBe(false);
});
