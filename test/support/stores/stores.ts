/** Databases a test can open, close, reopen, write into from another process, and tamper with. */

import { Database } from "bun:sqlite";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import type { StoreDependencies } from "#adapters/db/engine/heads.ts";
import { openStore } from "#adapters/db/open.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";
import { connectionOverSqlite } from "#adapters/db/engine/sqlite-connection.ts";
import { TurnShare } from "#core/turns.ts";
import type { Administration } from "#adapters/db/stores/store.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import type { LoggedRequest } from "#domain/audit/store.ts";
import type { Store } from "#domain/store.ts";
import { eachLine } from "#test/support/child.ts";
import type { SharedPostgres } from "#test/support/servers/postgres.ts";

import { loggedRow, loggedRows } from "./access-log-rows.ts";

/** One database, empty until it is first opened. */
export interface DatabaseUnderTest {
  readonly target: string;
  open(deps?: Partial<StoreDependencies>): Promise<Store & Administration>;
  /** Runs one statement behind the store's back. */
  tamper(text: string): Promise<void>;
  /** Reads rows behind the store's back. */
  query(text: string): Promise<unknown[]>;
  /** Every row of the access log, read behind the store's back, in their order. */
  accessRows(): Promise<readonly LoggedRequest[]>;
}

export const postgresLimits = {
  max_open_conns: 5,
  conn_max_lifetime_seconds: 1800,
  conn_max_idle_time_seconds: 300,
};

/** A SQLite file in a folder of its own. */
export function sqliteDatabase(): DatabaseUnderTest {
  const target = join(mkdtempSync(join(tmpdir(), "pkid-sqlite-")), "pkid.db");
  return {
    target,
    open: (deps) =>
      openStore({ driver: "sqlite", path: target, busy_timeout_ms: 5000 }, dependencies(deps)),
    tamper: async (text) => {
      const database = new Database(target);
      database.run(text);
      database.close();
    },
    query: async (text) => rowsOf(target, text),
    accessRows: async () => loggedRows(join(dirname(target), "access-log.db")),
  };
}

/** Typed queries over a connection of the test's own. */
export const connectionOn = (
  database: Database,
  share = new TurnShare(() => performance.now()),
): Connection => connectionOverSqlite(() => ({ compiled: (text) => database.query(text) }), share);

/** Creates a database on the server, with today's schema and no rows. */
export const postgresDatabase = async (server: SharedPostgres): Promise<DatabaseUnderTest> =>
  openPostgres(server, await server.createMigratedDatabase());

/** Creates a database on the server that holds nothing, not even a schema, until it is opened. */
export const emptyPostgresDatabase = async (server: SharedPostgres): Promise<DatabaseUnderTest> =>
  openPostgres(server, await server.createDatabase());

/** Returns a database of the server that exists already. */
export function openPostgres(server: SharedPostgres, target: string): DatabaseUnderTest {
  const options = { driver: "postgres", dsn: target, ...postgresLimits, migrate: true } as const;
  return {
    target,
    open: (deps) => openStore(options, dependencies(deps)),
    tamper: async (text) => {
      await server.query(target, text);
    },
    query: (text) => server.query(target, text),
    accessRows: async () => {
      const rows = await server.query(target, "select * from access_log order by id");
      return rows.map(loggedRow);
    },
  };
}

/** Starts a process that issues without pause; `said` grows with its acknowledgements. */
export function startWriter(target: string, workers: number, prefix: readonly string[] = []) {
  const script = join(import.meta.dir, "store-writer.ts");
  const child = Bun.spawn([...prefix, process.execPath, script, target, String(workers)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said: string[] = [];
  const drained = eachLine(child.stdout, (line) => said.push(line));
  return {
    said,
    pid: child.pid,
    kill: async () => {
      child.kill("SIGKILL");
      await child.exited;
      await drained;
    },
  };
}

function rowsOf(target: string, text: string): unknown[] {
  const database = new Database(target);
  try {
    return database.query(text).all();
  } finally {
    database.close();
  }
}

const dependencies = (deps: Partial<StoreDependencies> = {}): StoreDependencies => ({
  clock: systemClock,
  random: systemRandom,
  ...deps,
});
