/** A restore that is killed between its renames is undone or finished by the next one. */

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { moveFiles, recoverPlacement } from "#app/restore/placement.ts";
import { cleanWorkDirectories } from "#app/work-directories.ts";

const folder = mkdtempSync(join(tmpdir(), "pkid-placement-"));
afterAll(() => rmSync(folder, { recursive: true }));

const names = ["identity", "keys", "pkid.db"];

/** Creates a working directory with two files and a directory, and the moves of it. */
function createRestore() {
  const dataDir = mkdtempSync(join(folder, "data-"));
  const work = join(dataDir, ".restoring-0a1b2c3d");
  mkdirSync(join(work, "keys"), { recursive: true });
  for (const name of ["lock", "identity", "keys/one", "pkid.db"]) {
    writeFileSync(join(work, name), name);
  }
  const moves = names.map((name) => [join(work, name), join(dataDir, name)] as const);
  return { dataDir, work, moves };
}

type Restore = ReturnType<typeof createRestore>;

/** Runs the placement in a process that kills itself before or after a rename. */
function moveAndKill({ work, moves }: Restore, isDatabaseRemote: boolean, step: number): void {
  const script = `
    import { renameSync } from "node:fs";
    import { moveFiles } from "#app/restore/placement.ts";
    let step = ${step};
    const kill = () => { if (step-- === 0) process.kill(process.pid, "SIGKILL"); };
    const rename = (from, to) => { kill(); renameSync(from, to); kill(); };
    moveFiles(${JSON.stringify(work)}, ${JSON.stringify({ moves, isDatabaseRemote })}, rename);
  `;
  expect(Bun.spawnSync([process.execPath, "-e", script]).signalCode).toBe("SIGKILL");
}

/** Cleans up as the next restore does; returns true if the killed one was finished. */
function recover({ dataDir }: Restore): boolean {
  let isFinished = false;
  cleanWorkDirectories(dataDir, /^\.restoring-/, (path) => {
    isFinished = recoverPlacement(path);
  });
  return isFinished;
}

describe.each([0, 1, 2, 3, 4, 5])("a restore that was killed at step %d of its renames", (step) => {
  const isComplete = step === 5;

  test("the next restore finds an empty directory, or the complete instance", () => {
    const restore = createRestore();
    moveAndKill(restore, false, step);
    expect(recover(restore)).toBe(false);
    expect(readdirSync(restore.dataDir).sort()).toEqual(isComplete ? names : []);
  });

  test("the next restore finishes it if the database is on a server", () => {
    const restore = createRestore();
    moveAndKill(restore, true, step);
    expect(recover(restore)).toBe(!isComplete);
    expect(readdirSync(restore.dataDir).sort()).toEqual(names);
    expect(readdirSync(join(restore.dataDir, "keys"))).toEqual(["one"]);
  });
});

test("the next restore leaves a file that replaced a restored one", () => {
  const restore = createRestore();
  moveAndKill(restore, false, 3);
  writeFileSync(join(restore.dataDir, "other"), "");
  rmSync(join(restore.dataDir, "identity"));
  writeFileSync(join(restore.dataDir, "identity"), "of another program");
  recover(restore);
  expect(readdirSync(restore.dataDir).sort()).toEqual(["identity", "other"]);
});

test("a restore whose last rename fails leaves nothing behind", () => {
  const { dataDir, work, moves } = createRestore();
  const [last] = moves.slice(-1);
  const placement = { moves, isDatabaseRemote: false, owner: undefined };
  const rename = (from: unknown, to: unknown) => {
    if (from === last?.[0]) throw new Error("EXDEV");
    Bun.spawnSync(["mv", String(from), String(to)]);
  };
  expect(() => moveFiles(work, placement, rename)).toThrow("EXDEV");
  expect(readdirSync(dataDir)).toEqual([".restoring-0a1b2c3d"]);
});
