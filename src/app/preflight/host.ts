/** The checks of host and database engine: files, disk, versions, migrations. */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

import { storeAddress } from "#adapters/db/address.ts";
import { violations } from "#adapters/db/engine/diagnosis.ts";
import { StoreUnfit } from "#adapters/db/engine/faults.ts";
import { violationsInThread } from "#adapters/db/engine/integrity-thread.ts";
import { migrationState } from "#adapters/db/engine/migration-state.ts";
import { accessLogName } from "#adapters/db/engine/sqlite.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import {
  fileFacts,
  filesIn,
  lacksLocks,
  timedWrites,
  volumeFacts,
} from "#adapters/preflight/host.ts";
import type { Config } from "#config/schema.ts";
import { type FileFacts, judgePrivate } from "#core/preflight/files.ts";
import { failed, type Finding, gathered, passed, warned } from "#core/preflight/finding.ts";
import { judgeDurability, judgeEngine, judgeVolume } from "#core/preflight/host.ts";
import { parseTimestamp } from "#core/time.ts";
import type { Checks } from "#domain/preflight/run.ts";
import { openSecrets } from "#app/secrets.ts";
import { closed, configOf, type Premises } from "./premises.ts";

type Covered =
  | "data_dir.modes"
  | "disk.space"
  | "disk.fsync"
  | "db.connectivity"
  | "db.version"
  | "db.schema"
  | "db.integrity";

/** Their functions over these premises. */
export function hostChecks(premises: Premises): Pick<Checks, Covered> {
  const { diagnosis } = premises.before;
  const options = () => {
    const config = configOf(premises);
    return storeAddress(config, openSecrets(config));
  };
  return {
    "data_dir.modes": () => judgePrivate(premises.before.files),
    "disk.space": () => roomOf(premises),
    "disk.fsync": async () => {
      const directory = configOf(premises).data_dir;
      const there = existsSync(directory);
      return judgeDurability({
        settings: "open" in diagnosis ? diagnosis.open.settings : [],
        writesMs: there ? await timedWrites(directory, writes) : [],
        withoutLocks: there && lacksLocks(directory),
      });
    },
    "db.connectivity": async () => {
      if ("fault" in diagnosis) return closed(diagnosis);
      if ("open" in premises.store) await premises.store.open.ping();
      const { pingMs } = diagnosis.open;
      const told = `The database answered within ${pingMs.toFixed(1)} ms.`;
      return pingMs > pingMsMax ? warned(told) : passed(told);
    },
    "db.version": () => {
      if ("fault" in diagnosis) return closed(diagnosis);
      return judgeEngine(diagnosis.open);
    },
    "db.schema": async () => {
      if ("fault" in diagnosis) return closed(diagnosis);
      try {
        const { current, newest, pending } = await migrationState(await options());
        if (pending.length > 0) return failed(`Migrations pending: ${pending.join(", ")}.`);
        return passed(`Schema ${current} of ${newest}.`);
      } catch (error) {
        if (error instanceof StoreUnfit) return failed(error.message);
        throw error;
      }
    },
    "db.integrity": async () => {
      if ("fault" in diagnosis && diagnosis.absent) return closed(diagnosis);
      const found = await violationsOf(await options(), premises.workerUrl);
      return gathered(found.map(failed), "Every rule of the schema holds.");
    },
  };
}

/** PostgreSQL checks in its own processes; SQLite would hold up everybody else of this one. */
function violationsOf(options: StoreOptions, workerUrl: string | undefined) {
  if (options.driver !== "sqlite" || workerUrl === undefined) return violations(options);
  return violationsInThread(workerUrl, options);
}

async function roomOf(premises: Premises): Promise<Finding> {
  const config = configOf(premises);
  const limits = {
    minFreeMegabytes: config.database.min_free_mb,
    bytesPerDay: await growth(premises),
  };
  const paths = [config.data_dir, dirname((await databaseFile(config)) ?? config.data_dir)];
  const volumes = [...new Set(paths.map(nearestThere))].map(volumeFacts);
  const findings = volumes.map((volume) => judgeVolume(volume, limits));
  return gathered(findings, findings.map(({ detail }) => detail).join(" "));
}

/** Since the first event; undefined while that is less than a day. */
async function growth({ store, before }: Premises): Promise<number | undefined> {
  if ("fault" in store || "fault" in before.diagnosis) return undefined;
  const { audit } = store.open.read;
  const [first] = await audit.eventsAfter(0, 1);
  const head = await audit.eventHead();
  const [last] = await audit.eventsAfter(Math.max(head.seq - 1, 0), 1);
  const [from, to] = [first, last].map((event) => event && parseTimestamp(event.timestamp));
  if (from === undefined || to === undefined || to - from < dayMs) return undefined;
  return before.diagnosis.open.bytes / ((to - from) / dayMs);
}

/** Everything in the data directory that must be its owner's alone. */
export async function privateFiles(config: Config): Promise<readonly FileFacts[]> {
  const { data_dir, key_provider, access_log } = config;
  const { keystore_dir, master_key_file } = key_provider.software;
  const database = await databaseFile(config);
  const alone = [
    data_dir,
    join(data_dir, "serving-key.pem"),
    join(data_dir, "root-password"),
    ...(master_key_file === undefined ? [] : [master_key_file]),
    ...(database === undefined ? [] : [database, `${database}-wal`, `${database}-shm`]),
    ...accessLogFiles(database, access_log.path),
  ];
  return [...alone.map(fileFacts), ...filesIn(keystore_dir)];
}

/**
 * On SQLite the access log is a file of its own, beside the database where nothing else is said;
 * none elsewhere.
 */
function accessLogFiles(database: string | undefined, given: string | undefined): string[] {
  const file = given ?? (database && join(dirname(database), accessLogName));
  return file === undefined ? [] : [file, `${file}-wal`, `${file}-shm`];
}

/** The file of a SQLite database. */
export async function databaseFile(config: Config): Promise<string | undefined> {
  const { driver, dsn } = config.database;
  return driver === "sqlite" ? await openSecrets(config).fresh("database.dsn", dsn) : undefined;
}

/** The path or the directory above it that exists. */
function nearestThere(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearestThere(dirname(path));
}

const dayMs = 86_400_000;
const writes = 9;
const pingMsMax = 100;
