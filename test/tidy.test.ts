/**
 * Holds the style rules against small samples of what they must catch, and then against our own
 * tree.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { once } from "#core/once.ts";
import { rendered } from "#scripts/lib/source-tree.ts";
import { tidyFindings } from "#scripts/tidy-rules.ts";
import { parseEachSample, parseOurs, parseSamples } from "#test/support/samples.ts";

// The whole tree is parsed, on a machine that may do much else.
setDefaultTimeout(60_000);

test("the tree keeps every style rule", async () => {
  expect(tidyFindings(await parseOurs()).map(rendered)).toEqual([]);
});

describe("style refuses", () => {
  // Columns: what, the file, its text below the opening, words of the finding.
  // biome-ignore format: the table is read by column.
  const refusals = [
    ["a function of 61 lines",                   "src/core/a.ts",    `function a() {\n${"\n".repeat(59)}}`,                     "61 lines"],
    ["a file of 501 lines",                      "src/core/a.ts",    `${"\n".repeat(499)}const a = 1;`,                        "501 lines"],
    ["a variable at the top of a module",        "src/core/a.ts",    "let a = 1;",                                              "module state"],
    ["a growing collection at the top",          "src/core/a.ts",    "const a = new Map<string, number>();",                    "module state"],
    ["a spread object literal",                  "src/core/a.ts",    "const a = { ...{ b, c } };",                              "a literal is spread"],
    ["a spread list literal",                    "test/a.ts",        "const a = [...[b, c]];",                                  "a literal is spread"],
    ["a spread literal in a call",               "src/core/a.ts",    "a(...[b, c]);",                                           "a literal is spread"],
    ["a spread literal in parentheses",          "src/core/a.ts",    "const a = { ...({ b }) };",                               "a literal is spread"],
    ["a spread literal of a claimed type",       "src/core/a.ts",    "// As it is.\na(...([b, c] as const));",                 "a literal is spread"],
    ["a comment of 101 columns",                 "src/core/a.ts",    `// ${"a".repeat(98)}`,                                    "reaches column 101"],
    ["a docstring of 101 columns",               "src/core/a.ts",    `/**\n * ${"a".repeat(98)}\n */\nconst a = 1;`,            "reaches column 101"],
    ["a long comment at the end of a block",     "src/core/a.ts",    `function a() {\n  return 1; // ${"a".repeat(90)}\n}`,    "reaches column"],
    ["a trailing comment beyond column 100",     "src/core/a.ts",    `const a = 1; // ${"a".repeat(98)}`,                       "reaches column"],
    ["a setter",                                 "src/core/a.ts",    "class A { set b(value: number) {} }",                     "a setter"],
    ["inheritance",                              "src/core/a.ts",    "class A extends B {}",                                    "inherits"],
    ["a decorator",                              "src/core/a.ts",    "@b class A {}",                                           "decorator"],
    ["a name that says nothing",                 "src/core/a.ts",    "const data = 1;",                                         '"data" says nothing'],
    ["a parameter that says nothing",            "src/core/a.ts",    "const a = (info: string) => info;",                       '"info" says nothing'],
    ["a class named after no duty",              "src/core/a.ts",    "class KeyManager {}",                                     '"KeyManager" says nothing'],
    ["a file that says nothing",                 "src/core/utils.ts", "const a = 1;",                                           '"utils" says nothing'],
    ["a file name in camel case",                "src/core/aB.ts",   "const a = 1;",                                            "kebab-case"],
    ["a get",                                    "src/core/a.ts",    "const getKey = () => 1;",                                 "without get"],
    ["a negative adjective",                     "src/core/a.ts",    "const isNotValid = true;",                                "positively"],
    ["a clock in core",                          "src/core/a.ts",    "const a = () => Date.now();",                             "Date.now is not for core"],
    ["a date of now in domain",                  "src/domain/a.ts",  "const a = () => new Date();",                             "new Date() is not for domain"],
    ["chance in domain",                         "src/domain/a.ts",  "const a = () => Math.random();",                          "Math.random is not for domain"],
    ["the network in domain",                    "src/domain/a.ts",  'const a = () => fetch("/");',                             "fetch is not for domain"],
    ["the environment in domain",                "src/domain/a.ts",  "const a = () => process.env;",                            "process.env is not for domain"],
    ["the runtime in core",                      "src/core/a.ts",    'const a = () => Bun.file("a");',                          "Bun.file is not for core"],
    ["an operation without a shape",             "src/api/a.ts",     'const a = operation({ summary: "b", run });',             "does not say what it answers"],
    ["an operation that takes two without one",  "src/api/a.ts",     'const a = guarded({ summary: "b", run });',               "does not say what it answers"],
    ["a public operation without a shape",       "src/api/a.ts",     'const a = described(b, { summary: "c" });',               "does not say what it answers"],
    ["an operation that answers anything",       "src/api/a.ts",     "const a = operation({ output: anything(), run });",       "answers anything"],
    ["a query string in domain",                 "src/domain/a.ts",  "const a = (b: URLSearchParams) => b;",                    "ends at the edge"],
    ["a signature inside a unit of work",        "src/domain/a.ts",  "store.atomically(async (tx) => { await deps.keys.sign(b); });", "inside atomically"],
    ["a clock inside a unit of work",            "src/domain/a.ts",  "store.atomically(async (tx) => clock.now());",            "inside atomically"],
    ["a clock in what takes a unit of work",     "src/domain/a.ts",  "signed.close(async (tx) => this.#deps.clock.now());",     "inside atomically"],
    ["a ticket that is only claimed",            "src/domain/a.ts",  "// It is one.\nconst a = b as unknown as SignTicket;",    "cast to a SignTicket"],
    ["a claim about a type without a reason",    "src/core/a.ts",    "\n\n\nconst a = b as C;",                                 "`as` without"],
    ["unfinished work",                          "src/core/a.ts",    "// TODO later",                                           "unfinished work"],
    ["an exported function without a docstring", "src/core/a.ts",    "export function a() {}",                                  "without a docstring"],
    ["a root of 301 lines",                      "src/app.ts",       `${"\n".repeat(299)}const a = 1;`,                        "the root has 301 lines"],
    ["a setting copied into a setting",          "src/app/a.ts",     "const a = { maxConns: database.max_conns };",             "max_conns is copied into maxConns"],
    ["a setting renamed on its way",             "src/app/a.ts",     "const { max_conns: maxConns } = database;",               "max_conns is copied into maxConns"],
    ["preflight outside its home",               "src/domain/keys/preflight.ts", "const a = 1;",                                "preflight lives in the folder"],
    ["preflight in a room of its own",           "src/app/preflight/rooms/a.ts", "const a = 1;",                                "preflight lives in the folder"],
    ["a test without a sentence",                "test/a.test.ts",   'test("works", () => {});',                                "not a sentence"],
  ] as const;
  const parsed = once(() => parseRows(refusals));
  test.each(refusals)("%s", async (name, _path, _text, words) => {
    const findings = tidyFindings((await parsed()).get(name) ?? []);
    expect(findings.map(rendered).join("\n")).toContain(words);
  });

  test("a file without an opening sentence", async () => {
    const files = await parseSamples({
      "src/core/a.ts": "const a = 1;\n",
      "src/core/b.ts": "/** lower case */\nconst a = 1;\n",
    });
    expect(tidyFindings(files)).toHaveLength(2);
  });
});

describe("style accepts", () => {
  // biome-ignore format: the table is read by column.
  const accepted = [
    ["a root of 300 lines",                   "src/app.ts",         `${"\n".repeat(298)}const a = 1;`],
    ["a section handed on as it is",          "src/app/a.ts",       "const a = { database: config.database, host: server.host };"],
    ["preflight in its home",                 "src/app/preflight/a.ts", "const a = 1;"],
    ["a function of 60 lines",                "src/core/a.ts",      `function a() {\n${"\n".repeat(58)}}`],
    ["a ceremony whose steps are numbered",   "src/core/a.ts",      `function a() {\n// 1. Load.\n// 2. Admit.\n// 3. Sign.\n${"\n".repeat(70)}}`],
    ["a spread value that has a name",        "src/core/a.ts",      "const a = { ...b, ...(c && { d }) };"],
    ["a comment of 100 columns",              "src/core/a.ts",      `// ${"a".repeat(97)}`],
    ["a long text that looks like a comment", "src/core/a.ts",      `const a = "// ${"a".repeat(120)}";`],
    ["a table at the top of a module",        "src/core/a.ts",      'const a = new Set(["b"]);'],
    ["an error of its own",                   "src/core/a.ts",      "class Problem extends Error {}"],
    ["a given instant",                       "src/core/a.ts",      "const a = (ms: number) => new Date(ms);"],
    ["a clock outside core and domain",       "src/adapters/c.ts",  "const a = () => Date.now();"],
    ["a claim about a type with its reason",  "src/core/a.ts",      "// The reader has checked it.\nconst a = b as C;"],
    ["an operation that answers a document",  "src/api/a.ts",       'const a = operation({ output: { media: ["text/plain"] }, run });'],
    ["a public operation that gives octets",  "src/protocols/a.ts", 'const a = described(b, { gives: ["text/plain"] });'],
    ["a constant",                            "src/core/a.ts",      "\n\n\n\nconst a = [1] as const;"],
    ["the one function that makes a brand",   "src/core/a.ts",      "/** Reads. */\nfunction parse(t: string): A {\n\n\n\n\nreturn t as A;\n}"],
    ["a write inside a unit of work",         "src/domain/a.ts",    "store.atomically(async (tx) => tx.audit.append(event));"],
  ] as const;
  const parsed = once(() => parseRows(accepted));
  test.each(accepted)("%s", async (name) => {
    const files = (await parsed()).get(name) ?? [];
    expect(files).toHaveLength(1);
    expect(tidyFindings(files).map(rendered)).toEqual([]);
  });
});

/** Parses the file of every row, below an opening sentence. */
const parseRows = (
  rows: readonly (readonly [name: string, path: string, text: string, ...unknown[]])[],
) =>
  parseEachSample(
    rows.map(([name, path, text]) => [name, { [path]: `/** Says so. */\n${text}\n` }] as const),
  );
