/**
 * Runs the test files in several processes, tells how far it is, and keeps the results of what ran:
 * `bun scripts/run-tests.ts`.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { type Outcome, planned, runPlan } from "./lib/test-plan.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    processes: { type: "string", default: "2" },
    waiting: { type: "string", default: "1" },
    "limit-minutes": { type: "string", default: "40" },
  },
});

const root = join(import.meta.dir, "..");
const plan = planned(await testFiles(positionals));
const groups = plan.working.length + plan.waiting.length;
// Short, because the paths of Unix sockets below it may have 107 octets.
const scratch = mkdtempSync(join(tmpdir(), "pkid-t"));
const ends = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => ends.abort());
const limit = setTimeout(() => ends.abort(), Number(values["limit-minutes"]) * 60_000);
try {
  const outcomes = await runPlan(plan, {
    root,
    scratch,
    processes: Number(values.processes),
    waiting: Number(values.waiting),
    end: ends.signal,
    ended: (outcome, place) => tell(outcome, place),
  });
  report(outcomes);
} finally {
  clearTimeout(limit);
  rmSync(scratch, { recursive: true, force: true });
}

/** All test files, or those whose path contains one of the words. */
async function testFiles(words: readonly string[]): Promise<string[]> {
  const found = await Array.fromAsync(new Bun.Glob("test/**/*.test.ts").scan({ cwd: root }));
  const asked = found.filter(
    (path) => words.length === 0 || words.some((word) => path.includes(word)),
  );
  return asked.sort();
}

function tell(outcome: Outcome, place: number): void {
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
function report(outcomes: readonly Outcome[]): void {
  const sum = (count: (outcome: Outcome) => number) =>
    outcomes.reduce((total, outcome) => total + count(outcome), 0);
  for (const { skips } of outcomes) {
    for (const skip of skips) process.stderr.write(`SKIPPED: ${skip}\n`);
  }
  for (const { failures, missing } of outcomes) {
    for (const failure of failures) process.stderr.write(`FAILED: ${failure}\n`);
    for (const file of missing) process.stderr.write(`NO RESULT: ${file}\n`);
  }
  const failed = sum((each) => each.failed) + sum((each) => each.missing.length);
  process.stdout.write(`${sum((each) => each.passed)} ${failed} ${sum((each) => each.skipped)}\n`);
  process.exitCode = failed > 0 ? 1 : 0;
}
