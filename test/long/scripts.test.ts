/** The long forms that a script has: they run with `scripts/test --long` only. */

import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ran } from "#test/support/child.ts";

const root = join(import.meta.dir, "../..");
const minutes = 60_000;

/** Runs a script of the project and returns its output; throws the output if it fails. */
async function runScript(...line: readonly string[]): Promise<string> {
  const environment = { HOME: tmpdir(), TMPDIR: tmpdir() };
  const command = [process.execPath, ...line];
  const { code, stdout, stderr } = await ran(command, { cwd: root, env: environment });
  if (code !== 0) throw new Error(`${line.join(" ")} exited ${code}:\n${stdout}\n${stderr}`);
  return stdout;
}

test(
  "50 kills under bulk issue and a rollover lose nothing that the server acknowledged",
  async () => {
    expect(await runScript("scripts/chaos.ts")).toContain("every guarantee kept");
  },
  60 * minutes,
);

test(
  "the store on a disk loses nothing whichever of its writes, syncs and truncations fails",
  async () => {
    expect(await runScript("scripts/chaos.ts", "--disk")).toMatch(/\d+ operations failed in turn/);
  },
  60 * minutes,
);

test(
  "the server survives 100,000 mutated inputs and 30,000 calls",
  async () => {
    const report = await runScript("scripts/fuzz.ts", "--minutes=60");
    expect(report).toContain("nothing broke");
    expect(report).toMatch(/^100000 /m);
  },
  90 * minutes,
);

test(
  "the console has a picture of every page in both themes and at both widths",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "pictures-"));
    await runScript("scripts/screenshots.ts", folder);
    expect(readdirSync(folder).length).toBeGreaterThanOrEqual(60);
  },
  20 * minutes,
);

test(
  "the inventory lists and counts a million certificates",
  async () => {
    const line = ["scripts/bench.ts", "--only=inventory", "--rows=1000000", "--seconds=1"];
    expect(await runScript(...line)).toContain("inventory of 1000000 certificates");
  },
  60 * minutes,
);

test(
  "`restore` of a million certificates needs at most 300 MB of memory",
  async () => {
    const report = await runScript("scripts/bench.ts", "--only=backup", "--rows=1000000");
    const peak = /memory of the restore at its peak +(\d+) MB/.exec(report)?.[1];
    expect(Number(peak), report).toBeLessThanOrEqual(300);
  },
  60 * minutes,
);
