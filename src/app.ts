/**
 * THE COMPOSITION ROOT: configuration → adapters → domain → callers; server, shell and tests open
 * the same one.
 */

import { storeAddress } from "#adapters/db/address.ts";
import { FreeSpace } from "#adapters/free-space.ts";
import { DnsResolver } from "#adapters/network/dns.ts";
import { nameServers } from "#adapters/network/resolv-conf.ts";
import { PathThread, pathsHere } from "#adapters/paths/thread.ts";
import { Passwords } from "#adapters/passwords.ts";
import { ServingFiles } from "#adapters/serving-files.ts";
import { systemClock, systemRandom, systemStopwatch } from "#adapters/system.ts";
import { Metrics } from "#adapters/telemetry/families.ts";
import { eventCounters } from "#adapters/telemetry/projections.ts";
import { observeComponents, observeResources } from "#adapters/telemetry/resources.ts";
import { WeakKeys } from "#adapters/weak-keys.ts";
import { Probes } from "#api/health.ts";
import { openCallers } from "#app/access.ts";
import { openFourEyes } from "#app/four-eyes.ts";
import { claimPlace, openPlace } from "#app/founded.ts";
import { frontDoor } from "#app/front.ts";
import { countEnvelope, openInstanceKeys } from "#app/keys.ts";
import type { AppOptions } from "#app/options.ts";
import { atRest } from "#app/rest.ts";
import { describe, domainParts } from "#app/parts.ts";
import { useProxy } from "#app/proxy.ts";
import { type Running, type Schedules, startRunning } from "#app/running.ts";
import { openSecrets } from "#app/secrets.ts";
import type { Config } from "#config/schema.ts";
import type { Secrets } from "#config/secret.ts";
import { stillMay } from "#domain/access/principal-now.ts";
import { Refusals } from "#domain/access/refusals.ts";
import { KeyCounts } from "#domain/audit/key-counts.ts";
import { reconcileIntents } from "#domain/certificates/reconcile.ts";
import { ClockWatch, stepFacts } from "#domain/clock-watch.ts";
import { underNewest } from "#domain/envelopes/newest.ts";
import { openSealing } from "#domain/envelopes/open.ts";
import { prepareInstance } from "#domain/instance/prepare.ts";
import type { Log, PathWork } from "#domain/ports.ts";
import { fillEntryEnds } from "#domain/revocation/entry-end.ts";
import { rememberShards } from "#domain/revocation/scopes.ts";
import type { Store } from "#domain/store.ts";
import { openTenants } from "#domain/tenants/open.ts";
import { RateLimits } from "#http/rate-limits.ts";

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
  const closing: Closing = [];
  try {
    return compose(options, await openGround(options, closing), closing);
  } catch (error) {
    await closeAll(closing);
    throw error;
  }
}

/** What has to be closed, in the order in which it was opened. */
type Closing = (() => unknown)[];

/** Everything below the domain, in the order of PRC-1. */
async function openGround(options: AppOptions, closing: Closing) {
  const { config, log } = options;
  const [clock, random, stopwatch] = [systemClock, systemRandom, systemStopwatch];
  const current = { config };
  const inForce = () => current.config;

  // 1. The place: nobody else has it while this process does.
  const secrets = openSecrets(config);
  await useProxy(config, secrets);
  const address = await storeAddress(config, secrets, options.migrate);
  const directory = claimPlace(options, address);
  closing.push(() => directory.release());

  // 2. The database, which must be of the same instance.
  const { store, place, instanceId } = await openPlace(options, address, secrets);
  closing.push(
    () => store.close(),
    atRest(() => store.rest()),
  );
  const metrics = new Metrics();

  // 3. The keys.
  const counts = keyCounts(store, log);
  const signers = await openInstanceKeys({ config, inForce, secrets, metrics, counts, log });
  closing.push(() => signers.close());

  // 4. What they and secrets of the database are sealed under.
  const sealing = await openSealing(config, {
    store,
    keys: signers,
    clock,
    random,
    log,
    pause: (milliseconds) => Bun.sleep(milliseconds),
    onOperation: (operation, succeeded) => countEnvelope(metrics, operation, succeeded),
  });
  const keys = underNewest(signers, sealing.keks);

  // 5. What the first start creates, and the configuration declares.
  const passwords = new Passwords();
  const { keepRootPassword } = options;
  const hashPassword = (password: string) => passwords.hash(password);
  const instance = await prepareInstance(
    { store, keys, clock, random, instanceId, hashPassword, keepRootPassword },
    await rootSecrets(config, secrets),
  );
  place.founded(instance.id);
  const tenants = await openTenants(config.tenants, { store, clock, random });
  closing.push(() => counts.writeLast());
  await sealing.prove();

  // 6. What a crash left open, and whether the clock may be believed.
  const clockWatch = new ClockWatch({
    store,
    clock,
    stopwatch,
    onPause: (pause) => log.write("error", "clock_stepped", stepFacts(pause)),
  });
  await clockWatch.open();
  await rememberShards(store, config.crl.shards);
  await closeIntents(store, log);
  await fillEntryEnds(store);
  const sealed = { signers, keys, counts, sealing };
  const begun = { instance, tenants, passwords, clockWatch };
  return { current, inForce, secrets, store, metrics, ...sealed, ...begun };
}

/** The domain and its callers, over everything that is open. */
function compose(
  options: AppOptions,
  ground: Awaited<ReturnType<typeof openGround>>,
  closing: Closing,
): App {
  const { config, log, workerUrl } = options;
  const { inForce, secrets, store, keys, signers, sealing, metrics, clockWatch } = ground;
  const [clock, random, stopwatch] = [systemClock, systemRandom, systemStopwatch];

  // 1. The domain, over everything that is open.
  const refusals = new Refusals({ store, clock });
  const weakKeys = new WeakKeys(config.keychecks);
  const schedules: Schedules = { wake: () => {} };
  const deps = { config, inForce, store, keys, clock, random, log, secrets, refusals };
  const parts = domainParts({
    ...deps,
    resolver: new DnsResolver({ random, servers: () => nameServers(config.caa) }),
    sealing,
    counts: ground.counts,
    clockWatch,
    weakKeys: () => weakKeys.digests,
    wake: (kind) => schedules.wake(kind),
    // Who comes in is put together from what this check is for: it is built when it is first asked.
    stillMay: (...asked) =>
      stillMay({ store, grants: access.grants, now: access.principalNow })(...asked),
  });

  // 2. What is measured.
  const space = new FreeSpace(config.data_dir, config.database.min_free_mb);
  const behind = () => clockWatch.pause.behindUntil !== undefined;
  const probes = new Probes({ store, keys, hasRoom: () => space.enough, clockBehind: behind });
  closing.push(observe(store, metrics, probes));

  // 3. The callers: who comes in, what they may do, and what takes two.
  const rates = new RateLimits({
    settings: () => inForce().rate_limit,
    elapsedMs: () => stopwatch.elapsedMs(),
  });
  const paths = openPaths(workerUrl, closing);
  // A thread of their own: no auditor's question keeps anybody from coming in.
  const clientPaths = openPaths(workerUrl, closing);
  const access = openCallers({
    ...deps,
    metrics,
    passwords: ground.passwords,
    clientPaths,
    rootPasswordHash: ground.instance.rootPasswordHash,
    attempts: rates,
  });
  const fourEyes = openFourEyes({
    ...deps,
    parts,
    now: access.principalNow,
    perform: (call) => perform(call),
    operation: (name) => catalog.mounted(name),
  });
  closing.push(() => fourEyes.executions.halt());

  // 4. The door that all of them come through.
  const { front, perform, catalog, watch } = frontDoor({
    ...deps,
    ...options,
    signers,
    metrics,
    rates,
    space,
    paths,
    schedules,
    parts,
    probes,
    access,
    governance: { ...access, tenants: ground.tenants },
    fourEyes,
  });

  // 5. The way back: what is reloaded, and what is closed.
  const prepare = (next: Config) => {
    const [enter, list] = [access.prepare(next), weakKeys.prepare(next.keychecks)];
    return () => {
      list();
      ground.current.config = next;
      return enter();
    };
  };
  return {
    fetch: async (request) => front.handle(request, { side: "local", secure: false, peer: "" }),
    serve: (asked) =>
      startRunning({
        ...deps,
        ...asked,
        parts,
        front,
        schedules,
        failedLogins: access.failedLogins,
        fourEyes,
        watch,
        files: new ServingFiles(config.data_dir),
        lookAtKeys: () => signers.again(),
        prepare,
      }),
    close: () => closeAll(closing),
  };
}

/** The last first. */
async function closeAll(closing: Closing): Promise<void> {
  for (const end of closing.reverse()) await end();
  closing.length = 0;
}

const keyCounts = (store: Store, log: Log) =>
  new KeyCounts({
    store,
    clock: systemClock,
    onFailure: (error) => log.write("error", "key_counts_failed", { error: describe(error) }),
  });

const rootSecrets = async ({ root_user }: Config, secrets: Secrets) => ({
  password: await secrets.fresh("root_user.password", root_user.password),
  passwordHash: await secrets.fresh("root_user.password_hash", root_user.password_hash),
});

/** What a crash left open. */
async function closeIntents(store: Store, log: Log): Promise<void> {
  const orphans = await reconcileIntents(store, systemClock);
  if (orphans.length > 0) log.write("warn", "intents_orphaned", { count: orphans.length });
}

/** Events, tokens, components and resources, as metrics; what it gives ends that. */
function observe(store: Store, metrics: Metrics, probes: Probes): () => void {
  store.onOwnEvents(eventCounters(metrics));
  metrics.beforeScrape(async () => {
    const active = await store.read.access.activeApiTokens(systemClock.now());
    metrics.set("pki_auth_tokens_active", {}, active);
  });
  observeComponents(metrics, () => probes.components());
  return observeResources(metrics);
}

/** Off this thread wherever there can be another. */
function openPaths(workerUrl: string | undefined, closing: Closing): PathWork {
  if (workerUrl === undefined) return pathsHere;
  const thread = new PathThread({ workerUrl });
  closing.push(() => thread.close());
  return thread;
}
