/** THE COMPOSITION ROOT: configuration → adapters → domain → callers; server, shell and tests open the same one. */

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
import { osUser, systemClock, systemRandom, systemStopwatch } from "#adapters/system.ts";
import { Metrics } from "#adapters/telemetry/families.ts";
import { eventCounters } from "#adapters/telemetry/projections.ts";
import { keyOperationCounter, requestCounters } from "#adapters/telemetry/request-counters.ts";
import { observeComponents, observeResources, processorMs } from "#adapters/telemetry/resources.ts";
import { readBlocklists } from "#adapters/weak-keys.ts";
import { isReady, Probes } from "#api/health.ts";

import type { Read } from "#config/read.ts";
import type { Config } from "#config/schema.ts";
import { pipeline } from "#domain/access/perform.ts";
import { type StillMay, stillMay } from "#domain/access/principal-now.ts";
import type { ExecutionDeps } from "#domain/approvals/executions.ts";
import { recordingEffects } from "#domain/approvals/effects.ts";
import { ClockWatch, stepFacts } from "#domain/clock-watch.ts";
import { KeyCounts } from "#domain/audit/key-counts.ts";
import type { PathWork } from "#domain/ports.ts";
import { Refusals } from "#domain/access/refusals.ts";
import { reconcileIntents } from "#domain/certificates/reconcile.ts";
import { underNewest } from "#domain/envelopes/newest.ts";
import { type PreparedInstance, prepareInstance } from "#domain/instance.ts";
import type { Keys } from "#domain/keys.ts";
import type { Log } from "#domain/ports.ts";
import { fillEntryEnds } from "#domain/revocation/entry-end.ts";
import { rememberShards } from "#domain/revocation/scopes.ts";
import { TenantRates } from "#domain/tenants/rates.ts";
import type { Store } from "#domain/store.ts";
import { accessLog } from "#http/access-log.ts";
import { consolePages } from "#http/console.ts";
import { OwnPages } from "#http/csrf.ts";
import { FrontDoor } from "#http/front-door.ts";
import { LoopWatch } from "#http/loop-watch.ts";
import { RateLimits } from "#http/rate-limits.ts";
import { ocspRefusal } from "#protocols/ocsp-refusal.ts";
import { type Access, openAccess } from "#app/access.ts";
import { declareTenants, type Governance, openGovernance } from "#app/governance.ts";
import { holdPlace, mustBeFounded } from "#app/founded.ts";
import { type FourEyesParts, openFourEyes } from "#app/four-eyes.ts";
import { PlaceIdentity } from "#app/identity.ts";
import { type Build, handlersOf } from "#app/handlers.ts";
import { describe, domainParts, type Parts } from "#app/parts.ts";
import { rpcDoor } from "#app/rpc.ts";
import { type Running, type Schedules, startRunning } from "#app/running.ts";
import { preflightRunning } from "#app/preflight/running.ts";
import { countEnvelope, openSealing, type Sealing } from "#app/sealing.ts";
import { useProxy } from "#app/proxy.ts";
import { openSecrets } from "#app/secrets.ts";
import { keyRoles, keySettings, nameServers, rateSettings, storeOptions } from "#app/settings.ts";

export interface AppOptions {
  readonly config: Config;
  readonly build: Build;
  readonly log: Log;
  /** True where an instance may begin; without it what is none is refused (`NoInstance`), and nothing is created. */
  readonly mayFound: boolean;
  /** Sets an earlier instance's identity aside where its database is gone, instead of refusing to begin another. */
  readonly foundAnew?: boolean;
  /** Shows or keeps the root password made up at the first start (CFG-6). */
  readonly keepRootPassword: (password: string) => void;
  /** The main module, which runs `runThread` when it finds itself in a thread. */
  readonly workerUrl?: string;
  /** True when pending PostgreSQL migrations may be applied. */
  readonly migrate?: boolean;
  /** Reads the configuration again, for preflight. */
  readonly read?: () => Read;
}

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
 * Opens an instance in the order of behaviour.md PRC-1: data directory and its lock, database, keys, what the first
 * start creates, what a crash left open. Throws what kept it from opening; then nothing stays open.
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
    const { store, place, instanceId } = await openPlace(options, address, closing);
    const metrics = new Metrics();
    // 3. The keys, and what they are sealed under.
    const limits = limitsOf(config);
    const counts = keyCounts(store, log);
    const opened = await openInstanceKeys({ config, limits, metrics, log, counts, secrets });
    closing.push(() => opened.close());
    const sealing = await openSealing({
      ...{ config, store, keys: opened, clock: systemClock, random: systemRandom, log, metrics },
    });
    const keys = underNewest(opened, sealing.keks);
    // 4. What the first start creates, and the configuration declares.
    const passwords = new Passwords();
    const space = new FreeSpace(config.data_dir, config.database.min_free_mb);
    const instance = await prepareInstance(
      {
        ...{ store, keys, clock: systemClock, random: systemRandom },
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
      ...{ store, clock: systemClock, stopwatch: systemStopwatch },
      onPause: (pause) => log.write("error", "clock_stepped", stepFacts(pause)),
    });
    await clockWatch.open();
    await rememberShards(store, config.crl.shards);
    await closeIntents(store, log);
    await fillEntryEnds(store);
    return compose({
      ...{ ...options, store, keys, limits, metrics, passwords, space, instance, sealing },
      ...{ counts, clockWatch, close, secrets },
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
async function openPlace(options: AppOptions, address: StoreOptions, closing: (() => unknown)[]) {
  const { config, log, workerUrl, mayFound, foundAnew = false } = options;
  const directory = holdPlace(options, address);
  closing.push(() => directory.release());
  const place = PlaceIdentity.of(config);
  place.mayOpen(address, foundAnew);
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

/** Who comes in is put together from what this check is for: it can be built only when it is first asked. */
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
    ...{ store, clock: systemClock },
    onFailure: (error) => log.write("error", "key_counts_failed", { error: describe(error) }),
  });

/** What guard and rate tiers go by, and the configuration in force; a reload replaces that. */
interface Limits {
  inForce: Config;
  readonly rates: RateLimits;
}

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

interface Opened extends AppOptions {
  readonly secrets: SecretSources;
  readonly store: Store;
  readonly keys: Keys;
  readonly limits: Limits;
  readonly metrics: Metrics;
  readonly passwords: Passwords;
  readonly space: FreeSpace;
  readonly instance: PreparedInstance;
  readonly sealing: Sealing;
  readonly counts: KeyCounts;
  readonly clockWatch: ClockWatch;
  readonly paths: PathWork;
  readonly clientPaths: PathWork;
  readonly schedules: Schedules;
  readonly close: () => Promise<void>;
  /** The providers themselves, for what is no operation of a key. */
  readonly opened: Pick<OpenKeys, "again" | "load">;
}

function compose(opened: Opened): App {
  const { config, log, store, keys, metrics, sealing, counts, clockWatch, secrets } = opened;
  const [clock, random, { schedules }] = [systemClock, systemRandom, opened];
  const refusals = new Refusals({ store, clock });
  let weakKeys = readBlocklists(config.keychecks.weak_key_blocklist_paths);
  const resolver = new DnsResolver({ random, servers: () => nameServers(config) });
  const ground = {
    ...{ config, store, keys, clock, random, resolver, log },
    ...{ sealing, counts, clockWatch, secrets, refusals },
    weakKeys: () => weakKeys,
    stillMay: later(() => stillMay({ store, ...governance, now: access.principalNow })),
  };
  const parts = domainParts(ground, (kind) => schedules.wake(kind));
  store.onOwnEvents(eventCounters(metrics));
  observeStore(store, metrics);
  const probes = new Probes({
    ...{ store, keys, hasRoom: () => opened.space.enough },
    clockBehind: () => clockWatch.pause.behindUntil !== undefined,
  });
  observeComponents(metrics, () => probes.components());
  const stopObserving = observeResources(metrics);
  const access = openAccess({
    ...{ ...ground, metrics, passwords: opened.passwords, clientPaths: opened.clientPaths },
    ...{ rootPasswordHash: opened.instance.rootPasswordHash, attempts: opened.limits.rates },
  });
  const governance = openGovernance({ config, store, clock, random, tokens: access.tokens });
  const fourEyes = openFourEyes({
    ...{ config, store, clock, random, log, parts, refusals, now: access.principalNow },
    perform: (call) => replay(call),
  });
  const rooms = { parts, probes, access, governance, fourEyes, refusals };
  const { front, replay, watch } = frontDoor(opened, rooms);
  return {
    fetch: async (request) => front.handle(request, { side: "local", secure: false, peer: "" }),
    serve: (options) =>
      startRunning({
        ...{ ...options, config, store, parts, front, schedules, clock, log },
        ...{ failedLogins: access.failedLogins, refusals, fourEyes, watch },
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

/** What the front door leads to. */
interface Rooms {
  readonly parts: Parts;
  readonly probes: Probes;
  readonly access: Access;
  readonly governance: Governance;
  readonly fourEyes: FourEyesParts;
  readonly refusals: Refusals;
}

function frontDoor(opened: Opened, rooms: Rooms) {
  const { config, build, log, store, keys, metrics } = opened;
  const { probes, access, governance, fourEyes } = rooms;
  const clock = systemClock;
  const perform = pipeline({
    ...{ store, clock, hasRoom: () => opened.space.enough, grants: governance.grants },
    ...(access.requireStepUp && { stepUp: access.requireStepUp }),
    ...{ gate: fourEyes.gate, refusals: rooms.refusals },
    onDecision: (action, allowed) => {
      const decision = allowed ? "allow" : "deny";
      metrics.count("pki_authz_decisions_total", { action, decision });
    },
  });
  const handlers = handlersOf({
    ...{ config, build, store, keys, clock, metrics, ...rooms },
    ...{ roles: keyRoles(config), draining: () => front.draining, paths: opened.paths },
    keyLoad: () => opened.opened.load(),
    preflight: (wish) =>
      preflightRunning(
        {
          ...{ config: () => opened.limits.inForce, read: opened.read, store, keys },
          ...{ server: () => opened.schedules.look, workerUrl: opened.workerUrl },
        },
        wish,
      ),
  });
  const tenantRates = new TenantRates({
    ...{ store, stopwatch: systemStopwatch },
    onFailure: (error) => log.write("error", "tenant_rates_failed", { error: describe(error) }),
  });
  const watch = loopWatch(opened);
  const ready = async () => isReady(await probes.components(), front.draining);
  const rpc = rpcDoor(config, handlers, perform, ready);
  const front: FrontDoor = new FrontDoor({
    ...{ perform, log, random: systemRandom, console: consolePages(), handlers },
    ...{ authenticate: access.authenticate, cookies: access.cookies },
    ownPages: ownPages(config),
    ...(rpc === undefined ? {} : { rpc }),
    ...{
      limits: opened.limits.rates,
      tenantRate: (ca: string) => tenantRates.of(ca),
      ownWords: { "ocsp.get": ocspRefusal, "ocsp.post": ocspRefusal },
    },
    observer: watch,
    trustedProxies: config.server.trusted_proxies,
    bodyBytesMax: config.server.max_body_bytes,
    bulkBodyBytesMax: config.server.max_bulk_body_bytes,
    osUser: osUser(),
  });
  const replay: ExecutionDeps["perform"] = (call) => {
    const handler = handlers[call.operation];
    if (typeof handler === "function") throw new Error("a public operation takes no approval");
    return perform(call, handler);
  };
  return { front, replay, watch };
}

/** Observes every request, and what holds the thread that serves them. */
function loopWatch({ config, log, store, metrics }: Opened): LoopWatch {
  return new LoopWatch({
    next: accessLog({
      ...{ clock: systemClock, log, counters: requestCounters(metrics) },
      ...(config.access_log.enabled ? { logAccess: (row) => store.logAccess(row) } : {}),
    }),
    stopwatch: systemStopwatch,
    log,
    held: () => metrics.count("pki_process_event_loop_holds_total", {}),
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
  // Beside the keys and not under /tmp: the PKCS#11 addon is unpacked there and must be executable.
  const privateDir = join(config.data_dir, "private");
  mkdirSync(privateDir, { recursive: true, mode: 0o700 });
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

function observeStore(store: Store, metrics: Metrics): void {
  metrics.beforeScrape(async () => {
    const active = await store.read.access.activeTokens(systemClock.now());
    metrics.set("pki_auth_tokens_active", {}, active);
  });
}

const rootSettings = async ({ root_user }: Config, secrets: SecretSources) => ({
  password: await secrets.fresh("root_user.password", root_user.password),
  passwordHash: await secrets.fresh("root_user.password_hash", root_user.password_hash),
});
