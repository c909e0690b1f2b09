/** A piece of a table as archives have it: the first line names the columns, others are rows. */

import { ArchiveUnfit } from "./archive.ts";

/** Reads a piece of a table: its columns, and its rows as they come to stand in the database. */
export function readPiece(text: string, name: string): Piece {
  const [first = "", ...lines] = text.split("\n");
  if (lines.pop() !== "") throw damagedPiece(name);
  const columns = parsedLine(first, name);
  if (!columns.every((one): one is string => typeof one === "string" && columnForm.test(one))) {
    throw damagedPiece(name);
  }
  const rows = lines.map((line) => {
    const row = parsedLine(line, name);
    if (row.length !== columns.length) throw damagedPiece(name);
    return row;
  });
  return { columns, rows };
}

export interface Piece {
  readonly columns: readonly string[];
  /** Of texts, whole numbers and nulls. */
  readonly rows: readonly (readonly (string | number | null)[])[];
}

function parsedLine(line: string, name: string): (string | number | null)[] {
  try {
    const row: unknown = JSON.parse(line);
    if (Array.isArray(row) && row.every(isValue)) return row;
  } catch {
    // Told below, as what it is.
  }
  throw damagedPiece(name);
}

const isValue = (value: unknown): value is string | number | null =>
  value === null || typeof value === "string" || Number.isSafeInteger(value);

/** The refusal of a member that holds something else. */
export const damagedPiece = (name: string) =>
  new ArchiveUnfit(`${name} in the archive does not hold rows as pkid writes them.`);

const columnForm = /^[a-z][a-z0-9_]{0,62}$/;
