/** Lays a chapter of the manual out as plain text of at most 80 columns. */

import { type Block, type Chapter, parseMarkdown, spansOf } from "#core/manual/markdown.ts";

import { wrapped } from "./wrapped.ts";

/** The chapter, ending with a line feed. */
export const chapterText = ({ markdown }: Chapter): string =>
  `${parseMarkdown(markdown)
    .map((block) => linesOf(block).join("\n"))
    .join("\n\n")}\n`;

/** Widest line of code that fits beside its indentation. */
export const codeColumns = 76;

function linesOf(block: Block): readonly string[] {
  switch (block.kind) {
    case "heading":
      return [block.text, (block.level === 1 ? "=" : "-").repeat(Bun.stringWidth(block.text))];
    case "paragraph":
      return filled(block.text, "", "");
    case "list":
      return block.items.flatMap((item) => filled(item, "  - ", "    "));
    case "steps":
      return block.items.flatMap((item, index) => {
        const mark = `${block.first + index}. `.padStart(4);
        return filled(item, mark, " ".repeat(mark.length));
      });
    case "code":
      return block.lines.map((line) => `    ${line}`.trimEnd());
  }
}

/** Code of a sentence stays on one line, so that it can be copied. */
function filled(text: string, first: string, more: string): readonly string[] {
  const kept = spansOf(text).map((span) =>
    span.code ? `\`${span.text.replaceAll(" ", "\u00a0")}\`` : span.text,
  );
  return wrapped(kept.join(""), lineWidth - more.length).map(
    (line, index) => (index === 0 ? first : more) + line.replaceAll("\u00a0", " "),
  );
}

const lineWidth = 80;
