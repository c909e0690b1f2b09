/** SQLite: one file, one connection that writes, one that reads, every commit on disk before it is acknowledged. */

import { Database, type Statement } from "bun:sqlite";
import { chmodSync, closeSync, openSync } from "node:fs";

import { drizzle } from "drizzle-orm/sqlite-proxy";

import { storedHeads } from "./audit.ts";
import type { Engine } from "./engine.ts";
import { StoreUnfit, storageUnavailable } from "./faults.ts";
import type { Heads } from "./journal.ts";
import { sqliteKit } from "./kit.ts";
import { defineTables } from "./schema.ts";
import type { Session, Value } from "./session.ts";

export interface SqliteOptions {
  readonly driver: "sqlite";
  /** The database file; its folder exists. */
  readonly path: string;
  readonly busyTimeoutMs: number;
  /** For looking at a file another process writes; nothing can be changed through such a store. */
  readonly readOnly?: boolean;
}

/** The engine, and the connection migrations and copies need. */
export interface SqliteEngine extends Engine {
  readonly database: Database;
}

/** Opens both connections. Refuses a file that cannot be had with WAL, `synchronous=FULL` and foreign keys (V-6). */
export function openSqlite(options: SqliteOptions): SqliteEngine {
  const database = openFile(options, options.readOnly === true);
  const readDatabase = openFile(options, true);
  const writer = sqliteSession(database);
  const reader = sqliteSession(readDatabase);
  const begin = database.prepare("begin immediate");
  const commit = database.prepare("commit");
  const [savepoint, release, undo] = [
    database.prepare("savepoint unit"),
    database.prepare("release unit"),
    database.prepare("rollback to unit"),
  ];
  let heads: Readonly<Heads> | undefined;
  return {
    ...{ dialect: "sqlite", database, reader, writer },
    view: (read) => viewed(options, read),
    // The data-directory lock leaves no other process.
    exclusively: (_name, work) => work(),
    begin: async () => {
      if (options.readOnly) throw storageUnavailable(new Error("opened for reading only"));
      begin.run();
      // The data-directory lock makes this process the only writer, so what it committed is what is stored.
      heads ??= await storedHeads(writer);
      return heads;
    },
    savepoint: () => void savepoint.run(),
    release: () => void release.run(),
    rollbackToSavepoint: () => {
      undo.run();
      release.run();
    },
    commit: async (committed) => {
      commit.run();
      heads = { ...committed };
    },
    rollback: async () => {
      if (database.inTransaction) attempt(() => database.run("rollback"));
    },
    revocationSequence: () =>
      options.readOnly || heads === undefined
        ? storedHeads(reader).then((stored) => stored.revocationSequence)
        : heads.revocationSequence,
    listen: async () => {},
    ping: async () => void readDatabase.query("select 1").get(),
    close: async () => {
      if (!options.readOnly) attempt(() => database.run("pragma wal_checkpoint(truncate)"));
      readDatabase.close();
      database.close();
    },
  };
}

/** Each view has a connection of its own, whose read transaction is the snapshot. */
async function viewed<T>(
  options: SqliteOptions,
  read: (session: Session) => Promise<T>,
): Promise<T> {
  const database = openFile(options, true, viewCacheKib);
  const statements = new Map<string, Statement>();
  try {
    database.run("begin");
    return await read(sqliteSession(database, statements));
  } finally {
    // While a statement lives its connection does too, and with it the snapshot no checkpoint can pass.
    for (const statement of statements.values()) statement.finalize();
    database.run("rollback");
    database.close(true);
  }
}

/** A session over one connection: statements are compiled once and kept. */
export function sqliteSession(
  database: Database,
  kept: Map<string, Statement> = new Map(),
): Session {
  const compiled = (text: string): Statement => {
    const known = kept.get(text);
    if (known) return known;
    const statement = database.prepare(text);
    if (kept.size < keptMax) kept.set(text, statement);
    return statement;
  };
  const db = drizzle(async (text, values, method) => {
    const statement = compiled(text);
    if (method === "run") statement.run(...values);
    return { rows: method === "run" ? [] : statement.values(...values) };
  });
  return {
    ...{ dialect: "sqlite", t: tables, db },
    run: (text: string, values: readonly Value[]) => compiled(text).run(...values).changes,
    row: (text: string, values: readonly Value[]) => compiled(text).values(...values)[0],
    rows: (text: string, values: readonly Value[]) => compiled(text).values(...values),
  };
}

function openFile(
  { path, busyTimeoutMs, readOnly }: SqliteOptions,
  forReading: boolean,
  cacheKib = usualCacheKib,
): Database {
  if (!readOnly) {
    // The -wal and -shm files take their mode from this one.
    closeSync(openSync(path, "a", 0o600));
    chmodSync(path, 0o600);
  }
  const database = readOnly
    ? new Database(path, { readonly: true })
    : new Database(path, { readwrite: true, create: true });
  try {
    database.run(`pragma busy_timeout = ${Math.trunc(busyTimeoutMs)}`);
    database.run("pragma foreign_keys = on");
    database.run("pragma trusted_schema = off");
    database.run("pragma temp_store = memory");
    database.run(`pragma cache_size = -${cacheKib}`);
    if (!readOnly) {
      database.run("pragma journal_mode = wal");
      database.run("pragma synchronous = full");
      // 32 MB of log between checkpoints: pages written many times reach the file once.
      database.run("pragma wal_autocheckpoint = 8000");
      database.run("pragma journal_size_limit = 67108864");
    }
    if (forReading) database.run("pragma query_only = on");
    assertSettings(database);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

/** V-6: read back, because SQLite answers a pragma it cannot follow with silence. */
function assertSettings(database: Database): void {
  for (const [name, expected] of [
    ["journal_mode", "wal"],
    ["synchronous", 2],
    ["foreign_keys", 1],
  ] as const) {
    const row = database.query<Record<string, unknown>, []>(`pragma ${name}`).get();
    if (row?.[name] !== expected) {
      throw new StoreUnfit("unsafe_settings", `SQLite runs with ${name} ${row?.[name]}.`);
    }
  }
}

function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // Best effort on the way out: the transaction is lost, or the next open checkpoints.
  }
}

const tables = defineTables(sqliteKit);
const keptMax = 500;
const usualCacheKib = 65_536;
/** A view reads everything once. */
const viewCacheKib = 8192;
