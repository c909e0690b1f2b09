/** Rows of any table, read in the order of its key, written as they are, and summed up. */

import { getTableColumns, sql } from "drizzle-orm";
import { getTableConfig as postgresConfig, type PgTable } from "drizzle-orm/pg-core";
import {
  getTableConfig as sqliteConfig,
  type SQLiteColumn,
  type SQLiteTable,
} from "drizzle-orm/sqlite-core";

import { sha256 } from "#core/crypto.ts";
import { type Connection, jsonText, named, type Value } from "#adapters/db/engine/connection.ts";

/** A row in the types of the table, by member. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * What a table is in one dialect: its name and the columns that are carried over, those of the key
 * first.
 */
export interface Carried {
  readonly table: SQLiteTable;
  readonly name: string;
  /** Members and columns of the key. */
  readonly key: readonly (readonly [string, SQLiteColumn])[];
  readonly columns: readonly (readonly [string, SQLiteColumn])[];
}

/** Describes a table without the columns that `left` names. */
export function carried(
  { dialect }: Pick<Connection, "dialect">,
  table: SQLiteTable,
  left: readonly string[],
): Carried {
  // The tables of PostgreSQL are asserted to SQLite's types (`kit.ts`).
  const { name, primaryKeys, indexes } =
    dialect === "sqlite" ? sqliteConfig(table) : postgresConfig(table as unknown as PgTable);
  const all = Object.entries<SQLiteColumn>(getTableColumns(table));
  // Where there is no primary key, a unique index does what one does.
  const unique = indexes.find(({ config }) => config.unique && config.where === undefined);
  const composite = primaryKeys[0]?.columns ?? unique?.config.columns ?? [];
  const simple = all.filter(([, column]) => column.primary).map(([, column]) => column.name);
  const keyNames = simple.length > 0 ? simple : composite.flatMap((one) => nameOf(one) ?? []);
  const isKey = ([, column]: readonly [string, SQLiteColumn]) => keyNames.includes(column.name);
  const columns = all.filter(([, column]) => !left.includes(column.name));
  return { table, name, key: columns.filter(isKey), columns };
}

/** All rows in pages, each in the order of the key. */
export async function* pages(
  { db }: Connection,
  { table, key, columns }: Carried,
  pageRows: number,
): AsyncGenerator<readonly Row[]> {
  const selection = Object.fromEntries(columns);
  const names = sql.join(
    key.map(([, column]) => sql`${column}`),
    sql`, `,
  );
  for (let last: Row | undefined; ; ) {
    const reached = last;
    const values = reached && key.map(([member, column]) => sql.param(reached[member], column));
    const after = values && sql`(${names}) > (${sql.join(values, sql`, `)})`;
    const page = await db.select(selection).from(table).where(after).orderBy(names).limit(pageRows);
    if (page.length > 0) yield page;
    if (page.length < pageRows) return;
    last = page.at(-1);
  }
}

/** Writes rows as they are, whatever numbers they have. */
export async function insertRows(
  connection: Connection,
  { name, columns }: Carried,
  rows: readonly Row[],
): Promise<void> {
  const names = columns.map(([, column]) => `"${column.name}"`).join(", ");
  const values = rows.map((row) => columns.map(([member, column]) => bound(row[member], column)));
  if (connection.dialect === "postgres") {
    const text = `insert into "${name}" (${names}) select ${names} from json_populate_recordset(null::"${name}", $1::text::json)`;
    const members = columns.map(([, column]) => column.name);
    const records = values.map((row) => named(members, row));
    await connection.run(text, [jsonText(records)]);
    return;
  }
  const marks = `(${columns.map(() => "?").join(", ")})`;
  const atOnce = Math.max(1, Math.floor(parametersMax / columns.length));
  for (let at = 0; at < values.length; at += atOnce) {
    const some = values.slice(at, at + atOnce);
    const text = `insert into "${name}" (${names}) values ${some.map(() => marks).join(", ")}`;
    await connection.run(text, some.flat());
  }
}

/**
 * How many rows a table has and what they come to, in whatever order and dialect they are read: the
 * SHA-256 of each, added up.
 */
export class Sum {
  rows = 0;
  readonly #octets = Buffer.alloc(32);

  /** Members are named, so that a value in another column is another row. */
  add(row: Row, { columns }: Pick<Carried, "columns">): void {
    const members = columns.map(([member, column]) => [column.name, plain(row[member])] as const);
    // The dialects have their columns in one order, but need not.
    members.sort(([a], [b]) => (a < b ? -1 : 1));
    const digest = sha256(Buffer.from(JSON.stringify(members), "utf8"));
    let carry = 0;
    for (let at = 31; at >= 0; at--) {
      const sum = (this.#octets[at] ?? 0) + (digest[at] ?? 0) + carry;
      this.#octets[at] = sum & 0xff;
      carry = sum >> 8;
    }
    this.rows += 1;
  }

  /** 64 hex. */
  get digest(): string {
    return this.#octets.toString("hex");
  }
}

const nameOf = (column: object): string | undefined =>
  "name" in column && typeof column.name === "string" ? column.name : undefined;

function bound(value: unknown, column: SQLiteColumn): Value {
  if (value === undefined || value === null) return null;
  return column.mapToDriverValue(value) as Value; // Each column type maps to what drivers bind.
}

const plain = (value: unknown): unknown =>
  value instanceof Uint8Array ? { octets: value.toHex() } : (value ?? null);

/** SQLite takes 32,766. */
const parametersMax = 30_000;
