/**
 * One connection as the repositories use it: typed queries for what is rare, flat inserts for what
 * is hot.
 */

import { Column, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { BaseSQLiteDatabase, SQLiteTable } from "drizzle-orm/sqlite-core";

import { once } from "#core/once.ts";
import type { Page, PageKey } from "#domain/page.ts";
import type { Tables } from "#adapters/db/tables/schema.ts";

import { notHoldable } from "./faults.ts";

export type Value = string | number | boolean | Uint8Array | null;

/**
 * The query builder in SQLite's types; PostgreSQL's is asserted to them (`kit.ts` says why that
 * holds).
 */
export type Db = BaseSQLiteDatabase<"async", unknown>;

export interface Connection {
  readonly dialect: "sqlite" | "postgres";
  readonly t: Tables;
  readonly db: Db;
  /** Runs one statement with positional values and gives the number of rows it changed. */
  run(text: string, values: readonly Value[]): number | Promise<number>;
  /** The first row of one query as positional values, for reads too hot for the query builder. */
  row(
    text: string,
    values: readonly Value[],
  ): readonly unknown[] | undefined | Promise<readonly unknown[] | undefined>;
  /** All rows of one query as positional values. */
  rows(text: string, values: readonly Value[]): Rows | Promise<Rows>;
}

export type Rows = readonly (readonly unknown[])[];

/** A statement that is sent when this is called. */
export type Step = () => Promise<unknown> | unknown;

/**
 * PostgreSQL is sent all steps before this returns, and answers in order. On SQLite, where there is
 * no round trip to save, a step that fails must not leave another under way: the transaction may be
 * over by then.
 */
export async function inOrder(
  { dialect }: Pick<Connection, "dialect">,
  steps: readonly Step[],
): Promise<void> {
  if (dialect === "postgres") await Promise.all(steps.map((step) => step()));
  else for (const step of steps) await step();
}

/** `?` or `$1`: how the dialect writes its positional values. */
export const placeholder = (connection: Pick<Connection, "dialect">, position: number): string =>
  connection.dialect === "sqlite" ? "?" : `$${position}`;

/**
 * Builds a query for whole rows of a table once, for reads too hot for the query builder. `rest`
 * is what follows the table's name, a `%n` in it the n-th value.
 */
export function selector<T extends SQLiteTable>(
  connection: Connection,
  table: T,
  rest: string,
): (values: readonly Value[]) => Promise<readonly T["$inferSelect"][]> {
  const prepared = once(() => {
    const columns = Object.entries<Column>(getTableColumns(table));
    const names = columns.map(([, column]) => `"${column.name}"`).join(", ");
    const marked = rest.replaceAll(/%(\d)/g, (_, at) => placeholder(connection, Number(at)));
    return { columns, text: `select ${names} from "${tableName(table)}" ${marked}` };
  });
  const typed = (row: readonly unknown[]): T["$inferSelect"] => {
    const facts: Record<string, unknown> = {};
    let at = 0;
    for (const [key, column] of prepared().columns) {
      const value = row[at++];
      facts[key] = value === null ? null : column.mapFromDriverValue(value);
    }
    return facts; // Each column maps what drivers give to its own type.
  };
  return async (values) => {
    const found = connection.rows(prepared().text, values);
    return (found instanceof Promise ? await found : found).map(typed);
  };
}

/**
 * Builds a statement that changes rows once, for what is too hot for the query builder; gives how
 * many rows it changed. A `%n` in it is the n-th value, and they stand in their order.
 */
export function changer(
  connection: Connection,
  statement: string,
): (values: readonly Value[]) => number | Promise<number> {
  const text = statement.replaceAll(/%(\d)/g, (_, at) => placeholder(connection, Number(at)));
  return (values) => connection.run(text, values);
}

/**
 * Compiles the insert of one row once; gives the number of rows inserted. With `"skip"` a row that
 * collides with a unique index is left out without an error, which would poison a PostgreSQL
 * transaction; with columns of such an index it replaces the row that is there.
 */
export function inserter<T extends SQLiteTable>(
  connection: Connection,
  table: T,
  onConflict: "fail" | "skip" | readonly Column[] = "fail",
): (row: T["$inferInsert"]) => number | Promise<number> {
  const prepared = once(() => {
    const columns = writtenColumns(table);
    const marks = columns.map((_, index) => placeholder(connection, index + 1)).join(", ");
    const tail = onConflict === "fail" ? "" : ` on conflict ${resolution(columns, onConflict)}`;
    const text = `${insertInto(table, columns)} values (${marks})${tail}`;
    return { text, bound: written(columns) };
  });
  return (row) => {
    const { text, bound } = prepared();
    return connection.run(text, driverValues(bound, row));
  };
}

function resolution(
  columns: readonly [string, Column][],
  onConflict: "skip" | readonly Column[],
): string {
  if (onConflict === "skip") return "do nothing";
  const keys = onConflict.map(({ name }) => name);
  const names = columns.map(([, { name }]) => name).filter((name) => !keys.includes(name));
  const sets = names.map((name) => `"${name}" = excluded."${name}"`);
  return `(${keys.map((name) => `"${name}"`).join(", ")}) do update set ${sets.join(", ")}`;
}

/** Compiles the insert of many rows. */
export function bulkInserter<T extends SQLiteTable>(
  connection: Connection,
  table: T,
): (rows: readonly T["$inferInsert"][]) => Promise<void> {
  const { bound, insert } = bulkWriter(connection, table);
  return (rows) => insert(rows.map(bound));
}

/** An insert of many rows in two steps: what cannot be stored is refused by the first. */
export interface BulkWriter<T extends SQLiteTable> {
  /** The row as the driver takes it; refuses a NUL in a text. */
  readonly bound: (row: T["$inferInsert"]) => readonly Value[];
  /** On PostgreSQL it is sent before this returns. */
  readonly insert: (rows: readonly (readonly Value[])[]) => Promise<void>;
}

/**
 * A number that SQLite does not count up by itself: `first` is an expression for that of the first
 * row, and any other gets one more than the last row has.
 */
export interface Counted {
  readonly column: string;
  readonly first: string;
}

/** Builds the two steps when they are first used: a store has many tables and uses few of them. */
export function bulkWriter<T extends SQLiteTable>(
  connection: Connection,
  table: T,
  counted?: Counted,
): BulkWriter<T> {
  const writer = once(() => buildBulkWriter(connection, table, counted));
  return { bound: (row) => writer().bound(row), insert: (rows) => writer().insert(rows) };
}

function buildBulkWriter<T extends SQLiteTable>(
  connection: Connection,
  table: T,
  counted: Counted | undefined,
): BulkWriter<T> {
  const columns = writtenColumns(table);
  const values = written(columns);
  const bound = (row: T["$inferInsert"]) => driverValues(values, row);
  if (connection.dialect === "sqlite") {
    const into = insertInto(table, columns, counted);
    return { bound, insert: piecewiseInserter(connection, into, columns, counted) };
  }
  // One parameter whatever the number of rows, so that the server keeps one plan.
  const name = tableName(table);
  const members = columns.map(([, column]) => column.name);
  const names = members.map((member) => `"${member}"`).join(", ");
  const text = `insert into "${name}" (${names}) select ${names} from json_populate_recordset(null::"${name}", $1::text::json)`;
  const insert = async (rows: readonly (readonly Value[])[]) => {
    if (rows.length === 0) return;
    await connection.run(text, [jsonText(rows.map((row) => named(members, row)))]);
  };
  return { bound, insert };
}

/** A row as PostgreSQL reads it from JSON; bytes are a text of their digits there. */
export function named(
  members: readonly string[],
  row: readonly Value[],
): Readonly<Record<string, Value>> {
  const fields: Record<string, Value> = {};
  for (const [at, member] of members.entries()) {
    const value = row[at] ?? null;
    fields[member] = value instanceof Uint8Array ? `\\x${value.toHex()}` : value;
  }
  return fields;
}

/** A parameter of PostgreSQL that holds rows or texts, for its functions on JSON. */
export function jsonText(given: readonly unknown[]): string {
  const text = JSON.stringify(given);
  // Half a surrogate pair is written as an escape, and nothing else that is common is.
  return text.includes("\\ud") ? JSON.stringify(given, wellFormed) : text;
}

/**
 * Many rows in one statement, because what a statement with triggers costs SQLite grows with what
 * its unit has changed before. Pieces of so many rows as powers of two, so that few statements are
 * compiled, and a breath between them.
 */
function piecewiseInserter(
  connection: Connection,
  into: string,
  columns: readonly [string, Column][],
  counted?: Counted,
) {
  const marks = columns.map(() => "?").join(", ");
  const first = counted === undefined ? `(${marks})` : `(${counted.first}, ${marks})`;
  const next = counted === undefined ? first : `(null, ${marks})`;
  const texts = new Map<number, string>();
  const textOf = (length: number): string => {
    const rows = [first, ...Array(length - 1).fill(next)].join(", ");
    const text = texts.get(length) ?? `${into} values ${rows}`;
    texts.set(length, text);
    return text;
  };
  return async (rows: readonly (readonly Value[])[]) => {
    for (let at = 0; at < rows.length; ) {
      const left = Math.min(rows.length - at, insertedAtOnce);
      const length = 2 ** Math.floor(Math.log2(left));
      await connection.run(textOf(length), rows.slice(at, at + length).flat());
      at += length;
      if (length === insertedAtOnce) await breath();
    }
  };
}

function insertInto(
  table: SQLiteTable,
  columns: readonly [string, Column][],
  counted?: Counted,
): string {
  const written = columns.map(([, column]) => `"${column.name}"`);
  const names = counted === undefined ? written : [`"${counted.column}"`, ...written];
  return `insert into "${tableName(table)}" (${names.join(", ")})`;
}

/** Lets everything else that waits have its turn: SQLite works on the thread that serves. */
export const breath = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Rows a statement on SQLite changes, or a loop of statements, before others have their turn. */
export const rowsAtOnce = 100;
/** Of inserted rows, a power of two. */
const insertedAtOnce = 64;

/**
 * PostgreSQL refuses half a surrogate pair; as UTF-8, and so in every hash, it is U+FFFD anyway.
 */
const wellFormed = (_name: string, value: unknown): unknown =>
  typeof value === "string" ? value.toWellFormed() : value;

/** Rows older than `after` in a list ordered newest first, ties broken by id. */
export function olderThan(at: Column, id: Column, after: PageKey | undefined): SQL | undefined {
  return after === undefined ? undefined : sql`(${at}, ${id}) < (${after.at}, ${after.id})`;
}

/** Makes a page of `limit + 1` rows read: the one too many tells that there is a next page. */
export function pageOf<T>(
  rows: readonly T[],
  limit: number,
  total: number,
  keyOf: (row: T) => PageKey,
): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, total, next: rows.length > limit && last ? keyOf(last) : undefined };
}

/**
 * A column that equals one of any number of texts; one parameter, so that one statement serves all.
 */
export const inTexts = (
  { dialect }: Pick<Connection, "dialect">,
  column: Column,
  texts: readonly string[],
): SQL =>
  dialect === "sqlite"
    ? sql`${column} in (select value from json_each(${JSON.stringify(texts)}))`
    : sql`${column} = any(array(select json_array_elements_text(${JSON.stringify(texts)}::text::json)))`;

/** The same in a statement of `changer` or `selector`; `mark` is of a `textList` of texts. */
export const isAmong = (
  { dialect }: Pick<Connection, "dialect">,
  column: string,
  mark: string,
): string =>
  dialect === "sqlite"
    ? `${column} in (select value from json_each(${mark}))`
    : `${column} = any(array(select json_array_elements_text(${mark}::text::json)))`;

/** The parameter of `isAmong`. */
export const textList = (texts: readonly string[]): string => JSON.stringify(texts);

/** `count(*)` as a number; PostgreSQL's driver gives text. */
export const counted = sql<number>`count(*)`.mapWith(Number);

/** Text that starts with, or contains, `part` literally; both sides are in lower case already. */
export const startsWith = (column: Column, part: string): SQL =>
  sql`${column} like ${`${literal(part)}%`} escape '!'`;
export const contains = (column: Column | SQL, part: string): SQL =>
  sql`${column} like ${`%${literal(part.toLowerCase())}%`} escape '!'`;

/**
 * Text that contains `part` in either letter case. `lower` knows ASCII alone in SQLite, and in some
 * locales of PostgreSQL, so whatever other letters the part has are made lower one by one. Each is
 * a walk through the text of every row, so no more are than an alphabet has: further ones must
 * stand there in lower case.
 */
export function containsFolded(column: Column, part: string): SQL {
  const letters = [...new Set(part.match(/[^\0-\x7f]/gu))].filter(
    (letter) => spellingsOf(letter).length > 0,
  );
  const folded = letters
    .slice(0, foldedLettersMax)
    .reduce<SQL>(
      (text, letter) =>
        spellingsOf(letter).reduce(
          (within, spelling) => sql`replace(${within}, ${spelling}, ${foldedLetter(letter)})`,
          text,
        ),
      sql`${column}`,
    );
  return contains(sql`lower(${folded})`, part.replaceAll(/[^\0-\x7f]/gu, foldedLetter));
}

/** Forty milliseconds for five thousand rows. */
const foldedLettersMax = 40;

/** Single letters that are folded to the same; the capitals of ß are two of another. */
function spellingsOf(letter: string): readonly string[] {
  const folded = foldedLetter(letter);
  const spellings = new Set([letter, letter.toUpperCase(), folded.toUpperCase()]);
  return [...spellings].filter((one) => one !== folded && [...one].length === 1);
}

/** By way of its capital, so that the two small sigmas are one letter. */
const foldedLetter = (letter: string): string => {
  const capital = letter.toUpperCase();
  return [...capital].length === 1 ? capital.toLowerCase() : letter.toLowerCase();
};

/** Text that starts with `part`, letter case included. */
export const startsWithExactly = (column: Column, part: string): SQL =>
  sql`substr(${column}, 1, ${[...part].length}) = ${part}`;

const literal = (part: string) => part.replaceAll(/[%_!]/g, "!$&");

/** Throws the refusal of a text that not every dialect can hold. */
export function refuseNul(value: unknown): void {
  if (typeof value === "string" && value.includes("\0")) throw notHoldable();
}

/**
 * The columns an insert names: all but the row number that the kit's `rowNumber` and `ordinal` have
 * counted, and what rows are given when they are taken in (`folds.ts`).
 */
const writtenColumns = (table: SQLiteTable): readonly [string, Column][] =>
  Object.entries<Column>(getTableColumns(table)).filter(([, column]) => {
    const counts = "autoIncrement" in column && column.autoIncrement === true;
    const left = /^(ordinal|folded|certificate_ordinal)$/.test(column.name);
    return column.getSQLType() !== "bigserial" && !counts && !left;
  });

/** Column by column what an insert binds, and how a value becomes that. */
type Written = readonly (readonly [key: string, toDriver: (value: unknown) => Value])[];

function written(columns: readonly [string, Column][]): Written {
  return columns.map(([key, column]) => {
    const asIs = column.mapToDriverValue === Column.prototype.mapToDriverValue;
    // Each column type maps to what drivers bind.
    const toDriver = asIs ? bindable : (value: unknown) => column.mapToDriverValue(value);
    return [key, toDriver as (value: unknown) => Value];
  });
}

const bindable = (value: unknown): Value => value as Value; // Of a column that maps nothing.

const tableName = (table: SQLiteTable): string => String(Reflect.get(table, nameSymbol));
const nameSymbol = Symbol.for("drizzle:Name");

function driverValues(columns: Written, row: Readonly<Record<string, unknown>>): Value[] {
  const values: Value[] = [];
  for (const [key, toDriver] of columns) {
    const value = row[key] ?? null;
    refuseNul(value);
    values.push(value === null ? null : toDriver(value));
  }
  return values;
}
