/** Applies the table and the rules without a pattern to texts, and returns the hits. */

import { collectCommentHits, collectSentenceHits } from "./comment-rules.ts";
import { findFileStem, splitName } from "./declarations.ts";
import { splitMarkdown } from "./markdown.ts";
import { collectDuplicateTypes, collectNameHits } from "./name-rules.ts";
import type { SourceTexts } from "./source-texts.ts";
import type { TableMatcher, TextKind } from "./table.ts";
import { checkTestName } from "./test-name-rules.ts";
import { findLine, type TextUnit } from "./text-unit.ts";

/** One violation of a row or rule. */
export interface Hit {
  /** Pattern of the row, or name of the rule; it identifies both in the baseline. */
  readonly rule: string;
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly found: string;
  /** Terms or forms to use. */
  readonly instead: string;
}

/** Names of the rules without a pattern, as in the baseline. */
export const ruleNames = [
  "comment: sentence over 25 words",
  "doc comment: opening",
  "doc comment: over 3 sentences",
  "function name: get",
  "function name: participle",
  "function name: preposition",
  "test name: no subject",
  "type name: exported twice",
  "type name: participle or adjective",
] as const;

/** Name of a rule without a pattern. */
export type RuleName = (typeof ruleNames)[number];

/** Collects the hits of all source files; duplicates of type names span several files. */
export function collectSourceHits(files: readonly SourceTexts[], matcher: TableMatcher): Hit[] {
  return [
    ...files.flatMap((file) => collectFileHits(file, matcher)),
    ...collectDuplicateTypes(files),
  ];
}

function collectFileHits(file: SourceTexts, matcher: TableMatcher): Hit[] {
  const { path, names, comments, testNames, uiTexts } = file;
  const hits: Hit[] = [];
  const add = (kind: TextKind, units: readonly TextUnit[]): void => {
    for (const unit of units) hits.push(...matchUnit(kind, unit, path, matcher));
  };
  const stem = { text: splitName(findFileStem(path)), starts: [] };
  add("identifier", [stem]);
  for (const { name, line } of names) {
    if (name.includes("_")) continue;
    add("identifier", [{ text: splitName(name), starts: [{ offset: 0, line }] }]);
  }
  const commentUnits = comments.flatMap(({ description, tags }) =>
    description === undefined ? tags : [description, ...tags],
  );
  add("prose", commentUnits);
  add("prose", testNames);
  add("ui", uiTexts);
  hits.push(...collectNameHits(path, names), ...collectCommentHits(path, comments));
  for (const unit of testNames) {
    const reason = checkTestName(unit.text);
    if (reason === undefined) continue;
    const line = findLine(unit, 0);
    const rule: RuleName = "test name: no subject";
    hits.push({ rule, path, line, found: `"${unit.text}"`, instead: reason });
  }
  return hits;
}

/** Collects the hits of a Markdown document. */
export function collectMarkdownHits(path: string, document: string, matcher: TableMatcher): Hit[] {
  return splitMarkdown(document).flatMap((unit) => [
    ...matchUnit("prose", unit, path, matcher),
    ...collectSentenceHits(path, unit),
  ]);
}

const matchUnit = (kind: TextKind, unit: TextUnit, path: string, matcher: TableMatcher): Hit[] =>
  matcher.match(kind, unit.text, path).map(({ row, offset, matched }) => ({
    rule: row.pattern,
    path,
    line: findLine(unit, offset),
    found: matched,
    instead: row.instead,
  }));
