/**
 * Brings a SQLite file to this binary's schema by itself, after a verified copy of what was there
 * (V-28).
 */

import { Database } from "bun:sqlite";
import { closeSync, existsSync, openSync, rmSync, statfsSync } from "node:fs";
import { dirname } from "node:path";

import { StoreUnfit } from "./faults.ts";
import {
  appliedMigrations,
  applyMigrations,
  embeddedMigrations,
  ensureRecord,
  type Migration,
  migrationPending,
  pendingMigrations,
} from "./migrations.ts";
import type { SqliteEngine, SqliteOptions } from "./sqlite.ts";

/**
 * Applies what is pending in one transaction, and fills a database that was empty. Refuses a newer
 * schema, and to go on without a sound copy, which a file that can be made again does without.
 */
export async function migrateSqlite(
  engine: SqliteEngine,
  options: SqliteOptions,
  fill: () => Promise<void>,
  known: readonly Migration[] = embeddedMigrations("sqlite"),
  canBeMadeAgain = false,
): Promise<void> {
  const { database, writer } = engine;
  if (!options.readOnly) await ensureRecord(writer);
  const applied = await appliedMigrations(writer);
  const kept = copyOf(options.path, known.length + 1);
  const otherwise = existsSync(kept) ? `put ${kept} in its place` : undefined;
  const pending = pendingMigrations(known, applied, otherwise);
  if (pending.length === 0) return;
  if (options.readOnly) throw migrationPending(pending);
  if (applied.length > 0 && !canBeMadeAgain) copyBefore(database, options.path, applied.length);
  try {
    await apply(engine, pending, applied.length === 0 ? fill : async () => {});
  } catch (error) {
    if (!isFull(error)) throw error;
    throw new StoreUnfit(
      "no_room",
      `The migration found no room: ${roomAt(database, options.path)}`,
    );
  }
}

async function apply(
  { database, writer }: SqliteEngine,
  pending: readonly Migration[],
  fill: () => Promise<void>,
): Promise<void> {
  // A rebuilt table is dropped and renamed, which foreign keys forbid; they are checked before the
  // commit instead.
  database.run("pragma foreign_keys = off");
  database.run("begin immediate");
  try {
    await applyMigrations(writer, pending);
    await fill();
    const broken = database.query("pragma foreign_key_check").all();
    if (broken.length > 0) throw new Error("a migration left a reference without its row");
    database.run("commit");
  } catch (error) {
    // A full disk has ended the transaction already.
    if (database.inTransaction) database.run("rollback");
    throw error;
  } finally {
    database.run("pragma foreign_keys = on");
  }
}

/** Where a file is kept as it was before migration `version`. */
export const copyOf = (path: string, version: number): string => `${path}.before-${version}`;

/**
 * `<file>.before-<n>`: the whole database as it was with schema version n − 1, checked page by
 * page. Nothing is left of a copy that is not whole.
 */
function copyBefore(database: Database, path: string, version: number): void {
  const copy = copyOf(path, version + 1);
  rmSync(copy, { force: true });
  try {
    closeSync(openSync(copy, "wx", 0o600));
    database.query("vacuum into ?").run(copy);
    if (isSound(copy, database)) return;
    throw new StoreUnfit("copy_failed", "The copy made before migrating is not sound.");
  } catch (error) {
    rmSync(copy, { force: true });
    if (!isFull(error)) throw error;
    const sentence = "There is no room for the copy that is made before migrating";
    throw new StoreUnfit("no_room", `${sentence}: ${roomAt(database, path)}`);
  }
}

function isSound(copy: string, database: Database): boolean {
  const copied = new Database(copy, { readonly: true });
  try {
    const answer = copied.query<{ integrity_check: string }, []>("pragma integrity_check").get();
    const heads = "select * from heads";
    const same = Bun.deepEquals(copied.query(heads).all(), database.query(heads).all());
    return answer?.integrity_check === "ok" && same;
  } finally {
    copied.close();
  }
}

const isFull = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  (error.code === "SQLITE_FULL" || error.code === "ENOSPC");

/** What a migration wants of the volume, for whoever has to make room. */
function roomAt(database: Database, path: string): string {
  const pages = database
    .query<{ n: number }, []>("select page_count n from pragma_page_count")
    .get();
  const size = database.query<{ n: number }, []>("select page_size n from pragma_page_size").get();
  const { bavail, bsize } = statfsSync(dirname(path));
  const megabytes = (bytes: number) => Math.ceil(bytes / 1_048_576);
  const taken = megabytes((pages?.n ?? 0) * (size?.n ?? 0));
  const free = Math.floor((bavail * bsize) / 1_048_576);
  return `the database has ${taken} MiB, the volume ${free} MiB free, and three times the size of the database is enough. Nothing has changed.`;
}
