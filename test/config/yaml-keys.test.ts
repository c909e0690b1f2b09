/** Finding keys in YAML text: the same keys the parser finds, and every repeated one. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { scanKeys } from "#config/yaml-keys.ts";

// biome-ignore format: the table is read by column.
const texts = [
  ["block mappings", "a:\n  b: 1\n  c:\n    d: 2\ne: 3", "a a.b a.c a.c.d e"],
  ["sequences at the column of their key", "a:\n- b: 1\n  c: 2\n- b: 3\nd: 4", "a a[0].b a[0].c a[1].b d"],
  ["indented sequences", "a:\n  - b: 1\n    c: 2\n  -\n    b: 3", "a a[0].b a[0].c a[1].b"],
  ["sequences in sequences", "a:\n- - b: 1\n  - b: 2\n- - b: 3", "a a[0][0].b a[0][1].b a[1][0].b"],
  ["flow collections", "a: { b: 1, 'c': [x, { d: 2 }], \"e\":3 }\nf: [g: 1]", "a a.b a.c a.c[1].d a.e f f[0].g"],
  ["flow collections over lines", "a: {\n  b: 1, # c: 2\n  d: [\n    e,\n    { f: 1 }\n  ]\n}\ng: 1", "a a.b a.d a.d[1].f g"],
  ["colons inside values", "a: http://b:80/c\nd: 'e: f'\ng: { h: http://i:1 }\nj: x:y", "a d g g.h j"],
  ["comments", "# a: 1\nb: 1 # c: 2\n  # d: 3\ne: '#f' # g", "b e"],
  ["literal and folded text", "a: |\n  b: 1\n\n  c: 2\nd: >-\n    e: 1\n  \n    f: 2\ng: 1", "a d g"],
  ["text in a sequence", "a:\n- |\n  b: 1\n- c: |\n    d: 1\n  e: 1", "a a[1].c a[1].e"],
  ["quoted text over lines", "a: 'x\n  b: 1\n  it''s'\nc: \"y\n  d: \\\" 1\"\ne: 1", "a c e"],
  ["plain text over lines", "a: one\n  two\nb: 1", "a b"],
  ["anchors, aliases and tags", "a: &x\n  b: 1\nc: *x\n&k d: !!str 1\ne: !t { f: 1 }", "a a.b c d e e.f"],
  ["quoted keys", "'a b': 1\n\"c: d\": 2\n'it''s': 3", "a b|c: d|it's"],
  ["keys with spaces", "a b: 1\nc d : 2", "a b|c d"],
  ["a document mark", "---\na: 1\n...", "a"],
  ["carriage returns", "a:\r\n  b: 1\r\n\r\nc: 2\r\n", "a a.b c"],
] as const;

describe("keys are found", () => {
  test.each(texts)("in %s", (_what, text, keys) => {
    expect(Bun.YAML.parse(text)).toBeObject();
    const scan = scanKeys(text, 16);
    const found = scan.ok ? scan.keys : [];
    expect(found.map(({ path }) => path)).toEqual(keys.split(keys.includes("|") ? "|" : " "));
    expect(found.filter(({ repeated }) => repeated)).toEqual([]);
  });
});

// biome-ignore format: the table is read by column.
const repeats = [
  ["in a block", "a: 1\nb: 2\na: 3", "a", 3],
  ["in a nested block", "a:\n  b: 1\n\n  # x\n  b: 2", "a.b", 5],
  ["in a flow mapping", "a: { b: 1, b: 2 }", "a.b", 1],
  ["in an item of a sequence", "a:\n- b: 1\n  b: 2", "a[0].b", 3],
  ["in other quotes", "a: 1\n'a': 2", "a", 2],
  ["with an escape", 'a: 1\n"\\u0061": 2', "a", 2],
  ["after literal text", "a: |\n  x\nb: 1\na: 2", "a", 4],
  ["after a sequence at its column", "a:\n- 1\na: 2", "a", 3],
  ["with an anchor", "a: 1\n&x a: 2", "a", 2],
] as const;

describe("a repeated key is found", () => {
  test.each(repeats)("%s", (_where, text, path, line) => {
    const scan = scanKeys(text, 16);
    const found = scan.ok ? scan.keys.filter(({ repeated }) => repeated) : [];
    expect(found).toEqual([{ path, line, repeated: true }]);
  });
});

test("the same key in two items of a sequence is no repetition", () => {
  const scan = scanKeys("a:\n- b: 1\n- b: 1\nc: [{ d: 1 }, { d: 1 }]", 16);
  expect(scan.ok && scan.keys.some(({ repeated }) => repeated)).toBe(false);
});

test("an explicit key is refused, because it could hide a repetition", () => {
  const scan = scanKeys("a: 1\n? a\n: 2", 16);
  expect(scan).toMatchObject({ ok: false, line: 2 });
});

const word = fc.stringMatching(/^[a-z][a-z0-9_ -]{0,8}[a-z0-9]$/);
const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.string({ unit: "grapheme" }));
const { tree } = fc.letrec<{ tree: unknown; node: unknown }>((tie) => ({
  tree: fc.dictionary(word, tie("node"), { maxKeys: 4, noNullPrototype: true }),
  node: fc.oneof(
    { depthSize: "small" },
    scalar,
    fc.dictionary(word, tie("node"), { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
    fc.array(tie("node"), { minLength: 1, maxLength: 3 }),
  ),
}));

test("whatever the runtime writes, its keys are found once each, in block and in flow form", () => {
  fc.assert(
    fc.property(tree, fc.constantFrom(2, undefined), (value, indent) => {
      const text =
        indent === undefined ? Bun.YAML.stringify(value) : Bun.YAML.stringify(value, null, indent);
      fc.pre(Bun.deepEquals(Bun.YAML.parse(text), value));
      const scan = scanKeys(text, 64);
      expect(scan.ok && scan.keys.map(({ path }) => path).sort()).toEqual(pathsOf(value).sort());
      expect(scan.ok && scan.keys.some(({ repeated }) => repeated)).toBe(false);
    }),
    { numRuns: 400 },
  );
});

test("no text makes the scan fail, hang, or run past its end", () => {
  const hostile = fc.oneof(
    fc.string({ unit: "binary" }),
    fc
      .array(
        fc.constantFrom(
          "a",
          ":",
          " ",
          "\n",
          "-",
          "{",
          "}",
          "[",
          "]",
          '"',
          "'",
          "|",
          "#",
          "&",
          "!",
          ",",
          "\\",
          "?",
        ),
        { maxLength: 80 },
      )
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(hostile, (text) => {
      const scan = scanKeys(text, 16);
      if (scan.ok)
        for (const { line } of scan.keys) expect(line).toBeLessThanOrEqual(text.split("\n").length);
    }),
    { numRuns: 2000 },
  );
});

function pathsOf(value: unknown, path = ""): string[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => pathsOf(item, `${path}[${index}]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = path === "" ? key : `${path}.${key}`;
    return [here, ...pathsOf(inner, here)];
  });
}
