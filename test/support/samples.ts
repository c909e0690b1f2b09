/**
 * Parses small made-up source trees, so that the rules on source can be tested on what they must
 * catch.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Parsed, parseTree } from "#scripts/lib/source-tree.ts";

/** The files given by path and text, parsed as `parseTree` parses ours. */
export async function parseSamples(texts: Readonly<Record<string, string>>): Promise<Parsed[]> {
  const root = mkdtempSync(join(tmpdir(), "pkid-samples-"));
  try {
    for (const [path, text] of Object.entries(texts)) {
      mkdirSync(join(root, dirname(path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    const project = join(root, "tsconfig.json");
    writeFileSync(project, JSON.stringify(settings));
    const folders = new Set(Object.keys(texts).map((path) => path.split("/")[0] ?? ""));
    return await parseTree(root, project, [...folders]);
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** Our own source, parsed. */
export function parseOurs(): Promise<Parsed[]> {
  const root = join(import.meta.dir, "../..");
  const project = join(root, "scripts/tsconfig.json");
  return parseTree(root, project, ["src", "web", "test", "scripts"]);
}

const settings = {
  compilerOptions: { noLib: true, types: [], allowImportingTsExtensions: true, noEmit: true },
};
