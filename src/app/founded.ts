/** Tells an instance from a place where one could be: only `serve`, `init` and `quickstart` found one (cli.md §3). */

import { existsSync } from "node:fs";
import { join } from "node:path";

import { NoInstance } from "#cli/failure.ts";
import type { Read } from "#config/read.ts";
import type { Config } from "#config/schema.ts";
import type { Store } from "#domain/store.ts";

/** What of an instance can be looked at before anything is opened. */
interface Place {
  readonly config: Pick<Config, "data_dir">;
  /** The file of a SQLite database; undefined where the database is a server's. */
  readonly databaseFile: string | undefined;
}

/**
 * Throws `NoInstance` for a data directory that is missing, or holds no database and no trace of a process that might be
 * making one. Creates nothing.
 */
export function mustBeThere({ config, databaseFile }: Place): void {
  const absent = !existsSync(config.data_dir);
  const bare = databaseFile !== undefined && !existsSync(databaseFile);
  if (absent || (bare && !existsSync(join(config.data_dir, "lock")))) throw new NoInstance();
}

/**
 * Throws `NoInstance` where nobody has said what to look at: no configuration file, and no data directory. Preflight of
 * defaults and an empty place would find nothing wrong. Before the first start there is a file.
 */
export function mustBeSomething({ loaded, fileName }: Read): void {
  if (fileName !== undefined || !loaded.ok) return;
  if (!existsSync(loaded.config.data_dir)) throw new NoInstance();
}

/** Throws `NoInstance` while the database file is missing: for who holds the directory, so that nobody else makes it. */
export function mustHaveDatabase({ databaseFile }: Pick<Place, "databaseFile">): void {
  if (databaseFile !== undefined && !existsSync(databaseFile)) throw new NoInstance();
}

/** Throws `NoInstance` for a database in which no instance has begun. */
export async function mustBeFounded(store: Store): Promise<void> {
  if ((await store.read.instance.value("instance_id")) === undefined) throw new NoInstance();
}
