/** `pkid migrate`: brings the schema up to the binary, or says what that would do. */

import { holdDirectory } from "#adapters/data-directory.ts";
import { storeAddress } from "#adapters/db/address.ts";
import { migrationState } from "#adapters/db/engine/migration-state.ts";
import { openStore } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import type { MigrationMode, MigrationReport } from "#cli/command.ts";
import type { Config } from "#config/schema.ts";
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
  if (mode !== "apply") return report(config, await migrationState(options));
  const directory = holdDirectory(config.data_dir);
  try {
    const before = await migrationState(options);
    const store = await openStore(options, { clock: systemClock, random: systemRandom });
    await store.close();
    return report(config, { ...before, current: before.newest });
  } finally {
    directory.release();
  }
}

function report(
  config: Config,
  state: { current: number; newest: number; pending: readonly number[] },
): MigrationReport {
  const migrations = state.pending.map((version) => String(version).padStart(4, "0"));
  const { current, newest } = state;
  return { driver: config.database.driver, current, newest, migrations };
}
