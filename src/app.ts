/**
 * THE COMPOSITION ROOT: configuration → adapters → domain → callers; server, shell and tests open
 * the same one.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openStore, type StoreOptions } from "#adapters/db/open.ts";
import { DnsResolver } from "#adapters/network/dns.ts";
import { type OpenKeys, openKeys } from "#adapters/keys/open.ts";
import { FreeSpace } from "#adapters/free-space.ts";
import { PathThread, pathsHere } from "#adapters/paths/thread.ts";
import { Passwords } from "#adapters/passwords.ts";
import type { SecretSources } from "#adapters/secrets/sources.ts";
import { ServingFiles } from "#adapters/serving-files.ts";
import { systemClock, systemRandom, systemStopwatch } from "#adapters/system.ts";
import { Metrics } from "#adapters/telemetry/families.ts";
import { eventCounters } from "#adapters/telemetry/projections.ts";
import { keyOperationCounter } from "#adapters/telemetry/request-counters.ts";
import { observeComponents, observeResources } from "#adapters/telemetry/resources.ts";
import { readBlocklists } from "#adapters/weak-keys.ts";
import { Probes } from "#api/health.ts";
import type { Config } from "#config/schema.ts";
import { type StillMay, stillMay } from "#domain/access/principal-now.ts";
import { recordingEffects } from "#domain/approvals/effects.ts";
import { ClockWatch, stepFacts } from "#domain/clock-watch.ts";
import { KeyCounts } from "#domain/audit/key-counts.ts";
import type { PathWork } from "#domain/ports.ts";
import { Refusals } from "#domain/access/refusals.ts";
import { reconcileIntents } from "#domain/certificates/reconcile.ts";
import { underNewest } from "#domain/envelopes/newest.ts";
import { prepareInstance } from "#domain/instance/prepare.ts";
import type { Log } from "#domain/ports.ts";
import { fillEntryEnds } from "#domain/revocation/entry-end.ts";
import { rememberShards } from "#domain/revocation/scopes.ts";
import type { Store } from "#domain/store.ts";
import { RateLimits } from "#http/rate-limits.ts";
import { openAccess } from "#app/access.ts";
import { declareTenants, openGovernance } from "#app/governance.ts";
import { claimPlace, mustBeFounded } from "#app/founded.ts";
import { openFourEyes } from "#app/four-eyes.ts";
import { PlaceIdentity } from "#app/identity.ts";
import { keysOnToken } from "#app/token-keys.ts";
import { describe, domainParts } from "#app/parts.ts";
import { type Running, startRunning } from "#app/running.ts";
import { countEnvelope, openSealing } from "#app/sealing.ts";
import { useProxy } from "#app/proxy.ts";
import { openSecrets } from "#app/secrets.ts";
import { keySettings, nameServers, rateSettings, storeOptions } from "#app/settings.ts";
import type { AppOptions, Limits, Opened } from "#app/opened.ts";
import { frontDoor } from "#app/front.ts";

/** An open instance: everything but listeners and schedule, until `serve`. */
export interface App {
  /** One request as the local administrator, through the same front door as every other. */
  fetch(request: Request): Promise<Response>;
  /** Opens the listeners and starts the schedule. */
  serve(options: ServeOptions): Promise<Running>;
  close(): Promise<void>;
}

export interface ServeOptions {
  /** `PKID_ALLOW_INSECURE_HTTP` without an explicit `self_issue.enabled`. */
  readonly cleartext: boolean;
  /** Digest of the effective configuration, secrets excluded. */
  readonly digest: string;
  /** Loads the configuration again, for SIGHUP; throws when it is not valid. */
  readonly reread: () => Config;
}

/**
 * Opens an instance in the order of PRC-1: data directory and its lock, database, keys, what the
 * first start creates, what a crash left open. Throws what kept it from opening; then nothing stays
 * open.
 */
export async function openApp(options: AppOptions): Promise<App> {
  const { config, log } = options;
  const closing: (() => unknown)[] = [];
  const close = async () => {
    for (const end of closing.reverse()) await end();
    closing.length = 0;
  };
  try {
    // 1. The place: nobody else has it while this process does.
    const secrets = openSecrets(config);
    await useProxy(config, secrets);
    const address = await storeOptions(config, options.migrate ?? false, secrets);
    // 2. The database, which must be of the same instance.
    const { store, place, instanceId } = await openPlace(options, { address, secrets }, closing);
    const metrics = new Metrics();
    // 3. The keys, and what they are sealed under.
    const limits = limitsOf(config);
    const counts = keyCounts(store, log);
    const opened = await openInstanceKeys({ config, limits, metrics, log, counts, secrets });
    closing.push(() => opened.close());
    const sealing = await openSealing({
      config,
      store,
      keys: opened,
      clock: systemClock,
      random: systemRandom,
      log,
      metrics,
    });
    const keys = underNewest(opened, sealing.keks);
    // 4. What the first start creates, and the configuration declares.
    const passwords = new Passwords();
    const space = new FreeSpace(config.data_dir, config.database.min_free_mb);
    const instance = await prepareInstance(
      {
        store,
        keys,
        clock: systemClock,
        random: systemRandom,
        instanceId,
        hashPassword: (password) => passwords.hash(password),
        keepRootPassword: options.keepRootPassword,
      },
      await rootSettings(config, secrets),
    );
    place.founded(instance.id);
    await declareTenants(config, { store, clock: systemClock, random: systemRandom });
    closing.push(() => counts.writeLast());
    await sealing.prove();
    // 5. What a crash left open, and whether the clock may be believed.
    const clockWatch = new ClockWatch({
      store,
      clock: systemClock,
      stopwatch: systemStopwatch,
      onPause: (pause) => log.write("error", "clock_stepped", stepFacts(pause)),
    });
    await clockWatch.open();
    await rememberShards(store, config.crl.shards);
    await closeIntents(store, log);
    await fillEntryEnds(store);
    return compose({
      ...options,
      store,
      keys,
      limits,
      metrics,
      passwords,
      space,
      instance,
      sealing,
      counts,
      clockWatch,
      close,
      secrets,
      paths: openPaths(options.workerUrl, closing),
      // A thread of their own: no auditor's question keeps anybody from coming in.
      clientPaths: openPaths(options.workerUrl, closing),
      opened,
      schedules: { wake: () => {} },
    });
  } catch (error) {
    await close();
    throw error;
  }
}

/** Data directory, its lock, and the database, which must be parts of one instance. */
async function openPlace(
  options: AppOptions,
  { address, secrets }: { readonly address: StoreOptions; readonly secrets: SecretSources },
  closing: (() => unknown)[],
) {
  const { config, log, workerUrl, mayFound, foundAnew = false } = options;
  const directory = claimPlace(options, address);
  closing.push(() => directory.release());
  const place = PlaceIdentity.of(config, keysOnToken(config, secrets, privateDirectory(config)));
  await place.mayOpen(address, foundAnew);
  const unwatched = await openStore(address, {
    clock: systemClock,
    random: systemRandom,
    workerUrl,
    beforeFilling: () => place.mayBegin("the database", foundAnew),
    onFault: (sentence, error) => log.write("error", sentence, { error: describe(error) }),
  });
  const store = recordingEffects(unwatched);
  closing.push(() => store.close());
  await mustBeFounded(store, mayFound);
  return { store, place, instanceId: await place.settled(store, foundAnew) };
}

/**
 * Who comes in is put together from what this check is for: it can be built only when it is first
 * asked.
 */
const later =
  (check: () => StillMay): StillMay =>
  (...asked) =>
    check()(...asked);

/** Off this thread wherever there can be another. */
function openPaths(workerUrl: string | undefined, closing: (() => unknown)[]): PathWork {
  if (workerUrl === undefined) return pathsHere;
  const thread = new PathThread({ workerUrl });
  closing.push(() => thread.close());
  return thread;
}

/** What a crash left open. */
async function closeIntents(store: Store, log: Log): Promise<void> {
  const orphans = await reconcileIntents(store, systemClock);
  if (orphans.length > 0) log.write("warn", "intents_orphaned", { count: orphans.length });
}

const keyCounts = (store: Store, log: Log) =>
  new KeyCounts({
    store,
    clock: systemClock,
    onFailure: (error) => log.write("error", "key_counts_failed", { error: describe(error) }),
  });

function limitsOf(config: Config): Limits {
  const limits: Limits = {
    inForce: config,
    rates: new RateLimits({
      settings: rateSettings(() => limits.inForce.rate_limit),
      elapsedMs: () => systemStopwatch.elapsedMs(),
    }),
  };
  return limits;
}

function compose(opened: Opened): App {
  // 1. The domain, over everything that is open.
  const { config, log, store, keys, metrics, sealing, counts, clockWatch, secrets } = opened;
  const [clock, random, { schedules }] = [systemClock, systemRandom, opened];
  const refusals = new Refusals({ store, clock });
  let weakKeys = readBlocklists(config.keychecks.weak_key_blocklist_paths);
  const resolver = new DnsResolver({ random, servers: () => nameServers(config) });
  const deps = {
    config,
    store,
    keys,
    clock,
    random,
    resolver,
    log,
    sealing,
    counts,
    clockWatch,
    secrets,
    refusals,
    weakKeys: () => weakKeys,
    stillMay: later(() => stillMay({ store, ...governance, now: access.principalNow })),
  };
  const parts = domainParts(deps, (kind) => schedules.wake(kind));
  // 2. What is measured.
  store.onOwnEvents(eventCounters(metrics));
  observeStore(store, metrics);
  const probes = new Probes({
    store,
    keys,
    hasRoom: () => opened.space.enough,
    clockBehind: () => clockWatch.pause.behindUntil !== undefined,
  });
  observeComponents(metrics, () => probes.components());
  const stopObserving = observeResources(metrics);
  // 3. Who comes in, what they may do, and what takes two.
  const access = openAccess({
    ...deps,
    metrics,
    passwords: opened.passwords,
    clientPaths: opened.clientPaths,
    rootPasswordHash: opened.instance.rootPasswordHash,
    attempts: opened.limits.rates,
  });
  const governance = openGovernance({ config, store, clock, random, apiTokens: access.apiTokens });
  const fourEyes = openFourEyes({
    config,
    store,
    clock,
    random,
    log,
    parts,
    refusals,
    now: access.principalNow,
    perform: (call) => perform(call),
    operation: (name) => catalog.mounted(name),
  });
  // 4. The door that all of them come through.
  const rooms = { parts, probes, access, governance, fourEyes, refusals };
  const { front, perform, catalog, watch } = frontDoor(opened, rooms);
  return {
    fetch: async (request) => front.handle(request, { side: "local", secure: false, peer: "" }),
    serve: (options) =>
      startRunning({
        ...options,
        config,
        store,
        parts,
        front,
        schedules,
        clock,
        log,
        failedLogins: access.failedLogins,
        refusals,
        fourEyes,
        watch,
        files: new ServingFiles(config.data_dir),
        lookAtKeys: () => opened.opened.again(),
        prepare: (next) => {
          const enter = access.prepare(next);
          const listed = readBlocklists(next.keychecks.weak_key_blocklist_paths);
          return () => {
            weakKeys = listed;
            parts.reloadProfiles(next);
            opened.limits.inForce = next;
            governance.reload(next);
            return enter();
          };
        },
      }),
    close: async () => {
      stopObserving();
      await fourEyes.executions.halt();
      await opened.close();
    },
  };
}

async function openInstanceKeys({
  config,
  limits,
  metrics,
  log,
  counts,
  secrets,
}: Pick<
  Opened,
  "config" | "limits" | "metrics" | "log" | "counts" | "secrets"
>): Promise<OpenKeys> {
  const privateDir = privateDirectory(config)();
  const counted = keyOperationCounter(metrics);
  return openKeys(
    await keySettings(config, { privateDir, limits: () => limits.inForce.rate_limit, secrets }),
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

/**
 * Beside the keys and not under /tmp: the PKCS#11 addon is unpacked there and must be executable.
 */
const privateDirectory = (config: Config) => () => {
  const path = join(config.data_dir, "private");
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
};

function observeStore(store: Store, metrics: Metrics): void {
  metrics.beforeScrape(async () => {
    const active = await store.read.access.activeApiTokens(systemClock.now());
    metrics.set("pki_auth_tokens_active", {}, active);
  });
}

const rootSettings = async ({ root_user }: Config, secrets: SecretSources) => ({
  password: await secrets.fresh("root_user.password", root_user.password),
  passwordHash: await secrets.fresh("root_user.password_hash", root_user.password_hash),
});
