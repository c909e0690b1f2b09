/** A serving instance: listeners, schedule, reload, and the way it stops. */

import { systemPrincipal } from "#core/access/principal.ts";
import { addSeconds, secondsPerDay } from "#core/time.ts";
import { readFileSync } from "node:fs";

import type { ScheduledBackups } from "#app/backup/scheduled.ts";
import type { Place } from "#adapters/network/acme/addresses.ts";
import { following } from "#adapters/sockets/listening-sockets.ts";
import type { ServingFiles } from "#adapters/serving-files.ts";
import { fileDigests } from "#config/files.ts";
import { changedFiles, reload } from "#config/reload.ts";
import { groupIdOf } from "#config/os-group.ts";
import type { Config } from "#config/schema.ts";
import { configDigest } from "#config/show.ts";
import type { FailedLogins } from "#domain/access/failed-logins.ts";
import type { Refusals } from "#domain/access/refusals.ts";
import { AccessLogTrims } from "#domain/audit/access-log-trims.ts";
import type { Clock, Log } from "#domain/ports.ts";
import type { CrlKind } from "#domain/revocation/store.ts";
import type { Store } from "#domain/store.ts";
import type { FrontDoor } from "#http/front-door.ts";
import { Listeners } from "#http/listener.ts";
import type { LoopWatch } from "#http/loop-watch.ts";
import type { TlsMaterial } from "#http/port.ts";
import { schedule } from "#jobs/jobs.ts";
import { JobWatch } from "#jobs/job-watch.ts";
import { Scheduler } from "#jobs/scheduler.ts";
import { systemStopwatch } from "#adapters/system.ts";
import type { ServerLook } from "#domain/preflight/part.ts";
import { clientAuthorities } from "#domain/access/clients.ts";
import { computePipedConnectionsMax, createConnectionGate } from "./connection-limits.ts";
import type { FourEyesParts } from "./four-eyes.ts";
import { describe } from "./describe.ts";
import { FailureLog } from "./failure-log.ts";
import type { HandedOver } from "./handed-over.ts";
import { ownListeners, splitAddress } from "./own-listeners.ts";
import type { Parts } from "./parts.ts";
import { runUnlessRolledBack } from "./postponed.ts";
import { ServingCertificates } from "./serving.ts";

/** Lets what was composed before the schedule existed wake it. */
export interface Schedules {
  wake: (kind: CrlKind) => void;
  /** What preflight sees of the server, once there is one. */
  look?: ServerLook;
  /** Where it listens. */
  ownListeners?: () => readonly Place[];
}

export interface RunningDeps {
  readonly config: Config;
  readonly store: Store;
  readonly parts: Parts;
  readonly front: FrontDoor;
  readonly schedules: Schedules;
  readonly files: ServingFiles;
  readonly failedLogins: FailedLogins;
  readonly refusals: Refusals;
  readonly fourEyes: Pick<FourEyesParts, "approvals" | "executions">;
  readonly clock: Clock;
  readonly log: Log;
  /** Notices what holds the thread that serves requests. */
  readonly watch: Pick<LoopWatch, "start">;
  readonly cleartext: boolean;
  /** Sockets that this process was started with. */
  readonly handed: HandedOver;
  /** Digest of the effective configuration, secrets excluded (CFG-8). */
  readonly digest: string;
  readonly reread: () => Promise<Config>;
  /** Has key providers that do not serve looked at again. */
  readonly lookAtKeys: () => void;
  readonly backups: Pick<ScheduledBackups, "runDue" | "drillDue">;
  /**
   * Reads what the configuration names, which may throw; what it gives puts the reloadable keys
   * into force (RLD-1).
   */
  readonly prepare: (config: Config) => () => void | Promise<void>;
}

export interface Running {
  /** Base address of the main listener, as a local client reaches it. */
  readonly url: string;
  /** Base address of the cleartext public listener, empty when off. */
  readonly publicUrl: string;
  /** Re-reads configuration and certificate (SIGHUP, RLD-1 to RLD-3); never throws. */
  reload(): Promise<void>;
  /**
   * Settles when the store has answered a write that changes nothing. A refusal is an answer: a
   * database that is away is told to whoever asks, and is no nearer after a restart.
   */
  storeAnswer(): Promise<void>;
  /** Drains and stops listeners and jobs (PRC-2). */
  stop(): Promise<void>;
}

/** Opens listeners, starts jobs, and records the start; resolves when the instance is ready. */
export async function startRunning(deps: RunningDeps): Promise<Running> {
  const server = new Server(deps);
  await server.start();
  return server;
}

class Server implements Running {
  readonly #deps: RunningDeps;
  readonly #scheduler: Scheduler;
  readonly #certificates: ServingCertificates;
  readonly #trims: AccessLogTrims;
  readonly #failures: FailureLog;
  #config: Config;
  /** Digests of the files it names, as they were read. */
  #files: ReadonlyMap<string, string>;
  #listeners: Listeners | undefined;
  #shown: string | undefined;
  /** Settles when the last change that was asked for has been made, or has failed. */
  #changing: Promise<void> = Promise.resolve();
  #endWatch: (() => void) | undefined;
  #gate: ReturnType<typeof createConnectionGate>;
  #endGate: (() => void) | undefined;
  #socketTimer: ReturnType<typeof setInterval> | undefined;
  /** The CAs clients are asked for certificates of, PEM each. */
  #authorities: readonly string[] | undefined;

  constructor(deps: RunningDeps) {
    this.#deps = deps;
    this.#config = deps.config;
    const { files, clock, log } = deps;
    this.#certificates = new ServingCertificates({
      files,
      clock,
      log,
      serving: deps.parts.serving,
    });
    this.#files = fileDigests(deps.config);
    const { counts, revocation } = deps.parts;
    const { refresh, crlCopies, responders, presigner } = revocation;
    this.#trims = new AccessLogTrims(deps);
    this.#failures = new FailureLog(log, systemStopwatch);
    const jobs = schedule({
      crls: refresh,
      crlCopies,
      responders,
      presigner,
      counts,
      bulkRevocations: revocation.bulk,
      config: deps.config,
      publishing: deps.parts.publishing,
      retention: deps.parts.retention,
      backups: deps.backups,
      canary: deps.parts.canary,
      acme: deps.parts.acme,
      failedLogins: deps.failedLogins,
      refusals: { fold: () => this.#recordSums() },
      approvals: deps.fourEyes.approvals,
      kek: deps.parts.sealing.rotation,
      serving: { renewals: () => this.#inTurn(() => this.#rotate()) },
      transparency: deps.parts.transparency,
      accessLog: { prune: () => this.#pruneAccessLog() },
      clockWatch: deps.parts.clockWatch,
    });
    const watch = new JobWatch({ jobs, stopwatch: systemStopwatch, clock });
    this.#scheduler = new Scheduler({
      jobs,
      timers: { after },
      jitter: Math.random,
      onRun: (job, error) => {
        watch.ran(job, error === undefined ? undefined : describe(error));
        if (error === undefined) this.#failures.recover("job_failed", "job_recovered", { job });
        else this.#failures.fail("job_failed", error, { job });
      },
    });
    deps.schedules.look = {
      jobs: () => ({ late: watch.late(), idleSeconds: watch.idleSeconds() }),
      jobLooks: () => watch.looks(),
      listener: () => this.#reached(),
    };
    const { server } = deps.config;
    deps.schedules.ownListeners = () =>
      ownListeners(server, this.#listeners?.addresses ?? {}, deps.handed);
    deps.schedules.wake = (kind) => this.#scheduler.trigger(`crl.${kind}`);
  }

  get url(): string {
    const { host, port, secure } = this.#reached();
    return `${secure ? "https" : "http"}://${host}:${port}`;
  }

  /** Where a client on this host finds the main listener. */
  #reached() {
    const { host } = this.#config.server;
    const name = host === "0.0.0.0" || host === "::" ? "localhost" : host;
    const port = this.#listeners?.addresses.main ?? 0;
    return { host: name, port, secure: this.#shown !== undefined };
  }

  get publicUrl(): string {
    const port = this.#listeners?.addresses.public;
    if (port === undefined) return "";
    const host = splitAddress(this.#config.server.public_http.address).host;
    return `http://${host === "0.0.0.0" ? "localhost" : host}:${port}`;
  }

  async start(): Promise<void> {
    const { config, front, cleartext, handed } = this.#deps;
    const { server } = config;
    const tls = await this.#certificates.material(server, cleartext);
    this.#shown = tls?.certificate;
    this.#authorities = clientAuthorities(config.auth.mtls, readText);
    this.#listeners = await Listeners.open(front, {
      ...server,
      tls,
      insecureAllowed: cleartext,
      tlsMinVersion: server.tls.min_version,
      tlsSuites: server.tls.cipher_suites,
      clientAuthorities: this.#authorities,
      privateDirectory: config.data_dir,
      following,
      handed: handed.main,
      publicHttp: server.public_http.enabled
        ? { ...splitAddress(server.public_http.address), handed: handed.public }
        : undefined,
      unixSocket: unixSocketOf(server.unix_socket),
      adminSocket: server.admin_socket.enabled ? server.admin_socket.path : undefined,
      connectionsMax: computePipedConnectionsMax(config),
    });
    this.#gate = createConnectionGate(this.#listeners.addresses, this.#deps.log);
    this.#endGate = this.#gate?.start();
    // So that whoever is turned away first has a nonce too (AC-4).
    if (config.acme.enabled) this.#deps.parts.acme.freshNonce();
    await runUnlessRolledBack(this.#deps, () =>
      this.#record("config.load", { digest: this.#deps.digest }),
    );
    this.#endWatch = this.#deps.watch.start();
    this.#socketTimer = setInterval(() => void this.#restoreSockets(), socketIntervalMs);
    this.#scheduler.start();
    // Lists made under another crl.shards or base_url do not wait for their turn (CRL-10, CRL-11).
    this.#scheduler.trigger("crl.renew");
    // What a crash left open goes on at once (BLK-6).
    this.#scheduler.trigger("bulk.resume");
    this.#scheduler.trigger("approval.sweep");
  }

  reload(): Promise<void> {
    return this.#inTurn(() => this.#reload());
  }

  async #reload(): Promise<void> {
    const { log, prepare, cleartext, reread, lookAtKeys } = this.#deps;
    try {
      // Whatever the configuration says: a PIN is read again, and what was missing on a token is
      // looked for.
      lookAtKeys();
      const { config, ...keys } = reload(this.#config, await reread());
      const files = fileDigests(config);
      // A file may be another one under the same name.
      const replaced = changedFiles(this.#files, files);
      const reloaded = [...keys.reloaded, ...replaced.reloaded];
      const waiting = [...keys.restartRequired, ...replaced.restartRequired];
      const restart_required = waiting.join(",") || undefined;
      // Whatever can fail comes before the first change.
      const tls = await this.#certificates.material(config.server, cleartext);
      const authorities = clientAuthorities(config.auth.mtls, readText);
      const takeOver = prepare(config);
      await this.#record("config.reload", { digest: configDigest(config), restart_required });
      this.#config = config;
      // What waits for a restart is told at every reload until then, as changed keys are.
      for (const key of replaced.restartRequired) files.delete(key);
      this.#files = new Map([...this.#files, ...files]);
      await takeOver();
      this.#show(tls, authorities);
      log.write("info", "config_reloaded", { reloaded, restart_required });
    } catch (error) {
      // RLD-3: nothing changed and the process keeps serving; the log says what is wrong.
      const why = error instanceof Error ? error.message : String(error);
      log.write("error", "config_reload_failed", { error: why });
      await this.#recordFailedReload();
    }
  }

  storeAnswer(): Promise<void> {
    return this.#deps.store.ping(true).catch(() => {});
  }

  async stop(): Promise<void> {
    const { log, parts, fourEyes, failedLogins, refusals } = this.#deps;
    const { shutdown_timeout_seconds, shutdown_delay_seconds } = this.#config.server;
    this.#endGate?.();
    clearInterval(this.#socketTimer);
    await this.#listeners?.close(drainMs(shutdown_timeout_seconds), shutdown_delay_seconds * 1000);
    this.#endWatch?.();
    // What has not come to its end by now goes on at the next start.
    parts.revocation.bulk.halt();
    parts.retention.halt();
    parts.canary.halt();
    parts.acme.cleanUp.halt();
    parts.acme.idleAccounts.halt();
    parts.acme.replacementWork.halt();
    await this.#scheduler.stop();
    await fourEyes.executions.halt();
    await parts.acme.validation.halt();
    await parts.acme.finalization.halt();
    const last = {
      failed_logins: () => failedLogins.fold(true),
      refusals: () => refusals.fold(true),
      key_counts: () => parts.counts.write(),
      // Without it the next start looks at the last event instead.
      time: () => parts.clockWatch.remember(),
    };
    for (const [what, write] of Object.entries(last)) {
      try {
        await write();
      } catch (error) {
        // A full disk or a database that is away must not keep the process from ending well.
        log.write("warn", "not_written_at_stop", { what, error: describe(error) });
      }
    }
  }

  /** Records counts: repeated refusals, and rows deleted from the access log. */
  async #recordSums(): Promise<void> {
    await this.#deps.refusals.fold();
    await this.#trims.record();
  }

  async #restoreSockets(): Promise<void> {
    const listeners = this.#listeners;
    if (listeners === undefined) return;
    await this.#restoreSocket("admin_socket", () => listeners.restoreAdminSocket());
    await this.#restoreSocket("unix_socket", () => listeners.restoreUnixSocket());
  }

  async #restoreSocket(name: string, restore: () => Promise<boolean>): Promise<void> {
    try {
      if (await restore()) this.#deps.log.write("warn", `${name}_restored`);
    } catch (error) {
      this.#failures.fail(`${name}_lost`, error);
    }
  }

  async #pruneAccessLog(): Promise<void> {
    const { store, clock } = this.#deps;
    const days = this.#config.access_log.retention_days;
    await store.pruneAccessLog(addSeconds(clock.now(), -days * secondsPerDay));
  }

  /**
   * One change at a time: of two reloads the one asked for last takes force last, and no renewal is
   * of a past configuration.
   */
  #inTurn(change: () => Promise<void>): Promise<void> {
    const changed = this.#changing.then(change);
    // Whoever asked is told; the next change begins all the same.
    this.#changing = changed.catch(() => {});
    return changed;
  }

  /** Shows another certificate when there is one: renewed by pkid, or replaced by the operator. */
  async #rotate(): Promise<void> {
    const { cleartext } = this.#deps;
    const tls = await this.#certificates.material(this.#config.server, cleartext);
    this.#show(tls, this.#authorities);
  }

  /**
   * Shows what changed to new connections: the certificate, or the CAs that clients are asked for.
   */
  #show(tls: TlsMaterial | undefined, authorities: readonly string[] | undefined): void {
    const asked = authorities?.join("") === this.#authorities?.join("");
    if (tls === undefined || (tls.certificate === this.#shown && asked)) return;
    this.#listeners?.rotate(tls, authorities);
    this.#gate?.refresh();
    this.#authorities = authorities;
    if (tls.certificate === this.#shown) return;
    this.#shown = tls.certificate;
    this.#deps.log.write("info", "serving_certificate_rotated");
  }

  async #recordFailedReload(): Promise<void> {
    try {
      await this.#record("config.reload", {}, "error");
    } catch (error) {
      // The database is away, which may be why the reload failed; the log has both.
      this.#deps.log.write("error", "event_lost", { error: describe(error) });
    }
  }

  async #record(
    action: "config.load" | "config.reload",
    detail: Readonly<Record<string, string | undefined>>,
    result: "success" | "error" = "success",
  ): Promise<void> {
    const { subject } = systemPrincipal("config");
    const now = this.#deps.clock.now();
    await this.#deps.store.atomically(async (tx) => {
      const draft = { action, result, actor: subject, actorRoles: "system", detail };
      await tx.audit.appendEvent(draft, now);
    });
  }
}

/**
 * Of the time to stop, what requests under way may take: the rest is for jobs, the last writes and
 * the signers.
 */
const drainMs = (shutdownSeconds: number): number =>
  Math.max(shutdownSeconds * 750, shutdownSeconds * 1000 - 5000);

function unixSocketOf({ path, mode, group }: Config["server"]["unix_socket"]) {
  if (path === undefined) return undefined;
  const groupId = group === undefined ? undefined : groupIdOf(group);
  return { path, mode: Number.parseInt(mode, 8), groupId };
}

function after(seconds: number, run: () => void): () => void {
  const timer = setTimeout(run, seconds * 1000);
  return () => clearTimeout(timer);
}

const socketIntervalMs = 2000;
const readText = (path: string): string => readFileSync(path, "utf8");
