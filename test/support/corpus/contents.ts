/** Reads the artifacts of one corpus version. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ran } from "#test/support/child.ts";
import { restoreDump } from "#test/support/servers/postgres-dump.ts";
import type { CorpusInventories } from "./artifacts.ts";
import { corpusFolder } from "./manifest.ts";

/** Returns the folder of the version. */
export const findVersionFolder = (version: string): string => join(corpusFolder, version);

/** Loads the ids, serials and secrets of both instances. */
export const loadInventories = (folder: string): CorpusInventories =>
  JSON.parse(readFileSync(join(folder, "inventory.json"), "utf8"));

/** Returns the content of an artifact, decompressed if its name ends in `.zst`. */
export function readArtifact(folder: string, name: string): Buffer {
  const content = readFileSync(join(folder, name));
  return name.endsWith(".zst") ? Bun.zstdDecompressSync(content) : content;
}

/** Unpacks the `.tar.zst` into `target`, which is created. */
export async function unpackArtifact(folder: string, name: string, target: string): Promise<void> {
  mkdirSync(target, { recursive: true });
  const file = join(target, ".unpacking.tar");
  writeFileSync(file, readArtifact(folder, name));
  const { code, stderr } = await ran(["tar", "-C", target, "-xf", file]);
  rmSync(file);
  if (code !== 0) throw new Error(`tar: ${stderr}`);
}

/** Unpacks the instance on PostgreSQL into `home` and its rows into the empty database. */
export async function unpackPostgres(folder: string, home: string, dsn: string): Promise<void> {
  await unpackArtifact(folder, "postgres.tar.zst", home);
  await restoreDump(dsn, readFileSync(join(home, "dump.sql"), "utf8"));
}

/** Returns the settings of the instances, without data directory, listeners and database. */
export function loadSettings(folder: string): Readonly<Record<string, unknown>> {
  const { data_dir: _, ...settings } = JSON.parse(readFileSync(join(folder, "pkid.yaml"), "utf8"));
  const { public_url, public_http } = settings.server;
  return { ...settings, server: { public_url, public_http } };
}
