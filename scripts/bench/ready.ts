/**
 * Starts beside those of a bare server: a program of the same size that opens a database and
 * serves, made by the same compiler.
 */

import { cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Instance, newHome } from "#test/support/instances/instance.ts";
import { newTls } from "./bare-issuer.ts";
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
    await bareStart(program, folder, kept);
    const times: Record<Kind, number[]> = { empty: [], existing: [], bareEmpty: [], bareKept: [] };
    for (let round = 0; round < rounds; round++) {
      const fresh = mkdtempSync(join(folder, "fresh-"));
      times.bareEmpty.push(await bareStart(program, folder, fresh));
      const empty = await Instance.start(options);
      times.empty.push(empty.readyMs);
      await empty.dispose();
      times.bareKept.push(await bareStart(program, folder, kept));
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

/** Compiles the bare server, with so much ballast that it is as large as the other. */
async function bareProgram(folder: string, bytes: number): Promise<string> {
  const program = join(folder, "bare");
  const ballast = join(folder, "ballast.bin");
  for (const [name, text] of Object.entries(newTls())) {
    if (name === "cert" || name === "key") writeFileSync(join(folder, name), String(text));
  }
  cpSync(join(import.meta.dir, "bare-start.ts"), join(folder, "bare-start.ts"));
  const compiled = async (ballastBytes: number): Promise<number> => {
    writeFileSync(ballast, new Uint8Array(ballastBytes).fill(7));
    const built = await Bun.build({
      entrypoints: [join(folder, "bare-start.ts")],
      target: "bun",
      format: "esm",
      bytecode: true,
      minify: true,
      compile: { outfile: program, assets: [ballast] },
    });
    if (!built.success) throw new Error(built.logs.join("\n"));
    return statSync(program).size;
  };
  const alone = await compiled(1);
  if (alone < bytes) await compiled(bytes - alone);
  return program;
}

/** Milliseconds from spawn to the word ready, watched for as those of an instance. */
async function bareStart(program: string, folder: string, home: string): Promise<number> {
  const log = join(home, `log-${crypto.randomUUID()}`);
  const began = performance.now();
  const child = Bun.spawn([program, home, join(folder, "cert"), join(folder, "key")], {
    cwd: home,
    stdin: "ignore",
    stdout: openSync(log, "w", 0o600),
    stderr: "inherit",
  });
  while (!readFileSync(log, "utf8").includes("ready")) {
    if (child.exitCode !== null) throw new Error("the bare server ended before it was ready");
    await Bun.sleep(2);
  }
  const took = performance.now() - began;
  child.kill();
  await child.exited;
  return took;
}

const rounds = 7;
