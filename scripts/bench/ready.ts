/**
 * Starts beside those of a bare server: a program of the same size that opens a database and
 * serves, made by the same compiler.
 */

import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Instance, newHome } from "#test/support/instances/instance.ts";
import { bareProgram, startBare } from "./bare-program.ts";
import { figure, section } from "./print.ts";
import { type Bench, measured, softwareKeys } from "./scenario.ts";
import { median } from "./statistics.ts";

/** Prints medians of starts in turns, on an empty and on an existing data directory. */
export async function ready(bench: Bench): Promise<void> {
  section("ready", `start to ready, median of ${rounds} in turns, software keys`);
  const folder = mkdtempSync(join(tmpdir(), "pkid-ready-"));
  const options = measured(bench, softwareKeys);
  try {
    const program = await bareProgram(folder, statSync(bench.binary).size);
    const megabytes = (file: string) => statSync(file).size / 1e6;
    for (const [name, label, file] of [
      ["size", "size of the program", bench.binary],
      ["bare_size", "size of the bare server", program],
    ] as const) {
      figure({ name, label, value: megabytes(file), unit: "MB" });
    }
    const first = await Instance.start({ ...options, home: newHome() });
    await first.stop();
    const kept = join(folder, "kept");
    mkdirSync(kept);
    const bareStart = async (home: string): Promise<number> => {
      const { readyMs, stop } = await startBare(program, folder, home);
      await stop();
      return readyMs;
    };
    await bareStart(kept);
    const times: Record<Kind, number[]> = { empty: [], existing: [], bareEmpty: [], bareKept: [] };
    for (let round = 0; round < rounds; round++) {
      const fresh = mkdtempSync(join(folder, "fresh-"));
      times.bareEmpty.push(await bareStart(fresh));
      const empty = await Instance.start(options);
      times.empty.push(empty.readyMs);
      await empty.dispose();
      times.bareKept.push(await bareStart(kept));
      const existing = await Instance.start({ ...options, home: first.home });
      times.existing.push(existing.readyMs);
      await existing.stop();
    }
    rmSync(first.home, { recursive: true });
    told("empty", "empty data directory", times.empty, times.bareEmpty);
    told("existing", "existing data", times.existing, times.bareKept);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

type Kind = "empty" | "existing" | "bareEmpty" | "bareKept";

function told(name: string, label: string, times: readonly number[], bare: readonly number[]) {
  figure({
    name,
    label: `start to ready, ${label}`,
    value: median(times),
    unit: "ms",
    floor: { name: "a bare server", value: median(bare) },
    goal: { of: "ratio", most: 2.5 },
  });
}

const rounds = 7;
