/** Says how far a database's schema is, without changing it. */

import { existsSync } from "node:fs";

import { eq } from "drizzle-orm";

import type { StoreOptions } from "#adapters/db/open.ts";

import { appliedMigrations, embeddedMigrations, pendingMigrations } from "./migrations.ts";
import { openForReading } from "./open-engine.ts";

export interface MigrationState {
  readonly current: number;
  /** The version this binary brings. */
  readonly newest: number;
  /** Versions not yet applied, ascending. */
  readonly pending: readonly number[];
}

/** Refuses a schema that is newer than the binary or was made by another one. */
export async function migrationState(options: StoreOptions): Promise<MigrationState> {
  const known = embeddedMigrations(options.driver);
  const applied = await appliedIn(options);
  const pending = pendingMigrations(known, applied).map(({ version }) => version);
  return { current: applied.length, newest: known.length, pending };
}

/**
 * What an instance of whatever schema keeps under this name; undefined where there is nothing, or
 * no instance yet.
 */
export async function storedValue(
  options: StoreOptions,
  name: string,
): Promise<string | undefined> {
  const engine = await openForReading(options);
  try {
    const { db, t } = engine.reader;
    const [row] = await db.select().from(t.instance).where(eq(t.instance.name, name));
    return row?.value;
  } catch {
    return undefined; // Without tables there is no value.
  } finally {
    await engine.close();
  }
}

/** How far this binary's schema is, whatever the database. */
export const newestSchema = (): number => embeddedMigrations("sqlite").length;

async function appliedIn(options: StoreOptions): Promise<readonly string[]> {
  if (options.driver === "sqlite" && !existsSync(options.path)) return [];
  const engine = await openForReading(options);
  try {
    return await appliedMigrations(engine.reader);
  } catch {
    return []; // The record of migrations is made with the first one.
  } finally {
    await engine.close();
  }
}
