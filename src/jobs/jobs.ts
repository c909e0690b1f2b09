/** WHAT RUNS BY ITSELF: every job with its name, how often it runs, and what it does. */

import type { Origin } from "#domain/actor.ts";
import type { Acme } from "#domain/acme/open.ts";
import type { Canary } from "#domain/canary/canary.ts";
import type { KekRotation } from "#domain/envelopes/rotation.ts";
import type { ClockWatch } from "#domain/clock-watch.ts";
import type { BulkRevocation } from "#domain/revocation/bulk.ts";
import type { CrlCopies } from "#domain/revocation/crl-copies.ts";
import type { CrlRefresh } from "#domain/revocation/refresh.ts";
import type { Publishing } from "#domain/publishing/publish.ts";
import type { Presigner } from "#domain/revocation/presign.ts";
import type { Retention } from "#domain/retention/retention.ts";
import { systemOrigin } from "#domain/revocation/system-origin.ts";
import type { Responders } from "#domain/revocation/responder.ts";
import type { Job } from "./scheduler.ts";

/** What says which jobs there are, and how often they run. */
export interface JobSections {
  /** Archives, and drills with them. */
  readonly backup: { readonly enabled: boolean; readonly verify: { readonly enabled: boolean } };
  /** Expired certificates that leave the inventory. */
  readonly retention: { readonly enabled: boolean };
  /** Probes of CAs. */
  readonly canary: { readonly enabled: boolean };
  readonly acme: { readonly enabled: boolean };
  /** Sweeps that sign OCSP answers ahead. */
  readonly presign: { readonly enabled: boolean; readonly refresh_minutes: number };
  /** Snapshots. */
  readonly publish: { readonly enabled: boolean; readonly interval_minutes: number };
  /** Looks at the SCTs of logs. */
  readonly certificate_transparency: {
    readonly inclusion_monitor: { readonly enabled: boolean; readonly interval_minutes: number };
  };
}

export interface JobDeps {
  readonly config: JobSections;
  readonly crls: Pick<CrlRefresh, "deltas" | "bases" | "renewals">;
  readonly crlCopies: Pick<CrlCopies, "refresh">;
  readonly responders: Pick<Responders, "renewals">;
  /** Finishes bulk revocations that a crash left open. */
  readonly bulkRevocations: Pick<BulkRevocation, "resume">;
  /** Finishes a rotation that a crash or an absent key left open. */
  readonly kek: Pick<KekRotation, "finish">;
  readonly counts: { write(): Promise<void> };
  /** Renews the serving certificate when it is due. */
  readonly serving: { renewals(): Promise<void> };
  /** Tells of failed logins that were counted and not yet told. */
  readonly failedLogins: { fold(): Promise<void> };
  readonly refusals: { fold(): Promise<void> };
  readonly transparency: {
    lost(): Promise<void>;
    readonly monitor: { run(): Promise<unknown> };
  };
  readonly presigner: Pick<Presigner, "run" | "refreshChanged">;
  readonly publishing: Pick<Publishing, "run" | "changed">;
  readonly retention: Pick<Retention, "runDue">;
  readonly canary: Pick<Canary, "runDue">;
  readonly acme: {
    readonly validation: Pick<Acme["validation"], "run">;
    readonly finalization: Pick<Acme["finalization"], "recover">;
    readonly cleanUp: Pick<Acme["cleanUp"], "run">;
    readonly idleAccounts: Pick<Acme["idleAccounts"], "run">;
    readonly replacementWork: Pick<Acme["replacementWork"], "run">;
  };
  readonly backups: {
    runDue(by: Origin): Promise<void>;
    drillDue(): Promise<void>;
  };
  /** Deletes access log rows that are past their time. */
  readonly accessLog: { prune(): Promise<void> };
  /** Executes what was approved before a crash, and ends what waited too long. */
  readonly approvals: { sweep(): Promise<void> };
  readonly clockWatch: Pick<ClockWatch, "watch" | "remember" | "pause">;
}

/** The schedule. Columns: name, seconds between runs, work. */
export const schedule = (deps: JobDeps): readonly Job[] => [
  { name: "crl.delta", everySeconds: 0.25, run: () => deps.crls.deltas() },
  { name: "crl.base", everySeconds: 1, run: () => deps.crls.bases() },
  { name: "crl.renew", everySeconds: 60, run: () => deps.crls.renewals() },
  { name: "crl.copy", everySeconds: 1, run: () => deps.crlCopies.refresh() },
  { name: "responder.renew", everySeconds: 300, run: () => deps.responders.renewals() },
  { name: "bulk.resume", everySeconds: 60, run: () => deps.bulkRevocations.resume() },
  { name: "approval.sweep", everySeconds: 30, run: () => deps.approvals.sweep() },
  { name: "ct.lost", everySeconds: 60, run: () => deps.transparency.lost() },
  ...presign(deps),
  ...publish(deps),
  ...inclusion(deps),
  ...retention(deps),
  ...backups(deps),
  ...canary(deps),
  ...acme(deps),
  { name: "kek.finish", everySeconds: 60, run: () => deps.kek.finish() },
  { name: "login.fold", everySeconds: 60, run: () => deps.failedLogins.fold() },
  { name: "refusal.fold", everySeconds: 60, run: () => deps.refusals.fold() },
  { name: "ledger.count", everySeconds: 3600, run: () => deps.counts.write() },
  { name: "serving.renew", everySeconds: 60, run: () => deps.serving.renewals() },
  {
    name: "access_log.prune",
    everySeconds: 3600,
    run: trusting(deps, () => deps.accessLog.prune()),
  },
  { name: "clock.watch", everySeconds: 1, run: () => deps.clockWatch.watch() },
  { name: "clock.remember", everySeconds: 3600, run: () => deps.clockWatch.remember() },
];

/**
 * For work that acts on many things by their age: it waits while nobody has confirmed a clock that
 * leapt ahead (PRC-4).
 */
const trusting =
  ({ clockWatch }: JobDeps, run: () => Promise<void>) =>
  async () => {
    if (clockWatch.pause.ahead === undefined) await run();
  };

function presign({ presigner, config }: JobDeps): readonly Job[] {
  if (!config.presign.enabled) return [];
  const run = async () => void (await presigner.run(systemOrigin("presign")));
  const everySeconds = config.presign.refresh_minutes * 60;
  return [
    { name: "ocsp.presign", everySeconds, firstWithinSeconds: 10, run },
    { name: "ocsp.presign_changed", everySeconds: 2, run: () => presigner.refreshChanged() },
  ];
}

function publish({ publishing, config }: JobDeps): readonly Job[] {
  if (!config.publish.enabled) return [];
  const run = async () => void (await publishing.run(systemOrigin("publish")));
  const everySeconds = config.publish.interval_minutes * 60;
  return [
    { name: "publish.run", everySeconds, firstWithinSeconds: 15, run },
    // Well within the minute a revocation may take to be published (PUB-4).
    { name: "publish.changed", everySeconds: 10, run: () => publishing.changed() },
  ];
}

function backups(deps: JobDeps): readonly Job[] {
  const { enabled, verify } = deps.config.backup;
  const run = trusting(deps, () => deps.backups.runDue(systemOrigin("backup")));
  const drill = trusting(deps, () => deps.backups.drillDue());
  const often = { everySeconds: 600, firstWithinSeconds: 60 };
  return [
    ...(enabled ? [{ name: "backup.run", ...often, run }] : []),
    ...(verify.enabled ? [{ name: "backup.drill", ...often, run: drill }] : []),
  ];
}

/** Looks often, because a process that is restarted every day has no interval of a day. */
function retention(deps: JobDeps): readonly Job[] {
  if (!deps.config.retention.enabled) return [];
  const run = trusting(deps, () => deps.retention.runDue(systemOrigin("retention")));
  return [{ name: "retention.run", everySeconds: 600, firstWithinSeconds: 60, run }];
}

/** Looks often too: a probe is due by when the last one was, whichever replica made it. */
function canary({ canary: due, config }: JobDeps): readonly Job[] {
  if (!config.canary.enabled) return [];
  const run = () => due.runDue(systemOrigin("canary"));
  return [{ name: "canary.run", everySeconds: 60, firstWithinSeconds: 30, run }];
}

/** What devices enrol with: proofs that are looked for, orders a crash left, and what is over. */
function acme(deps: JobDeps): readonly Job[] {
  const { validation, finalization, cleanUp, idleAccounts, replacementWork } = deps.acme;
  if (!deps.config.acme.enabled) return [];
  return [
    { name: "acme.validate", everySeconds: 1, run: () => validation.run() },
    {
      name: "acme.recover",
      everySeconds: 60,
      firstWithinSeconds: 5,
      run: () => finalization.recover(),
    },
    { name: "acme.replace", everySeconds: 5, run: trusting(deps, () => replacementWork.run()) },
    { name: "acme.clean_up", everySeconds: 600, run: trusting(deps, () => cleanUp.run()) },
    {
      name: "acme.idle_accounts",
      everySeconds: 3600,
      run: trusting(deps, () => idleAccounts.run()),
    },
  ];
}

function inclusion({ transparency, config }: JobDeps): readonly Job[] {
  const { enabled, interval_minutes } = config.certificate_transparency.inclusion_monitor;
  if (!enabled) return [];
  const run = async () => void (await transparency.monitor.run());
  return [{ name: "ct.inclusion", everySeconds: interval_minutes * 60, run }];
}
