/** The files of a software key store, as an archive takes them along: sealed, as they are. */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { isEnveloped, parseKeyFile } from "./key-file.ts";
import { softwareFile, softwareFileOf } from "#core/backup/archive.ts";

/**
 * Every file by its name; none of them opens without the master key, which is not among them,
 * wherever it lies. `master` is its path.
 */
export function keyStoreFiles(
  directory: string,
  master: string | undefined,
): ReadonlyMap<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (const name of readdirSync(directory).sort()) {
    const path = join(directory, name);
    // What is being written has a name of its own, and is in the database only afterwards.
    if (softwareFileOf(softwareFile(name)) === undefined || path === master) continue;
    const facts = statSync(path, { throwIfNoEntry: false });
    if (facts?.isFile()) files.set(name, readFileSync(path));
  }
  return files;
}

/** The newest version of the KEK that one of the keys is sealed under; 0 for none. */
export function newestKekIn(files: ReadonlyMap<string, Uint8Array>): number {
  let newest = 0;
  for (const [name, octets] of files) {
    if (!name.endsWith(keySuffix)) continue;
    const file = parseKeyFile(octets, name.slice(0, -keySuffix.length));
    if (file !== undefined && isEnveloped(file)) newest = Math.max(newest, file.sealed.kekVersion);
  }
  return newest;
}

const keySuffix = ".key";
