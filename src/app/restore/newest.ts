/** The newest archive of an instance, wherever its configuration sends them. */

import { mkdirSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { bucketOf } from "#app/backup/backups.ts";
import { archiveForm } from "#app/backup/directory.ts";
import { openSecrets } from "#app/secrets.ts";
import { Failure } from "#cli/failure.ts";
import type { Config } from "#config/schema.ts";
import { TargetFault } from "#domain/publishing/target.ts";
import { scratchPlace } from "./scratch-place.ts";

/**
 * Works on the newest archive: that of `backup.dir` where there is one, else that of the bucket,
 * which is fetched beside the data and removed afterwards. Throws `Failure` where there is none, or
 * no room for it.
 */
export async function withNewest<T>(
  config: Config,
  instance: string | undefined,
  work: (archive: string) => Promise<T>,
): Promise<T> {
  const { dir } = config.backup;
  const kept = dir === undefined ? undefined : newestIn(dir);
  if (kept !== undefined) return await work(kept);
  const bucket = bucketOf(config, openSecrets(config));
  if (bucket === undefined) throw new Failure(nowhere(dir));
  const place = scratchPlace(config.data_dir);
  mkdirSync(place, { mode: 0o700 });
  try {
    return await work(await fetched(bucket, instance ?? "", place));
  } catch (error) {
    if (error instanceof TargetFault) throw new Failure(error.message);
    throw error;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

type Bucket = NonNullable<ReturnType<typeof bucketOf>>;

/** With what stands beside it, so that it can be looked at without being opened. */
async function fetched(bucket: Bucket, instance: string, place: string): Promise<string> {
  const [newest] = await bucket.list(instance);
  if (newest === undefined)
    throw new Failure("There is no archive of this instance in the bucket.");
  const { artifact, facts } = newest;
  const { bavail, bsize } = statfsSync(dirname(place));
  const size = Number(facts.size);
  if (size > bavail * bsize) {
    throw new Failure(
      `There is no room for ${artifact} beside the data: it has ${size} octets, and ${bavail * bsize} are free.`,
      "no_room",
    );
  }
  const file = join(place, artifact);
  writeFileSync(`${file}.manifest.json`, `${JSON.stringify(facts, undefined, 2)}\n`);
  const out = Bun.file(file).writer();
  for await (const piece of await bucket.read(artifact)) {
    out.write(piece);
    await out.flush();
  }
  await out.end();
  return file;
}

/** The newest by the time in their names; undefined for none. */
function newestIn(directory: string): string | undefined {
  const there = statSync(directory, { throwIfNoEntry: false })?.isDirectory();
  const found = there ? readdirSync(directory).filter((name) => archiveForm.test(name)) : [];
  const stampOf = (name: string) => archiveForm.exec(name)?.[1] ?? "";
  const [latest] = found.sort((a, b) => (stampOf(a) < stampOf(b) ? 1 : -1));
  return latest === undefined ? undefined : join(directory, latest);
}

const nowhere = (directory: string | undefined): string =>
  directory === undefined
    ? "backup.dir is not set, nor backup.s3.bucket; there is no archive to try."
    : `There is no archive in ${directory}.`;
