/**
 * Loads a SQLite file as a whole: indexes are built over all rows at the end, nothing waits for the
 * disk before that, and whoever is cut short has a file that is worth nothing.
 */

import { Database, type Statement } from "bun:sqlite";
import { closeSync, fsyncSync, openSync } from "node:fs";

import type { Connection } from "#adapters/db/engine/connection.ts";
import { deriveFolded } from "#adapters/db/engine/folds.ts";
import { connectionOverSqlite } from "#adapters/db/engine/sqlite-connection.ts";
import { ArchiveUnfit } from "#core/backup/archive.ts";
import { damagedPiece, type Piece } from "#core/backup/piece.ts";
import { TurnShare } from "#core/turns.ts";

/** A file with tables and no rows, which nobody else opens. */
export class BulkLoad {
  readonly #path: string;
  readonly #database: Database;
  readonly #tables = new Map<string, Target>();
  /** Statements of the indexes that are not there yet, by their names. */
  readonly #indexes: Map<string, string>;

  constructor(path: string) {
    this.#path = path;
    this.#database = new Database(path, { readwrite: true });
    for (const pragma of unsafe) this.#database.run(`pragma ${pragma}`);
    const listed = this.#database
      .query("select name, sql from sqlite_schema where type = 'index' and sql is not null")
      .values();
    this.#indexes = new Map(listed.map(([name, sql]) => [String(name), String(sql)]));
    for (const name of this.#indexes.keys()) this.#database.run(`drop index "${name}"`);
    this.#database.run("begin");
  }

  /** Rows of one table. Throws `ArchiveUnfit` for what the schema does not hold. */
  take(table: string, { columns, rows }: Piece): void {
    // Events are given the numbers of the certificates they name.
    if (table === "events") this.#index("certificates_serial");
    const target = this.#tables.get(table) ?? this.#target(table, columns);
    this.#tables.set(table, target);
    if (columns.join() !== target.columns.join()) throw damagedPiece(table);
    for (const row of rows) {
      const values = row.map((value, at) => typedValue(value, target.types[at], table));
      attempt(() => target.insert.run(...values));
    }
  }

  /** Statements that no row of the archive is behind. */
  run(text: string, values: readonly (string | number)[] = []): void {
    this.#database.query(text).run(...values);
  }

  /** True when the schema of the file has this table. */
  has(table: string): boolean {
    const named = "select 1 from sqlite_schema where type = 'table' and name = ?";
    return this.#database.query(named).get(table) !== null;
  }

  /** Builds what is derived, and has everything on disk. Throws `ArchiveUnfit`. */
  async end(): Promise<void> {
    if (this.has("folds")) await deriveFolded(this.#connection());
    for (const name of this.#indexes.keys()) this.#index(name);
    this.#database.run("commit");
    const [broken] = this.#database.query("pragma foreign_key_check").values();
    if (broken !== undefined) throw new ArchiveUnfit(`A row of ${broken[0]} lacks what it names.`);
    this.close();
    const file = openSync(this.#path, "r+");
    fsyncSync(file);
    closeSync(file);
  }

  close(): void {
    for (const { insert } of this.#tables.values()) insert.finalize();
    this.#tables.clear();
    this.#database.close();
  }

  #index(name: string): void {
    const text = this.#indexes.get(name);
    if (text === undefined) return;
    attempt(() => this.#database.run(text));
    this.#indexes.delete(name);
  }

  #target(table: string, columns: readonly string[]): Target {
    const described = this.#database.query(
      `select name, lower(type) from pragma_table_info('${table}')`,
    );
    const types = new Map(described.values().map(([name, type]) => [String(name), String(type)]));
    const unknown = columns.find((column) => !types.has(column));
    if (unknown !== undefined) {
      throw new ArchiveUnfit(`The table ${table} has no column ${unknown} in this schema.`);
    }
    const derived = Object.entries(derivedColumns[table] ?? {}).filter(([name]) => types.has(name));
    const names = [...columns, ...derived.map(([name]) => name)].map((name) => `"${name}"`);
    const marks = columns.map((column) => `?${columns.indexOf(column) + 1}`);
    const placed = (value: string) =>
      value.replaceAll(/:([a-z_]+)/g, (_, name) => `?${columns.indexOf(String(name)) + 1}`);
    const values = [...marks, ...derived.map(([, value]) => placed(value))];
    return {
      columns,
      types: columns.map((column) => types.get(column)),
      insert: this.#database.prepare(
        `insert into "${table}" (${names.join(", ")}) values (${values.join(", ")})`,
      ),
    };
  }

  #connection(): Connection {
    const share = new TurnShare(() => performance.now());
    return connectionOverSqlite(() => ({ compiled: (text) => this.#database.query(text) }), share);
  }
}

interface Target {
  readonly columns: readonly string[];
  readonly types: readonly (string | undefined)[];
  readonly insert: Statement;
}

/** What rows that are written as taken in have besides; `:name` is a column of the archive. */
const derivedColumns: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  certificates: { folded: "1" },
  events: {
    folded: "1",
    certificate_ordinal:
      "(select ordinal from certificates where ca_id = :ca_id and serial = :serial)",
  },
};

/** As its column has it: SQLite itself would keep a value of any type in any column. */
function typedValue(
  value: string | number | null,
  type: string | undefined,
  table: string,
): string | number | Uint8Array | null {
  if (value === null) return null;
  if (type === "integer" && typeof value === "number") return value;
  if (type === "text" && typeof value === "string") return value;
  if (type !== "blob" || typeof value !== "string") throw damagedPiece(table);
  try {
    return Uint8Array.fromHex(value);
  } catch {
    throw damagedPiece(table); // No pairs of hexadecimal digits.
  }
}

/** What the schema refuses is the archive's fault. */
function attempt(work: () => unknown): void {
  try {
    work();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!/^SQLITE_(CONSTRAINT|MISMATCH|RANGE|TOOBIG)/.test(code)) throw error;
    throw new ArchiveUnfit(`A row of the archive does not fit the schema: ${String(error)}`);
  }
}

const unsafe = [
  // Pages that are new are not in it. Without any the runtime's SQLite would keep the log it has.
  "journal_mode = memory",
  "synchronous = off",
  "locking_mode = exclusive",
  "foreign_keys = off",
  "trusted_schema = off",
  "cache_size = -32768",
] as const;
