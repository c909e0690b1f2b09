/**
 * Holds the check of our own rules against small samples of what it must refuse, and then
 * `src/RULES.md` against our own tree.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { once } from "#core/once.ts";
import { rendered } from "#scripts/lib/source-tree.ts";
import {
  type Citing,
  parseRules,
  rulesFindings,
  rulesPath,
  type Source,
  testNames,
} from "#scripts/rules-table.ts";
import { parseOurs, parseSamples } from "#test/support/samples.ts";

// The whole tree is parsed, on a machine that may do much else.
setDefaultTimeout(60_000);

const root = join(import.meta.dir, "..");

test("every rule that is cited has a row, and every row is cited and proven", async () => {
  const tests = (await parseOurs()).filter(({ path }) => path.startsWith("test/"));
  const findings = rulesFindings({
    table: readFileSync(join(root, rulesPath), "utf8"),
    files: [
      ...textsBelow("src"),
      ...textsBelow("web"),
      ...textsBelow("scripts"),
      ...textsBelow("test"),
    ],
    tests: new Map(tests.map((file) => [file.path, testNames(file)])),
    documents: ["README.md", ...markdownBelow("src"), ...markdownBelow("test")],
  });
  expect(findings.map(rendered)).toEqual([]);
});

const row = 'CRL-1 | Numbers rise. | `test/a.test.ts` › "numbers rise by one"';
const cites = "// CRL-1: numbers rise.";

describe("the check refuses", () => {
  // Columns: what, the row, the text of src/a.ts, words of the finding.
  // biome-ignore format: the table is read by column.
  const refusals = [
    ["a rule without a row",              row, `${cites}\n// CRL-99: never written.`,      "src/a.ts:2 CRL-99 has no row"],
    ["a range that ends without a row",   row, `// CRL-1 to\n// CRL-3.`,                   "CRL-3 has no row"],
    ["a rule of a family without rows",   row, `${cites} BAK-1.`,                          "BAK-1 has no row"],
    ["a row that nobody cites",           row, "const a = 1;",                             "CRL-1 is cited nowhere in src or web"],
    ["a row twice",                       `${row} |\n| ${row}`, cites,                     "CRL-1 has a row already"],
    ["a rule too long to be one",         row.replace("Numbers", "n".repeat(300)), cites,  "at most 300"],
    ["a rule without a proof",            "CRL-1 | Numbers rise. | –", cites,              "CRL-1 names no test"],
    ["a proof in a file that is not",     row.replace("a.test", "b.test"), cites,          "there is no test/b.test.ts"],
    ["a proof by a test that is not",     row.replace("by one", "by two"), cites,          'has no test "numbers rise by two"'],
    ["a document from elsewhere",         row, `${cites} See behaviour.md §9.`,            '"behaviour.md" is no file of this repository'],
    ["a contract by its section",         row, `${cites} See contract §4.6.`,              '"contract §" is no file'],
    ["a contract over two lines",         row, `/**\n * CRL-1, by the HTTP\n * contract.\n */`, '"HTTP contract" is no file'],
  ] as const;
  test.each(refusals)("%s", async (_what, rows, text, words) => {
    expect(await findingsOf(rows, [{ path: "src/a.ts", text }])).toContain(words);
  });

  test("a row that only tests cite", async () => {
    const files = [{ path: "test/a.test.ts", text: cites }];
    expect(await findingsOf(row, files)).toContain("CRL-1 is cited nowhere in src or web");
  });
});

describe("the check accepts", () => {
  // biome-ignore format: the table is read by column.
  const accepted = [
    ["algorithms, encodings and reports of faults", "SHA-1 AES-256 UTF-8 RSA-4096 ML-KEM-1024 P-256 CVE-2017-1 ISO-8601"],
    ["the challenge of ACME",                       "DNS-01"],
    ["a part of a longer word",                     "XCRL-7 CRL-7-a"],
    ["a file of the repository",                    "README.md src/README.md"],
    ["the contract suite of a port",                "what the contract suite proves"],
  ] as const;
  test.each(accepted)("%s", async (_what, words) => {
    const text = `${cites} ${words}`;
    expect(await findingsOf(row, [{ path: "src/a.ts", text }])).toBe("");
  });

  test("a rule of ours in a family of its own, and a proof by a group of tests", async () => {
    const rows = 'GATE-1 | In order. | `test/a.test.ts` › "a group"';
    expect(await findingsOf(rows, [{ path: "web/a.tsx", text: "// GATE-1." }])).toBe("");
  });
});

test("a row is read with all its proofs", () => {
  const proofs = ["a", "b"].map((name) => ({ path: `test/${name}.test.ts`, name: `is ${name}` }));
  const cell = proofs.map(({ path, name }) => `\`${path}\` › "${name}"`).join("; ");
  const table = `# Rules\n\n| Rule | Sentence | Proof |\n|---|---|---|\n| V-1 | Is so. | ${cell} |\n`;
  expect(parseRules(table)).toEqual([{ id: "V-1", line: 5, sentence: "Is so.", proofs }]);
});

const parseTests = once(() => {
  const text =
    '/** Tests. */\ndescribe("a group", () => {\n  test("numbers rise by one", () => {});\n});\n';
  return parseSamples({ "test/a.test.ts": text });
});

/** What the check says of this one table, beside a file of two tests. */
async function findingsOf(rows: string, files: readonly Source[]): Promise<string> {
  const parsed = await parseTests();
  const citing: Citing = {
    table: `| ${rows} |\n`,
    files,
    tests: new Map(parsed.map((file) => [file.path, testNames(file)])),
    documents: ["README.md", "src/README.md"],
  };
  return rulesFindings(citing).map(rendered).join("\n");
}

/** Every file of text below a folder, but the table itself. */
function textsBelow(folder: string): Source[] {
  return pathsBelow(folder, "**/*")
    .filter((path) => path !== rulesPath)
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }))
    .filter(({ text }) => !text.includes("\0"));
}

const markdownBelow = (folder: string): string[] => pathsBelow(folder, "**/*.md");

const pathsBelow = (folder: string, pattern: string): string[] =>
  [...new Glob(`${folder}/${pattern}`).scanSync({ cwd: root })].sort();
