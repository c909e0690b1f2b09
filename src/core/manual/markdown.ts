/** Reads the little Markdown the manual is written in: headings, paragraphs, lists and code. */

/** One piece of a chapter. Texts are one line; code in them stands between back quotes. */
export type Block =
  | { readonly kind: "heading"; readonly level: 1 | 2; readonly text: string }
  | { readonly kind: "paragraph"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly string[] }
  | {
      readonly kind: "steps";
      readonly items: readonly string[];
      /** Number of the first: code between steps does not begin them anew. */
      readonly first: number;
    }
  | { readonly kind: "code"; readonly language: string; readonly lines: readonly string[] };

/** A piece of a text: words, or code. */
export interface Span {
  readonly code: boolean;
  readonly text: string;
}

/** One chapter; `name` is what the shell asks for. */
export interface Chapter {
  readonly name: string;
  readonly title: string;
  readonly markdown: string;
}

/** Gives the chapter of a file; throws for one that does not begin with its title. */
export function readChapter(name: string, markdown: string): Chapter {
  const [title] = parseMarkdown(markdown);
  if (title?.kind === "heading" && title.level === 1) return { name, title: title.text, markdown };
  throw new Error(`The chapter ${name} does not begin with its title.`);
}

/** The blocks of a text in their order. */
export function parseMarkdown(markdown: string): readonly Block[] {
  const lines = markdown.split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    if ((lines[at] ?? "").trim() === "") {
      at++;
      continue;
    }
    const { block, next } = blockAt(lines, at);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

/** Words and code of a text; a back quote without its fellow is a back quote. */
export function spansOf(text: string): readonly Span[] {
  const pieces = text.split(/(`[^`]+`)/).filter((piece) => piece !== "");
  return pieces.map((piece) =>
    /^`[^`]+`$/.test(piece)
      ? { code: true, text: piece.slice(1, -1) }
      : { code: false, text: piece },
  );
}

interface Read {
  readonly block: Block;
  /** The line after it. */
  readonly next: number;
}

function blockAt(lines: readonly string[], at: number): Read {
  const line = lines[at] ?? "";
  if (line.startsWith("```")) return codeAt(lines, at);
  const heading = /^(#{1,2}) (.+)$/.exec(line);
  if (heading) {
    const level = heading[1] === "#" ? 1 : 2;
    return { block: { kind: "heading", level, text: (heading[2] ?? "").trim() }, next: at + 1 };
  }
  if (line.startsWith("- ")) {
    const { items, next } = itemsAt(lines, at, /^- /);
    return { block: { kind: "list", items }, next };
  }
  if (step.test(line)) {
    const { items, next } = itemsAt(lines, at, step);
    return { block: { kind: "steps", items, first: Number.parseInt(line, 10) }, next };
  }
  const end = lines.findIndex((one, index) => index > at && endsParagraph(one));
  const next = end < 0 ? lines.length : end;
  return { block: { kind: "paragraph", text: joined(lines.slice(at, next)) }, next };
}

function codeAt(lines: readonly string[], at: number): Read {
  const end = lines.findIndex((one, index) => index > at && one.startsWith("```"));
  if (end < 0) throw new Error("A block of code has no end.");
  const language = (lines[at] ?? "").slice(3).trim();
  return { block: { kind: "code", language, lines: lines.slice(at + 1, end) }, next: end + 1 };
}

/** Items with the indented lines that continue them; the first other line ends the list. */
function itemsAt(lines: readonly string[], at: number, mark: RegExp) {
  const items: string[] = [];
  let next = at;
  while (mark.test(lines[next] ?? "")) {
    let end = next + 1;
    while (/^ +\S/.test(lines[end] ?? "")) end++;
    items.push(joined([(lines[next] ?? "").replace(mark, ""), ...lines.slice(next + 1, end)]));
    next = end;
  }
  return { items, next };
}

const joined = (lines: readonly string[]): string => lines.map((line) => line.trim()).join(" ");

const endsParagraph = (line: string): boolean =>
  line.trim() === "" || /^(#{1,2} |- |```)/.test(line) || step.test(line);

const step = /^\d+\. /;
