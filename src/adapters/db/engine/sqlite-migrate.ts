/**
 * Brings a SQLite file to this binary's schema by itself, after a verified copy of what was there
 * (V-28).
 */

import { Database } from "bun:sqlite";
import { closeSync, existsSync, openSync, rmSync } from "node:fs";

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
 * schema, and to go on without a sound copy.
 */
export async function migrateSqlite(
  engine: SqliteEngine,
  options: SqliteOptions,
  fill: () => Promise<void>,
  known: readonly Migration[] = embeddedMigrations("sqlite"),
): Promise<void> {
  const { database, writer } = engine;
  if (!options.readOnly) await ensureRecord(writer);
  const applied = await appliedMigrations(writer);
  const kept = copyOf(options.path, known.length + 1);
  const otherwise = existsSync(kept) ? `put ${kept} in its place` : undefined;
  const pending = pendingMigrations(known, applied, otherwise);
  if (pending.length === 0) return;
  if (options.readOnly) throw migrationPending(pending);
  if (applied.length > 0) copyBefore(database, options.path, applied.length);
  await apply(engine, pending, applied.length === 0 ? fill : async () => {});
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
    database.run("rollback");
    throw error;
  } finally {
    database.run("pragma foreign_keys = on");
  }
}

/** Where a file is kept as it was before migration `version`. */
const copyOf = (path: string, version: number): string => `${path}.before-${version}`;

/**
 * `<file>.before-<n>`: the whole database as it was with schema version n − 1, checked page by
 * page.
 */
function copyBefore(database: Database, path: string, version: number): void {
  const copy = copyOf(path, version + 1);
  rmSync(copy, { force: true });
  closeSync(openSync(copy, "wx", 0o600));
  database.query("vacuum into ?").run(copy);
  const copied = new Database(copy, { readonly: true });
  try {
    const answer = copied.query<{ integrity_check: string }, []>("pragma integrity_check").get();
    const heads = "select * from heads";
    const same = Bun.deepEquals(copied.query(heads).all(), database.query(heads).all());
    if (answer?.integrity_check !== "ok" || !same) {
      throw new StoreUnfit("copy_failed", "The copy made before migrating is not sound.");
    }
  } finally {
    copied.close();
  }
}
