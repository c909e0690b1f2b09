/** Splits Markdown into passages: paragraphs, headings, list items, table cells; no code. */

import { joinLines, type SourceLine, type Passage } from "./passage.ts";

/** Splits a document into its passages, in order. */
export function splitMarkdown(document: string): Passage[] {
  const passages: Passage[] = [];
  let block: SourceLine[] = [];
  let fence: string | undefined;
  const flush = (): void => {
    const passage = joinLines(block);
    if (passage.text !== "") passages.push(passage);
    block = [];
  };
  const lines = blankComments(document).split("\n");
  for (const [index, raw] of lines.entries()) {
    const line = index + 1;
    const mark = /^\s*(```+|~~~+)/.exec(raw)?.[1];
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined;
    } else if (mark !== undefined) {
      flush();
      fence = mark;
    } else if (/^\s*\|/.test(raw)) {
      flush();
      passages.push(...splitCells(raw, line));
    } else {
      if (/^\s*$|^\s*#|^\s*([-*+]|\d+[.)]) |^( {4}|\t)(?=\S)/.test(raw)) flush();
      const text = cleanLine(raw);
      if (text !== "") block.push({ text, line });
      if (/^\s*#/.test(raw)) flush();
    }
  }
  flush();
  return passages;
}

/** Replaces HTML comments by blanks, so that lines keep their numbers. */
const blankComments = (document: string): string =>
  document.replace(/<!--[\s\S]*?-->/g, (comment) => comment.replace(/[^\n]/g, " "));

function splitCells(raw: string, line: number): Passage[] {
  if (/^[\s|:-]+$/.test(raw)) return [];
  const cells = raw
    .trim()
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/);
  return cells
    .map((cell) => joinLines([{ text: cleanLine(cell), line }]))
    .filter(({ text }) => text !== "");
}

/** Removes heading, list and quotation marks, emphasis, and the addresses of links. */
const cleanLine = (raw: string): string =>
  raw
    .trim()
    .replace(/^(#+|[-*+]|\d+[.)]|>)\s+/, "")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\*\*|__/g, "")
    .replace(/https?:\/\/\S+/g, "``");
