/** Blocklist files: all of them are read, and one that cannot be stops whoever asks. */

import { expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { BlocklistUnreadable, readBlocklists } from "#adapters/weak-keys.ts";

const directory = mkdtempSync(join(tmpdir(), "pkid-weak-"));
const file = (name: string, text: string) => {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
};

test("the digests of all files are one set", () => {
  const one = file("one", `${"ab".repeat(20)}\n`);
  const two = file("two", `${"cd".repeat(32)}\n${"AB".repeat(20)}\n`);
  expect([...readBlocklists([one, two])]).toEqual(["ab".repeat(20), "cd".repeat(32)]);
  expect(readBlocklists([]).size).toBe(0);
});

test("a missing file, a directory and a broken line are refused with their name", () => {
  expect(() => readBlocklists([join(directory, "none")])).toThrow(BlocklistUnreadable);
  expect(() => readBlocklists([directory])).toThrow(BlocklistUnreadable);
  const broken = file("broken", `${"ab".repeat(20)}\nno digest\n`);
  expect(() => readBlocklists([broken])).toThrow("broken: line 2");
});
