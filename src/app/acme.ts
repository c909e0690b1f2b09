/** ACME over this instance's network, secrets and domain. */

import type { Place } from "#adapters/network/acme/addresses.ts";
import { ThreadValidators } from "#adapters/network/acme/thread.ts";
import { NetworkValidators } from "#adapters/network/acme/validators.ts";
import { systemLater, systemPatience } from "#adapters/system.ts";
import type { Metrics } from "#adapters/telemetry/families.ts";
import type { Config } from "#config/schema.ts";
import type { Secrets } from "#config/secret.ts";
import { refuse } from "#core/problems.ts";
import { type Acme, type AcmeDeps, openAcme } from "#domain/acme/open.ts";
import type { Validators } from "#domain/acme/validators.ts";
import type { ConfiguredKeys } from "#domain/acme/eab-keys.ts";
import type { Log } from "#domain/ports.ts";
import type { Instant } from "#core/time.ts";
import type { Mounts } from "#http/router.ts";
import type { Closing } from "./closing.ts";
import { createFailureHandler } from "./failure-log.ts";

/** What the root has beside what the domain asks for. */
export interface AcmeParts
  extends Omit<
    AcmeDeps,
    | "config"
    | "validators"
    | "onFault"
    | "onAttempt"
    | "configuredNonceKey"
    | "eabKeys"
    | "patience"
    | "later"
  > {
  readonly inForce: () => Config;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "count">;
  /** Where this server listens, once it does. */
  readonly ownListeners: () => readonly Place[];
  readonly workerUrl: string | undefined;
  readonly closing: Closing;
}

/** Builds it; nothing happens before somebody asks. */
export function acmeParts(deps: AcmeParts): Acme {
  const { inForce, secrets, log, metrics, clock } = deps;
  return openAcme({
    ...deps,
    validators: validatorsOf(deps),
    config: inForce,
    patience: systemPatience,
    later: systemLater,
    onAttempt: (type, result) => metrics.count("pki_acme_validations_total", { type, result }),
    onFault: createFailureHandler(log, "acme_failed"),
    configuredNonceKey: async () => {
      const text = await secrets.recent("acme.nonce_hmac_key", inForce().acme.nonce_hmac_key);
      return text === undefined ? undefined : new Uint8Array(Buffer.from(text, "base64"));
    },
    eabKeys: configuredKeys(deps, clock.now()),
  });
}

/** Off the thread that serves wherever there can be another. */
function validatorsOf({ inForce, log, random, clock, ...deps }: AcmeParts): Validators {
  const { ownListeners, workerUrl, closing } = deps;
  const asked = { log, settings: () => inForce().acme, ownListeners };
  if (workerUrl === undefined) return new NetworkValidators({ ...asked, random, clock });
  const thread = new ThreadValidators({ ...asked, workerUrl });
  closing.push(() => thread.close());
  return thread;
}

function configuredKeys({ inForce, secrets }: AcmeParts, since: Instant): ConfiguredKeys {
  return {
    since,
    kids: () => Object.keys(inForce().acme.eab_hmac_keys),
    key: async (kid) => {
      const setting = inForce().acme.eab_hmac_keys[kid];
      const text = await secrets
        .recent(`acme.eab_hmac_keys.${kid}`, setting)
        .catch(() => undefined);
      if (text === undefined) throw refuse("key_unavailable", { retry_after: 2 });
      return new Uint8Array(Buffer.from(text, "base64url"));
    },
  };
}

/** Where ACME is served; undefined leaves its rows where they are, and all of them unserved. */
export const acmeMounts = ({ acme }: Config): Mounts =>
  acme.enabled
    ? {
        acme: [
          { directory: "default", path: acme.directory_path },
          ...Object.entries(acme.directories).flatMap(([directory, { path }]) =>
            path === undefined ? [] : [{ directory, path }],
          ),
        ],
      }
    : {};
