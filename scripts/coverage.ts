/**
 * Runs the tests of core and domain and reports their branch coverage: `bun scripts/coverage.ts`.
 * With `--write`, figures that rose are written to `scripts/coverage.json`.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { prepareCoverage, reportCoverage, writeFigures } from "./lib/coverage.ts";
import { coverageVariable } from "./lib/coverage-folder.ts";

const { values } = parseArgs({ options: { write: { type: "boolean", default: false } } });
const root = join(import.meta.dir, "..");
const folder = mkdtempSync(join(tmpdir(), "pkid-coverage-"));
try {
  await prepareCoverage(root, folder);
  const status = await runTests();
  // A failed test stops early, so its run covers less.
  if (values.write && status === 0) writeFigures(folder);
  const { lines, failed } = reportCoverage(folder);
  for (const line of lines) console.log(line);
  process.exitCode = status !== 0 || failed ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Returns the exit status of the tests. CI=true fixes the seed of the generated examples. */
async function runTests(): Promise<number> {
  const child = Bun.spawn(
    [
      process.execPath,
      "test",
      "--only-failures",
      "--timeout=120000",
      "./test/core",
      "./test/domain",
    ],
    {
      cwd: root,
      env: { ...process.env, CI: "true", [coverageVariable]: folder },
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
    },
  );
  return await child.exited;
}
