/** Runs before every test file: one directory for all that tests write, and the dice of CI. */

import { afterAll } from "bun:test";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";

import { coverageVariable } from "#scripts/lib/coverage-folder.ts";
import { countBranches } from "./coverage.ts";

const scratch = mkdtempSync(join(tmpdir(), "pkid-run-"));
// Servers that refuse to run as root run as another user and must be able to pass through.
chmodSync(scratch, 0o711);
process.env.TMPDIR = scratch;
// Set for this process by the test plan. The programs that tests start run as users run them.
delete process.env.BUN_JSC_useFTLJIT;
// The test runner emits no "exit"; in a preload this runs once, after all files.
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

// A gate must judge the change, not the dice: CI draws the same examples every time, a developer's
// run new ones.
if (process.env.CI === "true") fc.configureGlobal({ seed: 20_261_120 });

const coverage = process.env[coverageVariable];
if (coverage) countBranches(coverage);
