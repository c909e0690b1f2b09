/** Applies the table and the rules without a pattern, and returns the hits. */

import { collectCommentHits, collectSentenceHits } from "./comment-rules.ts";
import { findFileStem, splitName } from "./declarations.ts";
import type { Hit, RuleName } from "./hit.ts";
import { splitMarkdown } from "./markdown.ts";
import { collectDuplicateTypes, collectNameHits } from "./name-rules.ts";
import type { SourceContent } from "./source-content.ts";
import type { TableMatcher, TextKind } from "./table.ts";
import { checkTestName } from "./test-name-rules.ts";
import { findLine, type Passage } from "./passage.ts";

/** Collects the hits of all source files; duplicates of type names span several files. */
export function collectSourceHits(files: readonly SourceContent[], matcher: TableMatcher): Hit[] {
  return [
    ...files.flatMap((file) => collectFileHits(file, matcher)),
    ...collectDuplicateTypes(files),
  ];
}

function collectFileHits(file: SourceContent, matcher: TableMatcher): Hit[] {
  const { path, names, comments, testNames, uiStrings } = file;
  const hits: Hit[] = [];
  const add = (kind: TextKind, passages: readonly Passage[]): void => {
    for (const passage of passages) hits.push(...matchPassage(kind, passage, path, matcher));
  };
  const stem = { text: splitName(findFileStem(path)), starts: [] };
  add("identifier", [stem]);
  for (const { name, line } of names) {
    if (name.includes("_")) continue;
    add("identifier", [{ text: splitName(name), starts: [{ offset: 0, line }] }]);
  }
  const commentPassages = comments.flatMap(({ description, tags }) =>
    description === undefined ? tags : [description, ...tags],
  );
  add("prose", commentPassages);
  add("prose", testNames);
  add("ui", uiStrings);
  hits.push(...collectNameHits(path, names), ...collectCommentHits(path, comments));
  for (const passage of testNames) {
    const reason = checkTestName(passage.text);
    if (reason === undefined) continue;
    const line = findLine(passage, 0);
    const rule: RuleName = "test name: no subject";
    hits.push({ rule, path, line, found: `"${passage.text}"`, instead: reason });
  }
  return hits;
}

/** Collects the hits of a Markdown document. */
export function collectMarkdownHits(path: string, document: string, matcher: TableMatcher): Hit[] {
  return splitMarkdown(document).flatMap((passage) => [
    ...matchPassage("prose", passage, path, matcher),
    ...collectSentenceHits(path, passage),
  ]);
}

const matchPassage = (
  kind: TextKind,
  passage: Passage,
  path: string,
  matcher: TableMatcher,
): Hit[] =>
  matcher.match(kind, passage.text, path).map(({ row, offset, matched }) => ({
    rule: row.pattern,
    path,
    line: findLine(passage, offset),
    found: matched,
    instead: row.instead,
  }));
