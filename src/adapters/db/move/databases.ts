/** The two databases of a move: what each must be, and how they are opened for it. */

import { rmSync, statSync } from "node:fs";

import type { Engine } from "#adapters/db/engine/engine.ts";
import { StoreUnfit } from "#adapters/db/engine/faults.ts";
import { fillHeads } from "#adapters/db/engine/heads.ts";
import { migrationState } from "#adapters/db/engine/migration-state.ts";
import { openEngine, openForReading } from "#adapters/db/engine/open-engine.ts";
import { openSqlite, type SqliteOptions } from "#adapters/db/engine/sqlite.ts";
import { migrateSqlite } from "#adapters/db/engine/sqlite-migrate.ts";
import { ownerNumber, type StoreOptions } from "#adapters/db/open.ts";
import type { Random } from "#domain/ports.ts";

import { begunAt, markOf, refuseUnfinished, wasMoved } from "./marks.ts";
import {
  clearCopy,
  compareStores,
  copyStore,
  handOver,
  isChain,
  type Moved,
  tableRows,
} from "./move.ts";

export interface MoveRequest {
  readonly from: StoreOptions;
  readonly to: StoreOptions;
  /** Changes nothing: counts what would be moved, or holds a copy against what it was made of. */
  readonly only?: "count" | "compare" | undefined;
  /** Moves what was moved before: only when that copy was never in service. */
  readonly again?: boolean;
  /** Goes on with a copy that is not finished. */
  readonly resume?: boolean;
  /** Rows that each write takes; 1,000 unless told. */
  readonly batch?: number | undefined;
  /** When, as text, for the marks. */
  readonly at: string;
  readonly random: Random;
}

/** What was moved, or would be. */
export type MoveResult = Pick<Moved, "tables"> & Partial<Moved>;

/**
 * Copies the store, proves the copy, and hands over to it. Refuses a source whose schema is not
 * this binary's, and a target that holds anything but, to resume, an unfinished copy. A SQLite file
 * that this run made and whose copy fails is removed; a PostgreSQL database keeps the mark, which
 * keeps every store from opening it.
 */
export async function moveDatabase(request: MoveRequest): Promise<MoveResult> {
  const { from, to, only, again = false, batch = 1000, at, random } = request;
  await mustBeCurrent(from);
  if (only === "compare") return await compared(request);
  const begun = await begunIn(to, request);
  const owner = ownerNumber(random.bytes(4));
  const source = await openEngine(from, owner);
  try {
    await mustBeMovable(source, begun, again);
    if (only === "count") return { tables: await source.view(tableRows) };
    const one = { engine: source, owner };
    const began = begun === undefined ? at : begunAt(begun);
    const underway = { marked: { at: began, from: from.driver, to: to.driver }, batch };
    return await intoNew(to, random, {
      fresh: begun === undefined,
      copy: (target) => copyStore(one, target, underway),
      isStale: async (error) => begun !== undefined && (await isStale(source, error)),
      clear: (target) => clearCopy(target, underway),
      handOver: (target, moved) => handOver(one, target, moved, underway),
    });
  } finally {
    await source.close();
  }
}

/**
 * True if a command changed a row of the source since the copy started. False for the chains, whose
 * rows never change, and once the source is marked.
 */
async function isStale({ reader }: Engine, error: unknown): Promise<boolean> {
  const table = error instanceof StoreUnfit ? error.table : undefined;
  if (table === undefined || isChain(table)) return false;
  return (await markOf(reader, "moved")) === undefined;
}

/** Beside whichever process has the copy open. */
async function compared({ from, to }: MoveRequest): Promise<MoveResult> {
  await mustBeCurrent(to);
  const source = await openForReading(from);
  const target = await openForReading(to);
  try {
    return await compareStores(source, target);
  } finally {
    await source.close();
    await target.close();
  }
}

/**
 * Once the source is marked, its only successor is the copy that was begun with that mark: to no
 * other does it go on, unless the operator says that the first was never in service.
 */
async function mustBeMovable(
  { reader }: Engine,
  begun: string | undefined,
  again: boolean,
): Promise<void> {
  await refuseUnfinished(reader);
  const moved = await markOf(reader, "moved");
  if (moved === undefined || again) return;
  if (begun === undefined || !moved.startsWith(`at ${begunAt(begun)} to `)) throw wasMoved(moved);
}

async function mustBeCurrent(from: StoreOptions): Promise<void> {
  const { pending, current } = await migrationState(from);
  if (current === 0) throw new StoreUnfit("not_empty", "There is no database to move.");
  if (pending.length === 0) return;
  throw new StoreUnfit(
    "migration_pending",
    `The database lacks ${pending.length} migration(s); run \`pkid migrate\` first.`,
  );
}

/** The mark of the copy that is there; undefined where nothing is. Refuses anything else. */
async function begunIn(
  to: StoreOptions,
  { resume = false }: MoveRequest,
): Promise<string | undefined> {
  const there =
    to.driver === "sqlite"
      ? (statSync(to.path, { throwIfNoEntry: false })?.size ?? 0) > 0
      : (await migrationState(to)).current > 0;
  if (!there) return undefined;
  const begun = await unfinishedMark(to);
  if (begun !== undefined && resume) return begun;
  const where = to.driver === "sqlite" ? `The file ${to.path}` : "The PostgreSQL database";
  throw new StoreUnfit(
    "not_empty",
    begun === undefined
      ? `${where} that the other configuration names is not empty; nothing is written over.`
      : `${where} that the other configuration names is an unfinished copy, begun ${begun}. Go on with it by \`--resume\`, or drop it and begin again.`,
  );
}

async function unfinishedMark(to: StoreOptions): Promise<string | undefined> {
  const engine = await openForReading(to);
  try {
    return await markOf(engine.reader, "unfinished");
  } catch {
    return undefined; // Not a database of pkid, or of another schema.
  } finally {
    await engine.close();
  }
}

/** Before the second step a copy is worth nothing; from then on it may be all there is. */
interface Steps {
  readonly fresh: boolean;
  readonly copy: (target: Engine) => Promise<Moved>;
  /** True if the copy failed because it must begin again. */
  readonly isStale: (error: unknown) => Promise<boolean>;
  /** Deletes the rows of a PostgreSQL copy. */
  readonly clear: (target: Engine) => Promise<void>;
  readonly handOver: (target: Engine, moved: Moved) => Promise<void>;
}

async function intoNew(to: StoreOptions, random: Random, steps: Steps): Promise<Moved> {
  if (to.driver === "sqlite") return await copyToFile(to, steps);
  const { PostgresEngine } = await import("#adapters/db/engine/postgres.ts");
  const { migratePostgres } = await import("#adapters/db/engine/postgres-migrate.ts");
  const engine = new PostgresEngine(to, ownerNumber(random.bytes(4)), () => {});
  try {
    await migratePostgres(engine, true, () => fillHeads(engine.writer));
    const moved = await steps.copy(engine).catch(async (error) => {
      if (!(await steps.isStale(error))) throw error;
      await steps.clear(engine);
      return await steps.copy(engine);
    });
    await steps.handOver(engine, moved);
    return moved;
  } finally {
    await engine.close();
  }
}

async function copyToFile(to: SqliteOptions, steps: Steps): Promise<Moved> {
  try {
    return await copyToFileOnce(to, steps);
  } catch (error) {
    if (!(await steps.isStale(error))) throw error;
    removeFile(to);
    return await copyToFileOnce(to, { ...steps, fresh: true });
  }
}

async function copyToFileOnce(to: SqliteOptions, { fresh, copy, handOver: handedOver }: Steps) {
  const engine = openSqlite(to);
  let moved: Moved | undefined;
  try {
    await migrateSqlite(engine, to, () => fillHeads(engine.writer));
    moved = await copy(engine);
    await handedOver(engine, moved);
    return moved;
  } finally {
    await engine.close();
    if (moved === undefined && fresh) removeFile(to);
  }
}

function removeFile({ path }: SqliteOptions): void {
  for (const suffix of ownFiles) rmSync(`${path}${suffix}`, { force: true });
}

const ownFiles = ["", "-wal", "-shm", "-holder", "-reserve"] as const;
