/**
 * Rewrites the golden files below test/golden by running the tests that read them; the reviewer
 * reads the diff.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const verify = process.argv.includes("--verify");

const readers = [...new Bun.Glob("**/*.test.ts").scanSync(join(root, "test"))]
  .map((path) => join("test", path))
  .filter((path) => readsGoldens(path))
  .sort();

// With no file named, `bun test` would run every test.
if (readers.length === 0) throw new Error("No test reads a golden file.");
const { exitCode } = Bun.spawnSync(
  [process.execPath, "test", "--only-failures", ...readers.map((path) => `./${path}`)],
  {
    cwd: root,
    env: { ...process.env, ...(verify ? {} : { GOLDEN_UPDATE: "1" }) },
    stdio: ["ignore", "inherit", "inherit"],
  },
);
process.exit(exitCode);

function readsGoldens(path: string): boolean {
  return readFileSync(join(root, path), "utf8").includes("support/golden.ts");
}
