/** Collects the comments of a file as passages. */

import { joinLines, type SourceLine, type Passage } from "./passage.ts";

/** One comment, or consecutive line comments. */
export interface Comment {
  readonly isDoc: boolean;
  /** Text before the first tag; undefined if the comment starts with a tag. */
  readonly description: Passage | undefined;
  /** Tags, each without tag name, type and parameter name. */
  readonly tags: readonly Passage[];
}

/** Part of a file, as offsets. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Collects the comments of a file in order.
 *
 * @param literals string, template, JSX text and regular expression literals, in ascending order:
 *   comment marks inside them are part of the literal
 */
export function collectComments(text: string, literals: readonly Range[]): Comment[] {
  const lineOf = createLineCounter(text);
  const comments: Comment[] = [];
  let block: SourceLine[] = [];
  let blockEnd = -1;
  const flush = (): void => {
    if (block.length > 0) comments.push(parseComment(block, false));
    block = [];
  };
  for (const { start, end } of findCommentRanges(text, literals)) {
    const raw = text.slice(start, end);
    const line = lineOf(start);
    if (raw.startsWith("//")) {
      const isContinued = /^[ \t]*\r?\n[ \t]*$/.test(text.slice(blockEnd, start));
      if (!isContinued || block.length === 0) flush();
      const isAlone = /(^|\n)[ \t]*$/.test(text.slice(Math.max(0, start - 200), start));
      block.push({ text: raw.replace(/^\/\/+/, ""), line });
      blockEnd = isAlone ? end : -1;
      continue;
    }
    flush();
    comments.push(parseComment(splitBlock(raw, line), raw.startsWith("/**")));
  }
  flush();
  return comments.filter(({ description, tags }) => description !== undefined || tags.length > 0);
}

function findCommentRanges(text: string, literals: readonly Range[]): Range[] {
  const ranges: Range[] = [];
  const search = (start: number, end: number): void => {
    for (const match of text.slice(start, end).matchAll(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g)) {
      const from = start + match.index;
      ranges.push({ start: from, end: from + match[0].length });
    }
  };
  let end = 0;
  for (const literal of literals) {
    search(end, literal.start);
    ({ end } = literal);
  }
  search(end, text.length);
  return ranges;
}

/** Returns a function that counts lines from 1; its offsets must not decrease. */
function createLineCounter(text: string): (offset: number) => number {
  let position = 0;
  let line = 1;
  return (offset) => {
    for (;;) {
      const next = text.indexOf("\n", position);
      if (next < 0 || next >= offset) return line;
      position = next + 1;
      line += 1;
    }
  };
}

function splitBlock(raw: string, line: number): SourceLine[] {
  const content = raw.replace(/^\/\*+/, "").replace(/\*+\/$/, "");
  return content
    .split("\n")
    .map((part, index) => ({ text: part.replace(/^\s*\*(?= |$)/, ""), line: line + index }));
}

function parseComment(lines: readonly SourceLine[], isDoc: boolean): Comment {
  const prose = removeFences(lines).filter(({ text }) => !directive.test(text));
  const firstTag = isDoc ? prose.findIndex(({ text }) => tagStart.test(text)) : -1;
  const description = joinLines(firstTag < 0 ? prose : prose.slice(0, firstTag));
  const tags = firstTag < 0 ? [] : splitTags(prose.slice(firstTag));
  return { isDoc, description: description.text === "" ? undefined : description, tags };
}

const directive = /^\s*(biome-ignore|@ts-|@jsx|<reference|<amd)/;

const tagStart = /^\s*@[a-z]+/;

function removeFences(lines: readonly SourceLine[]): SourceLine[] {
  let isCode = false;
  return lines.filter(({ text }) => {
    const isFence = /^\s*(```|~~~)/.test(text);
    if (isFence) isCode = !isCode;
    return !isFence && !isCode;
  });
}

function splitTags(lines: readonly SourceLine[]): Passage[] {
  const groups: SourceLine[][] = [];
  for (const line of lines) {
    if (tagStart.test(line.text)) groups.push([]);
    groups.at(-1)?.push(line);
  }
  return groups
    .filter(([first]) => !/^\s*@(example|see|default|link)\b/.test(first?.text ?? ""))
    .map((group) => joinLines(group.map(stripTag)))
    .filter(({ text }) => text !== "");
}

function stripTag({ text, line }: SourceLine, index: number): SourceLine {
  if (index > 0) return { text, line };
  const named = /^\s*@(param|template|typeParam|property)\s+(\{[^}]*\}\s*)?[\w.$[\]]+\s*(- )?/;
  return { text: text.replace(named, "").replace(/^\s*@[a-zA-Z]+\s*(\{[^}]*\})?/, ""), line };
}
