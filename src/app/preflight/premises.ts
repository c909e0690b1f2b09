/** What one run of preflight can look at. */

import type { Environment } from "#config/environment.ts";
import type { Read } from "#config/read.ts";
import type { Config } from "#config/schema.ts";
import type { FileFacts } from "#core/preflight/files.ts";
import type { Need } from "#core/preflight/checks.ts";
import { assert } from "#core/problems.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { Keys } from "#domain/keys.ts";
import type { DatabasePremises } from "#domain/preflight/database.ts";
import type { Part, ServerLook } from "#domain/preflight/part.ts";

export interface Premises extends DatabasePremises {
  /** The configuration as it reads now. */
  readonly read: Read;
  readonly env: Environment;
  /** The main module, for threads; undefined where it is not the binary's. */
  readonly workerUrl: string | undefined;
  /** The one in force; undefined when nothing runs and what was read is not valid. */
  readonly config: Config | undefined;
  readonly keys: Part<Keys>;
  /** Providers that a drill could not open, because the configuration does not have them. */
  readonly untried?: readonly ProviderName[];
  /** The server this runs in; undefined when nothing serves. */
  readonly server: ServerLook | undefined;
  /** The private files of the instance, as they were before anything was opened. */
  readonly files: readonly FileFacts[];
}

/** The configuration; only for checks that need it. */
export function configOf({ config }: Premises): Config {
  assert(config !== undefined, "a check is run only when what it needs is there");
  return config;
}

/** What is wrong with a key, or below it, in the configuration as it reads now. */
export const faultsAt = ({ read }: Premises, wrong: (path: string) => boolean) =>
  read.loaded.ok ? [] : read.loaded.faults.filter(({ path }) => wrong(path));

/** Why a need of the table is not met. */
export function missingNeeds(premises: Premises): Readonly<Partial<Record<Need, string>>> {
  const { config, store, keys, server } = premises;
  return {
    ...(config === undefined
      ? { config: "The configuration is not valid; see config.parse." }
      : {}),
    ...("fault" in store ? { store: store.fault } : {}),
    ...("fault" in keys ? { keys: keys.fault } : {}),
    ...(server === undefined ? { server: "No server is running." } : {}),
  };
}
