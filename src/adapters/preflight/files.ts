/** Which files of an instance must be its owner's alone, and on which volumes it writes. */

import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

import type { DurabilityFacts, VolumeFacts } from "#core/preflight/host.ts";
import type { FileFacts } from "#core/preflight/files.ts";
import { fileFacts, filesIn, lacksLocks, timedWrites, volumeFacts } from "./host.ts";

/** Where an instance keeps what is its own. */
export interface PlaceSections {
  readonly data_dir: string;
  readonly key_provider: {
    readonly software: {
      readonly keystore_dir: string;
      readonly master_key_file: string | undefined;
    };
  };
}

/** Files of a SQLite database and of its access log; undefined where there are none. */
export interface DatabaseFiles {
  readonly database: string | undefined;
  readonly accessLog: string | undefined;
}

/** Everything in the data directory that must be its owner's alone. */
export function privateFiles(
  { data_dir, key_provider }: PlaceSections,
  { database, accessLog }: DatabaseFiles,
): readonly FileFacts[] {
  const { keystore_dir, master_key_file } = key_provider.software;
  const alone = [
    data_dir,
    join(data_dir, "serving-key.pem"),
    join(data_dir, "root-password"),
    ...(master_key_file === undefined ? [] : [master_key_file]),
    ...withJournals(database),
    ...withJournals(accessLog),
  ];
  return [...alone.map(fileFacts), ...filesIn(keystore_dir)];
}

/** Where archives and snapshots go. */
export interface OutputSections {
  readonly backup: { readonly dir: string | undefined };
  readonly publish: {
    readonly enabled: boolean;
    readonly dir: { readonly path: string | undefined };
  };
}

/** The directory of the archives; none where they go elsewhere. */
export const backupFiles = ({ backup: { dir } }: OutputSections): readonly FileFacts[] =>
  dir === undefined ? [] : [fileFacts(dir)];

/** The volumes of data directory and database, of archives and of snapshots, each once. */
export function volumesOf(
  { data_dir, backup, publish }: Pick<PlaceSections, "data_dir"> & OutputSections,
  { database }: Pick<DatabaseFiles, "database">,
): readonly VolumeFacts[] {
  const seen = new Set<number>();
  const volumes: VolumeFacts[] = [];
  for (const [holds, place] of [
    ["data", data_dir],
    ["data", dirname(database ?? data_dir)],
    ["backups", backup.dir],
    ["snapshots", publish.enabled ? publish.dir.path : undefined],
  ] as const) {
    if (place === undefined) continue;
    const path = nearestThere(place);
    const { dev } = statSync(path);
    if (!seen.has(dev)) volumes.push(volumeFacts(path, holds));
    seen.add(dev);
  }
  return volumes;
}

/** How fast writes of the data directory are durable; none is made where it is not there. */
export async function durableWrites({
  data_dir,
}: Pick<PlaceSections, "data_dir">): Promise<Omit<DurabilityFacts, "settings">> {
  if (!existsSync(data_dir)) return { writesMs: [], withoutLocks: false };
  return { writesMs: await timedWrites(data_dir, writes), withoutLocks: lacksLocks(data_dir) };
}

const withJournals = (file: string | undefined): readonly string[] =>
  file === undefined ? [] : [file, `${file}-wal`, `${file}-shm`];

/** The path or the directory above it that exists. */
function nearestThere(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearestThere(dirname(path));
}

const writes = 9;
