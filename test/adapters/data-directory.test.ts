/** The data directory is private, and held by one process at a time. */

import { chmodSync, mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "bun:test";

import { DirectoryUnfit, holdDirectory, holderOf } from "#adapters/data-directory.ts";

const newPath = () => join(mkdtempSync(join(tmpdir(), "pkid-directory-")), "home");
const holder = join(import.meta.dir, "../support/stores/directory-holder.ts");

test("a missing directory is made for its owner alone, and so is every file after it", () => {
  const path = newPath();
  const held = holdDirectory(path);
  writeFileSync(join(path, "secret"), "");
  expect(statSync(path).mode & 0o777).toBe(0o700);
  expect(statSync(join(path, "secret")).mode & 0o777).toBe(0o600);
  held.release();
});

test("V-7: a directory others can read is refused", () => {
  const path = newPath();
  holdDirectory(path).release();
  chmodSync(path, 0o750);
  expect(() => holdDirectory(path)).toThrow("mode 750");
  chmodSync(path, 0o700);
  holdDirectory(path).release();
});

test("V-7: a second holder is refused and told who holds the directory", () => {
  const path = newPath();
  const held = holdDirectory(path);
  expect(() => holdDirectory(path)).toThrow(`process ${process.pid}`);
  held.release();
  holdDirectory(path).release();
});

test("the lock of a killed process is gone, also while a child of it lives", async () => {
  const path = newPath();
  const first = Bun.spawn([process.execPath, holder, path], { stdout: "pipe" });
  const reader = first.stdout.getReader();
  const child = Number(new TextDecoder().decode((await reader.read()).value));
  expect(holderOf(path)).toBe(first.pid);
  expect(() => holdDirectory(path)).toThrow(DirectoryUnfit);
  first.kill("SIGKILL");
  await first.exited;
  const held = holdDirectory(path);
  expect(holderOf(path)).toBe(process.pid);
  held.release();
  process.kill(child, "SIGKILL");
});
