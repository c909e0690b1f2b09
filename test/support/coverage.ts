/** Loads instrumented sources in a test process, and writes its counters after the last test. */

import { afterAll } from "bun:test";
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { plugin } from "bun";

import {
  type CoverageIndex,
  registerName,
  resolveCounters,
  resolveIndex,
  resolveInstrumentedFile,
} from "#scripts/lib/coverage-folder.ts";

/**
 * Counts the branches of all sources in the folder's index until the process ends. Worker threads
 * load the original sources and do not count.
 *
 * @param folder absolute path of a folder that `prepareCoverage` has filled
 */
export function countBranches(folder: string): void {
  // `prepareCoverage` has written exactly this type.
  const index = JSON.parse(readFileSync(resolveIndex(folder), "utf8")) as CoverageIndex;
  const counters = new Map<string, Uint8Array>();
  Object.assign(globalThis, {
    // A module that is evaluated a second time continues with its counters.
    [registerName]: (path: string, size: number) => {
      const found = counters.get(path) ?? new Uint8Array(size);
      counters.set(path, found);
      return found;
    },
  });
  plugin({
    name: "coverage",
    setup(build) {
      const filter = new RegExp(`^${RegExp.escape(index.root)}/src/.*\\.ts$`);
      build.onLoad({ filter }, ({ path }) => {
        const name = relative(index.root, path);
        const source = name in index.branches ? resolveInstrumentedFile(folder, name) : path;
        return { contents: readFileSync(source, "utf8"), loader: "ts" };
      });
    },
  });
  // In a preload it runs once, after all files. The test runner never emits "exit".
  afterAll(() => {
    const digits = Array.from(counters, ([path, found]) => [path, found.join("")]);
    const file = join(resolveCounters(folder), `${randomUUID()}.json`);
    writeFileSync(file, JSON.stringify(Object.fromEntries(digits)));
  });
}
