/** The checks that look at the host: configuration, secrets, files, database engine, process. */

import { storeAddress } from "#adapters/db/address.ts";
import { violations } from "#adapters/db/engine/diagnosis.ts";
import { StoreUnfit } from "#adapters/db/engine/faults.ts";
import { violationsInThread } from "#adapters/db/engine/integrity-thread.ts";
import { migrationState } from "#adapters/db/engine/migration-state.ts";
import { accessLogPath } from "#adapters/db/engine/sqlite.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import {
  backupFiles,
  type DatabaseFiles,
  durableWrites,
  volumesOf,
} from "#adapters/preflight/files.ts";
import { fileFacts } from "#adapters/preflight/host.ts";
import {
  pinResolves,
  type SecretPremises,
  secretsStrong,
  sourcesResolve,
} from "#adapters/preflight/secrets.ts";
import { processFree, socketsAnswer } from "#adapters/preflight/sockets.ts";
import { describeSource } from "#adapters/secrets/sources.ts";
import { lookAtBlocklists } from "#adapters/weak-keys.ts";
import { openSecrets } from "#app/secrets.ts";
import { faultLine } from "#config/load.ts";
import type { Config } from "#config/schema.ts";
import { inlineSecrets, secretsOf } from "#config/set-secrets.ts";
import { judgeConfigFile, judgePrivate } from "#core/preflight/files.ts";
import { failed, gathered, passed, skipped, warned } from "#core/preflight/finding.ts";
import { judgeDurability } from "#core/preflight/host.ts";
import { blocklistsRead } from "#domain/preflight/blocklists.ts";
import {
  databaseAnswers,
  engineFits,
  roomLeft,
  rowsSound,
  schemaCurrent,
  type SchemaLook,
} from "#domain/preflight/database.ts";
import { tokenFound } from "#domain/preflight/keys.ts";
import { configOf, faultsAt, type Premises } from "./premises.ts";

/** Their functions over these premises. */
export const hostChecks = (premises: Premises) => ({
  ...configurationChecks(premises),
  ...secretChecks(premises),
  ...fileChecks(premises),
  ...databaseChecks(premises),
  ...processChecks(premises),
});

function configurationChecks({ read: { loaded, fileName } }: Premises) {
  return {
    "config.parse": () =>
      loaded.ok
        ? passed(`${fileName ?? "Defaults and environment"}: valid.`)
        : failed(loaded.faults.map(faultLine).join(" ")),
    "config.unknown_env": () =>
      gathered(
        loaded.warnings.filter((warning) => warning.startsWith("PKID_")).map(warned),
        "Every PKID_ variable names a key.",
      ),
    "config.file_mode": () =>
      fileName === undefined
        ? skipped("There is no configuration file.")
        : judgeConfigFile(fileFacts(fileName), loaded.ok ? inlineSecrets(loaded) : []),
  };
}

function secretChecks(premises: Premises) {
  const over = (): SecretPremises => ({
    set: secretsOf(configOf(premises)),
    secrets: openSecrets(configOf(premises), premises.env),
    describeSource,
    keys: premises.keys,
    serving: premises.server !== undefined,
  });
  const { warnings } = premises.read.loaded;
  const shadowed = warnings.filter((warning) => warning.includes("_source is set"));
  return {
    "config.default_secrets": () => secretsStrong(over()),
    "secret.sources": () => sourcesResolve(over(), shadowed),
    "pin.source": () =>
      configOf(premises).key_provider.type === "pkcs11"
        ? pinResolves(over())
        : skipped("No keys are in a token."),
    "pkcs11.uris": () => {
      const wrong = faultsAt(premises, (path) => path.startsWith("pkcs11.uri")).map(faultLine);
      return tokenFound(wrong, premises.config?.pkcs11.uri !== undefined, premises.keys);
    },
  };
}

function fileChecks(premises: Premises) {
  const { diagnosis } = premises;
  return {
    "data_dir.modes": () => judgePrivate(premises.files, backupFiles(configOf(premises))),
    "disk.space": async () => {
      const config = configOf(premises);
      const volumes = volumesOf(config, await databaseFiles(config));
      return await roomLeft(premises, volumes, config.database.min_free_mb);
    },
    "disk.fsync": async () =>
      judgeDurability({
        settings: "open" in diagnosis ? diagnosis.open.settings : [],
        ...(await durableWrites(configOf(premises))),
      }),
  };
}

function databaseChecks(premises: Premises) {
  const address = () => {
    const config = configOf(premises);
    return storeAddress(config, openSecrets(config));
  };
  return {
    "db.connectivity": () => databaseAnswers(premises),
    "db.version": () => engineFits(premises),
    "db.schema": () => schemaCurrent(premises, async () => schemaOf(await address())),
    "db.integrity": () =>
      rowsSound(premises, async () => violationsOf(await address(), premises.workerUrl)),
  };
}

function processChecks(premises: Premises) {
  return {
    "listener.sockets": () => socketsAnswer(configOf(premises).server),
    "process.limits": () => processFree(configOf(premises)),
    "keychecks.blocklist": () => {
      const key = "keychecks.weak_key_blocklist_paths";
      // Of a configuration that names files which are not there, the faults tell the same.
      const wrong = faultsAt(premises, (path) => path.startsWith(key));
      const paths = premises.config?.keychecks.weak_key_blocklist_paths ?? [];
      const sentences = wrong.map(({ sentence }) => sentence);
      return blocklistsRead(sentences, premises.store, () => lookAtBlocklists(paths));
    },
  };
}

async function schemaOf(options: StoreOptions): Promise<SchemaLook> {
  try {
    return await migrationState(options);
  } catch (error) {
    if (error instanceof StoreUnfit) return { fault: error.message };
    throw error;
  }
}

/** PostgreSQL checks in its own processes; SQLite would hold up everybody else of this one. */
function violationsOf(options: StoreOptions, workerUrl: string | undefined) {
  if (options.driver !== "sqlite" || workerUrl === undefined) return violations(options);
  return violationsInThread(workerUrl, options);
}

/** Where a SQLite database and its access log are; elsewhere the access log may still be a file. */
export async function databaseFiles(config: Config): Promise<DatabaseFiles> {
  if (config.database.driver !== "sqlite") {
    return { database: undefined, accessLog: config.access_log.path };
  }
  const address = await storeAddress(config, openSecrets(config));
  if (address.driver !== "sqlite") return { database: undefined, accessLog: undefined };
  return { database: address.path, accessLog: accessLogPath(address) };
}
