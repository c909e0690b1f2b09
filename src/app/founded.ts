/**
 * Tells an instance from a place where one could be: only `serve`, `init` and `quickstart` found
 * one (FND-1).
 */

import { existsSync } from "node:fs";
import { join } from "node:path";

import {
  DirectoryUnfit,
  type HeldDirectory,
  holdDirectory,
  holderOf,
} from "#adapters/data-directory.ts";
import { HighWaterFile, highWaterPath } from "#adapters/db/history/high-water-file.ts";
import { openStore, type StoreOptions } from "#adapters/db/open.ts";
import { keysOnToken } from "#adapters/keys/token-keys.ts";
import { systemClock, systemRandom, systemStopwatch } from "#adapters/system.ts";
import { NoInstance } from "#cli/failure.ts";
import type { Read } from "#config/read.ts";
import type { Config } from "#config/schema.ts";
import type { Secrets } from "#config/secret.ts";
import { recordingEffects } from "#domain/approvals/effects.ts";
import type { Store } from "#domain/store.ts";
import { isListening } from "#http/unix-door.ts";
import { PlaceIdentity } from "./identity.ts";
import { keyPorts, privateDirectory } from "./keys.ts";
import type { AppOptions } from "./options.ts";
import { createFailureHandler, FailureLog } from "./failure-log.ts";

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

/**
 * Like `claimPlace`, but waits while a command holds the data directory. A server that responds on
 * its admin socket is not waited for.
 *
 * @param options.claimTimeoutMs undefined for commands, which do not wait
 */
export async function claimPlaceInTime(
  options: AppOptions,
  address: StoreOptions,
): Promise<HeldDirectory> {
  const { config, log, claimTimeoutMs = 0 } = options;
  const deadline = performance.now() + claimTimeoutMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return claimPlace(options, address);
    } catch (error) {
      const isLocked = error instanceof DirectoryUnfit && error.reason === "locked";
      if (!isLocked || performance.now() >= deadline) throw error;
      if (await isListening(config.server.admin_socket.path)) throw error;
      if (attempt === 1) {
        log.write("info", "waiting_for_data_directory", { process: holderOf(config.data_dir) });
      }
      await Bun.sleep(claimIntervalMs);
    }
  }
}

const claimIntervalMs = 100;

/** Throws `NoInstance` for a SQLite database that is missing. */
export function mustHaveDatabase(address: StoreOptions): void {
  if (address.driver === "sqlite" && !existsSync(address.path)) throw new NoInstance();
}

/** Throws `NoInstance` for a database in which no instance has begun, unless `mayFound`. */
async function mustBeFounded(store: Store, mayFound: boolean): Promise<void> {
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

/**
 * Opens the database, which data directory and keys must be parts of one instance with. Throws
 * `InstanceSplit` where they are not, and `NoInstance` unless `mayFound`; then it is closed again.
 */
export async function openPlace(
  { config, log, workerUrl, mayFound, foundAnew = false }: AppOptions,
  address: StoreOptions,
  secrets: Secrets,
) {
  const ports = keyPorts(secrets, () => config);
  const token = keysOnToken(config, ports, () => privateDirectory(config));
  const place = PlaceIdentity.of(config, token);
  await place.mayOpen(address, foundAnew);
  const failures = new FailureLog(log, systemStopwatch);
  const highWater = new HighWaterFile(
    highWaterPath(config.data_dir),
    createFailureHandler(log, "high_water_not_written"),
  );
  const store = await openStore(address, {
    clock: systemClock,
    random: systemRandom,
    workerUrl,
    highWater,
    beforeFilling: () => place.mayBegin("the database", foundAnew),
    onFault: (message, error) => failures.fail(message, error),
  });
  try {
    await mustBeFounded(store, mayFound);
    const instanceId = await place.settled(store, foundAnew);
    return { store: recordingEffects(store), place, instanceId };
  } catch (error) {
    await store.close();
    throw error;
  }
}
