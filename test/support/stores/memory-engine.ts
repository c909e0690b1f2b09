/** Runs the store's engine on one SQLite connection whose database is in memory. */

import { Database, type Statement } from "bun:sqlite";
import { AsyncLocalStorage } from "node:async_hooks";

import type { Connection } from "#adapters/db/engine/connection.ts";
import type { Engine } from "#adapters/db/engine/engine.ts";
import { transactionEnded } from "#adapters/db/engine/faults.ts";
import type { Heads } from "#adapters/db/engine/journal.ts";
import { connectionOverSqlite } from "#adapters/db/engine/sqlite-connection.ts";
import { storedHeads } from "#adapters/db/stores/audit.ts";
import { TurnShare } from "#core/turns.ts";
import { NothingWritten } from "#domain/store.ts";

/**
 * Engine without files, log and locks. Reads share the connection with the open transaction. They
 * wait for its end to see committed rows only, except for reads that the transaction itself makes.
 */
export class MemoryEngine implements Engine {
  readonly dialect = "sqlite";
  readonly rowsVersion = undefined;
  readonly clockOffsetMs = undefined;
  readonly leaseTroubles = { shared: 0, lost: 0 };
  readonly stopped = false;
  readonly reader: Connection;
  readonly writer: Connection;
  readonly database: Database;
  readonly #share = new TurnShare(() => performance.now());
  readonly #statements = new Map<string, Statement>();
  readonly #inside = new AsyncLocalStorage<true>();
  /** Settled at the end of the open transaction; undefined between transactions. */
  #open: PromiseWithResolvers<void> | undefined;
  /** Views that are being read. */
  readonly #views = new Set<View>();
  #heads: Readonly<Heads> | undefined;

  /** @param image serialized database with the current schema */
  constructor(image: Uint8Array) {
    this.database = openImage(image);
    this.reader = connectionOverSqlite(
      () => ({ compiled: (text) => this.#compile(text) }),
      this.#share,
      () => this.#awaitCommit(),
    );
    this.writer = this.writerAfter(() => {});
  }

  /** Executes the work of a transaction; reads that it makes do not wait for its own end. */
  runTransaction<T>(work: () => Promise<T>): Promise<T> {
    return this.#inside.run(true, work);
  }

  writerAfter(before: () => void | Promise<void>): Connection {
    const compile = (text: string) => {
      if (!this.database.inTransaction) throw transactionEnded();
      return this.#compile(text);
    };
    return connectionOverSqlite(() => ({ compiled: compile }), this.#share, before);
  }

  async view<T>(read: (connection: Connection) => Promise<T>): Promise<T> {
    await this.#awaitCommit();
    const view: View = { snapshot: undefined };
    this.#views.add(view);
    const compile = (text: string) => view.snapshot?.query(text) ?? this.#compile(text);
    try {
      return await read(connectionOverSqlite(() => ({ compiled: compile }), this.#share));
    } finally {
      this.#views.delete(view);
      view.snapshot?.close();
    }
  }

  exclusively<T>(_name: string, work: () => Promise<T>): Promise<T> {
    return work();
  }

  ahead(written: Promise<void>): Promise<void> {
    return written;
  }

  async begin(): Promise<Readonly<Heads>> {
    for (const view of this.#views) view.snapshot ??= openImage(this.database.serialize());
    this.#compile("begin immediate").run();
    this.#open = Promise.withResolvers();
    this.#heads ??= await storedHeads(this.writer);
    return this.#heads;
  }

  savepoint(): void {
    this.#compile("savepoint unit").run();
  }

  release(): void {
    this.#compile("release unit").run();
  }

  rollbackToSavepoint(): void {
    this.#compile("rollback to unit").run();
    this.release();
  }

  async commit(committed: Readonly<Heads>): Promise<void> {
    try {
      this.#compile("commit").run();
    } catch (cause) {
      throw new NothingWritten("not committed", { cause });
    }
    this.#heads = { ...committed };
    this.#end();
  }

  async rollback(): Promise<void> {
    if (this.database.inTransaction) this.#compile("rollback").run();
    this.#end();
  }

  revocationStamp(): number | Promise<number> {
    return this.revocationSequence();
  }

  revocationSequence(): number | Promise<number> {
    if (this.#heads !== undefined) return this.#heads.revocationSequence;
    return storedHeads(this.reader).then(({ revocationSequence }) => revocationSequence);
  }

  async listen(): Promise<void> {}

  async ping(): Promise<void> {}

  rest(): void {}

  async close(): Promise<void> {
    for (const statement of this.#statements.values()) statement.finalize();
    this.#statements.clear();
    this.database.close();
  }

  #compile(text: string): Statement {
    const cached = this.#statements.get(text);
    if (cached !== undefined) return cached;
    const statement = this.database.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }

  #awaitCommit(): Promise<void> | undefined {
    return this.#open === undefined || this.#inside.getStore() ? undefined : this.#awaitEnd();
  }

  async #awaitEnd(): Promise<void> {
    while (this.#open !== undefined) await this.#open.promise;
  }

  #end(): void {
    this.#open?.resolve();
    this.#open = undefined;
  }
}

interface View {
  /** Copy of the database from before the first transaction during the view. */
  snapshot: Database | undefined;
}

function openImage(image: Uint8Array): Database {
  const database = Database.deserialize(image);
  database.run("pragma foreign_keys = on");
  return database;
}
