/** Reading YAML text: every key with its line, every repeated one, and the values as ever. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import type { Fault } from "#config/faults.ts";
import { readYaml } from "#config/yaml.ts";

/** The keys of a text in its order, repeated ones last; or the fault of the whole text. */
function scanKeys(text: string) {
  const faults: Fault[] = [];
  const { lines } = readYaml(text, "file", faults);
  const whole = faults.find(({ path, sentence }) => path === "file" && !twice.test(sentence));
  if (whole !== undefined) return { ok: false, sentence: whole.sentence } as const;
  const repeated = faults.map(({ path, sentence }) => {
    const line = Number(twice.exec(sentence)?.[1]);
    return { path, line, repeated: true };
  });
  const first = [...lines].map(([path, line]) => ({ path, line, repeated: false }));
  return { ok: true, keys: [...first, ...repeated] } as const;
}

const twice = /^The key stands twice, in line \d+ and in line (\d+)\.$/;

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
    const scan = scanKeys(text);
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
    const scan = scanKeys(text);
    const found = scan.ok ? scan.keys.filter(({ repeated }) => repeated) : [];
    expect(found).toEqual([{ path, line, repeated: true }]);
  });
});

test("the same key in two items of a sequence is no repetition", () => {
  const scan = scanKeys("a:\n- b: 1\n- b: 1\nc: [{ d: 1 }, { d: 1 }]");
  expect(scan.ok && scan.keys.some(({ repeated }) => repeated)).toBe(false);
});

test("an explicit key is refused, because it could hide a repetition", () => {
  const sentence = "Line 2: A key written with `?` is not accepted.";
  expect(scanKeys("a: 1\n? a\n: 2")).toEqual({ ok: false, sentence });
  const inBrackets = "Line 1: A key written with `?` is not accepted.";
  expect(scanKeys("a: { b: 1, ? b : 2 }")).toEqual({ ok: false, sentence: inBrackets });
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
      fc.pre(Bun.deepEquals(Bun.YAML.parse(text), value) && heightOf(value) <= 16);
      const scan = scanKeys(text);
      expect(scan.ok && scan.keys.map(({ path }) => path).sort()).toEqual(pathsOf(value).sort());
      expect(scan.ok && scan.keys.some(({ repeated }) => repeated)).toBe(false);
    }),
    { numRuns: 400 },
  );
});

/** Scalars a configuration may hold, and those that readers of YAML read differently. */
// biome-ignore format: the list is read as text.
const oddScalars = [
  "yes", "no", "on", "off", "y", "n", "true", "True", "TRUE", "tRue", "null", "~", "", "Null",
  "0", "-0", "+1", "007", "0o17", "0o8", "0x1F", "0xg", "0b1", "1_000", "1e3", "1.", ".5",
  "1:30", "190:20:30", ".inf", "-.INF", ".nan", "2001-01-01", "12345678901234567890", "-",
  "a:b", "a#b", "a #b", "http://b:80/c", "30d", "::1", "10.0.0.0/8", "!!str 1", "!x 5",
  "!!int 0x10", "!!float 1", "!!bool yes", "*one", "*two", "*in", "&in x", "&in { k: 1 }",
  "<<", "|\n        x\n         y\n", ">-\n        x\n        y\n",
];
const written = fc.oneof(
  fc.constantFrom(...oddScalars),
  fc.integer().map(String),
  fc.double().map(String),
  fc.string().map((text) => JSON.stringify(text)),
  fc.string({ unit: "grapheme" }).map((text) => `'${text.replaceAll("'", "''")}'`),
);
const member = fc.tuple(fc.constantFrom("a", "b", "c", "<<", "'q r'", "1", "__proto__"), written);
const flow = fc.oneof(
  fc.array(written, { maxLength: 3 }).map((items) => `[${items.join(", ")}]`),
  fc
    .array(member, { maxLength: 3 })
    .map((members) => `{ ${members.map(([key, value]) => `${key}: ${value}`).join(", ")} }`),
);
const block = fc
  .array(fc.tuple(member, flow, fc.boolean()), { maxLength: 4 })
  .map((lines) =>
    lines
      .map(([[key, value], other, isFlow]) => `    ${key}: ${isFlow ? other : value}`)
      .join("\n"),
  );
const document = fc
  .array(fc.tuple(fc.constantFrom("", "&one ", "&two "), fc.boolean(), block), { maxLength: 4 })
  .map((sections) =>
    sections
      .map(([anchor, isList, lines], at) =>
        isList
          ? `s${at}: ${anchor}\n  - x: 1\n${lines}\n  - *one # a comment\n`
          : `s${at}: ${anchor}\n${lines}\n`,
      )
      .join(""),
  );

test("what the runtime's own reader takes of a configuration's shape is read alike", () => {
  let compared = 0;
  fc.assert(
    fc.property(document, (text) => {
      const theirs = runtimesReading(text);
      const faults: Fault[] = [];
      const { tree } = readYaml(text, "file", faults);
      const repeats = faults.every(({ sentence }) => twice.test(sentence));
      // A text neither takes, one with a repeated key, which the runtime lets pass, and one that
      // holds itself, which it ties into a knot.
      if (theirs === undefined || faults.some(({ sentence }) => sentence.includes("deeper"))) {
        expect(faults.map(({ path }) => path)).toContain("file");
        return;
      }
      expect([text, repeats]).toEqual([text, true]);
      if (faults.length > 0) return;
      compared++;
      expect<unknown>([text, tree]).toEqual([text, theirs ?? {}]);
    }),
    { numRuns: 3000 },
  );
  expect(compared).toBeGreaterThan(300);
});

/** What the runtime makes of a text; undefined when it does not take it, null when it is empty. */
function runtimesReading(text: string): unknown {
  try {
    return Bun.YAML.parse(text) ?? null;
  } catch {
    return undefined;
  }
}

describe("aliases", () => {
  const bomb = (levels: number) =>
    ["a0: &a0 [x, x]"]
      .concat(
        Array.from(
          { length: levels },
          (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at}, `.repeat(100)}]`,
        ),
      )
      .join("\n");

  test("that multiply to more values than a file can hold are refused at once", () => {
    expect(scanKeys(bomb(2)).ok).toBe(true);
    expect(scanKeys(bomb(9))).toEqual({
      ok: false,
      sentence: "Line 4, column 9: The file is not YAML: its aliases make too much of it.",
    });
  });

  test("of what they stand in, or that nest too deep where they stand, are refused", () => {
    const sentence = "The file nests deeper than 16 levels.";
    expect(scanKeys("a: &x [*x]")).toEqual({ ok: false, sentence });
    const deep = `a: &x ${"[".repeat(10)}${"]".repeat(10)}\n`;
    expect(scanKeys(`${deep}b: [[[[[*x]]]]]`).ok).toBe(true);
    expect(scanKeys(`${deep}b: [[[[[[*x]]]]]]`)).toEqual({ ok: false, sentence });
  });
});

test("a key that is a collection is refused, because no path could name it", () => {
  const sentence = "Line 1, column 1: The file is not YAML: a key is a collection.";
  expect(scanKeys("[server]: { port: 1 }")).toEqual({ ok: false, sentence });
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
      const scan = scanKeys(text);
      if (scan.ok)
        for (const { line } of scan.keys)
          expect(line).toBeLessThanOrEqual(text.split(/\r\n|[\r\n]/).length);
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

const heightOf = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map(heightOf))
    : 0;
