/** CSV as spreadsheets write it (RFC 4180), read into rows by the names of its header. */

export interface CsvRow {
  /** Where it begins, from 1. */
  readonly line: number;
  /** By column, in lower case; empty cells are left out. */
  readonly cells: Readonly<Record<string, string>>;
  /** How many more or fewer cells than the header it has. */
  readonly surplus: number;
}

export interface Csv {
  readonly columns: readonly string[];
  readonly rows: readonly CsvRow[];
}

/** Commas, semicolons or tabs, whichever the header has; quoted cells may hold line breaks. */
export function parseCsv(text: string): Csv {
  const [head, ...body] = recordsOf(text.replace(/^\uFEFF/, ""));
  const columns = (head?.cells ?? []).map((name) => name.trim().toLowerCase());
  const rows = body.map(({ line, cells }) => {
    const given = columns.map((name, at) => [name, cells[at]?.trim() ?? ""] as const);
    return {
      line,
      cells: Object.fromEntries(given.filter(([, value]) => value !== "")),
      surplus: cells.length - columns.length,
    };
  });
  return { columns, rows };
}

/** Every cell quoted, so that what is in it changes nothing. */
export const csvText = (
  columns: readonly string[],
  rows: readonly Readonly<Record<string, string>>[],
): string =>
  [columns, ...rows.map((row) => columns.map((name) => row[name] ?? ""))]
    .map((cells) => `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(",")}\r\n`)
    .join("");

interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

/** Lines without anything in them are none. */
function recordsOf(text: string): readonly CsvRecord[] {
  const separator = /[,;\t]/.exec(text.slice(0, 10_000).replace(/"[^"]*"/g, ""))?.[0] ?? ",";
  const cell = new RegExp(
    `(?:"((?:[^"]|"")*)"|([^"${separator}\\r\\n]*))(${separator}|\\r?\\n|$)`,
    "y",
  );
  const records: CsvRecord[] = [];
  let cells: string[] = [];
  let [line, begins] = [1, 1];
  while (cell.lastIndex < text.length) {
    const start = cell.lastIndex;
    const found = cell.exec(text);
    if (found === null) {
      // A quote in the middle: the rest of the line is the cell, as spreadsheets take it.
      const end = text.indexOf("\n", start);
      cells.push(text.slice(start, end < 0 ? undefined : end).trimEnd());
      cell.lastIndex = end < 0 ? text.length : end;
      if (end < 0) break;
      continue;
    }
    const [whole, quoted, plain = "", end = ""] = found;
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    line += whole.split("\n").length - 1;
    if (end === separator) continue;
    if (cells.some((one) => one.trim() !== "")) records.push({ line: begins, cells });
    cells = [];
    begins = line;
    if (whole === "") break;
  }
  if (cells.some((one) => one.trim() !== "")) records.push({ line: begins, cells });
  return records;
}
