/** Tests the table of terms to avoid: its form, and its hits in names, prose and strings. */

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseTable } from "#scripts/vocabulary/table.ts";
import { collectDocumentHits, collectSampleHits, formatShort, sampleTable } from "./samples.ts";

test("the table of this repository parses, and each pattern rejects the empty string", () => {
  const path = join(import.meta.dir, "../../../scripts/vocabulary.tsv");
  const rows = parseTable(readFileSync(path, "utf8"));
  expect(rows.length).toBeGreaterThan(100);
  for (const { expression } of rows) expect("".match(expression)).toBeNull();
});

test("a table row names its kinds of strings and its exempt paths", () => {
  const [first, second] = parseTable(sampleTable);
  expect(first?.exemptPaths).toEqual(["src/core/dns/", "src/http/dns"]);
  expect([...(first?.kinds ?? [])]).toEqual(["identifier", "prose", "ui"]);
  expect(second?.exemptPaths).toEqual([]);
});

// biome-ignore format: the table is read by column.
const brokenTables = [
  ["another header",   "pattern\twhere"],
  ["a missing column", `${sampleTable}\n\\bfoo\\b\tprose`],
  ["an unknown kind",  `${sampleTable}\n\\bfoo\\b\ttext\tbar\t`],
  ["a second pattern", `${sampleTable}\n\\bplugh\\b\tprose\tbar\t`],
] as const;
test.each(brokenTables)("the parser of the table rejects %s", (_form, text) => {
  expect(() => parseTable(text)).toThrow();
});

describe("table rows", () => {
  // Columns: form, path, source, found string, line.
  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: source code of samples.
  // biome-ignore format: the table is read by column.
  const hits = [
    ["a variable",                  "src/core/a.ts",  "const lastZork = 1;",                             "zork",  2],
    ["a parameter",                 "web/a.ts",       "const a = (zorkId: string) => zorkId;",           "zork",  2],
    ["a private method",            "src/core/a.ts",  "class A {\n  #readZork() {}\n}",                  "zork",  3],
    ["a property of an interface",  "test/a.ts",      "interface A {\n  readonly zorks: number;\n}",     "zorks", 3],
    ["a destructured local",        "scripts/a.ts",   "const { zork } = b;",                             "zork",  2],
    ["a renamed import",            "src/core/a.ts",  'import { b as zork } from "./c.ts";',             "zork",  2],
    ["a type",                      "src/core/a.ts",  "type ZorkState = string;",                        "zork",  2],
    ["a name in capitals",          "src/core/a.ts",  "const readZORKState = () => 1;",                  "zork",  2],
    ["a file name",                 "src/core/zork-state.ts", "const a = 1;",                            "zork",  1],
    ["a whole name",                "src/core/a.ts",  "const xyzzy = 1;",                                "xyzzy", 2],
    ["a line comment",              "src/core/a.ts",  "const a = 1; // The zork.",                       "zork",  2],
    ["the second of two lines",     "src/core/a.ts",  "// The grue\n// and one zork.\nconst a = 1;",     "zork",  3],
    ["a phrase over a line end",    "src/core/a.ts",  "// There is a grue\n// here.\nconst a = 1;",      "grue here", 2],
    ["a block comment",             "src/core/a.ts",  "/* The zork. */\nconst a = 1;",                   "zork",  2],
    ["a tag",                       "src/core/a.ts",  "/**\n * Reads.\n * @param b what it reads\n */\nfunction a(b: string) {}", "what", 4],
    ["the start of a comment",      "src/core/a.ts",  "// What it is.\nconst a = 1;",                    "What",  2],
    ["a comment after a template",  "src/core/a.ts",  "const a = `${b}//`; // zork",                     "zork",  2],
    ["a comment in JSX",            "web/a.tsx",      "const A = () => <p>{/* zork */}</p>;",            "zork",  2],
    ["a test name",                 "test/a.test.ts", 'test("the zork is set", () => {});',              "zork",  2],
    ["a name after each",           "test/a.test.ts", 'test.each(rows)("the zork is set", () => {});',   "zork",  2],
    ["a conditional test",          "test/a.test.ts", 'test.if(b)("the zork is set", () => {});',        "zork",  2],
    ["a string with a blank",       "src/core/a.ts",  'const a = "The zork is set.";',                   "zork",  2],
    ["a template",                  "src/core/a.ts",  "const a = `The zork is ${b}.`;",                  "zork",  2],
    ["the start of a string",       "src/core/a.ts",  'const a = "Make a root";',                        "Make",  2],
    ["a capitalized string in web", "web/a.tsx",      'const a = "Make";',                               "Make",  2],
    ["JSX text",                    "web/a.tsx",      "const A = () => (\n  <p>\n    The zork\n  </p>\n);", "zork", 4],
    ["a JSX attribute",             "web/a.tsx",      'const A = () => <p title="The zork">1</p>;',      "zork",  2],
  ] as const;
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: source code of samples.
  test.each(hits)("the check finds a hit in %s", async (_place, path, source, found, line) => {
    const result = await collectSampleHits({ [path]: `/** Sample. */\n${source}\n` });
    expect(result.map((hit) => ({ found: hit.found, line: hit.line }))).toEqual([{ found, line }]);
  });

  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: source code of samples.
  // biome-ignore format: the table is read by column.
  const clean = [
    ["a name with an underscore",       "src/core/a.ts",     "const zork_state = 1;"],
    ["a name that contains the letters", "src/core/a.ts",    "const zorkless = 1;"],
    ["part of a whole name",            "src/core/a.ts",     "const xyzzyState = 1;"],
    ["a quoted property",               "src/core/a.ts",     'interface A { "zork": string }'],
    ["a property that is set",          "src/core/a.ts",     "const a = { zork: 1 };"],
    ["an import of the same name",      "src/core/a.ts",     'import { zork } from "b";'],
    ["a method of an object literal",   "src/core/a.ts",     "const a = { zork() {} };"],
    ["code in backquotes",              "src/core/a.ts",     "// Reads `zork` and\n// `a zork`.\nconst a = 1;"],
    ["an example",                      "src/core/a.ts",     "/**\n * Reads.\n * @example\n * zork()\n */\nfunction readA() {}"],
    ["fenced code",                     "src/core/a.ts",     "/**\n * Reads.\n * ```\n * zork\n * ```\n */\nfunction readA() {}"],
    ["a directive of a tool",           "src/core/a.ts",     "// biome-ignore lint/a: zork\nconst a = 1;"],
    ["another start",                   "src/core/a.ts",     "// Checks what it is.\nconst a = 1;"],
    ["a string without a blank",        "src/core/a.ts",     'const a = "zork";'],
    ["a capitalized string in src",     "src/core/a.ts",     'const a = "Make";'],
    ["an import path",                  "src/core/a.ts",     'import "a zork";'],
    ["SQL",                             "src/core/a.ts",     'const a = "select zork from b where c = 1";'],
    ["part of SQL",                     "src/core/a.ts",     "const a = ` and zork = ${b} order by zork`;"],
    ["tagged SQL",                      "src/core/a.ts",     "const a = sql`zork in (1, 2)`;"],
    ["classes of an element",           "web/a.tsx",         'const A = () => <p class="zork b">1</p>;'],
    ["a string of a test",              "test/a.ts",         'const a = "The zork is set.";'],
    ["a string like a comment",         "src/core/a.ts",     'const a = "//zork";'],
    ["a regular expression",            "src/core/a.ts",     "const a = /\\/\\/ zork/;"],
    ["an exempt folder",                "src/core/dns/a.ts", "const zork = 1; // The zork."],
    ["an exempt prefix",                "src/http/dns-a.ts", "const zork = 1; // The zork."],
  ] as const;
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: source code of samples.
  test.each(clean)("the check accepts %s", async (_place, path, source) => {
    const result = await collectSampleHits({ [path]: `/** Sample. */\n${source}\n` });
    expect(result.map(formatShort)).toEqual([]);
  });
});

test("the check reads prose of Markdown without code, addresses and comments", () => {
  const document = [
    "# The zork",
    "",
    "A `zork` and [a link](zork.html) to https://zork.example/",
    "over a grue",
    "here.",
    "",
    "```sh",
    "pkid zork",
    "```",
    "<!-- zork",
    "-->",
    "- One.",
    "- What it is.",
    "",
    "| Name | Value |",
    "| ---- | ----- |",
    "| zork | How   |",
  ].join("\n");
  expect(collectDocumentHits(document).map(({ line, found }) => `${line} ${found}`)).toEqual([
    "1 zork",
    "4 grue here",
    "13 What",
    "17 zork",
    "17 How",
  ]);
});
