/** Tables for people: aligned columns, made to fit the terminal where there is one. */

/** What is laid out for the terminal it is shown on; as text it is whole, for pipes and files. */
export interface Fitting {
  toString(): string;
  /** Lines of at most so many columns. */
  fitted(width: number): string;
}

/** Rows under a header; as text it is as wide as its cells, for pipes and files. */
export class Table implements Fitting {
  readonly #head: readonly string[];
  readonly #rows: readonly (readonly string[])[];

  /** Cells are printed as they are; whoever makes them has replaced what could drive a terminal. */
  constructor(head: readonly string[], rows: readonly (readonly string[])[]) {
    this.#head = head;
    this.#rows = rows;
  }

  /** Aligned columns; the last one is not padded. */
  toString(): string {
    return aligned([titles(this.#head), ...this.#rows]);
  }

  /**
   * Lines of at most `width` columns: times become days, then long texts are cut, but never what is
   * copied into another line (ids, serials, labels). What does not fit then is a block of lines for
   * each row.
   */
  fitted(width: number): string {
    if (fits(this.#lines(this.#rows), width)) return this.toString();
    const days = this.#rows.map((row) => row.map((cell) => cell.replace(timeOfDay, "$1")));
    const lines = this.#lines(days);
    const widths = cut(widthsOf(lines), width, (column) => this.#mayCut(column));
    const total = widths.reduce((sum, one) => sum + one, gap * (widths.length - 1));
    if (total > width) return this.#stacked(width);
    return aligned(lines.map((line) => line.map((cell, at) => shortened(cell, widths[at] ?? 0))));
  }

  #lines(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
    return [titles(this.#head), ...rows];
  }

  #mayCut(column: number): boolean {
    return !/^(.* )?(id|serial|label|slug|name)$/i.test(this.#head[column] ?? "");
  }

  #stacked(width: number): string {
    const room = Math.max(0, ...this.#head.map((title) => title.length)) + gap;
    const block = (row: readonly string[]) =>
      this.#head
        .map((title, at) => {
          const cell = row[at] ?? "";
          const text = this.#mayCut(at) ? shortened(cell, Math.max(cutMin, width - room)) : cell;
          return `${`${title}:`.padEnd(room)}${text}`.trimEnd();
        })
        .join("\n");
    return this.#rows.map((row) => `${block(row)}\n`).join("\n");
  }
}

/** A table without an end: as many lines as there are, under widths that only grow. */
export class GrowingTable {
  readonly #head: readonly string[];
  #widths: readonly number[] | undefined;

  constructor(head: readonly string[]) {
    this.#head = head;
  }

  /** The rows as lines; those of the first call come under the header. */
  lines(rows: readonly (readonly string[])[]): string {
    const isFirst = this.#widths === undefined;
    const lines = isFirst ? [titles(this.#head), ...rows] : rows;
    const known = this.#widths ?? [];
    const widths = this.#head.map((_, at) => Math.max(known[at] ?? 0, widthsOf(lines)[at] ?? 0));
    this.#widths = widths;
    return aligned(lines, widths);
  }
}

const titles = (head: readonly string[]): readonly string[] =>
  head.map((title) => title.toUpperCase());

function aligned(
  lines: readonly (readonly string[])[],
  widths: readonly number[] = widthsOf(lines),
): string {
  return lines
    .map((line) => {
      const cells = line.map((cell, column) =>
        column === line.length - 1 ? cell : padded(cell, widths[column] ?? 0),
      );
      return `${cells.join(" ".repeat(gap)).trimEnd()}\n`;
    })
    .join("");
}

function widthsOf(lines: readonly (readonly string[])[]): readonly number[] {
  const columns = lines[0]?.length ?? 0;
  return Array.from({ length: columns }, (_, column) =>
    Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ""))),
  );
}

const fits = (lines: readonly (readonly string[])[], width: number): boolean =>
  widthsOf(lines).reduce((sum, one) => sum + one + gap, -gap) <= width;

/** Takes from the widest column that may be cut until the line fits or none is left. */
function cut(
  widths: readonly number[],
  width: number,
  mayCut: (column: number) => boolean,
): readonly number[] {
  const out = [...widths];
  for (;;) {
    const over = out.reduce((sum, one) => sum + one + gap, -gap) - width;
    if (over <= 0) return out;
    let widest = -1;
    for (const [column, one] of out.entries()) {
      if (mayCut(column) && one > cutMin && one > (out[widest] ?? cutMin)) widest = column;
    }
    if (widest < 0) return out;
    out[widest] = (out[widest] ?? 0) - 1;
  }
}

/** The text in so many columns, its end replaced by an ellipsis where it is longer. */
function shortened(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  let out = "";
  for (const character of text) {
    if (Bun.stringWidth(out + character) >= width) break;
    out += character;
  }
  return `${out}…`;
}

const padded = (text: string, width: number): string =>
  text + " ".repeat(Math.max(0, width - Bun.stringWidth(text)));

const timeOfDay = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}Z$/;
const gap = 2;
const cutMin = 8;
