/** Parses the table of words to avoid, and finds their hits in one text. */

/** Kind of text that a row of the table applies to. */
export type TextKind = "identifier" | "prose" | "ui";

/** One row of the table. */
export interface TableRow {
  /** Source of the regular expression; it also identifies the row in the baseline. */
  readonly pattern: string;
  readonly expression: RegExp;
  readonly kinds: ReadonlySet<TextKind>;
  /** Terms to use, for the message. */
  readonly instead: string;
  /** Prefixes of the paths that the row does not apply to. */
  readonly exemptPaths: readonly string[];
}

/** Occurrence of a row in one text. */
export interface RowMatch {
  readonly row: TableRow;
  readonly offset: number;
  readonly matched: string;
}

/**
 * Parses the table: tab-separated, with a header line.
 *
 * @throws {Error} if a line has a wrong form or repeats a pattern
 */
export function parseTable(text: string): TableRow[] {
  const [header, ...lines] = text.trimEnd().split("\n");
  if (header !== columns.join("\t")) throw new Error(`The header must be: ${columns.join(", ")}.`);
  const rows = lines.map((line, index) => parseRow(line, index + 2));
  const patterns = new Set<string>();
  for (const { pattern } of rows) {
    if (patterns.has(pattern)) throw new Error(`The table repeats the pattern ${pattern}.`);
    patterns.add(pattern);
  }
  return rows;
}

const columns = ["pattern", "where", "instead", "kept-when"];

function parseRow(line: string, lineNumber: number): TableRow {
  const [pattern, where, instead, condition = ""] = line.split("\t");
  if (pattern === undefined || where === undefined || instead === undefined) {
    throw new Error(`Line ${lineNumber} of the table has fewer than three columns.`);
  }
  const kinds = where.split(",").map((kind) => parseKind(kind, lineNumber));
  const exempt = /^in ([^;]*);/.exec(condition)?.[1];
  return {
    pattern,
    expression: new RegExp(pattern, "gi"),
    kinds: new Set(kinds),
    instead,
    exemptPaths: exempt === undefined ? [] : exempt.split(",").map((path) => path.trim()),
  };
}

function parseKind(kind: string, lineNumber: number): TextKind {
  if (kind === "identifier" || kind === "prose" || kind === "ui") return kind;
  throw new Error(`Line ${lineNumber} of the table: "${kind}" is not identifier, prose or ui.`);
}

/** Finds the hits of rows in strings; equal strings are searched once only. */
export class TableMatcher {
  readonly #rows: ReadonlyMap<TextKind, readonly TableRow[]>;
  readonly #cache = new Map<string, readonly RowMatch[]>();

  constructor(rows: readonly TableRow[]) {
    const kinds: readonly TextKind[] = ["identifier", "prose", "ui"];
    this.#rows = new Map(kinds.map((kind) => [kind, rows.filter((row) => row.kinds.has(kind))]));
  }

  /** Returns the hits of all rows of the kind in the text, without rows that exempt the path. */
  match(kind: TextKind, text: string, path: string): RowMatch[] {
    const key = `${kind}\t${text}`;
    const matches = this.#cache.get(key) ?? this.#search(kind, text);
    this.#cache.set(key, matches);
    return matches.filter(({ row }) => !row.exemptPaths.some((prefix) => path.startsWith(prefix)));
  }

  #search(kind: TextKind, text: string): RowMatch[] {
    const matches: RowMatch[] = [];
    for (const row of this.#rows.get(kind) ?? []) {
      for (const match of text.matchAll(row.expression)) {
        matches.push({ row, offset: match.index, matched: match[0] });
      }
    }
    return matches;
  }
}
