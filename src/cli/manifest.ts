/**
 * Reads the manifest of a bulk issue: CSV with a header, or one JSON object a line, each naming a
 * request file.
 */

import { dirname, isAbsolute, join } from "node:path";

import { Failure } from "./failure.ts";
import { type Io, readTextArgument } from "./io.ts";
import { rowOf, type Row } from "./rows.ts";

/** One line as the server takes it. */
export interface ManifestItem {
  readonly ref: string;
  readonly csr: string;
  readonly profile: string;
  readonly validity_days?: number;
}

/**
 * The items of a manifest; request files are looked up beside it. A line has `csr`, and may have
 * `ref`, `profile` and `validity_days`. Fails with the number of the line that cannot be read.
 */
export async function readManifest(
  io: Io,
  file: string,
  profile: string,
): Promise<readonly ManifestItem[]> {
  const lines = (await readTextArgument(io, file)).split(/\r?\n/);
  const rows = lines.some((line) => line.trimStart().startsWith("{"))
    ? jsonRows(lines)
    : csvRows(lines);
  if (rows.length === 0) throw new Failure("The manifest is empty.");
  if (rows.length > itemsMax) throw new Failure(`A manifest has at most ${itemsMax} lines.`);
  const folder = file === "-" ? "." : dirname(file);
  const items: ManifestItem[] = [];
  for (const { row, line } of rows) items.push(await itemOf(io, row, line, folder, profile));
  const refs = new Set(items.map(({ ref }) => ref));
  if (refs.size < items.length) throw new Failure("Two lines of the manifest have the same ref.");
  return items;
}

interface NumberedRow {
  readonly row: Row;
  readonly line: number;
}

function jsonRows(lines: readonly string[]): readonly NumberedRow[] {
  return numbered(lines).map(({ text, line }) => {
    try {
      return { row: rowOf(JSON.parse(text)), line };
    } catch {
      throw wrong(line, "is not a JSON object"); // The parser's words would quote the line.
    }
  });
}

function csvRows(lines: readonly string[]): readonly NumberedRow[] {
  const [head, ...rest] = numbered(lines);
  if (head === undefined) return [];
  const names = cells(head.text, head.line);
  return rest.map(({ text, line }) => {
    const values = cells(text, line);
    if (values.length !== names.length) throw wrong(line, `has not ${names.length} columns`);
    const given = names.map((name, at) => [name, values[at] ?? ""] as const);
    return { row: Object.fromEntries(given.filter(([, value]) => value !== "")), line };
  });
}

const numbered = (lines: readonly string[]) =>
  lines.map((text, index) => ({ text, line: index + 1 })).filter(({ text }) => text.trim() !== "");

/**
 * The cells of one line (RFC 4180 §2); a quoted one may hold commas and doubled quotes, but no line
 * break.
 */
function cells(text: string, line: number): readonly string[] {
  const found: string[] = [];
  let at = 0;
  for (;;) {
    const cell = /^(?:\s*"((?:[^"]|"")*)"\s*|([^",]*))(,|$)/.exec(text.slice(at));
    if (cell === null) throw wrong(line, "is not CSV");
    found.push((cell[1]?.replaceAll('""', '"') ?? cell[2] ?? "").trim());
    at += cell[0].length;
    if (cell[3] === "") return found;
  }
}

async function itemOf(
  io: Io,
  row: Row,
  line: number,
  folder: string,
  profile: string,
): Promise<ManifestItem> {
  const unknown = Object.keys(row).find((name) => !members.has(name));
  if (unknown !== undefined) throw wrong(line, `has an unknown column ${unknown}`);
  const { csr: file, ref = file, profile: own = profile, validity_days: days } = row;
  if (typeof file !== "string" || typeof ref !== "string" || typeof own !== "string") {
    throw wrong(line, "names no csr file");
  }
  const validity = days === undefined ? undefined : Number(days);
  if (validity !== undefined && !Number.isSafeInteger(validity)) {
    throw wrong(line, "has a validity_days that is no whole number");
  }
  const csr = await readTextArgument(io, isAbsolute(file) ? file : join(folder, file));
  return {
    ref,
    csr,
    profile: own,
    ...(validity === undefined ? {} : { validity_days: validity }),
  };
}

const wrong = (line: number, what: string) => new Failure(`Line ${line} of the manifest ${what}.`);

const members: ReadonlySet<string> = new Set(["ref", "csr", "profile", "validity_days"]);
const itemsMax = 10_000;
