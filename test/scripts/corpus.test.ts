/** `scripts/corpus` explains itself and never replaces a version without the flag. */

import { readdirSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "bun:test";

import {
  checkCorpusFiles,
  corpusFolder,
  listCorpusVersions,
} from "#test/support/corpus/manifest.ts";

const run = (...flags: readonly string[]) => {
  const script = join(import.meta.dir, "../../scripts/corpus.ts");
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, script, ...flags]);
  return [exitCode, stdout.toString(), stderr.toString()];
};

test("`scripts/corpus --help` prints the usage", () => {
  expect(run("--help")).toEqual([0, expect.stringContaining("--replace"), ""]);
});

test("`scripts/corpus` rejects unknown flags", () => {
  expect(run("--force")).toEqual([2, "", expect.stringContaining("--force")]);
});

test("`scripts/corpus` refuses to replace a version without `--replace`", () => {
  const before = readdirSync(corpusFolder);
  expect(run()).toEqual([
    1,
    "",
    expect.stringMatching(/exists\. Use --replace to replace it\.\n$/),
  ]);
  expect(readdirSync(corpusFolder)).toEqual(before);
  for (const version of listCorpusVersions()) {
    expect(checkCorpusFiles(join(corpusFolder, version))).toEqual([]);
  }
});
