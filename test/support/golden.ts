/** Golden files: what people read, kept beside the tests and rewritten only on purpose. */

import { expect } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Compares `text` with `test/golden/<name>`; with `GOLDEN_UPDATE=1` writes it instead. */
export function expectGolden(name: string, text: string): void {
  const file = join(import.meta.dir, "..", "golden", name);
  if (process.env.GOLDEN_UPDATE === "1") {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  expect(text).toBe(readFileSync(file, "utf8"));
}
