/** Opens the store: connect, bring the schema up to date or refuse, verify where the chains end. */

import type { Store } from "#domain/store.ts";
import type { AccessLogTarget } from "#adapters/db/stores/access-log.ts";
import { fileTarget } from "#adapters/db/stores/access-log-targets.ts";
import { storedHeads } from "#adapters/db/stores/audit.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";
import type { Engine } from "#adapters/db/engine/engine.ts";
import { fillEmpty, type StoreDependencies, verifyHeads } from "#adapters/db/engine/heads.ts";
import { Journal } from "#adapters/db/engine/journal.ts";
import { appliedMigrations } from "#adapters/db/engine/migrations.ts";
import { toStartError } from "#adapters/db/engine/faults.ts";
import type { PostgresOptions } from "#adapters/db/engine/postgres.ts";
import { accessLogPath, openSqlite, type SqliteOptions } from "#adapters/db/engine/sqlite.ts";
import { migrateSqlite } from "#adapters/db/engine/sqlite-migrate.ts";
import { refuseMoved } from "#adapters/db/move/marks.ts";
import { RollbackGuard } from "#adapters/db/history/rollback-guard.ts";
import { type Administration, storeOver } from "#adapters/db/stores/store.ts";

export type StoreOptions = SqliteOptions | PostgresOptions;

/**
 * Gives the open store. Throws `StoreUnfit` for what makes start-up fail: settings that could lose
 * a commit (V-6), a schema that is newer or needs `pkid migrate` (V-28), a head that is not where
 * its chain ends (V-29).
 */
export async function openStore(
  options: StoreOptions,
  deps: StoreDependencies,
): Promise<Store & Administration> {
  const owner = ownerNumber(deps.random.bytes(4));
  const reportError = deps.onFault ?? (() => {});
  const guard = new RollbackGuard({ storage: deps.highWater, reportError });
  return options.driver === "sqlite"
    ? openOnSqlite(options, owner, { ...deps, guard })
    : openOnPostgres(options, owner, { ...deps, guard });
}

interface GuardedDeps extends StoreDependencies {
  readonly guard: RollbackGuard;
}

async function openOnSqlite(options: SqliteOptions, owner: number, deps: GuardedDeps) {
  const engine = openSqlite(options, deps.onFault, deps.workerUrl);
  const accessLog = fileTarget({
    path: accessLogPath(options),
    busyTimeoutMs: options.busy_timeout_ms,
    workerUrl: deps.workerUrl,
    scarce: () => engine.scarce,
    space: { bytesFree: (options.min_free_mb ?? 0) * 1_048_576 },
    share: engine.readShare,
    onFault: deps.onFault ?? (() => {}),
  });
  const scarce = options.readOnly ? undefined : () => engine.scarce;
  return started(engine, owner, { ...deps, accessLog, scarce }, (fill) =>
    migrateSqlite(engine, options, fill),
  );
}

/** Its tables and driver are loaded only where there is one. */
async function openOnPostgres(options: PostgresOptions, owner: number, deps: GuardedDeps) {
  const { PostgresEngine } = await import("#adapters/db/engine/postgres.ts");
  const { migratePostgres } = await import("#adapters/db/engine/postgres-migrate.ts");
  const { guard } = deps;
  const inspect = (connection: Connection) => guard.inspect(connection);
  const engine = new PostgresEngine({ ...options, inspect }, owner, deps.onFault ?? (() => {}));
  return started(engine, owner, deps, (fill) => migratePostgres(engine, options.migrate, fill));
}

async function started(
  engine: Engine,
  owner: number,
  deps: GuardedDeps & {
    readonly accessLog?: AccessLogTarget;
    readonly scarce?: (() => boolean) | undefined;
  },
  migrate: (fill: () => Promise<void>) => Promise<void>,
): Promise<Store & Administration> {
  try {
    const uuid = () => deps.random.uuid();
    const journal = new Journal({ connection: engine.writer, owner, uuid });
    const { guard } = deps;
    await migrate(async () => {
      await deps.beforeFilling?.();
      guard.reset();
      await fillEmpty(engine.writer, deps);
    });
    await refuseMoved(engine.reader);
    await engine.view(async (view) => {
      await verifyHeads(view);
      await guard.open(view);
    });
    const { eventSeq: seen } = await storedHeads(engine.reader);
    const schemaVersion = (await appliedMigrations(engine.reader)).length;
    const onFault = deps.onFault ?? (() => {});
    const { accessLog, scarce } = deps;
    const parts = { engine, journal, guard, owner, seen, schemaVersion };
    return await storeOver({ ...parts, accessLog, scarce, onFault });
  } catch (error) {
    await engine.close();
    await deps.guard.close();
    throw toStartError(error);
  }
}

/**
 * The number of a store among replicas, of four random octets, 1..2^31−1: what both halves of a
 * PostgreSQL advisory lock can hold; 0 is the lock of migrations.
 */
export function ownerNumber(random: Uint8Array): number {
  const drawn = new DataView(random.buffer, random.byteOffset, 4).getUint32(0) & 0x7fffffff;
  return drawn === 0 ? 1 : drawn;
}
