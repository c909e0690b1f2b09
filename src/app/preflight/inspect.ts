/**
 * Opens as much of an instance as there is, for looking only: no migration, no first start, nothing
 * reconciled.
 */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { DirectoryUnfit, holdDirectory } from "#adapters/data-directory.ts";
import { storeAddress } from "#adapters/db/address.ts";
import { diagnose } from "#adapters/db/engine/diagnosis.ts";
import { StoreUnfit } from "#adapters/db/engine/faults.ts";
import { migrationState } from "#adapters/db/engine/migration-state.ts";
import { highWaterPath, openHighWaterForReading } from "#adapters/db/history/high-water-file.ts";
import { openStore } from "#adapters/db/open.ts";
import { openKeys } from "#adapters/keys/open.ts";
import { SecretUnavailable } from "#config/secret.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import type { Environment } from "#config/environment.ts";
import type { Read } from "#config/read.ts";
import type { Config } from "#config/schema.ts";
import type { PreflightReport } from "#core/preflight/report.ts";
import type { Keys } from "#domain/keys.ts";
import { tellKeks } from "#domain/envelopes/keks.ts";
import type { PreflightRequest } from "#domain/preflight/run.ts";
import type { Store } from "#domain/store.ts";
import { useProxy } from "#app/proxy.ts";
import { PlaceIdentity } from "#app/identity.ts";
import { openSecrets } from "#app/secrets.ts";
import { keysOnToken } from "#adapters/keys/token-keys.ts";
import { keyPorts } from "#app/keys.ts";
import { preflightOver } from "./checks.ts";
import { privateFiles } from "#adapters/preflight/files.ts";
import type { Part } from "#domain/preflight/part.ts";
import { databaseFiles } from "./host-checks.ts";
import type { Premises } from "./premises.ts";

/**
 * Preflight in a process of its own, under the lock of the data directory. Whatever is wrong is in
 * the report: while another process holds the directory, store and keys stay closed, and what needs
 * them says who that is.
 */
export async function inspect(
  read: Read,
  env: Environment,
  request: PreflightRequest,
  workerUrl?: string,
): Promise<PreflightReport> {
  const { loaded } = read;
  if (!loaded.ok) return preflightOver({ ...nothing, read, env, workerUrl }, request);
  const { config } = loaded;
  // Without it the check that tries all sources says so.
  await useProxy(config, openSecrets(config, env)).catch(ignoreUnavailable);
  const server = undefined;
  const files = await filesBefore(config);
  const diagnosis = await part(() => diagnosed(config));
  const known = { read, env, workerUrl, config, server, files, diagnosis };
  const never = "fault" in diagnosis && diagnosis.absent === true;
  if (never || !existsSync(config.data_dir)) {
    const absent = { fault: firstStart, absent: true };
    return preflightOver({ ...known, store: absent, keys: absent }, request);
  }
  const release = claimed(config.data_dir);
  if (typeof release === "string") {
    const fault = { fault: release };
    return preflightOver({ ...known, store: fault, keys: fault }, request);
  }
  const store = await part(() => openedStore(config));
  const keys = await part(() => openedKeys(config, store));
  try {
    return await preflightOver({ ...known, store, keys }, request);
  } finally {
    if ("open" in keys) await keys.open.close();
    if ("open" in store) await store.open.close();
    release();
  }
}

function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof SecretUnavailable)) throw error;
}

/** Nothing is wrong: what is looked for is made later. */
class NotThere extends Error {}

/** Looks at the database of a running or a stopped instance. */
export async function diagnosed(config: Config) {
  const { database: file } = await databaseFiles(config);
  if (file !== undefined && !existsSync(file)) {
    // Where an instance has been its database is missing, which is no first start.
    await identityToBe(config).mayBegin(file, false);
    throw new NotThere(firstStart);
  }
  return await diagnose(await storeAddress(config, openSecrets(config)));
}

/**
 * Nothing is made in the data directory; a token that cannot be asked here says nothing before the
 * first start.
 */
function identityToBe(config: Config): PlaceIdentity {
  const token = async () => {
    const path = mkdtempSync(join(tmpdir(), "pkid-preflight-"));
    try {
      const ports = { ...keyPorts(openSecrets(config), () => config), lookingOnly: true };
      return await (keysOnToken(config, ports, () => path)?.() ?? []);
    } catch {
      return [];
    } finally {
      rmSync(path, { recursive: true, force: true });
    }
  };
  return PlaceIdentity.of(config, token);
}

/** The part, or the sentence of what kept it closed. */
export async function part<T>(open: () => Promise<T>): Promise<Part<T>> {
  try {
    return { open: await open() };
  } catch (error) {
    // Whatever it is, it is what preflight is to tell; the sentences of adapters carry no secret.
    const fault = error instanceof Error ? error.message : String(error);
    return { fault, absent: error instanceof NotThere };
  }
}

/** The private files as they are now; none when nobody can say where they are. */
export async function filesBefore(config: Config): Promise<Premises["files"]> {
  try {
    return privateFiles(config, await databaseFiles(config));
  } catch (error) {
    if (error instanceof SecretUnavailable) return []; // Then secret.sources says which.
    throw error;
  }
}

/** Gives the release, or why the directory cannot be used. */
function claimed(path: string): (() => void) | string {
  try {
    return holdDirectory(path).release;
  } catch (error) {
    if (error instanceof DirectoryUnfit) return error.message;
    throw error;
  }
}

async function openedStore(config: Config): Promise<Store> {
  const options = await storeAddress(config, openSecrets(config));
  const { pending } = await migrationState(options);
  if (pending.length > 0) {
    throw new StoreUnfit("migration_pending", "The database lacks migrations; see db.schema.");
  }
  const highWater = openHighWaterForReading(highWaterPath(config.data_dir));
  return await openStore(options, { clock: systemClock, random: systemRandom, highWater });
}

/** Private keys open when it is known what they are sealed under, which the store says. */
async function openedKeys(config: Config, store: Part<Store>): Promise<Keys> {
  const privateDir = join(config.data_dir, "private");
  const ports = keyPorts(openSecrets(config), () => config);
  // Looking must not be what locks a token.
  const keys = await openKeys(config, { ...ports, privateDir, lookingOnly: true });
  const hybrid = config.secret.pqc_hybrid;
  if ("open" in store) await tellKeks({ store: store.open, keys, hybrid });
  return keys;
}

const firstStart = "There is no instance here yet; the first start makes it.";
const invalid = "The configuration is not valid; see config.parse.";
const nothing = {
  config: undefined,
  server: undefined,
  store: { fault: invalid },
  keys: { fault: invalid },
  files: [],
  diagnosis: { fault: invalid },
};
