/**
 * Brings a PostgreSQL database to this binary's schema when asked to, and refuses to run on an
 * older one (V-28).
 */

import { isMissingTable, StoreUnfit, toStartError } from "./faults.ts";
import {
  appliedMigrations,
  applyMigrations,
  embeddedMigrations,
  ensureRecord,
  migrationPending,
  pendingMigrations,
} from "./migrations.ts";
import { presenceClass } from "./owners.ts";
import type { PostgresEngine } from "./postgres.ts";

/**
 * With `migrate` applies what is pending in one transaction and fills an empty database; without it
 * refuses.
 */
export async function migratePostgres(
  engine: PostgresEngine,
  migrate: boolean,
  fill: () => Promise<void>,
): Promise<void> {
  await connectOrRefuse(engine);
  await engine.unhurried(() => broughtUp(engine, migrate, fill));
}

async function broughtUp(
  engine: PostgresEngine,
  migrate: boolean,
  fill: () => Promise<void>,
): Promise<void> {
  const { writer } = engine;
  await writer.run("begin", []);
  try {
    // Number 0 is no store's: it keeps two migrations from running at once, and ends with the
    // transaction.
    await writer.run("select pg_advisory_xact_lock($1::int, 0)", [presenceClass]);
    await writer.run("set local statement_timeout = 0", []);
    // Whole tables are copied, where units look single rows up.
    await writer.run("set local enable_seqscan = on", []);
    const known = embeddedMigrations("postgres");
    if (migrate) await ensureRecord(writer);
    const applied = await appliedMigrations(writer).catch((error) => {
      throw isMissingTable(error) ? migrationPending(known) : error;
    });
    const pending = pendingMigrations(known, applied);
    if (pending.length > 0 && !migrate) throw migrationPending(pending);
    await applyMigrations(writer, pending);
    if (applied.length === 0) await fill();
    await writer.run("commit", []);
  } catch (error) {
    await engine.rollback();
    throw error;
  }
}

async function connectOrRefuse(engine: PostgresEngine): Promise<void> {
  try {
    await engine.connect();
  } catch (error) {
    const startError = toStartError(error);
    if (startError instanceof StoreUnfit) throw startError;
    // The driver's error can name the address but never the password.
    const unreachable = new StoreUnfit("unreachable", "The database does not answer.");
    unreachable.cause = error;
    throw unreachable;
  }
}
