/** The embedded migrations, and what a database's own record says about them (V-28). */

import { existsSync } from "node:fs";
import { join } from "node:path";

import { readMigrationFiles } from "drizzle-orm/migrator";

import { StoreUnfit } from "./faults.ts";
import type { Connection } from "./connection.ts";
import { fillDigestHeads } from "./digest-fill.ts";

/** One step of the schema: its place, the digest of its text, its statements. */
export interface Migration {
  readonly version: number;
  readonly hash: string;
  readonly statements: readonly string[];
  /** What SQL alone cannot do, after them. */
  readonly fill?: ((writer: Connection) => Promise<void>) | undefined;
}

/** Reads the dialect's migrations from the source tree, or from the binary they are embedded in. */
export function embeddedMigrations(dialect: "sqlite" | "postgres"): readonly Migration[] {
  const files = readMigrationFiles({ migrationsFolder: join(migrationsFolder(), dialect) });
  return files.map(({ hash, sql }, index) => {
    const version = index + 1;
    return { version, hash, statements: sql, fill: fills[dialect].get(version) };
  });
}

/**
 * What is still to be applied. Refuses a schema that is newer than this binary or was made by
 * another one; `otherwise` says what else than the newer binary there is to begin from.
 */
export function pendingMigrations(
  known: readonly Migration[],
  applied: readonly string[],
  otherwise = "restore what was saved before it was migrated",
): readonly Migration[] {
  if (applied.length > known.length) {
    throw new StoreUnfit(
      "schema_newer",
      `The database schema has version ${applied.length}; this binary knows ${known.length}. Run the newer binary again, or ${otherwise} and lose what came after.`,
    );
  }
  for (const [index, hash] of applied.entries()) {
    if (known[index]?.hash !== hash) {
      throw new StoreUnfit(
        "schema_altered",
        `Migration ${index + 1} of the database is not the one this binary knows.`,
      );
    }
  }
  return known.slice(applied.length);
}

/** Makes the table in which `applyMigrations` records what it did. */
export async function ensureRecord(connection: Connection): Promise<void> {
  await connection.run(recordTable, []);
}

/** The digests of the migrations a database has had, in order. */
export async function appliedMigrations({ db, t }: Connection): Promise<readonly string[]> {
  const rows = await db.select().from(t.migrations).orderBy(t.migrations.version);
  return rows.map((row) => row.hash);
}

/** The refusal of a schema that is older than this binary, where nothing may be migrated. */
export function migrationPending(steps: readonly Migration[]): StoreUnfit {
  return new StoreUnfit(
    "migration_pending",
    `The database lacks ${steps.length} migration(s); run \`pkid migrate\`.`,
  );
}

/** Applies the steps inside the caller's transaction and records each. */
export async function applyMigrations(
  connection: Connection,
  steps: readonly Migration[],
): Promise<void> {
  for (const { version, hash, statements, fill } of steps) {
    for (const statement of statements) await connection.run(statement, []);
    await fill?.(connection);
    await connection.db.insert(connection.t.migrations).values({ version, hash });
  }
}

function migrationsFolder(): string {
  if (Bun.isStandaloneExecutable) return join(import.meta.dir, "migrations");
  const folder = join(import.meta.dir, "../../../../migrations");
  // A bundle that is not an executable keeps them beside itself.
  return existsSync(folder) ? folder : join(import.meta.dir, "migrations");
}

/** By version. PostgreSQL digests by itself. */
const fills: Readonly<Record<"sqlite" | "postgres", ReadonlyMap<number, Migration["fill"]>>> = {
  sqlite: new Map([[11, fillDigestHeads]]),
  postgres: new Map(),
};

const recordTable =
  'create table if not exists "schema_migrations" ("version" bigint primary key, "hash" text not null)';
