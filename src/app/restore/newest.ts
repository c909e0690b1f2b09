/**
 * Where a drill finds the newest archive of an instance: in its directory as it lies there, from a
 * bucket in a scratch file that goes again (BAK-3).
 */

import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";

import { ArchiveBucket, type BucketArchive } from "#adapters/publish/archives.ts";
import { configuredPlaces } from "#app/backup/backups.ts";
import { poured, writeSidecar } from "#app/backup/files.ts";
import { instanceAt } from "#app/identity.ts";
import { useProxy } from "#app/proxy.ts";
import { openSecrets } from "#app/secrets.ts";
import type { DrillPlace } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import type { Config } from "#config/schema.ts";
import { nameOfArchive } from "#core/backup/archive.ts";
import { TargetFault } from "#domain/publishing/target.ts";
import { scratchPlace } from "./scratch-place.ts";

/** The places of the configuration, the directory first. Nothing is asked of them yet. */
export async function drillPlaces(config: Config): Promise<readonly DrillPlace[]> {
  const secrets = openSecrets(config);
  await useProxy(config, secrets);
  const instance = instanceAt(config.data_dir) ?? "";
  return configuredPlaces({ inForce: () => config, secrets }).map((place) =>
    place instanceof ArchiveBucket
      ? bucketPlace(place, config, instance)
      : directoryPlace(config.backup.dir ?? "", instance),
  );
}

function directoryPlace(directory: string, instance: string): DrillPlace {
  return {
    place: "dir",
    withNewest: async (work) => {
      const names = existsSync(directory) ? readdirSync(directory) : [];
      const newest = newestOf(names, instance);
      if (newest === undefined) throw new Failure(`There is no archive in ${directory}.`);
      return await work(newest, async () => join(directory, newest));
    },
  };
}

function bucketPlace(bucket: ArchiveBucket, config: Config, instance: string): DrillPlace {
  return {
    place: "s3",
    withNewest: async (work) => {
      const [newest] = await told(() => bucket.list(instance));
      if (newest === undefined) {
        throw new Failure("There is no archive of this instance in the bucket.");
      }
      const place = scratchPlace(config.data_dir);
      mkdirSync(place, { mode: 0o700 });
      try {
        const file = () => told(() => fetched(bucket, newest, place));
        return await work(newest.artifact, file);
      } finally {
        rmSync(place, { recursive: true, force: true });
      }
    },
  };
}

/** Streams it into a file of `place`. Throws `TargetFault` for what is not what was sent. */
async function fetched(
  bucket: ArchiveBucket,
  { artifact, facts }: BucketArchive,
  place: string,
): Promise<string> {
  const { size, sha256 } = facts;
  if (!isSize(size) || typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256)) {
    throw new TargetFault(`The file beside ${artifact} in the store is not what pkid writes.`);
  }
  mustHaveRoom(artifact, size, dirname(place));
  const file = join(place, artifact);
  const opened = await open(file, "wx", 0o600);
  try {
    let came = 0;
    const digest = await poured(bucket.pieces(artifact), async (piece) => {
      came += piece.length;
      if (came > size) throw otherwise(artifact);
      for (let at = 0; at < piece.length; ) at += (await opened.write(piece, at)).bytesWritten;
    });
    if (came !== size || digest !== sha256) throw otherwise(artifact);
  } finally {
    await opened.close();
  }
  writeSidecar(file, facts);
  return file;
}

/** Before anything comes: a full volume would stop the server beside it. */
function mustHaveRoom(artifact: string, size: number, directory: string): void {
  const { bavail, bsize } = statfsSync(directory);
  if (size <= bavail * bsize) return;
  throw new Failure(
    `There is no room for ${artifact} beside the data: it has ${size} octets, and ${bavail * bsize} are free.`,
    "no_room",
  );
}

/** The newest by the time in their names; those of other instances do not count. */
function newestOf(names: readonly string[], instance: string): string | undefined {
  const made = (name: string) => {
    const named = nameOfArchive(name);
    return named?.instance === instance ? named.stamp : undefined;
  };
  const own = names.filter((name) => made(name) !== undefined);
  return own.sort((a, b) => ((made(a) ?? "") < (made(b) ?? "") ? 1 : -1))[0];
}

/** What is wrong with a store, as a command tells it. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TargetFault) throw new Failure(error.message, "target_unavailable");
    throw error;
  }
}

const isSize = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0;
const otherwise = (artifact: string) =>
  new TargetFault(`${artifact} in the store is not what the file beside it says.`);
