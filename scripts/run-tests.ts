/** Runs the test files in several processes and reports: `bun scripts/run-tests.ts`. */

import { mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { prepareCoverage, reportCoverage } from "./lib/coverage.ts";
import { type Outcome, planned, runPlan } from "./lib/test-plan.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    processes: { type: "string", default: "2" },
    waiting: { type: "string", default: "2" },
    "limit-minutes": { type: "string", default: "40" },
  },
});

/** Free bytes from which the scratch folder is in memory. */
const scratchBytesMin = 6_000_000_000;
const root = join(import.meta.dir, "..");
const isLongRun = process.env.PKID_TEST_LONG === "1";
const plan = planned(await testFiles(positionals));
const groups = plan.working.length + plan.waiting.length;
// Short, because the paths of Unix sockets below it may have 107 bytes.
const scratch = mkdtempSync(join(selectScratchParent(), "pkid-t"));
const ends = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => ends.abort());
const limit = setTimeout(() => ends.abort(), Number(values["limit-minutes"]) * 60_000);
reportMachineSpeed();
try {
  // Only the whole run has all tests of core and domain.
  const coverage = positionals.length === 0 ? join(scratch, "coverage") : undefined;
  if (coverage !== undefined) {
    mkdirSync(coverage);
    await prepareCoverage(root, coverage);
  }
  const outcomes = await runPlan(plan, {
    root,
    scratch,
    processes: Number(values.processes),
    waiting: Number(values.waiting),
    end: ends.signal,
    coverage,
    ended: printOutcome,
  });
  const covers = coverage === undefined || printCoverage(coverage);
  report(outcomes, covers ? [] : ["the branch coverage of core or domain fell"]);
} finally {
  clearTimeout(limit);
  rmSync(scratch, { recursive: true, force: true });
}

/**
 * Returns the parent of the scratch folder. If enough memory is free, it is a file system in
 * memory, since hundreds of databases wait for their disk.
 */
function selectScratchParent(): string {
  try {
    const { bavail, bsize } = statfsSync("/dev/shm");
    if (bavail * bsize >= scratchBytesMin) return "/dev/shm";
  } catch {
    // This system has no such folder.
  }
  return tmpdir();
}

/**
 * Prints the time of a fixed computation on one core. It makes the times of two runs comparable: a
 * slower machine has a larger figure.
 */
function reportMachineSpeed(): void {
  const bytes = new Uint8Array(1 << 20);
  const started = performance.now();
  for (let round = 0; round < 200; round++) new Bun.CryptoHasher("sha256").update(bytes).digest();
  const milliseconds = performance.now() - started;
  process.stderr.write(`machine speed: ${milliseconds.toFixed(0)} ms for SHA-256 of 200 MiB\n`);
}

/** Lists the test files whose path contains an argument, or all; long ones in a long run. */
async function testFiles(paths: readonly string[]): Promise<string[]> {
  const all = await Array.fromAsync(new Bun.Glob("test/**/*.test.ts").scan({ cwd: root }));
  return all
    .filter((file) => isLongRun || !file.startsWith("test/long/"))
    .filter((file) => paths.length === 0 || paths.some((path) => file.includes(path)))
    .sort();
}

function printOutcome(outcome: Outcome, place: number): void {
  const { files, passed, failed, skipped, missing, seconds, processorSeconds, output } = outcome;
  if (failed > 0 || missing.length > 0) process.stderr.write(output);
  const what = files.length === 1 ? files[0] : `${files[0]} and ${files.length - 1} more`;
  const counts = [
    `${passed} passed`,
    ...(failed > 0 ? [`${failed} FAILED`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(missing.length > 0 ? [`${missing.length} files WITHOUT RESULT`] : []),
  ];
  const took = `${seconds.toFixed(1)} s, ${processorSeconds.toFixed(1)} s of the processor`;
  process.stderr.write(`[${place}/${groups}] ${what}: ${counts.join(", ")} (${took})\n`);
}

/**
 * What was skipped, and why, what failed and what did not run is named once more at the end; the
 * counts are one line on stdout.
 */
function report(outcomes: readonly Outcome[], violations: readonly string[]): void {
  const sum = (count: (outcome: Outcome) => number) =>
    outcomes.reduce((total, outcome) => total + count(outcome), 0);
  for (const { skips } of outcomes) {
    for (const skip of skips) process.stderr.write(`SKIPPED: ${skip}\n`);
  }
  for (const { failures, missing } of outcomes) {
    for (const failure of failures) process.stderr.write(`FAILED: ${failure}\n`);
    for (const file of missing) process.stderr.write(`NO RESULT: ${file}\n`);
  }
  for (const violation of violations) process.stderr.write(`FAILED: ${violation}\n`);
  printSlowest(outcomes);
  const missing = sum((each) => each.missing.length);
  const failed = sum((each) => each.failed) + missing + violations.length;
  process.stdout.write(`${sum((each) => each.passed)} ${failed} ${sum((each) => each.skipped)}\n`);
  process.exitCode = failed > 0 ? 1 : 0;
}

/** Prints the branch coverage. Returns false if it is below the committed figure. */
function printCoverage(folder: string): boolean {
  const { lines, failed } = reportCoverage(folder);
  for (const line of lines) process.stderr.write(`${line}\n`);
  return !failed;
}

/** Prints the ten files that took longest. */
function printSlowest(outcomes: readonly Outcome[]): void {
  const all = outcomes.flatMap(({ fileSeconds }) => [...fileSeconds]);
  all.sort(([, a], [, b]) => b - a);
  process.stderr.write("the slowest files:\n");
  for (const [file, seconds] of all.slice(0, 10)) {
    process.stderr.write(`${seconds.toFixed(1).padStart(8)} s  ${file}\n`);
  }
}
