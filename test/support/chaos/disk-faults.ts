/**
 * One run on a failing disk: what was acknowledged before the power was cut, held against what is
 * there afterwards.
 */

import { openStore } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { type Serial, parseSerial } from "#core/ids.ts";
import { wholeChain, wholeLedger } from "#test/contracts/store-durable.suite.ts";
import { eachLine } from "#test/support/child.ts";
import { certificate } from "#test/support/stores/records.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";
import { type DiskFault, DiskUnder } from "./faulty-disk.ts";

export interface Run {
  /** Sentences about what was lost or is not whole; none when every guarantee was kept. */
  readonly broken: readonly string[];
  readonly said: readonly string[];
  readonly operations: number;
}

export interface RunPlan {
  readonly target: string;
  readonly library: string;
  readonly fault: DiskFault;
  readonly rounds: number;
  /** Certificates of a round. */
  readonly wanted: number;
}

/** Runs the writer until it is done or has had 20 s, kills it, cuts the power, and looks. */
export async function runOnFaultyDisk(plan: RunPlan): Promise<Run> {
  const { target, library, fault, rounds, wanted } = plan;
  const disk = new DiskUnder(target);
  const script = `${import.meta.dir}/faulty-writer.ts`;
  const child = Bun.spawn([process.execPath, script, target, String(rounds), String(wanted)], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...disk.env(library, fault) },
  });
  const said: string[] = [];
  const drained = eachLine(child.stdout, (line) => {
    said.push(line);
    if (line === "done") child.kill("SIGKILL");
  });
  const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
  await child.exited;
  await drained;
  clearTimeout(late);
  const { operations } = disk;
  disk.cutPower();
  const broken = await findings(target, said);
  return {
    broken: said.includes("done") ? broken : [...broken, "it never got done"],
    said,
    operations,
  };
}

/** What a sweep lets happen, in turn. */
export const everyFault = [
  { times: 1, errno: "EIO" },
  { times: 1, errno: "ENOSPC" },
  { times: 3, errno: "EIO" },
  { times: 5, errno: "ENOSPC" },
] as const;

/** A store that nobody has open; gives its file. */
export async function newStore(): Promise<string> {
  const { target, open } = sqliteDatabase();
  await (await open()).close();
  return target;
}

export interface Sweep {
  readonly library: string;
  /** A new, empty database for each run. */
  readonly made: () => Promise<string>;
  /** Every how manieth operation fails in a run of its own; 1 for each in turn. */
  readonly step: number;
  /** How many fail in a row, and with what. */
  readonly faults: readonly Pick<DiskFault, "times" | "errno">[];
  readonly progress?: (line: string) => void;
}

/**
 * Lets each operation of a run fail in turn, in a run of its own; gives what broke, and how many
 * runs there were.
 */
export async function sweepFaults({ library, made, step, faults, progress }: Sweep) {
  const plan = { library, rounds: 2, wanted: 5 };
  const none = { from: 0, times: 0, errno: "EIO", seed: 1 } as const;
  const { operations, broken } = await runOnFaultyDisk({
    ...plan,
    target: await made(),
    fault: none,
  });
  const found = [...broken];
  let runs = 0;
  let stopped = 0;
  for (let from = 1; from <= operations; from += step) {
    const chosen = faults[runs % faults.length];
    if (chosen === undefined) break;
    const fault = { ...chosen, from, seed: from };
    const run = await runOnFaultyDisk({ ...plan, target: await made(), fault });
    runs += 1;
    if (run.said.some((line) => line.startsWith("told a write"))) stopped += 1;
    const where = `operation ${from} of ${operations}, ${chosen.times} × ${chosen.errno}`;
    for (const finding of run.broken) found.push(`${where}: ${finding}`);
    if (runs % 20 === 0) progress?.(`${where}: ${found.length} broken so far`);
  }
  return { broken: found, runs, stopped, operations };
}

async function findings(target: string, said: readonly string[]): Promise<string[]> {
  const broken: string[] = [];
  const options = { driver: "sqlite", path: target, busy_timeout_ms: 1000 } as const;
  const store = await openStore(options, { clock: systemClock, random: systemRandom });
  try {
    await wholeLedger(store);
    const issued = new Set((await wholeChain(store)).map(({ serial }) => serial));
    const { caId } = certificate();
    const numbers = new Set<string>();
    for (const line of said) {
      const [word, serial = "", number = ""] = line.split(" ");
      if (word === "issued" && !issued.has(parsed(serial))) broken.push(`lost: ${line}`);
      if (word !== "revoked") continue;
      const row = await store.read.certificates.bySerial(caId, parsed(serial));
      if (row?.status !== "revoked") broken.push(`lost: ${line}`);
      if (numbers.has(number)) broken.push(`used twice: ${line}`);
      numbers.add(number);
    }
    const last = Number((await store.read.instance.value("revoked")) ?? 0);
    if (numbers.size > 0 && last < Math.max(...[...numbers].map(Number)))
      broken.push("a number is behind");
  } catch (error) {
    broken.push(String(error));
  } finally {
    await store.close();
  }
  return broken;
}

const parsed = (text: string): Serial => parseSerial(text);
