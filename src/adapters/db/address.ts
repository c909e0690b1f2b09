/** Where the store is and how it is reached: the section, with its secret opened. */

import { type SecretSetting, type Secrets, SecretUnavailable } from "#config/secret.ts";
import { isPostgresUrl } from "#config/sections/database.ts";
import type { PostgresLimits } from "#adapters/db/engine/postgres.ts";
import type { SqliteLimits } from "#adapters/db/engine/sqlite.ts";
import type { StoreOptions } from "./open.ts";

/** `database` and `access_log`. */
export interface DatabaseSections {
  readonly database: Required<SqliteLimits> &
    PostgresLimits & {
      readonly driver: "sqlite" | "postgres";
      /** File of the SQLite database, or URL of the PostgreSQL database. */
      readonly dsn: SecretSetting | undefined;
    };
  readonly access_log: { readonly path: string | undefined };
}

/** Gives it. Throws `SecretUnavailable` when its source fails or gives no address. */
export async function storeAddress(
  { database: { driver, dsn: setting, ...limits }, access_log }: DatabaseSections,
  secrets: Secrets,
  migrate = false,
): Promise<StoreOptions> {
  const dsn = (await secrets.fresh("database.dsn", setting)) ?? "";
  if (driver === "sqlite") return { ...limits, driver, path: dsn, access_log };
  // One in place was looked at when it was read; the driver would repeat what it cannot read.
  if (!isPostgresUrl(dsn)) {
    throw new SecretUnavailable("database.dsn: What its source gave is no database URL.");
  }
  return { ...limits, driver, dsn, migrate };
}
