/**
 * Where a drill finds the newest archive of an instance: in its directory as it lies there, from a
 * bucket in a scratch file that goes again (BAK-3).
 */

import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ArchiveBucket, type KeptFacts } from "#adapters/publish/archives.ts";
import { configuredPlaces } from "#app/backup/backups.ts";
import { poured, writeSidecar } from "#app/backup/files.ts";
import { instanceAt } from "#app/identity.ts";
import { useProxy } from "#app/proxy.ts";
import { openSecrets } from "#app/secrets.ts";
import type { DrillPlace } from "#cli/command.ts";
import { Failure } from "#cli/failure.ts";
import type { Config } from "#config/schema.ts";
import { TargetFault } from "#domain/publishing/target.ts";

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
    address: directory,
    newest: async () => newestOf(existsSync(directory) ? readdirSync(directory) : [], instance),
    during: async (artifact, work) => await work(join(directory, artifact)),
  };
}

function bucketPlace(bucket: ArchiveBucket, config: Config, instance: string): DrillPlace {
  return {
    place: "s3",
    address: bucket.address,
    newest: async () => {
      const kept = await told(() => bucket.list(instance));
      return newestOf(
        kept.map(({ artifact }) => artifact),
        instance,
      );
    },
    during: async (artifact, work) => {
      const { data_dir } = config;
      const beside = existsSync(data_dir)
        ? join(data_dir, "drill-")
        : join(tmpdir(), "pkid-drill-");
      const folder = mkdtempSync(beside);
      try {
        const facts = await told(() => bucket.facts(artifact));
        mustHaveRoom(folder, facts.size + config.database.min_free_mb * mebibyte);
        const file = join(folder, artifact);
        await told(() => fetched(bucket, artifact, facts, file));
        writeSidecar(file, facts);
        return await work(file);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

/** Streams it into the file. Throws `TargetFault` for what is not the archive that was sent. */
async function fetched(
  bucket: ArchiveBucket,
  artifact: string,
  { size, sha256 }: KeptFacts,
  file: string,
): Promise<void> {
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
}

/** Before anything comes: a full volume would stop the server beside it. */
function mustHaveRoom(folder: string, octets: number): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize >= octets) return;
  const megabytes = (count: number) => Math.ceil(count / mebibyte);
  throw new Failure(
    `There is no room to fetch the archive: ${megabytes(octets)} MiB are wanted on the volume of ${folder}, ${megabytes(bavail * bsize)} MiB are free.`,
    "no_room",
  );
}

/** The newest by the time in their names; those of other instances do not count. */
export function newestOf(names: readonly string[], instance: string): string | undefined {
  const stamps = names.flatMap((name) => {
    const [, of, stamp = ""] = archiveForm.exec(name) ?? [];
    return of === instance ? [{ name, stamp }] : [];
  });
  return stamps.sort((a, b) => (a.stamp < b.stamp ? 1 : -1))[0]?.name;
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

const otherwise = (artifact: string) =>
  new TargetFault(`${artifact} in the store is not what the file beside it says.`);

const archiveForm = /^pkid-([A-Za-z0-9-]{1,64})-(\d{8}T\d{6}Z)\.tar\.age$/;
const mebibyte = 1_048_576;
