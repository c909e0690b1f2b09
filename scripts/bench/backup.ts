/** A backup of a million certificates with their history beside a server, and its restore. */

import { closeSync, fsyncSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";

import { Instance, newHome, writeConfig } from "#test/support/instances/instance.ts";
import { filledConfig } from "./fill.ts";
import { provenHome } from "./fill-proven.ts";
import { row, section } from "./print.ts";
import type { Bench } from "./scenario.ts";

/** Prints times, memory, and both as multiples of reading and writing the same octets. */
export async function backup({ rows, binary }: Bench): Promise<void> {
  section("backup", `backup and restore of ${rows.toLocaleString("en")} certificates, SQLite`);
  const home = await provenHome(binary, rows, 10);
  const instance = await Instance.start({ binary, home, config: filledConfig });
  const identity = join(home, "opens");
  const run = (args: readonly string[], config: string) => timed(binary, args, config);
  const config = join(home, "pkid.yaml");
  const { stdout } = await run(["backup", "keygen", "--out", identity], config);
  const file = join(home, "a.tar.age");
  const made = await run(["backup", "create", "--out", file, "--recipient", stdout.trim()], config);
  const peak = peakOf(instance.pid);
  const bytes = statSync(file).size;
  const floor = await copied(file, join(home, "copy"));
  row("size of the archive", `${(bytes / 1e6).toFixed(0)} MB`);
  row("reading and writing the same octets", `${floor.toFixed(1)} s`);
  row(
    "backup",
    `${made.seconds.toFixed(1)} s (goal ≤ 60 s), ${(made.seconds / floor).toFixed(1)} of that`,
  );
  row("memory of the server at its peak", `${peak.toFixed(0)} MB (goal ≤ 300 MB)`);
  await instance.stop();
  const other = newHome();
  writeConfig(other, filledConfig);
  const args = ["restore", file, "--identity", identity];
  const back = await run(args, join(other, "pkid.yaml"));
  row(
    "restore",
    `${back.seconds.toFixed(1)} s (goal ≤ 120 s), ${(back.seconds / floor).toFixed(1)} of that`,
  );
  row("memory of the restore at its peak", `${back.peakMb.toFixed(0)} MB (goal ≤ 300 MB)`);
  rmSync(other, { recursive: true, force: true });
  rmSync(home, { recursive: true, force: true });
}

async function timed(binary: string, args: readonly string[], config: string) {
  const began = performance.now();
  const child = Bun.spawn([binary, ...args, "--config", config], { stderr: "pipe" });
  let peakMb = 0;
  const watch = setInterval(() => {
    peakMb = Math.max(peakMb, peakOf(child.pid));
  }, 20);
  const stdout = await new Response(child.stdout).text();
  const code = await child.exited;
  clearInterval(watch);
  if (code !== 0) throw new Error(await new Response(child.stderr).text());
  return { stdout, seconds: (performance.now() - began) / 1000, peakMb };
}

/** Megabytes the process has had in memory at most; 0 when it is gone. */
function peakOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

async function copied(from: string, to: string): Promise<number> {
  const began = performance.now();
  const out = openSync(to, "w");
  for await (const piece of Bun.file(from).stream()) writeSync(out, piece);
  fsyncSync(out);
  closeSync(out);
  rmSync(to);
  return (performance.now() - began) / 1000;
}
