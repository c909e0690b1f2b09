/** Says how far a database's schema is, without changing it. */

import { existsSync } from "node:fs";

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
