/** Golden files: what people read, kept beside the tests and rewritten only on purpose. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Compares `text` with `test/golden/<name>`; with `GOLDEN_UPDATE=1` writes it instead. The error
 * begins with the first line that differs, since a report may show only its beginning.
 */
export function expectGolden(name: string, text: string): void {
  const file = goldenFile(name);
  if (process.env.GOLDEN_UPDATE === "1") {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const golden = readFileSync(file, "utf8");
  if (text !== golden) throw new Error(difference(name, golden.split("\n"), text.split("\n")));
}

/** Returns true if `text` is the golden file, or while golden files are written. */
export const isGolden = (name: string, text: string): boolean =>
  process.env.GOLDEN_UPDATE === "1" || readFileSync(goldenFile(name), "utf8") === text;

const goldenFile = (name: string): string => join(import.meta.dir, "..", "golden", name);

function difference(name: string, golden: readonly string[], lines: readonly string[]): string {
  const found = lines.findIndex((line, index) => line !== golden[index]);
  const first = found < 0 ? lines.length : found;
  const [expected, actual] = [golden[first] ?? "nothing", lines[first] ?? "nothing"];
  return [
    `${name} differs in line ${first + 1}: expected "${expected}", is "${actual}"`,
    "The whole text is:",
    ...lines,
  ].join("\n");
}
