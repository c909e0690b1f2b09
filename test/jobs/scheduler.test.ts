/** The scheduler: no job twice at once, failures survived, stopping at a safe point. */

import { beforeEach, expect, test } from "bun:test";

import { type Instant, instant } from "#core/time.ts";
import { schedule } from "#jobs/jobs.ts";
import { type Job, Scheduler } from "#jobs/scheduler.ts";

let waiting: { seconds: number; run: () => void; cancelled: boolean }[];
let runs: string[];
beforeEach(() => {
  waiting = [];
  runs = [];
});

const timers = {
  after: (seconds: number, run: () => void) => {
    const timer = { seconds, run, cancelled: false };
    waiting.push(timer);
    return () => {
      timer.cancelled = true;
    };
  },
};
const turn = async () => {
  for (const timer of waiting.splice(0)) if (!timer.cancelled) timer.run();
  await settled();
};
const settled = () => new Promise((resolve) => setImmediate(resolve));
const schedulerOf = (job: Pick<Job, "run">, jitter = 0.5) =>
  new Scheduler({
    jobs: [{ name: "job", everySeconds: 10, run: job.run }],
    timers,
    jitter: () => jitter,
    onRun: (name, error) => runs.push(error === undefined ? name : `${name} failed`),
  });

test("a job starts after a share of its interval and comes again after it with jitter", async () => {
  schedulerOf({ run: async () => {} }).start();
  expect(waiting.map(({ seconds }) => seconds)).toEqual([5]);
  await turn();
  expect(runs).toEqual(["job"]);
  expect(waiting.map(({ seconds }) => seconds)).toEqual([10.5]);
});

test("a job that fails is reported and comes again", async () => {
  const scheduler = schedulerOf({
    run: async () => {
      throw new Error("no");
    },
  });
  scheduler.start();
  await turn();
  await turn();
  expect(runs).toEqual(["job failed", "job failed"]);
});

test("a job that lacks a descriptor or thread waits a second, then twice as long each time", async () => {
  const short = Object.assign(new Error("too many open files"), { code: "EMFILE" });
  let failure: Error | undefined = new Error("no thread", { cause: short });
  const scheduler = new Scheduler({
    jobs: [
      {
        name: "job",
        everySeconds: 0.25,
        run: async () => {
          if (failure !== undefined) throw failure;
        },
      },
    ],
    timers,
    jitter: () => 0,
    onRun: (name, error) => runs.push(error === undefined ? name : `${name} failed`),
  });
  scheduler.trigger("job");
  await settled();
  const delays: number[] = [];
  for (let run = 0; run < 8; run++) {
    scheduler.trigger("job");
    delays.push(waiting[0]?.seconds ?? 0);
    await turn();
  }
  expect(delays).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  expect(runs).toEqual(Array(9).fill("job failed"));
  failure = undefined;
  await turn();
  expect(waiting.map(({ seconds }) => seconds)).toEqual([0.25]);
  failure = new Error("another failure");
  await turn();
  expect(waiting.map(({ seconds }) => seconds)).toEqual([0.25]);
});

test("a trigger during a run is one more run after it, never a second beside it", async () => {
  let [started, atOnce, most] = [0, 0, 0];
  const gates: (() => void)[] = [];
  const scheduler = schedulerOf({
    run: async () => {
      started++;
      atOnce++;
      most = Math.max(most, atOnce);
      await new Promise<void>((resolve) => gates.push(resolve));
      atOnce--;
    },
  });
  scheduler.trigger("job");
  scheduler.trigger("job");
  scheduler.trigger("job");
  for (let round = 0; round < 3; round++) {
    gates.shift()?.();
    await settled();
  }
  expect([started, most]).toEqual([2, 1]);
});

test("stopping waits for what runs and starts nothing more", async () => {
  let finish = () => {};
  let started = 0;
  const scheduler = schedulerOf({
    run: () => {
      started++;
      return new Promise<void>((resolve) => {
        finish = resolve;
      });
    },
  });
  scheduler.trigger("job");
  scheduler.trigger("job");
  let stopped = false;
  const stop = scheduler.stop().then(() => {
    stopped = true;
  });
  await settled();
  expect(stopped).toBe(false);
  finish();
  await stop;
  await turn();
  scheduler.trigger("job");
  expect([started, waiting.length]).toEqual([1, 0]);
});

/** A schedule whose jobs only say that they were called. */
function recordingJobs(ahead?: { readonly from: Instant; readonly to: Instant }) {
  const called: string[] = [];
  const work = (name: string) => async () => {
    called.push(name);
  };
  const presigned = async () => {
    called.push("presign");
    return { responses: 0, signed: 0, shed: 0, seconds: 0, failure: undefined };
  };
  const published = async () => {
    called.push("publish");
    return { target: "dir" as const, artefacts: 0, earliestExpiry: undefined };
  };
  const crls = { deltas: work("deltas"), bases: work("bases"), renewals: work("crls") };
  const jobs = schedule({
    crls,
    crlCopies: { refresh: work("crl copies") },
    bulkRevocations: { resume: work("bulk") },
    kek: { finish: work("kek") },
    failedLogins: { fold: work("failed logins") },
    refusals: { fold: work("refusals") },
    approvals: { sweep: work("approvals") },
    counts: { write: work("counts") },
    serving: { renewals: work("serving") },
    responders: { renewals: work("responders") },
    transparency: { lost: work("lost"), monitor: { run: work("inclusion") } },
    presigner: { run: presigned, refreshChanged: work("presign changed") },
    publishing: { run: published, changed: work("publish changed") },
    retention: { runDue: work("retention") },
    backups: { runDue: work("backup"), drillDue: work("drill") },
    canary: { runDue: work("canary") },
    acme: {
      validation: { run: work("acme proofs") },
      finalization: { recover: work("acme orders") },
      cleanUp: { run: work("acme clean-up") },
      idleAccounts: { run: work("acme idle accounts") },
      replacementWork: { run: work("acme replacements") },
    },
    config: {
      presign: { enabled: true, refresh_minutes: 360 },
      retention: { enabled: true },
      backup: { enabled: true, verify: { enabled: true } },
      canary: { enabled: true },
      acme: { enabled: true },
      publish: { enabled: true, interval_minutes: 60 },
      certificate_transparency: { inclusion_monitor: { enabled: true, interval_minutes: 60 } },
    },
    accessLog: { prune: work("access log") },
    clockWatch: {
      watch: work("watch"),
      remember: work("remember"),
      pause: { behindUntil: undefined, ahead },
    },
  });
  return { jobs, called };
}

test("the schedule calls each of its jobs", async () => {
  const { jobs, called } = recordingJobs();
  for (const job of jobs) await job.run();
  expect(called).toEqual([
    "deltas",
    "bases",
    "crls",
    "crl copies",
    "responders",
    "bulk",
    "approvals",
    "lost",
    "presign",
    "presign changed",
    "publish",
    "publish changed",
    "inclusion",
    "retention",
    "backup",
    "drill",
    "canary",
    "acme proofs",
    "acme orders",
    "acme replacements",
    "acme clean-up",
    "acme idle accounts",
    "kek",
    "failed logins",
    "refusals",
    "counts",
    "serving",
    "access log",
    "watch",
    "remember",
  ]);
  expect(new Set(jobs.map(({ name }) => name)).size).toBe(jobs.length);
});

test("what deletes by age waits while nobody has confirmed a clock that leapt ahead, and nothing else does", async () => {
  const { jobs, called } = recordingJobs({ from: instant(0), to: instant(1) });
  for (const job of jobs) await job.run();
  expect(called).not.toContain("access log");
  const acme = ["acme replacements", "acme clean-up", "acme idle accounts"];
  const waiting = ["retention", "backup", "drill"].concat(acme);
  for (const name of waiting) expect(called).not.toContain(name);
  expect(called).toHaveLength(jobs.length - 7);
});
