/** The keys of an instance, with those who are told what they do. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { type KeyPorts, openKeys } from "#adapters/keys/open.ts";
import type { OpenKeys } from "#adapters/keys/start.ts";
import { variablesOf } from "#adapters/secrets/sources.ts";
import type { Metrics } from "#adapters/telemetry/families.ts";
import { keyOperationCounter } from "#adapters/telemetry/request-counters.ts";
import type { Config } from "#config/schema.ts";
import type { Secrets } from "#config/secret.ts";
import type { KeyCounts } from "#domain/audit/key-counts.ts";
import type { Log } from "#domain/ports.ts";

export interface InstanceKeysDeps {
  readonly config: Config;
  /** After the last reload. */
  readonly inForce: () => Config;
  readonly secrets: Secrets;
  readonly metrics: Metrics;
  readonly counts: KeyCounts;
  readonly log: Log;
  /** As in `AppOptions`. */
  readonly keyPatienceMs: number | undefined;
  /** As in `AppOptions`. */
  readonly drill: boolean;
}

/** Opens them, as `openKeys` does. */
export function openInstanceKeys(deps: InstanceKeysDeps): Promise<OpenKeys> {
  const { config, metrics, counts, log } = deps;
  const counted = keyOperationCounter(metrics);
  const ports = keyPorts(deps.secrets, deps.inForce);
  const { drill } = deps;
  const limits = { readOnlyToken: drill, lookingOnly: drill };
  return openKeys(
    config,
    {
      ...ports,
      ...limits,
      privateDir: privateDirectory(config),
      startPatienceMs: deps.keyPatienceMs,
    },
    {
      measured: (operation, outcome, seconds) => {
        if (operation !== "destroy") counted(operation, outcome === "ok", seconds);
      },
      unwrapped: (kek) => counts.addKek(kek),
      enveloped: (operation, succeeded) => countEnvelope(metrics, operation, succeeded),
      fault: (sentence, facts) => log.write("error", "key_provider_fault", { sentence, ...facts }),
    },
  );
}

/** What opening keys takes besides their sections, whoever opens them. */
export const keyPorts = (
  secrets: Secrets,
  inForce: () => Pick<Config, "rate_limit">,
): Omit<KeyPorts, "privateDir"> => ({
  secrets,
  variablesOf,
  limits: () => inForce().rate_limit.concurrency,
});

/**
 * Beside the keys and not under /tmp: the PKCS#11 addon is unpacked there and must be executable.
 */
export function privateDirectory({ data_dir }: Pick<Config, "data_dir">): string {
  const path = join(data_dir, "private");
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

/** One data key wrapped or unwrapped, for a value or for a private key. */
export function countEnvelope(
  metrics: Metrics,
  operation: "encrypt" | "decrypt",
  succeeded: boolean,
): void {
  const result = succeeded ? "success" : "error";
  metrics.count("pki_envelope_operations_total", { operation, result });
}
