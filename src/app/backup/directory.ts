/** Archives in a directory: written under other names first, listed, and let go. */

import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

import { newestFirst } from "#core/backup/archive.ts";
import { isObject } from "#core/shape.ts";
import { archivePlace, writeArchive, writeSidecar, type WrittenArchive } from "./files.ts";

/** One that is there with its sidecar. */
export interface KeptArchive {
  readonly artifact: string;
  /** RFC 3339. */
  readonly created_at: string;
}

/** `backup.retention`. */
export interface KeepSection {
  readonly keep: number;
  /** 0: only the newest. */
  readonly max_age_days: number;
}

/** Where archives go. */
export interface ArchivePlace {
  /** As the configuration calls it. */
  readonly name: "dir" | "s3";
  /**
   * Writes one and reads it back; what `proven` gives goes beside it. Whatever fails leaves nothing
   * under its name.
   */
  write(
    artifact: string,
    pieces: AsyncIterable<Uint8Array>,
    proven: (sha256: string) => Promise<Readonly<Record<string, unknown>>>,
  ): Promise<unknown>;
  /** Those of an instance, newest first. */
  list(instance: string): Promise<readonly KeptArchive[]>;
  remove(artifact: string): Promise<void>;
}

/** Lets go of what `kept` does not keep; gives their names. */
export async function pruned(
  place: ArchivePlace,
  instance: string,
  kept: KeepSection,
  nowMs: number,
): Promise<readonly string[]> {
  const oldest = nowMs - kept.max_age_days * dayMs;
  const gone = (await place.list(instance))
    .slice(kept.keep)
    .filter(({ created_at }) => kept.max_age_days === 0 || Date.parse(created_at) < oldest);
  for (const { artifact } of gone) await place.remove(artifact);
  return gone.map(({ artifact }) => artifact);
}

/** A directory for archives, made with mode 0700 where it is missing. */
export class ArchiveDirectory implements ArchivePlace {
  readonly name = "dir";
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Writes one, reads it back, and puts what is no secret beside it. Throws `Failure`. */
  async write(
    artifact: string,
    pieces: AsyncIterable<Uint8Array>,
    proven: (sha256: string) => Promise<Readonly<Record<string, unknown>>>,
  ): Promise<WrittenArchive> {
    if (statSync(this.#path, { throwIfNoEntry: false }) === undefined) {
      mkdirSync(this.#path, { recursive: true, mode: 0o700 });
      chmodSync(this.#path, 0o700);
    }
    const file = archivePlace(this.#path, artifact);
    let facts: Readonly<Record<string, unknown>> = {};
    const written = await writeArchive(file, pieces, async (sha256) => {
      facts = await proven(sha256);
    });
    writeSidecar(file, facts);
    return written;
  }

  /** Those of an instance, newest first; what has no sidecar is nobody's here. */
  async list(instance: string): Promise<readonly KeptArchive[]> {
    if (statSync(this.#path, { throwIfNoEntry: false }) === undefined) return [];
    const found = readdirSync(this.#path).flatMap((name) => {
      if (!name.endsWith(archiveSuffix)) return [];
      const facts = sidecarOf(join(this.#path, name));
      if (facts?.instance_id !== instance || typeof facts.created_at !== "string") return [];
      return [{ artifact: name, created_at: facts.created_at }];
    });
    return newestFirst(found);
  }

  async remove(artifact: string): Promise<void> {
    rmSync(join(this.#path, artifact), { force: true });
    rmSync(join(this.#path, `${artifact}${sidecarSuffix}`), { force: true });
  }
}

/** What stands beside an archive; undefined where that is nothing pkid has written. */
export function sidecarOf(archive: string): Readonly<Record<string, unknown>> | undefined {
  const file = `${archive}${sidecarSuffix}`;
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? sidecarMax;
  if (size >= sidecarMax) return undefined;
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined; // Only what says more than the archive is of use.
  }
}

const archiveSuffix = ".tar.age";
const sidecarSuffix = ".manifest.json";
const sidecarMax = 1_048_576;
const dayMs = 86_400_000;
