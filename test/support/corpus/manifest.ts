/** Manifest of a corpus version: every artifact with its digest and the command that created it. */

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Folder with one subfolder per version. */
export const corpusFolder = join(import.meta.dir, "../../corpus");

/** One file of a version. */
export interface CorpusFile {
  readonly name: string;
  /** Lowercase hex. */
  readonly sha256: string;
  readonly bytes: number;
  /** Command that created the content. */
  readonly created_by: string;
}

/** Content of `manifest.json`. */
export interface CorpusManifest {
  readonly version: string;
  readonly commit: string;
  readonly schema_version: number;
  /** RFC 3339, UTC. */
  readonly created_at: string;
  /** Fingerprint of the ledger key that signed the exports, in lowercase hex. */
  readonly ledger_key: string;
  readonly files: readonly CorpusFile[];
}

/** Lists the versions of the corpus, in the order of their names. */
export const listCorpusVersions = (): string[] =>
  readdirSync(corpusFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();

/** Loads the manifest of the version in `folder`. */
export const loadCorpusManifest = (folder: string): CorpusManifest =>
  JSON.parse(readFileSync(join(folder, manifestName), "utf8"));

/**
 * Compares the files of `folder` with its manifest.
 *
 * @returns one message per changed, missing or unlisted file
 */
export function checkCorpusFiles(folder: string): string[] {
  const { files } = loadCorpusManifest(folder);
  const listed = new Set(files.map(({ name }) => name).concat(manifestName));
  const unlisted = readdirSync(folder).filter((name) => !listed.has(name));
  return files
    .flatMap(({ name, sha256, bytes }) => {
      const file = join(folder, name);
      if (!existsSync(file)) return [`${name} is missing`];
      const found = digestFile(folder, name);
      return found.sha256 === sha256 && found.bytes === bytes ? [] : [`${name} has changed`];
    })
    .concat(unlisted.map((name) => `${name} is not in the manifest`));
}

/** Writes the manifest over the files that `folder` has now. */
export function writeCorpusManifest(
  folder: string,
  head: Omit<CorpusManifest, "files">,
  createdBy: Readonly<Record<string, string>>,
): void {
  const files = Object.entries(createdBy).map(([name, command]) => ({
    name,
    ...digestFile(folder, name),
    created_by: command,
  }));
  const manifest: CorpusManifest = { ...head, files };
  writeFileSync(join(folder, manifestName), `${JSON.stringify(manifest, null, 2)}\n`);
}

function digestFile(folder: string, name: string) {
  const content = readFileSync(join(folder, name));
  const sha256 = createHash("sha256").update(content).digest("hex");
  return { sha256, bytes: content.length };
}

const manifestName = "manifest.json";
