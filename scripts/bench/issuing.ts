/**
 * Durable issues over TLS beside the bare CA, which is measured before and after each figure; and
 * what a certificate costs.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Instance } from "#test/support/instances/instance.ts";
import { type BareCa, startBareCa } from "./floors.ts";
import { type IssueRequest, issueOne, issueRequest } from "./issue-request.ts";
import { type Load, load } from "./load.ts";
import { figure } from "./print.ts";
import { costOfEach, costs } from "./processor.ts";
import type { Goal } from "./report.ts";
import type { KeyHome } from "./scenario.ts";
import { logFrames } from "./write-ahead-log.ts";

/** Prints rate, latency and costs for one client, sixteen and sixty-four. */
export async function issuing(
  instance: Instance,
  ca: string,
  keys: KeyHome,
  seconds: number,
): Promise<void> {
  const request = await issueRequest(instance, ca);
  const bare = await startBareCa();
  try {
    for (const connections of [1, 16, 64]) {
      await measured({ instance, bare, request, keys, connections, seconds });
    }
  } finally {
    await bare.stop();
  }
  await pages(instance, request);
}

interface Measurement {
  readonly instance: Instance;
  readonly bare: BareCa;
  readonly request: IssueRequest;
  readonly keys: KeyHome;
  readonly connections: number;
  readonly seconds: number;
}

async function measured(of: Measurement): Promise<void> {
  const { instance, bare, request, keys, connections, seconds } = of;
  await load({ ...request, connections, seconds: 1 });
  await bare.issues(request.csr, connections, 1);
  const floorBefore = await bare.issues(request.csr, connections, seconds);
  const before = await costs(instance.pid);
  const issued = await load({ ...request, connections, seconds });
  const each = costOfEach(before, await costs(instance.pid), issued.requests);
  const floorAfter = await bare.issues(request.csr, connections, seconds);
  const floorOf = (read: (of: Load) => number) => ({
    name: "the bare CA",
    value: (read(floorBefore) + read(floorAfter)) / 2,
  });
  const name = `issuing.${connections}`;
  const clients = connections === 1 ? "1 client" : `${connections} clients`;
  const failed = issued.failed > 0 ? `${issued.failed} FAILED` : undefined;
  figure({
    name: `${name}.rate`,
    label: `durable issues over TLS, ${clients}`,
    value: issued.perSecond,
    unit: "/s",
    floor: floorOf(({ perSecond }) => perSecond),
    goal: rateGoal(keys, connections),
    note: failed,
  });
  for (const which of ["p50", "p99"] as const) {
    const goal: Goal | undefined =
      which === "p50" && connections === 1 && keys.name === "software"
        ? { of: "ratio", most: 1.5 }
        : undefined;
    figure({
      name: `${name}.${which}`,
      label: `  latency, ${which}`,
      value: issued[which],
      unit: "ms",
      floor: floorOf((of) => of[which]),
      goal,
    });
  }
  const cost = (part: string, label: string, value: number, unit: string) =>
    figure({ name: `${name}.${part}`, label: `  ${label}`, value, unit });
  cost("server_cpu", "processor time of the server by certificate", each.serverMs, "ms");
  cost("signer_cpu", "processor time of the signer by certificate", each.signerMs, "ms");
  cost("written", "written to storage by certificate", each.writtenBytes / 1000, "kB");
}

const rateGoal = (keys: KeyHome, connections: number): Goal => {
  if (keys.name === "softhsm") return { of: "ratio", least: 0.45 };
  return { of: "ratio", least: connections === 1 ? 0.65 : 0.5 };
};

/** Frames of the write-ahead log while one client issues, by certificate and by commit. */
async function pages(instance: Instance, request: IssueRequest): Promise<void> {
  const file = join(instance.dataDir, "pkid.db-wal");
  if (!existsSync(file)) return; // Not on SQLite.
  for (let attempt = 0; attempt < 10; attempt++) {
    const before = logFrames(readFileSync(file));
    for (let n = 0; n < issuedForPages; n++) await issueOne(request);
    const after = logFrames(readFileSync(file));
    // The log began anew meanwhile: its frames cannot be counted from before.
    if (before === undefined || after?.beginning !== before.beginning) continue;
    const frames = after.frames - before.frames;
    const commits = after.commits - before.commits;
    figure({
      name: "issuing.1.pages",
      label: "pages written to the log by certificate, 1 client",
      value: frames / issuedForPages,
      unit: "pages",
      goal: { of: "value", most: 12 },
      note: `in ${(commits / issuedForPages).toFixed(1)} commits`,
    });
    return;
  }
}

const issuedForPages = 20;
