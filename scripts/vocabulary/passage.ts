/** A text of the source without its line breaks, and its parts: sentences, words, code. */

/** One text; patterns with `^` match at its start only. */
export interface Passage {
  readonly text: string;
  /** Where the source lines start in `text`, in ascending order. */
  readonly starts: readonly LineStart[];
}

/** One source line inside a text. */
export interface LineStart {
  readonly offset: number;
  /** Counted from 1. */
  readonly line: number;
}

/** One line of a text before it is joined. */
export interface SourceLine {
  readonly text: string;
  /** Counted from 1. */
  readonly line: number;
}

/** Joins lines with blanks; an empty line or a list item starts a paragraph after a line feed. */
export function joinLines(lines: readonly SourceLine[]): Passage {
  let text = "";
  let isBreak = false;
  const starts: LineStart[] = [];
  for (const { text: raw, line } of lines) {
    const item = /^\s*([-*•]|\d+[.)]) +/.exec(raw);
    const mark = item && text !== "" ? "- " : "";
    const content = mark + raw.slice(item?.[0].length ?? 0).trim();
    if (content === "") {
      isBreak = true;
      continue;
    }
    if (text !== "") text += isBreak || item ? "\n" : " ";
    isBreak = false;
    starts.push({ offset: text.length, line });
    text += content;
  }
  return stripCode({ text, starts });
}

/** Returns the source line of an offset in the text, counted from 1. */
export function findLine(passage: Passage, offset: number): number {
  let line = passage.starts[0]?.line ?? 1;
  for (const start of passage.starts) {
    if (start.offset > offset) break;
    ({ line } = start);
  }
  return line;
}

/** Empties code in backquotes; the quotes remain, so that a sentence still shows its object. */
function stripCode({ text, starts }: Passage): Passage {
  let result = "";
  let end = 0;
  const cuts: { readonly from: number; readonly length: number }[] = [];
  for (const match of text.matchAll(/(`+)(?!`)[^`]*\1/g)) {
    result += `${text.slice(end, match.index)}\`\``;
    end = match.index + match[0].length;
    cuts.push({ from: match.index, length: match[0].length - 2 });
  }
  result += text.slice(end);
  const move = (offset: number): number =>
    cuts.reduce(
      (sum, { from, length }) => (from < offset ? sum - Math.min(length, offset - from) : sum),
      offset,
    );
  return {
    text: result,
    starts: starts.map(({ offset, line }) => ({ offset: move(offset), line })),
  };
}

/** One sentence of a text. */
export interface Sentence {
  readonly text: string;
  readonly offset: number;
  readonly isListItem: boolean;
}

/** Splits the text at full stops before a capital, a digit or a quotation, and at paragraphs. */
export function splitSentences(text: string): Sentence[] {
  const sentences: Sentence[] = [];
  for (const paragraph of text.matchAll(/[^\n]+/g)) {
    const isListItem = paragraph[0].startsWith("- ");
    let start = 0;
    for (const stop of paragraph[0].matchAll(/[.!?]["')\]]*\s+(?=["'([`A-Z0-9…§])/g)) {
      const end = stop.index + stop[0].length;
      const sentence = paragraph[0].slice(start, end);
      if (/(\b(e\.g|i\.e|cf|vs|etc|approx|resp|no)|(^|\s)[A-Z]|…)\.\s+$/.test(sentence)) continue;
      sentences.push({ text: sentence, offset: paragraph.index + start, isListItem });
      start = end;
    }
    const rest = paragraph[0].slice(start);
    if (/[\p{L}\p{N}`]/u.test(rest)) {
      sentences.push({ text: rest, offset: paragraph.index + start, isListItem });
    }
  }
  return sentences;
}

/** Counts words: parts between blanks with a letter, a digit or removed code. */
export const countWords = (text: string): number =>
  text.split(/\s+/).filter((part) => /[\p{L}\p{N}]|``/u.test(part)).length;
