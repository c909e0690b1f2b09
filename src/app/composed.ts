/** The upper half of an instance: the domain, its callers, and the door that all of them use. */

import { FreeSpace } from "#adapters/free-space.ts";
import { DnsResolver } from "#adapters/network/dns.ts";
import { nameServers } from "#adapters/network/resolv-conf.ts";
import { PathThread, pathsHere } from "#adapters/paths/thread.ts";
import { ServingFiles } from "#adapters/serving-files.ts";
import type { Administration } from "#adapters/db/stores/store.ts";
import type { OpenKeys } from "#adapters/keys/start.ts";
import type { Passwords } from "#adapters/passwords.ts";
import { systemClock, systemLater, systemRandom, systemStopwatch } from "#adapters/system.ts";
import type { Metrics } from "#adapters/telemetry/families.ts";
import { measureProbes, probeCounter } from "#adapters/telemetry/canary.ts";
import { eventCounters } from "#adapters/telemetry/projections.ts";
import { observeComponents, observeResources } from "#adapters/telemetry/resources.ts";
import { WeakKeys } from "#adapters/weak-keys.ts";
import { Probes } from "#api/health.ts";
import type { Config } from "#config/schema.ts";
import type { Secrets } from "#config/secret.ts";
import { stillMay } from "#domain/access/principal-now.ts";
import { Refusals } from "#domain/access/refusals.ts";
import type { KeyCounts } from "#domain/audit/key-counts.ts";
import { EventFeed } from "#domain/audit/feed/feed.ts";
import type { ClockWatch } from "#domain/clock-watch.ts";
import type { Sealing } from "#domain/envelopes/open.ts";
import type { PreparedInstance } from "#domain/instance/prepare.ts";
import type { Keys } from "#domain/keys.ts";
import type { PathWork } from "#domain/ports.ts";
import { outstandingReplacements } from "#domain/acme/replacements.ts";
import { backupFacts } from "#domain/backup/backups.ts";
import type { Store } from "#domain/store.ts";
import type { Tenants } from "#domain/tenants/tenants.ts";
import { RateLimits } from "#http/rate-limits.ts";

import { openBackups } from "#app/backup/scheduled.ts";
import { openCallers } from "./access.ts";
import { closeAll, type Closing } from "./closing.ts";
import { openFourEyes } from "./four-eyes.ts";
import { frontDoor } from "./front.ts";
import type { HandedOver } from "./handed-over.ts";
import type { AppOptions } from "./options.ts";
import { domainParts } from "./parts.ts";
import { type Running, type Schedules, startRunning } from "./running.ts";

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
  /** Sockets that this process was started with, and whose they are. */
  readonly handed: HandedOver;
  /** Digest of the effective configuration, secrets excluded. */
  readonly digest: string;
  /** Loads the configuration again, for SIGHUP; throws when it is not valid. */
  readonly reread: () => Promise<Config>;
}

/** What is open below the domain. */
export interface Ground {
  /** The configuration in force; a reload puts another one here. */
  readonly current: { config: Config };
  readonly inForce: () => Config;
  readonly secrets: Secrets;
  readonly store: Store & Administration;
  readonly metrics: Metrics;
  readonly signers: OpenKeys;
  /** They, and each value sealed under the newest version. */
  readonly keys: Keys;
  readonly counts: KeyCounts;
  readonly sealing: Sealing;
  readonly instance: PreparedInstance;
  readonly tenants: Tenants;
  readonly passwords: Passwords;
  readonly clockWatch: ClockWatch;
}

/** The domain and its callers, over everything that is open. */
export function compose(options: AppOptions, ground: Ground, closing: Closing): App {
  const { config, log, workerUrl } = options;
  const { inForce, secrets, store, keys, signers, sealing, metrics, clockWatch } = ground;
  const [clock, random, stopwatch] = [systemClock, systemRandom, systemStopwatch];

  // 1. The domain, over everything that is open.
  const refusals = new Refusals({ store, clock });
  const weakKeys = new WeakKeys(config.keychecks);
  const schedules: Schedules = { wake: () => {} };
  const deps = { config, inForce, store, keys, clock, random, log, secrets, refusals };
  const paths = openPaths(workerUrl, closing);
  const { min_free_mb: freeMin } = config.database;
  const space = new FreeSpace(config.data_dir, freeMin);
  const spare = new FreeSpace(config.data_dir, freeMin * spareShare);
  const parts = domainParts({
    ...deps,
    resolver: new DnsResolver({ random, servers: () => nameServers(config.caa) }),
    sealing,
    counts: ground.counts,
    clockWatch,
    weakKeys: () => weakKeys.digests,
    wake: (kind) => schedules.wake(kind),
    scheduled: () => schedules.look !== undefined,
    paths,
    hasRoom: () => space.enough,
    hasSpareSpace: () => spare.enough,
    onProbe: probeCounter(metrics),
    workerUrl,
    closing,
    metrics,
    ownListeners: () => schedules.ownListeners?.() ?? [],
    // Who comes in is put together from what this check is for: it is built when it is first asked.
    stillMay: (...asked) =>
      stillMay({ store, grants: access.grants, now: access.principalNow })(...asked),
  });

  // 2. What is measured.
  const behind = () => clockWatch.pause.behindUntil !== undefined;
  const probes = new Probes({ store, keys, hasRoom: () => space.enough, clockBehind: behind });
  closing.push(observe(ground, probes));

  // 3. The callers: who comes in, what they may do, and what takes two.
  const rates = new RateLimits({
    settings: () => inForce().rate_limit,
    elapsedMs: () => stopwatch.elapsedMs(),
  });
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

  const backup = openBackups({ ...deps, ...options, parts });
  const feed = openFeed(ground);

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
    feed,
    backup: backup.asked,
    probes,
    access,
    governance: { ...access, tenants: ground.tenants },
    fourEyes,
  });

  // 5. The way back: what is reloaded, and what is closed.
  const prepare = (next: Config) => {
    const [enter, list] = [access.prepare(next), weakKeys.prepare(next.keychecks)];
    return async () => {
      list();
      ground.current.config = next;
      await enter();
      feed.doubt();
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
        backups: backup.scheduled,
        prepare,
      }),
    close: () => closeAll(closing),
  };
}

/** Events, tokens, components and resources, as metrics; what it gives ends that. */
function observe({ store, metrics, inForce }: Ground, probes: Probes): () => void {
  store.onOwnEvents(eventCounters(metrics));
  metrics.beforeScrape(async () => {
    const active = await store.read.access.activeApiTokens(systemClock.now());
    metrics.set("pki_auth_tokens_active", {}, active);
    const { at, bytes, drilledAt } = await backupFacts(store);
    metrics.set("pki_backup_last_success_timestamp_seconds", {}, at / 1000);
    metrics.set("pki_backup_last_success_bytes", {}, bytes);
    const outstanding = await outstandingReplacements(store);
    metrics.set("pki_acme_replacements_outstanding", {}, outstanding);
    await measureProbes(metrics, store, inForce().canary);
    metrics.set("pki_backup_drill_last_success_timestamp_seconds", {}, drilledAt / 1000);
  });
  observeComponents(metrics, () => probes.components());
  return observeResources(metrics);
}

/** The live feed, with what is counted of it. */
function openFeed({ store, metrics }: Ground): EventFeed {
  const feed = new EventFeed({
    store,
    clock: systemClock,
    stopwatch: systemStopwatch,
    later: systemLater,
    told: {
      connected: () => metrics.count("pki_event_stream_connections_total", {}),
      dropped: (events) => metrics.count("pki_event_stream_dropped_total", {}, events),
    },
  });
  metrics.beforeScrape(() => metrics.set("pki_event_stream_subscribers", {}, feed.size));
  return feed;
}

/** Off this thread wherever there can be another. */
function openPaths(workerUrl: string | undefined, closing: Closing): PathWork {
  if (workerUrl === undefined) return pathsHere;
  const thread = new PathThread({ workerUrl });
  closing.push(() => thread.close());
  return thread;
}

/** Factor on `database.min_free_mb` below which ACME stores no accounts and orders. */
const spareShare = 1.25;
