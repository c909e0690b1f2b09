/** What one run of preflight can look at: parts that are open, or why they are not. */

import type { Diagnosis } from "#adapters/db/engine/diagnosis.ts";
import type { Environment } from "#config/environment.ts";
import type { Read } from "#config/read.ts";
import type { Config } from "#config/schema.ts";
import type { FileFacts } from "#core/preflight/files.ts";
import type { Need } from "#core/preflight/checks.ts";
import { failed, type Finding, skipped } from "#core/preflight/finding.ts";
import { assert } from "#core/problems.ts";
import type { Keys } from "#domain/keys.ts";
import type { Store } from "#domain/store.ts";

/**
 * An open part, or a sentence that says why it is not; `absent` where it is not there to be opened,
 * which is no fault.
 */
export type Part<T> = { readonly open: T } | NotOpen;
export interface NotOpen {
  readonly fault: string;
  readonly absent?: boolean;
}

/** What a check says that is about the very part that is not open. */
export const closed = ({ fault, absent }: NotOpen): Finding =>
  absent === true ? skipped(fault) : failed(fault);

/** What a running server shows of itself. */
export interface ServerLook {
  /** Jobs that should have run by now. */
  readonly lateJobs: () => readonly string[];
  /** Where the main listener is reached from here. */
  readonly listener: () => {
    readonly host: string;
    readonly port: number;
    readonly secure: boolean;
  };
}

export interface Premises {
  /** The configuration as it reads now. */
  readonly read: Read;
  readonly env: Environment;
  /** The main module, for threads; undefined where it is not the binary's. */
  readonly workerUrl: string | undefined;
  /** The one in force; undefined when nothing runs and what was read is not valid. */
  readonly config: Config | undefined;
  readonly store: Part<Store>;
  readonly keys: Part<Keys>;
  /** The server this runs in; undefined when nothing serves. */
  readonly server: ServerLook | undefined;
  /** The files of the instance and the database, as they were before anything was opened. */
  readonly before: { readonly files: readonly FileFacts[]; readonly diagnosis: Part<Diagnosis> };
}

/** The part; only for checks whose needs name it. */
export function present<T>(part: Part<T>): T {
  assert("open" in part, "a check is run only when what it needs is there");
  return part.open;
}

/** The configuration; only for checks that need it. */
export function configOf({ config }: Premises): Config {
  assert(config !== undefined, "a check is run only when what it needs is there");
  return config;
}

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
