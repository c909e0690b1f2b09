/**
 * What a CA in service is asked, all at once: rates and latencies by kind, memory over time, disk
 * by certificate.
 */

import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { type Drawn, kindRequests, kinds, mixedScript, parsedDrawn, shares } from "./kinds.ts";
import { type Load, parsedLoad, runWrk } from "./load.ts";
import { memoryFigures, restMs } from "./memory.ts";
import { figure, section } from "./print.ts";
import { type Probed, startProber } from "./prober.ts";
import { costs, treeMemory } from "./processor.ts";
import { type Bench, measured, softwareKeys } from "./scenario.ts";
import { percentile } from "./statistics.ts";

/** Prints all of it for software keys on SQLite. */
export async function mixed(bench: Bench): Promise<void> {
  const { mixedSeconds: seconds } = bench;
  section("mixed", `mixed load over TLS, ${connections} clients, ${seconds} s, software keys`);
  const instance = await Instance.start(measured(bench, softwareKeys));
  const folder = mkdtempSync(join(tmpdir(), "pkid-mixed-"));
  try {
    const chain = await createChain(instance, "ecdsa-p256");
    const requests = await kindRequests(instance, chain.intermediateId);
    const script = join(folder, "mixed.lua");
    writeFileSync(script, mixedScript(requests));
    memoryFigures(instance.pid, { name: "memory.start", label: "at the start" });
    const before = { ...(await costs(instance.pid)), database: databaseBytes(instance) };
    const prober = startProber(instance.url, requests, probesPerSecond);
    const peak = peakMemory(instance.pid);
    const text = await runWrk(script, { url: instance.url, connections, seconds });
    const probed = await prober.end();
    const highest = await peak.end();
    const after = { ...(await costs(instance.pid)), database: databaseBytes(instance) };
    const drawn = parsedDrawn(text);
    told(parsedLoad(text), drawn, probed, seconds);
    figure({ name: "memory.peak.pss", label: "PSS at its peak", value: highest, unit: "MB" });
    memoryFigures(instance.pid, { name: "memory.loaded", label: "right after" });
    const issued = drawn.issued + probed.issued;
    const each = (name: string, label: string, bytes: number) =>
      figure({ name, label, value: bytes / issued / 1000, unit: "kB" });
    each("disk.database", "database grown by certificate", after.database - before.database);
    each("disk.written", "written by certificate", after.writtenBytes - before.writtenBytes);
    await Bun.sleep(restMs);
    memoryFigures(instance.pid, { name: "memory.rested", label: "a minute after", most: 120 });
  } finally {
    rmSync(folder, { recursive: true });
    await instance.dispose();
  }
}

function told(load: Load, drawn: Drawn, probed: Probed, seconds: number): void {
  figure({ name: "rate", label: "all kinds together", value: load.perSecond, unit: "/s" });
  for (const kind of kinds) {
    const times = probed.times[kind];
    const rate = drawn.sent[kind] / seconds;
    const label = `${kind}, ${shares[kind]} %`;
    figure({ name: `${kind}.rate`, label, value: rate, unit: "/s" });
    for (const [name, percent] of percents) {
      figure({
        name: `${kind}.${name}`,
        label: `  latency, ${name === "max" ? "the worst" : name}`,
        value: percentile(times, percent),
        unit: "ms",
        note: name === "max" ? `of ${times.length} probes` : undefined,
      });
    }
  }
  // wrk takes it for an error that a connection ends, also where that was asked for: the server
  // closes it without a word in the answer before.
  const closed = Math.min(load.ended, drawn.closed);
  const failed = load.failed - closed + probed.failures.length;
  const [first = drawn.refusal] = probed.failures;
  figure({
    name: "failed",
    label: "failures",
    value: failed,
    unit: "",
    note: failed > 0 ? `the first: ${first || "a connection"}` : undefined,
  });
  figure({ name: "revoked", label: "revocations that hit", value: drawn.revoked, unit: "" });
}

/** What the database takes, its log folded in. */
function databaseBytes({ dataDir }: Instance): number {
  const database = new Database(join(dataDir, "pkid.db"), { readonly: true });
  const one = (name: string) =>
    Number(Object.values(database.query(`pragma ${name}`).get() as object)[0]); // One row of one.
  const bytes = one("page_count") * one("page_size");
  database.close();
  return bytes;
}

/** Megabytes of the whole tree, looked at every second. */
function peakMemory(pid: number): { end(): Promise<number> } {
  let highest = 0;
  let going = true;
  const watching = (async () => {
    for (let tick = 0; going; tick++) {
      if (tick % 10 === 0) highest = Math.max(highest, treeMemory(pid).pss);
      await Bun.sleep(100);
    }
  })();
  return {
    end: async () => {
      going = false;
      await watching;
      return highest;
    },
  };
}

const percents = [
  ["p50", 50],
  ["p90", 90],
  ["p99", 99],
  ["p99.9", 99.9],
  ["max", 100],
] as const;
const connections = 64;
const probesPerSecond = 10;
