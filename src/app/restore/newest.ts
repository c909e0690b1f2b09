/**
 * Where a drill finds the newest archive of an instance: in its directory as it lies there, from a
 * bucket in a scratch file that goes again (BAK-3).
 */

import { statfsSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";

import { ArchiveBucket } from "#adapters/publish/archives.ts";
import { configuredPlaces } from "#app/backup/backups.ts";
import type { ArchivePlace, StoredArchive } from "#app/backup/directory.ts";
import { poured, writeSidecar } from "#app/backup/files.ts";
import { instanceAt } from "#app/identity.ts";
import { useProxy } from "#app/proxy.ts";
import { openSecrets } from "#app/secrets.ts";
import { createWorkDirectory } from "#app/work-directories.ts";
import type { DrillPlace, NewestArchive } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import type { Config } from "#config/schema.ts";
import { TargetFault } from "#domain/publishing/target.ts";
import { scratchPlace } from "./scratch-place.ts";

/**
 * Returns the directory and the bucket of the configuration, without opening them.
 *
 * @param digests by file name, newest first, as events of the instance record them
 */
export async function drillPlaces(
  config: Config,
  digests: ReadonlyMap<string, string>,
): Promise<readonly DrillPlace[]> {
  const secrets = openSecrets(config);
  await useProxy(config, secrets);
  const instance = instanceAt(config.data_dir) ?? "";
  return configuredPlaces({ inForce: () => config, secrets }).map((target) =>
    target instanceof ArchiveBucket
      ? bucketPlace(target, config, { instance, digests })
      : directoryPlace(target, config.backup.dir ?? "", { instance, digests }),
  );
}

/** Archives that a drill may try. */
interface DrillCandidates {
  readonly instance: string;
  readonly digests: ReadonlyMap<string, string>;
}

/**
 * Returns the newest archive that an event of the instance names. If there is no such archive, as
 * after a restore, it returns the newest by name. Its manifest and its ledger key must match then.
 */
function findNewest(stored: readonly StoredArchive[], digests: DrillCandidates["digests"]) {
  const names = new Set(stored.map(({ artifact }) => artifact));
  const recorded = [...digests.keys()].find((artifact) => names.has(artifact));
  const artifact = recorded ?? stored[0]?.artifact;
  return artifact === undefined ? undefined : { artifact, sha256: digests.get(artifact) };
}

function directoryPlace(
  target: ArchivePlace,
  directory: string,
  { instance, digests }: DrillCandidates,
): DrillPlace {
  return {
    place: "dir",
    instance,
    withNewest: async (work) => {
      const newest = findNewest(await target.list(instance), digests);
      if (newest === undefined) throw new Failure(`There is no archive in ${directory}.`);
      return await work(newest, async () => join(directory, newest.artifact));
    },
  };
}

function bucketPlace(
  bucket: ArchiveBucket,
  config: Config,
  { instance, digests }: DrillCandidates,
): DrillPlace {
  return {
    place: "s3",
    instance,
    withNewest: async (work) => {
      const newest = findNewest(await told(() => bucket.list(instance)), digests);
      if (newest === undefined) {
        throw new Failure("There is no archive of this instance in the bucket.");
      }
      const directory = createWorkDirectory(scratchPlace(config.data_dir));
      try {
        return await work(newest, () => told(() => fetched(bucket, newest, directory.path)));
      } finally {
        directory.remove();
      }
    },
  };
}

/** Streams it into a file of `place`. Throws `TargetFault` for what is not what was sent. */
async function fetched(
  bucket: ArchiveBucket,
  { artifact, sha256: expected }: NewestArchive,
  place: string,
): Promise<string> {
  const facts = (await bucket.readSidecar(artifact)) ?? {};
  const { size, sha256 } = facts;
  if (!isSize(size) || typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256)) {
    throw new TargetFault(`The file beside ${artifact} in the store is not what pkid writes.`);
  }
  if (expected !== undefined && expected !== sha256) throw otherwise(artifact);
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
