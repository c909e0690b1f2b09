/**
 * Holds `src/RULES.md` against the source: whatever cites a rule of ours finds its row, and every
 * row is cited and names a test that is there.
 */

import { isCallExpression, isStringLiteral } from "typescript/unstable/ast";
import { type Finding, type Parsed, visit } from "./lib/source-tree.ts";

/** Where the rules stand. */
export const rulesPath = "src/RULES.md";

/** What is held against each other. */
export interface Citing {
  /** Text of `src/RULES.md`. */
  readonly table: string;
  /** Every text file of `src`, `web`, `scripts` and `test`, with its path. */
  readonly files: readonly Source[];
  /** The names of tests and groups of tests, by the path of their file. */
  readonly tests: ReadonlyMap<string, ReadonlySet<string>>;
  /** Paths of the Markdown files of the repository. */
  readonly documents: readonly string[];
}

/** One text file; `path` is relative to the root, with forward slashes. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

/** A row of the table. */
export interface Rule {
  readonly id: string;
  readonly line: number;
  readonly sentence: string;
  readonly proofs: readonly Proof[];
}

/** The test that proves a rule, by file and by its name as written. */
export interface Proof {
  readonly path: string;
  readonly name: string;
}

/** Everything in which table and source disagree. */
export function rulesFindings(citing: Citing): Finding[] {
  const rules = parseRules(citing.table);
  const citations = citing.files
    .filter(({ path }) => !ownWords.has(path))
    .flatMap((file) => citationsOf(file, familiesOf(rules)));
  return [
    ...rules.flatMap((rule, index) => rowFindings(rule, rules.slice(0, index))),
    ...withoutRow(citations, rules),
    ...neverCited(citations, rules),
    ...withoutTest(citing, rules),
    ...citing.files.flatMap((file) => foreignDocuments(file, citing.documents)),
  ];
}

/** The rows of the table: every line that begins with the id of a rule. */
export function parseRules(table: string): Rule[] {
  return table.split("\n").flatMap((text, index) => {
    const [, id, sentence, proof] = /^\| ([A-Z]+-\d+) +\| (.*?) +\| (.*?) +\|$/.exec(text) ?? [];
    if (id === undefined || sentence === undefined || proof === undefined) return [];
    return [{ id, line: index + 1, sentence, proofs: proofsOf(proof) }];
  });
}

/** The names of the tests of a parsed file, and of their groups, as they are written. */
export function testNames(file: Parsed): ReadonlySet<string> {
  const names = new Set<string>();
  visit(file.ast, (node) => {
    if (!isCallExpression(node)) return;
    const [name] = node.arguments;
    if (!name || !/^(test|describe)\b/.test(node.expression.getText(file.ast))) return;
    const text = name.getText(file.ast);
    if (isStringLiteral(name)) names.add(name.text);
    else if (text.startsWith("`")) names.add(text.slice(1, -1));
  });
  return names;
}

interface Citation {
  readonly id: string;
  readonly path: string;
  readonly line: number;
}

const proofsOf = (cell: string): readonly Proof[] =>
  [...cell.matchAll(/`(test\/[^`]+)` › "([^"]+)"/g)].flatMap(([, path, name]) =>
    path === undefined || name === undefined ? [] : [{ path, name }],
  );

function familiesOf(rules: readonly Rule[]): ReadonlySet<string> {
  return new Set([...reservedFamilies, ...rules.map(({ id }) => id.replace(/-\d+$/, ""))]);
}

/** Single ids, and all from first to last where a range is cited. */
function citationsOf({ path, text }: Source, families: ReadonlySet<string>): Citation[] {
  return [...text.matchAll(cited)].flatMap((found) => {
    const [, family = "", first = "", last = first] = found;
    if (!families.has(family)) return [];
    const line = lineAt(text, found.index);
    const count = Math.max(1, Number(last) - Number(first) + 1);
    return Array.from({ length: count }, (_, index) => {
      return { id: `${family}-${Number(first) + index}`, path, line };
    });
  });
}

function rowFindings(rule: Rule, earlier: readonly Rule[]): Finding[] {
  const { id, line, sentence, proofs } = rule;
  const wrong = [
    ...(earlier.some((other) => other.id === id) ? [`${id} has a row already.`] : []),
    ...(sentence.length > 300 ? [`${id} takes ${sentence.length} characters; at most 300.`] : []),
    ...(proofs.length === 0 ? [`${id} names no test that proves it.`] : []),
  ];
  return wrong.map((said) => ({ path: rulesPath, line, sentence: said }));
}

function withoutRow(citations: readonly Citation[], rules: readonly Rule[]): Finding[] {
  const known = new Set(rules.map(({ id }) => id));
  return citations
    .filter(({ id }) => !known.has(id))
    .map(({ id, path, line }) => ({ path, line, sentence: `${id} has no row in ${rulesPath}.` }));
}

function neverCited(citations: readonly Citation[], rules: readonly Rule[]): Finding[] {
  const inProduct = citations.filter(({ path }) => /^(src|web)\//.test(path));
  const used = new Set(inProduct.map(({ id }) => id));
  return rules
    .filter(({ id }) => !used.has(id))
    .map(({ id, line }) => ({
      path: rulesPath,
      line,
      sentence: `${id} is cited nowhere in src or web.`,
    }));
}

function withoutTest({ tests }: Citing, rules: readonly Rule[]): Finding[] {
  return rules.flatMap(({ id, line, proofs }) =>
    proofs.flatMap(({ path, name }) => {
      const names = tests.get(path);
      if (names?.has(name)) return [];
      const said = names ? `${path} has no test "${name}"` : `there is no ${path}`;
      return [{ path: rulesPath, line, sentence: `${id}: ${said}.` }];
    }),
  );
}

function foreignDocuments({ path, text }: Source, documents: readonly string[]): Finding[] {
  if (ownWords.has(path)) return [];
  const files = [...text.matchAll(/(?<![\w./-])(?:\.*\/)*([\w./-]*\w\.md)\b/g)]
    .filter(([, name]) => !documents.some((own) => own === name || own.endsWith(`/${name}`)))
    .map((found) => ({ said: found[0], index: found.index }));
  const contracts = [...text.matchAll(contract)].map((found) => ({
    said: found[0].replace(/\s+(\*|\/\/)?\s*/g, " "),
    index: found.index,
  }));
  return [...files, ...contracts].map(({ said, index }) => ({
    path,
    line: lineAt(text, index),
    sentence: `"${said}" is no file of this repository: cite a rule of ${rulesPath}.`,
  }));
}

const lineAt = (text: string, index: number): number => text.slice(0, index).split("\n").length;

/** An id of at most two digits, which no algorithm has that shares a prefix, or a range of ids. */
const cited =
  /(?<![\w-])([A-Z]+)-([1-9]\d?)(?![\w-])(?:\s+(?:\*\s+|\/\/\s+)?to\s+(?:\*\s+|\/\/\s+)?\1-([1-9]\d?)(?![\w-]))?/g;

/** A document outside the repository by what it is called, over the end of a comment's line too. */
const contract =
  /\b(?:(?:HTTP|API|RPC|CLI|configuration|behaviour|interface)\s+(?:(?:\*|\/\/)\s+)?contract\b|(?:contract|configuration|behaviour|interface)\s+(?:(?:\*|\/\/)\s+)?§|interface\s+(?:(?:\*|\/\/)\s+)?document\b)/g;

/** The files that have to spell what they forbid; what their samples cite is no citation. */
const ownWords = new Set(["scripts/rules-table.ts", "test/rules.test.ts"]);

/**
 * Families of rules that were agreed on and are not all built yet: an id of one of them is the id
 * of a rule, row or no row.
 */
const reservedFamilies = (
  "AC AEX APR ARI AUD BAK BLK CAA CAN CFG CHA CLI CM CRL CT DNS EAB ENV ES EXP EXT FIN KEK KEY " +
  "LDR MON OCS ORD P PQ PRC PRE PRO PUB REC REN RES RET REV RLD ROL RSP SC SEC SSH TEN TSA V"
).split(" ");
