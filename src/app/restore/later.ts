/**
 * Whether a later archive of the same instance is known: what has happened since the one that is
 * restored would happen a second time, and another way (RES-5).
 */

import { readdirSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { bucketOf } from "#app/backup/backups.ts";
import { sidecarOf } from "#app/backup/directory.ts";
import type { RestoreReport } from "#cli/command.ts";
import type { Config } from "#config/schema.ts";
import { SecretUnavailable, type Secrets } from "#config/secret.ts";
import { ArchiveUnfit, type Manifest, nameOfArchive, stampOf } from "#core/backup/archive.ts";
import { TargetFault } from "#domain/publishing/target.ts";

/** What an archive, or what stands beside one, says of when it was made. */
export interface Moment extends Pick<Manifest, "instance_id" | "created_at"> {
  /** Of the audit chain. */
  readonly seq: number;
}

export const momentOf = ({ instance_id, audit, created_at }: Manifest): Moment => ({
  instance_id,
  created_at,
  seq: audit.seq,
});

/** What stands beside the archive; undefined where nothing does. */
export function momentBeside(archive: string): Moment | undefined {
  const { instance_id, seq, created_at } = sidecarOf(archive) ?? {};
  if (typeof instance_id !== "string" || typeof created_at !== "string") return undefined;
  return typeof seq === "number" ? { instance_id, seq, created_at } : undefined;
}

export const isSameMoment = (one: Moment, other: Moment): boolean =>
  one.instance_id === other.instance_id &&
  one.seq === other.seq &&
  one.created_at === other.created_at;

type Looked = RestoreReport["later"];

/**
 * Looks beside the archive, and where the configuration has archives go. A place that does not
 * answer is named with its reason, and keeps nobody from restoring.
 */
export async function lookForLater(
  config: Config,
  secrets: Secrets,
  archive: string,
  own: Moment,
): Promise<Looked> {
  const looked: string[] = [];
  const unseen: { place: string; why: string }[] = [];
  const found: string[] = [];
  const stamp = stampIn(basename(archive), own.instance_id) ?? stampOf(own.created_at);
  const look = async (
    place: string,
    names: () => readonly string[] | Promise<readonly string[]>,
  ) => {
    try {
      found.push(...(await names()));
      looked.push(place);
    } catch (error) {
      unseen.push({ place, why: whyNot(error) });
    }
  };
  for (const directory of directoriesOf(config, archive)) {
    await look(directory, () => laterIn(directory, { ...own, stamp }));
  }
  const bucket = bucketOf(config, secrets);
  if (bucket !== undefined) {
    const place = `s3:${config.backup.s3.bucket ?? ""}`;
    await look(place, async () => {
      const all = await bucket.list(own.instance_id);
      return all.filter(({ facts }) => Number(facts.seq) > own.seq).map(({ artifact }) => artifact);
    });
  }
  return { looked_in: looked, unseen, found: [...new Set(found)] };
}

/** Throws `ArchiveUnfit` for an archive that is not the newest that is known. */
export function mustBeNewest({ found }: Looked): void {
  const [first] = found;
  if (first === undefined) return;
  throw new ArchiveUnfit(
    `${first} is a later archive of this instance; --older restores this one all the same.`,
  );
}

/** That of the archive, and the configured one; each once. */
function directoriesOf({ backup }: Config, archive: string): readonly string[] {
  const own = dirname(archive);
  const { dir } = backup;
  return dir === undefined || isSameDirectory(own, dir) ? [own] : [own, dir];
}

function isSameDirectory(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false; // One is not there, which is told of it.
  }
}

/** By what stands beside an archive, also of one that is gone; else by the time in its name. */
function laterIn(
  directory: string,
  { instance_id, seq, stamp }: Moment & { readonly stamp: string },
): readonly string[] {
  const names = readdirSync(directory).map((name) => name.replace(/\.manifest\.json$/, ""));
  return [...new Set(names)].filter((name) => {
    const beside = momentBeside(join(directory, name));
    if (beside !== undefined) return beside.instance_id === instance_id && beside.seq > seq;
    return (stampIn(name, instance_id) ?? "") > stamp;
  });
}

function stampIn(name: string, instance: string): string | undefined {
  const named = nameOfArchive(name);
  return named?.instance === instance ? named.stamp : undefined;
}

function whyNot(error: unknown): string {
  if (error instanceof TargetFault || error instanceof SecretUnavailable) return error.message;
  if (error instanceof Error && "code" in error) return `It cannot be read: ${String(error.code)}.`;
  throw error;
}
