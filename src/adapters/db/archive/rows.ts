/**
 * Rows of any table as lines of JSON that either dialect reads: the first line of a piece names the
 * columns, each other line holds the values of one row. Octets are hex, truth is 1 or 0, text and
 * numbers are what they are. The database writes and reads the JSON, not this thread.
 */

import type { SQLiteColumn } from "drizzle-orm/sqlite-core";

import { type Connection, placeholder, type Value } from "#adapters/db/engine/connection.ts";
import type { Carried } from "#adapters/db/move/rows.ts";
import { ArchiveUnfit } from "#core/backup/archive.ts";
import { damagedPiece, type Piece } from "#core/backup/piece.ts";

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

/** How a table of the open database takes such rows. */
export interface Taking {
  /** Throws `ArchiveUnfit` for columns the table does not have. */
  take(piece: Piece): Promise<void>;
}

/** Prepares it for one table of SQLite; within the caller's transaction. */
export async function takingRows(connection: Connection, table: string): Promise<Taking> {
  const described = await connection.rows(
    `select name, lower(type) from pragma_table_info('${table}')`,
    [],
  );
  const kinds = new Map(described.map(([name, type]) => [String(name), String(type)]));
  if (kinds.size === 0) throw new ArchiveUnfit(`There is no table ${table} in this schema.`);
  return {
    take: async ({ columns, rows }) => {
      const unknown = columns.find((column) => !kinds.has(column));
      if (unknown !== undefined) {
        throw new ArchiveUnfit(`The table ${table} has no column ${unknown} in this schema.`);
      }
      const octets = columns.map((column) => kinds.get(column) === "blob");
      const names = columns.map((column) => `"${column}"`).join(", ");
      const mark = `(${columns.map(() => "?").join(", ")})`;
      const into = `insert into "${table}" (${names}) values `;
      for (let at = 0; at < rows.length; ) {
        const left = Math.min(rows.length - at, insertedAtOnce);
        const length = 2 ** Math.floor(Math.log2(left));
        const values: Value[] = [];
        for (const row of rows.slice(at, at + length)) {
          for (const [position, value] of row.entries()) {
            values.push(octets[position] === true ? octetsOf(value, table) : value);
          }
        }
        await connection.run(`${into}${Array(length).fill(mark).join(", ")}`, values);
        at += length;
      }
    },
  };
}

function octetsOf(value: string | number | null, table: string): Uint8Array | null {
  if (value === null) return null;
  if (typeof value !== "string" || !/^(?:[0-9A-Fa-f]{2})*$/.test(value)) throw damagedPiece(table);
  return Uint8Array.fromHex(value);
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
const rowsAtMost = 4096;
const octetsAtOnce = 2_097_152;
const insertedAtOnce = 64;
