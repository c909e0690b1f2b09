/**
 * Parses small made-up source trees, so that the rules on source can be tested on what they must
 * catch.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { once } from "#core/once.ts";
import { type Parsed, parseTree } from "#scripts/lib/source-tree.ts";

/** Files of a sample: text by path. */
type Sample = Readonly<Record<string, string>>;

/** Parses the files of one sample as `parseTree` parses ours. */
export async function parseSamples(sample: Sample): Promise<Parsed[]> {
  return (await parseEachSample([["", sample]])).get("") ?? [];
}

/**
 * Parses many samples with one start of the compiler, each as if it were alone.
 *
 * @param samples samples by their names
 */
export async function parseEachSample(
  samples: Iterable<readonly [name: string, sample: Sample]>,
): Promise<ReadonlyMap<string, Parsed[]>> {
  const root = mkdtempSync(join(tmpdir(), "pkid-samples-"));
  try {
    const folders = new Map(Array.from(samples, (named, at) => [`sample-${at}`, named]));
    for (const [folder, [, sample]] of folders) {
      for (const [path, text] of Object.entries(sample)) {
        mkdirSync(join(root, folder, dirname(path)), { recursive: true });
        writeFileSync(join(root, folder, path), text);
      }
    }
    const project = join(root, "tsconfig.json");
    writeFileSync(project, JSON.stringify(settings));
    const parsed = await parseTree(root, project, [...folders.keys()]);
    const byFolder = Map.groupBy(parsed, ({ path }) => path.split("/")[0] ?? "");
    return new Map(
      Array.from(folders, ([folder, [name]]) => {
        const files = byFolder.get(folder) ?? [];
        const relative = (file: Parsed) => ({ ...file, path: file.path.slice(folder.length + 1) });
        return [name, files.map(relative)];
      }),
    );
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** Parses our own source, once for all test files of a process. */
export const parseOurs = once((): Promise<Parsed[]> => {
  const root = join(import.meta.dir, "../..");
  const project = join(root, "scripts/tsconfig.json");
  return parseTree(root, project, ["src", "web", "test", "scripts"]);
});

const settings = {
  compilerOptions: { noLib: true, types: [], allowImportingTsExtensions: true, noEmit: true },
};
