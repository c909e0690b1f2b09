/**
 * Rows of any table as lines of JSON that either dialect reads: the first line of a piece names the
 * columns, each other line holds the values of one row. Octets are hex, truth is 1 or 0, text and
 * numbers are what they are. The database writes and reads the JSON, not this thread.
 */

import type { SQLiteColumn } from "drizzle-orm/sqlite-core";

import { type Connection, placeholder, type Value } from "#adapters/db/engine/connection.ts";
import type { Carried } from "#adapters/db/move/rows.ts";

/** Some rows of a table, each a line that ends. */
export interface Lines {
  readonly text: string;
  readonly rows: number;
}

/** The line that names the columns. */
export const columnLine = ({ columns }: Pick<Carried, "columns">): string =>
  `${JSON.stringify(columns.map(([, column]) => column.name))}\n`;

/** All rows in the order of the table's key, about a megabyte at a time. */
export async function* tableLines(
  connection: Connection,
  table: Pick<Carried, "name" | "key" | "columns">,
): AsyncGenerator<Lines> {
  const { dialect } = connection;
  const keys = table.key.map(([, column]) => `"${column.name}"`);
  const values = table.columns.map(([, column]) => jsonValue(column, dialect)).join(", ");
  const row = dialect === "sqlite" ? `json_array(${values})` : `json_build_array(${values})::text`;
  const select = `select ${row}, ${keys.join(", ")} from "${table.name}"`;
  const marks = keys.map((_, at) => placeholder(connection, at + 1)).join(", ");
  const order = `order by ${keys.join(", ")}`;
  let after: readonly Value[] | undefined;
  for (let limit = rowsAtFirst; ; ) {
    const where = after === undefined ? "" : `where (${keys.join(", ")}) > (${marks})`;
    const text = `${select} ${where} ${order} limit ${limit}`;
    const found = await connection.rows(text, after ?? []);
    if (found.length > 0) {
      const lines = `${found.map(([line]) => String(line)).join("\n")}\n`;
      yield { text: lines, rows: found.length };
      after = found.at(-1)?.slice(1) as readonly Value[]; // Keys are numbers and texts.
      if (found.length < limit) return;
      // Rows of one table differ a thousandfold in length from those of another.
      if (lines.length > octetsAtOnce) limit = Math.max(1, limit >> 1);
      else if (lines.length < octetsAtOnce / 4) limit = Math.min(limit * 2, rowsAtMost);
    } else return;
  }
}

/** The value of a column as JSON holds it. */
function jsonValue(column: SQLiteColumn, dialect: Connection["dialect"]): string {
  const name = `"${column.name}"`;
  const type = column.getSQLType();
  if (type === "blob") return `iif(${name} is null, null, hex(${name}))`;
  if (type === "bytea") return `encode(${name}, 'hex')`;
  if (type === "boolean" && dialect === "postgres") return `${name}::int`;
  return name;
}

const rowsAtFirst = 16;
const rowsAtMost = 1024;
const octetsAtOnce = 262_144;
