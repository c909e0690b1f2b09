/** Preflight inside an open instance: over the parts that work for everybody else. */

import type { Read } from "#config/read.ts";
import type { Config } from "#config/schema.ts";
import type { PreflightReport } from "#core/preflight/report.ts";
import type { ProviderName } from "#domain/key-ref.ts";
import type { Keys } from "#domain/keys.ts";
import type { PreflightRequest } from "#domain/preflight/run.ts";
import type { Store } from "#domain/store.ts";
import { preflightOver } from "./checks.ts";
import { diagnosed, filesBefore, part } from "./inspect.ts";
import type { ServerLook } from "#domain/preflight/part.ts";

export interface RunningPreflightDeps {
  /** In force. */
  readonly config: () => Config;
  /** As it reads now; undefined where nobody can read it again. */
  readonly read: (() => Promise<Read>) | undefined;
  readonly store: Store;
  readonly keys: Keys;
  /** As in `Premises`. */
  readonly untried: readonly ProviderName[];
  readonly workerUrl: string | undefined;
  /** Undefined until the instance serves. */
  readonly server: () => ServerLook | undefined;
}

/** Runs preflight now. */
export async function preflightRunning(
  { config: inForce, read, store, keys, server, untried, workerUrl }: RunningPreflightDeps,
  request: PreflightRequest,
): Promise<PreflightReport> {
  const config = inForce();
  const premises = {
    read: (await read?.()) ?? asItIs(config),
    env: process.env,
    config,
    files: await filesBefore(config),
    diagnosis: await part(() => diagnosed(config)),
    store: { open: store },
    keys: { open: keys },
    untried,
    server: server(),
    workerUrl,
  };
  return await preflightOver(premises, request);
}

const asItIs = (config: Config): Read => ({
  loaded: { ok: true, config, origins: new Map(), warnings: [] },
  fileName: undefined,
});
