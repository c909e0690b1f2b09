/** Creates stores in memory: the code of production on SQLite without a file. */

import { Database } from "bun:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getTableName } from "drizzle-orm";
import { drizzle } from "drizzle-orm/bun-sqlite";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";

import { fillEmpty } from "#adapters/db/engine/heads.ts";
import { Journal } from "#adapters/db/engine/journal.ts";
import {
  applyMigrations,
  embeddedMigrations,
  ensureRecord,
} from "#adapters/db/engine/migrations.ts";
import { RollbackGuard } from "#adapters/db/history/rollback-guard.ts";
import { fileTarget } from "#adapters/db/stores/access-log-targets.ts";
import { entry, event } from "#adapters/db/stores/audit.ts";
import { assembleStore } from "#adapters/db/stores/store.ts";
import type { Tables } from "#adapters/db/tables/schema.ts";
import { systemRandom } from "#adapters/system.ts";
import type { AuditEvent } from "#core/audit/chain.ts";
import type { LedgerEntry } from "#core/audit/ledger.ts";
import { instant } from "#core/time.ts";
import { TurnShare } from "#core/turns.ts";
import type { Store, Unit } from "#domain/store.ts";

import { MemoryEngine } from "./memory-engine.ts";
import { connectionOn } from "./stores.ts";

/** Store whose rows a test can read and change directly, and whose writes it can make fail. */
export interface MemoryStore extends Store {
  /**
   * Called before every write of a transaction with its name, such as `audit.appendEvent`. An error
   * that it throws rolls the transaction back.
   */
  checkWrite: (operation: string) => void;
  /** Returns all events of the audit chain, in their order. */
  listEvents(): AuditEvent[];
  /** Returns all entries of the sign ledger, in their order. */
  listLedger(): LedgerEntry[];
  /** Returns all reserved serials: issued ones, then those without certificate, then open ones. */
  listSerials(): ReservedSerial[];
  /** Returns all rows of a table, in the order of its primary key or of their insertion. */
  listRows<Name extends keyof Tables>(table: Name): Tables[Name]["$inferSelect"][];
  /** Returns the number of rows of a table. */
  countRows(table: keyof Tables): number;
  /** Returns the rows of every table by its name, for comparisons. */
  readAllTables(): Record<string, unknown[][]>;
  /** Executes a statement directly on the database; rows that the store caches are read again. */
  tamper(statement: string, ...values: (string | number | null | Uint8Array)[]): Promise<void>;
}

/** Serial of a certificate or of an intent, with the state of the intent. */
export interface ReservedSerial {
  readonly caId: string;
  readonly serial: string;
  readonly state: string;
}

/** Creates a store that holds the default tenant only. */
export function createMemoryStore(): MemoryStore {
  const engine = new MemoryEngine(preparedImage);
  const owner = 1;
  const journal = new Journal({
    connection: engine.writer,
    owner,
    uuid: () => crypto.randomUUID(),
  });
  const { store } = assembleStore({
    engine,
    journal,
    guard: new RollbackGuard({ storage: undefined, reportError: () => {} }),
    owner,
    seen: 0,
    schemaVersion: 0,
    accessLog: createAccessLogTarget(),
    scarce: undefined,
    onFault: () => {},
  });
  const memoryStore: MemoryStore = {
    ...store,
    ...createRowAccess(engine),
    checkWrite: () => {},
    atomically: (transaction, foreseen) =>
      store.atomically((tx) => {
        const intercepted = interceptWrites(tx, (name) => memoryStore.checkWrite(name));
        return engine.runTransaction(() => transaction(intercepted));
      }, foreseen),
    tamper: (statement, ...values) =>
      store.atomically(async (tx) => {
        engine.database.query(statement).run(...values);
        // Every change of API tokens, even of none, evicts the cached rows of the store.
        await tx.access.revokeApiToken("", instant(0), "");
      }),
  };
  return memoryStore;
}

type RowAccess = Pick<
  MemoryStore,
  "listEvents" | "listLedger" | "listSerials" | "listRows" | "countRows" | "readAllTables"
>;

function createRowAccess({ database, reader }: MemoryEngine): RowAccess {
  const listRows: MemoryStore["listRows"] = (name) => {
    const table: SQLiteTable = reader.t[name];
    // The columns of the table of this name.
    return drizzle(database).select().from(table).all() as Tables[typeof name]["$inferSelect"][];
  };
  return {
    listRows,
    countRows: (name) => {
      const count = `select count(*) number from ${getTableName(reader.t[name])}`;
      return database.query<{ number: number }, []>(count).get()?.number ?? 0;
    },
    readAllTables: () => {
      const named = "select name from sqlite_schema where type = 'table'";
      const names = database.query<{ name: string }, []>(named).all();
      const read = (name: string) => database.query(`select * from ${name}`).values();
      return Object.fromEntries(names.map(({ name }) => [name, read(name)]));
    },
    listEvents: () => listRows("events").map(event),
    listLedger: () => listRows("ledger").map(entry),
    listSerials: () => {
      const withState = (state: string) => (row: { readonly caId: string; serial: string }) => ({
        caId: row.caId,
        serial: row.serial,
        state,
      });
      const open = listRows("openIntents").filter(({ serial }) => serial !== "");
      return [
        ...listRows("certificates").map(withState("issued")),
        ...listRows("intents").map(({ caId, serial, state }) => ({ caId, serial, state })),
        ...open.map(withState("intended")),
      ];
    },
  };
}

/** Returns the transaction with `checkWrite` called before each method of each group. */
function interceptWrites(tx: Unit, checkWrite: (operation: string) => void): Unit {
  const groups = Object.entries(tx).map(([group, methods]) => [
    group,
    new Proxy<Record<string, () => unknown>>(methods, {
      get: (target, name) => {
        checkWrite(`${group}.${String(name)}`);
        return target[String(name)]?.bind(target);
      },
    }),
  ]);
  // It has the groups of `tx`, each behind a proxy of itself.
  return Object.fromEntries(groups) as Unit;
}

/** Creates a file on the first request that is logged, which few tests do. */
function createAccessLogTarget() {
  return fileTarget({
    path: join(tmpdir(), `access-log-${crypto.randomUUID()}.db`),
    busyTimeoutMs: 0,
    workerUrl: undefined,
    scarce: () => false,
    share: new TurnShare(() => performance.now()),
    onFault: () => {},
  });
}

/** Returns an empty database with the current schema. */
async function prepareImage(): Promise<Uint8Array> {
  const database = new Database(":memory:");
  // Small pages keep the copy of every store small.
  database.run("pragma page_size = 1024");
  database.run("begin");
  const writer = connectionOn(database);
  await ensureRecord(writer);
  await applyMigrations(writer, embeddedMigrations("sqlite"));
  await fillEmpty(writer, { clock: { now: () => instant(0) }, random: systemRandom });
  database.run("commit");
  return database.serialize();
}

const preparedImage = await prepareImage();
