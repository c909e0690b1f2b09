/**
 * One connection to a SQLite file, with the settings nothing may be committed without, and its
 * compiled statements.
 */

import { Database, type Statement } from "bun:sqlite";
import { drizzle } from "drizzle-orm/sqlite-proxy";

import type { TurnShare } from "#core/turns.ts";
import { sqliteKit } from "#adapters/db/tables/kit.ts";
import { defineTables } from "#adapters/db/tables/schema.ts";

import { StoreUnfit } from "./faults.ts";
import { refuseNul, type Connection, type Value } from "./connection.ts";

export interface ConnectionSettings {
  /** The database file, which exists. */
  readonly path: string;
  readonly busyTimeoutMs: number;
  /** The file is another process's: nothing of it is changed, not even its settings. */
  readonly foreign: boolean;
  /** Statements that write are refused. */
  readonly forReading: boolean;
  readonly cacheKib: number;
  /** False where a commit may be lost with the power; then it does not wait for the disk. */
  readonly synced?: boolean;
  /** Pages of the log after which a commit folds it into the file; 0 for never. */
  readonly checkpointPages: number;
}

/** An open connection; every statement is compiled once and kept. */
export class SqliteConnection {
  readonly database: Database;
  readonly #statements = new Map<string, Statement>();

  /**
   * Refuses (`unsafe_settings`) a file that cannot be had with WAL, `synchronous=FULL` and foreign
   * keys (V-6).
   */
  constructor(settings: ConnectionSettings) {
    const { path, busyTimeoutMs, foreign, forReading, cacheKib, checkpointPages } = settings;
    const synced = settings.synced ?? true;
    this.database = new Database(path, foreign ? { readonly: true } : { readwrite: true });
    try {
      const { database } = this;
      database.run(`pragma busy_timeout = ${Math.trunc(busyTimeoutMs)}`);
      database.run("pragma foreign_keys = on");
      database.run("pragma trusted_schema = off");
      database.run("pragma temp_store = memory");
      database.run(`pragma cache_size = -${cacheKib}`);
      if (!foreign) {
        database.run("pragma journal_mode = wal");
        database.run(`pragma synchronous = ${synced ? "full" : "normal"}`);
        database.run(`pragma wal_autocheckpoint = ${checkpointPages}`);
        database.run("pragma journal_size_limit = 67108864");
      }
      if (forReading) database.run("pragma query_only = on");
      assertSettings(database, synced);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** The compiled statement of this text. */
  compiled(text: string): Statement {
    const known = this.#statements.get(text);
    if (known) return known;
    const statement = this.database.prepare(text);
    if (this.#statements.size < keptMax) this.#statements.set(text, statement);
    return statement;
  }

  /**
   * Ends the connection now: while a statement lived, it would live on, and with it its read
   * transaction and its locks.
   */
  close(): void {
    for (const statement of this.#statements.values()) statement.finalize();
    this.#statements.clear();
    this.database.close();
  }
}

/**
 * What the repositories use, over whichever connection to a file is the current one. SQLite answers
 * before it returns, so nothing between two statements would let others have their turn: one that
 * comes when the share of a turn is spent waits for the next. What `before` gives, if anything, is
 * awaited before each statement.
 */
export function connectionOverSqlite(
  current: () => Pick<SqliteConnection, "compiled">,
  share: Pick<TurnShare, "spent" | "mine">,
  before: () => void | Promise<void> = () => {},
): Connection {
  const compiled = (text: string): Statement => current().compiled(text);
  const spent = <T>(step: () => T): T | Promise<T> =>
    share.spent ? share.mine().then(step) : step();
  const inTurn = <T>(step: () => T): T | Promise<T> => {
    const wait = before();
    return wait === undefined ? spent(step) : wait.then(() => spent(step));
  };
  const db = drizzle(async (text, values, method) => {
    const wait = before();
    if (wait !== undefined) await wait;
    if (share.spent) await share.mine();
    const statement = compiled(text);
    if (method === "run") {
      values.forEach(refuseNul);
      statement.run(...values);
    }
    return { rows: method === "run" ? [] : statement.values(...values) };
  });
  return {
    dialect: "sqlite",
    t: tables,
    db,
    run: (text: string, values: readonly Value[]) =>
      inTurn(() => compiled(text).run(...values).changes),
    row: (text: string, values: readonly Value[]) =>
      inTurn(() => compiled(text).values(...values)[0]),
    rows: (text: string, values: readonly Value[]) =>
      inTurn(() => compiled(text).values(...values)),
  };
}

/** V-6: read back, because SQLite answers a pragma it cannot follow with silence. */
function assertSettings(database: Database, synced: boolean): void {
  for (const [name, expected] of [...settings, ["synchronous", synced ? 2 : 1]] as const) {
    const row = database.query<Record<string, unknown>, []>(`pragma ${name}`).get();
    if (row?.[name] !== expected) {
      throw new StoreUnfit("unsafe_settings", `SQLite runs with ${name} ${row?.[name]}.`);
    }
  }
}

const settings = [
  ["journal_mode", "wal"],
  ["foreign_keys", 1],
] as const;
const tables = defineTables(sqliteKit);
const keptMax = 500;
