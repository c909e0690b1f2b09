/** `pkid migrate`: brings the schema up to the binary, or says what that would do. */

import { holdDirectory } from "#adapters/data-directory.ts";
import { storeAddress } from "#adapters/db/address.ts";
import {
  type MigrationState,
  migrationState,
  storedValue,
} from "#adapters/db/engine/migration-state.ts";
import { copyOf } from "#adapters/db/engine/sqlite-migrate.ts";
import { openStore, type StoreOptions } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import type { MigrationMode, MigrationReport } from "#cli/command.ts";
import type { Config } from "#config/schema.ts";
import { type BackupRecord, lastBackup } from "#domain/backup/backups.ts";
import { mustHaveDatabase } from "./founded.ts";
import { useProxy } from "./proxy.ts";
import { openSecrets } from "./secrets.ts";

/**
 * Applies under the lock of the data directory; `status` and `dry-run` change nothing. Throws
 * `NoInstance` where there is no SQLite database to migrate; the schema of an empty PostgreSQL
 * database is made, for the first `serve` to find.
 */
export async function migrate(config: Config, mode: MigrationMode): Promise<MigrationReport> {
  const secrets = openSecrets(config);
  await useProxy(config, secrets);
  const options = await storeAddress(config, secrets, true);
  mustHaveDatabase(options);
  if (mode !== "apply") {
    const state = await migrationState(options);
    return { ...report(options, state), ...(await backedUp(options, state)) };
  }
  const directory = holdDirectory(config.data_dir);
  try {
    const before = await migrationState(options);
    const backup = await backedUp(options, before);
    const store = await openStore(options, { clock: systemClock, random: systemRandom });
    await store.close();
    const copy = copyMade(options, before);
    return { ...report(options, { ...before, current: before.newest }), ...copy, ...backup };
  } finally {
    directory.release();
  }
}

function report(options: StoreOptions, state: MigrationState): MigrationReport {
  const migrations = state.pending.map((version) => String(version).padStart(4, "0"));
  const { current, newest } = state;
  return { driver: options.driver, current, newest, migrations };
}

const changesData = ({ current, pending }: MigrationState): boolean =>
  current > 0 && pending.length > 0;

function copyMade(options: StoreOptions, before: MigrationState): Pick<MigrationReport, "copy"> {
  if (options.driver !== "sqlite" || !changesData(before)) return {};
  return { copy: copyOf(options.path, before.current + 1) };
}

/** PostgreSQL gets no copy of what is there: what could be put back is the newest backup. */
async function backedUp(
  options: StoreOptions,
  state: MigrationState,
): Promise<Pick<MigrationReport, "backup">> {
  if (options.driver !== "postgres" || !changesData(state)) return {};
  const text = await storedValue(options, lastBackup);
  if (text === undefined) return { backup: null };
  const { artifact, created_at }: BackupRecord = JSON.parse(text); // Of `Backups` only.
  return { backup: { artifact, created_at } };
}
