/** Text that is no YAML is told with the place where it stops being some. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { loadConfig } from "#config/load.ts";

const sentence = (text: string): string => {
  const readFile = () => "";
  const loaded = loadConfig({ file: { text, name: "pkid.yaml" }, env: {}, host: "h", readFile });
  return loaded.ok ? "" : (loaded.faults[0]?.sentence ?? "");
};

// biome-ignore format: the table is read by column.
const places = [
  ["a second colon",            "server:\n  host: a: b\n",                    "Line 2, column 10: "],
  ["an unclosed list",          "server:\n  port: 1\n  host: [1, 2\nlog: {}\n", "Line 3, column 9: "],
  ["an unclosed mapping",       "log: {level: info\n",                         "Line 1, column 6: "],
  ["an unclosed quote",         "# one\nserver:\n  host: \"x\n",               "Line 3, column 9: "],
  ["a tab for indentation",     "server:\n\thost: a\n",                        "Line 2, column "],
  ["a reference to nothing",    "server: {host: a}\nlog: *x\n",                "Line 2, column 6: "],
  ["a fault behind a long list", `a: [\n${"  1,\n".repeat(20)}]\nb: c: d\n`,   "Line 23, column "],
] as const;

describe("the place is told for", () => {
  test.each(places)("%s", (_what, text, place) => {
    expect(sentence(text)).toStartWith(place);
    expect(sentence(text)).toContain("The file is not YAML: ");
  });
});

test("a place is inside the text, whatever it is", () => {
  const piece = fc.constantFrom(
    "a",
    ": ",
    "\n",
    "  ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    "*",
    "&",
  );
  const texts = fc.array(piece, { maxLength: 80 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary-ascii" }), texts), (text) => {
      const place = /^Line (\d+), column (\d+): The file is not YAML: /.exec(sentence(text));
      if (place === null) return;
      const lines = text.split(/\r\n|[\r\n]/);
      const line = Number(place[1]);
      expect(line).toBeLessThanOrEqual(lines.length);
      expect(Number(place[2])).toBeLessThanOrEqual((lines[line - 1] ?? "").length + 2);
    }),
    { numRuns: 1000 },
  );
});

test("of a long text too the place is told", () => {
  const text = `a: ${"x".repeat(70_000)}\nb: c: d\n`;
  expect(sentence(text)).toStartWith("Line 2, column 5: The file is not YAML: ");
});

test("a fault quotes nothing of the file but its keys, for a value may be a secret", () => {
  for (const text of [
    "a: 'hunter2' hunter2",
    "a: hunter2: hunter2",
    "a: *hunter2",
    "a: |hunter2",
  ]) {
    expect(sentence(text)).toContain("The file is not YAML: ");
    expect(sentence(text)).not.toContain("hunter2");
  }
});
