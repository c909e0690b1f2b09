/** Text that is no YAML is told with the place where it stops being some. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { faultPlace } from "#config/yaml-fault.ts";
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

test("a place is inside the text, and looking for it takes few looks", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 400, unit: "binary-ascii" }), fc.nat(400), (text, bad) => {
      let looks = 0;
      const parses = (beginning: string) => {
        looks++;
        return beginning.length <= bad;
      };
      const place = faultPlace(text, parses);
      const lines = text.split("\n");
      expect(place?.line).toBeLessThanOrEqual(lines.length);
      expect(place?.column).toBeLessThanOrEqual((lines[(place?.line ?? 1) - 1] ?? "").length + 2);
      expect(looks).toBeLessThan(33 * 20);
    }),
  );
});

test("of a text that is too long to look through only the fault is told", () => {
  expect(sentence(`a: ${"x".repeat(70_000)}\nb: c: d\n`)).toStartWith("The file is not YAML: ");
});
