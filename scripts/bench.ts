/**
 * `bun run bench`: what pkid does per second, each figure beside a floor measured in the same run.
 * `--help` names its arguments and scenarios.
 */

import { release } from "node:os";
import { resolve } from "node:path";

import { sha256Hex } from "#core/crypto.ts";
import { binary } from "#test/support/instances/instance.ts";
import {
  type Arguments,
  helpText,
  readArguments,
  type ScenarioName,
  scenarioNames,
} from "./bench/arguments.ts";
import { missing } from "./bench/needs.ts";
import { reported } from "./bench/print.ts";
import { type Binary, type Figure, type Machine, reportJson } from "./bench/report.ts";
import { tree } from "./bench/processor.ts";
import type { Bench } from "./bench/scenario.ts";
import { scenarios } from "./bench/scenarios.ts";
import { compared, comparedJson, comparedTable, inTurns } from "./bench/turns.ts";

// Whoever ends it by a signal ends what it has started.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    for (const pid of tree(process.pid).slice(1)) ended(pid);
    process.exit(130);
  });
}

const told = readArguments(process.argv.slice(2));
if ("refused" in told) refused(told.refused);
if ("help" in told) console.log(await helpText());
else await main(told.arguments);
process.exit(0);

async function main(given: Arguments): Promise<void> {
  const allNames = Object.keys(scenarioNames) as ScenarioName[]; // The table's own keys.
  const names = given.only ?? allNames.filter((name) => scenarios[name].byItself);
  const measured = resolve(binary);
  const other = given.against === undefined ? undefined : resolve(given.against);
  for (const file of [measured, other]) {
    const lack = file === undefined ? undefined : missing(names, file);
    if (lack !== undefined) refused(lack);
  }
  if (other === undefined) await alone(given, names, measured);
  else await against(given, names, { a: measured, b: other });
}

async function alone(
  given: Arguments,
  names: readonly ScenarioName[],
  program: string,
): Promise<void> {
  const line = (text: string) => (given.json ? console.error(text) : console.log(text));
  const figures = await run(given, names, program, line);
  if (!given.json) return;
  console.log(JSON.stringify(reportJson(machine(), await described(program), figures), null, 2));
}

/** A is the binary that is measured anyway, B the one it is compared with. */
async function against(
  given: Arguments,
  names: readonly ScenarioName[],
  programs: Readonly<Record<"a" | "b", string>>,
): Promise<void> {
  const turns = await inTurns(given.turns, (which, turn) => {
    console.error(`\nturn ${turn} of ${given.turns}, ${which.toUpperCase()}: ${programs[which]}`);
    return run(given, names, programs[which], (text) => console.error(text));
  });
  const rows = compared(turns);
  const [a, b] = [await described(programs.a), await described(programs.b)];
  if (given.json) {
    const document = { machine: machine(), a, b, ...comparedJson(rows, turns) };
    console.log(JSON.stringify(document, null, 2));
    return;
  }
  for (const [name, of] of Object.entries({ A: a, B: b })) {
    console.log(`${name}: ${of.path}, ${of.version}, sha256 ${of.sha256}`);
  }
  console.log(`\n${comparedTable(rows)}`);
}

async function run(
  given: Arguments,
  names: readonly ScenarioName[],
  program: string,
  line: (text: string) => void,
): Promise<readonly Figure[]> {
  const bench: Bench = {
    seconds: given.seconds ?? 5,
    mixedSeconds: given.seconds ?? 300,
    rows: given.rows ?? 1_000_000,
    attacks: given.attacks,
    binary: program,
  };
  return reported(line, async () => {
    for (const name of names) await scenarios[name].run(bench);
  });
}

function machine(): Machine {
  return { cores: navigator.hardwareConcurrency, kernel: release(), bun: Bun.version };
}

async function described(path: string): Promise<Binary> {
  const { stdout } = Bun.spawnSync([path, "--version"]);
  const sha256 = sha256Hex(await Bun.file(path).bytes());
  return { path, version: stdout.toString().trim(), sha256 };
}

function ended(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {
    // It has ended by itself since it was listed.
  }
}

function refused(sentence: string): never {
  console.error(sentence);
  process.exit(2);
}
