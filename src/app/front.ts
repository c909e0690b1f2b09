/** Composes the front door: the pipeline, what answers each operation, and who watches. */

import type { FreeSpace } from "#adapters/free-space.ts";
import { hasToken } from "#adapters/keys/open.ts";
import type { OpenKeys } from "#adapters/keys/start.ts";
import { osUser, systemRandom, systemStopwatch } from "#adapters/system.ts";
import type { Metrics } from "#adapters/telemetry/families.ts";
import { requestCounters } from "#adapters/telemetry/request-counters.ts";
import { processorMs } from "#adapters/telemetry/resources.ts";
import type { BackupHandlerDeps } from "#api/backups.ts";
import { isReady, type Probes } from "#api/health.ts";
import type { Config } from "#config/schema.ts";
import { pipeline } from "#domain/access/perform.ts";
import { stays } from "#domain/access/stays.ts";
import { noStepUp } from "#domain/access/step-up.ts";
import type { Refusals } from "#domain/access/refusals.ts";
import type { EventFeed } from "#domain/audit/feed/feed.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock, PathWork } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { TenantRates } from "#domain/tenants/rates.ts";
import { accessLog } from "#http/access-log.ts";
import { Catalog } from "#http/catalog.ts";
import { consolePages } from "#http/console.ts";
import { OwnPages } from "#http/csrf.ts";
import { FrontDoor } from "#http/front-door.ts";
import { LoopWatch } from "#http/loop-watch.ts";
import type { RateLimits } from "#http/rate-limits.ts";
import { acmeRefusal } from "#protocols/acme/refusal.ts";
import { ocspRefusal } from "#protocols/ocsp-refusal.ts";
import { operations } from "#operations";
import type { Access } from "./access.ts";
import { acmeMounts } from "./acme.ts";
import type { Governance } from "./governance.ts";
import type { FourEyesParts } from "./four-eyes.ts";
import { handlersOf } from "./handlers.ts";
import { createFailureHandler } from "./failure-log.ts";
import type { Parts } from "./parts.ts";
import { rpcDoor } from "./rpc.ts";
import type { Schedules } from "./running.ts";
import { preflightRunning } from "#app/preflight/running.ts";
import { settingsInForce } from "./settings.ts";
import type { AppOptions } from "./options.ts";

/** What the front door leads to. */
export interface FrontDeps extends AppOptions {
  /** After the last reload. */
  readonly inForce: () => Config;
  readonly store: Store;
  readonly keys: Keys;
  /** The providers themselves, for what is no operation of a key. */
  readonly signers: Pick<OpenKeys, "load">;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly rates: RateLimits;
  readonly space: FreeSpace;
  /** Judges chains that strangers bring. */
  readonly paths: PathWork;
  readonly schedules: Schedules;
  readonly parts: Parts;
  readonly feed: EventFeed;
  readonly backup: BackupHandlerDeps;
  readonly probes: Probes;
  readonly access: Access;
  readonly governance: Governance;
  readonly fourEyes: FourEyesParts;
  readonly refusals: Refusals;
}

/** Puts the door together: pipeline, handlers, limits, and the watch on the serving thread. */
export function frontDoor(deps: FrontDeps) {
  const { config, log, store, keys, clock, metrics, probes, access, fourEyes } = deps;
  // 1. The pipeline: what every call goes through.
  const perform = pipeline({
    store,
    clock,
    hasRoom: () => deps.space.enough,
    grants: access.grants,
    stepUp: access.requireStepUp ?? noStepUp,
    gate: fourEyes.gate,
    refusals: deps.refusals,
    stays: stays({
      store,
      clock,
      sessions: access.sessions,
      grants: access.grants,
      now: access.principalNow,
    }),
    onDecision: (action, allowed) => {
      const decision = allowed ? "allow" : "deny";
      metrics.count("pki_authz_decisions_total", { action, decision });
    },
  });
  // 2. What answers each operation.
  const tenantRates = new TenantRates({
    store,
    stopwatch: systemStopwatch,
    onFailure: createFailureHandler(log, "tenant_rates_failed"),
  });
  const handlers = handlersOf(
    {
      ...deps,
      admitTenant: async (ca) => {
        if (!deps.rates.enabled) return;
        const id = await ca();
        const tenant = id === undefined ? undefined : tenantRates.of(id);
        if (tenant !== undefined) deps.rates.admitMessage({ tenant });
      },
      admitAccount: (account) => deps.rates.admitMessage({ account }),
      attempt: (ip) => deps.rates.attempt(ip),
      roles: config.key_provider.roles,
      draining: () => front.traffic.leaving,
      keyLoad: () => deps.signers.load(),
      preflight: (request) =>
        preflightRunning(
          {
            config: deps.inForce,
            read: deps.read,
            store,
            keys,
            server: () => deps.schedules.look,
            workerUrl: deps.workerUrl,
            untried: deps.drill === true && !hasToken(config) ? ["pkcs11"] : [],
          },
          request,
        ),
      instance: {
        store,
        name: () => instanceName(deps.inForce()),
        settings: () => settingsInForce(deps.inForce(), deps.read),
        jobs: () => deps.schedules.look?.jobLooks(),
        clockPause: () => deps.parts.clockWatch.pause,
      },
    },
    () => catalog,
  );
  const catalog: Catalog = new Catalog(operations, handlers);
  // 3. The door itself, and who watches it.
  const watch = loopWatch(deps);
  const ready = async () => isReady(await probes.components(), front.traffic.leaving);
  const rpc = rpcDoor(config, catalog, perform, ready);
  const front: FrontDoor = new FrontDoor({
    perform,
    log,
    random: systemRandom,
    console: consolePages(),
    catalog,
    authenticate: access.authenticate,
    cookies: access.cookies,
    ownPages: ownPages(config),
    ...(rpc === undefined ? {} : { rpc }),
    limits: deps.rates,
    tenantRate: (ca: string) => tenantRates.of(ca),
    speeches: { ocsp: ocspRefusal, acme: acmeRefusal(deps.parts.acme) },
    mounts: acmeMounts(config),
    observer: watch,
    ...config.server,
    osUser: osUser(),
  });
  front.traffic.whenDraining(() => deps.feed.stop());
  return { front, perform, catalog, watch };
}

/** Observes every request, and what holds the thread that serves them. */
function loopWatch({ config, clock, log, store, metrics }: FrontDeps): LoopWatch {
  return new LoopWatch({
    next: accessLog({
      clock,
      log,
      counters: requestCounters(metrics),
      ...(config.access_log.enabled ? { logAccess: (row) => store.logAccess(row) } : {}),
    }),
    stopwatch: systemStopwatch,
    log,
    onBlocked: () => metrics.count("pki_process_event_loop_holds_total", {}),
    cpuMs: processorMs,
  });
}

/** The addresses by which people know this server. */
function ownPages({ server, auth }: Config): OwnPages {
  const { public_url } = server;
  return new OwnPages(
    public_url === undefined ? auth.webauthn.origins : [public_url, ...auth.webauthn.origins],
  );
}

/** What people call it: the host they find it by. */
const instanceName = ({ server: { public_url } }: Config): string | undefined =>
  public_url === undefined ? undefined : new URL(public_url).host;
