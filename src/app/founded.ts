/**
 * Tells an instance from a place where one could be: only `serve`, `init` and `quickstart` found
 * one (FND-1).
 */

import { existsSync } from "node:fs";
import { join } from "node:path";

import { type HeldDirectory, holdDirectory } from "#adapters/data-directory.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import { NoInstance } from "#cli/failure.ts";
import type { Read } from "#config/read.ts";
import type { Config } from "#config/schema.ts";
import type { Store } from "#domain/store.ts";

/**
 * Takes the data directory and its lock. Unless `mayFound`, throws `NoInstance` for a directory
 * that is missing, or holds no database and no trace of a process that might be making one; then
 * nothing is created.
 */
export function claimPlace(
  { config, mayFound }: { readonly config: Config; readonly mayFound: boolean },
  address: StoreOptions,
): HeldDirectory {
  const { data_dir } = config;
  if (!mayFound && !existsSync(data_dir)) throw new NoInstance();
  if (!mayFound && !existsSync(join(data_dir, "lock"))) mustHaveDatabase(address);
  const directory = holdDirectory(data_dir);
  try {
    if (!mayFound) mustHaveDatabase(address);
    return directory;
  } catch (error) {
    directory.release();
    throw error;
  }
}

/** Throws `NoInstance` for a SQLite database that is missing. */
export function mustHaveDatabase(address: StoreOptions): void {
  if (address.driver === "sqlite" && !existsSync(address.path)) throw new NoInstance();
}

/** Throws `NoInstance` for a database in which no instance has begun, unless `mayFound`. */
export async function mustBeFounded(store: Store, mayFound: boolean): Promise<void> {
  if (mayFound) return;
  if ((await store.read.instance.value("instance_id")) === undefined) throw new NoInstance();
}

/**
 * Throws `NoInstance` where nobody has said what to look at: no configuration file, and no data
 * directory. Preflight of defaults and an empty place would find nothing wrong. Before the first
 * start there is a file.
 */
export function mustBeSomething({ loaded, fileName }: Read): void {
  if (fileName !== undefined || !loaded.ok) return;
  if (!existsSync(loaded.config.data_dir)) throw new NoInstance();
}
