/** Durable issues over TLS in turns with the bare CA, and what a certificate costs. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Instance } from "#test/support/instances/instance.ts";
import { type BareCa, startBareCa } from "./floors.ts";
import { type IssueRequest, issueOne, issueRequest } from "./issue-request.ts";
import { type Load, load } from "./load.ts";
import { figure } from "./print.ts";
import { costOfEach, costs } from "./processor.ts";
import type { Figure, Goal } from "./report.ts";
import type { KeyHome } from "./scenario.ts";
import { median } from "./statistics.ts";
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
    // What is measured has served for a while: the runtime compiles what is hot during the first
    // ten thousand certificates, at the cost of a quarter of a processor.
    await load({ ...request, connections: 64, seconds: warmSeconds });
    await bare.issues(request.csr, 64, warmSeconds / 4);
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

/** The bare CA and pkid in turns, a turn of the bare CA on both sides of each of pkid's. */
async function measured(of: Measurement): Promise<void> {
  const { instance, bare, request, connections, seconds } = of;
  await load({ ...request, connections, seconds: 1 });
  await bare.issues(request.csr, connections, 1);
  const before = await costs(instance.pid);
  const floors = [await bare.issues(request.csr, connections, seconds)];
  const loads: Load[] = [];
  for (let round = 0; round < rounds; round++) {
    loads.push(await load({ ...request, connections, seconds }));
    floors.push(await bare.issues(request.csr, connections, seconds));
  }
  // What it puts off until nobody waits is paid by these certificates too.
  const count = loads.reduce((sum, { requests }) => sum + requests, 0);
  const each = costOfEach(before, await costs(instance.pid), count);
  told(of, loads, floors);
  const cost = (part: string, label: string, value: number, unit: string) =>
    figure({ name: `issuing.${connections}.${part}`, label: `  ${label}`, value, unit });
  cost("server_cpu", "processor time of the server by certificate", each.serverMs, "ms");
  cost("signer_cpu", "processor time of the signer by certificate", each.signerMs, "ms");
  cost("written", "written to storage by certificate", each.writtenBytes / 1000, "kB");
}

/** Medians, and ratios of neighbours in time. */
function told(
  { keys, connections }: Measurement,
  loads: readonly Load[],
  floors: readonly Load[],
): void {
  const failed = loads.reduce((sum, one) => sum + one.failed, 0);
  const clients = connections === 1 ? "1 client" : `${connections} clients`;
  const one = (
    read: "perSecond" | "p50" | "p99",
    row: Pick<Figure, "name" | "label" | "unit" | "goal" | "note">,
  ): void => {
    const around = (at: number) => ((floors[at]?.[read] ?? 0) + (floors[at + 1]?.[read] ?? 0)) / 2;
    const value = median(loads.map((of) => of[read]));
    const ratio = median(loads.map((of, at) => of[read] / around(at)));
    const name = `issuing.${connections}.${row.name}`;
    figure({ ...row, name, value, floor: { name: "the bare CA", value: value / ratio } });
  };
  one("perSecond", {
    name: "rate",
    label: `durable issues over TLS, ${clients}`,
    unit: "/s",
    goal: rateGoal(keys, connections),
    note: failed > 0 ? `${failed} FAILED` : undefined,
  });
  const alone = connections === 1 && keys.name === "software";
  one("p50", {
    name: "p50",
    label: "  latency, p50",
    unit: "ms",
    goal: alone ? { of: "ratio", most: 1.5 } : undefined,
  });
  one("p99", { name: "p99", label: "  latency, p99", unit: "ms" });
}

const rateGoal = (keys: KeyHome, connections: number): Goal => {
  if (keys.name === "softhsm") return { of: "ratio", least: 0.45 };
  return { of: "ratio", least: connections === 1 ? 0.65 : 0.5 };
};

/** Pages in the write-ahead log while one client issues, by certificate. */
async function pages(instance: Instance, request: IssueRequest): Promise<void> {
  const file = join(instance.dataDir, "pkid.db-wal");
  if (!existsSync(file)) return; // Not on SQLite.
  for (let attempt = 0; attempt < 10; attempt++) {
    const before = logFrames(readFileSync(file));
    for (let n = 0; n < issuedForPages; n++) await issueOne(request);
    const after = logFrames(readFileSync(file));
    // The log began anew meanwhile: its frames cannot be counted from before.
    if (before === undefined || after?.beginning !== before.beginning) continue;
    const commits = after.commits.slice(before.commits.length);
    const pagesOf = (some: readonly number[]) => some.reduce((sum, one) => sum + one, 0);
    // Each certificate has two; what is written behind them is larger than either.
    const theirs = commits.toSorted((a, b) => a - b).slice(0, 2 * issuedForPages);
    figure({
      name: "issuing.1.pages",
      label: "pages in both commits of a certificate, 1 client",
      value: pagesOf(theirs) / issuedForPages,
      unit: "pages",
      goal: { of: "value", most: 12 },
    });
    figure({
      name: "issuing.1.pages_all",
      label: "  with what is indexed behind them",
      value: pagesOf(commits) / issuedForPages,
      unit: "pages",
      note: `in ${(commits.length / issuedForPages).toFixed(1)} commits`,
    });
    return;
  }
}

const warmSeconds = 12;
const rounds = 3;
const issuedForPages = 20;
