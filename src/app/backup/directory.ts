/** Archives in a directory: written under other names first, listed, and deleted. */

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";

import { nameOfArchive, newestFirst } from "#core/backup/archive.ts";
import { isObject } from "#core/shape.ts";
import {
  archivePlace,
  digestOf,
  writeArchive,
  writeSidecar,
  type WrittenArchive,
} from "./files.ts";

/** File with the name of an archive. The name does not verify its content. */
export interface StoredArchive {
  readonly artifact: string;
  /** Text that changes if the content is replaced; undefined if the store reports none. */
  readonly version: string | undefined;
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
  /** Lists the files with names of an instance, newest name first. */
  list(instance: string): Promise<readonly StoredArchive[]>;
  /** Computes the lowercase hex SHA-256 of a file; undefined if it cannot be read. */
  computeDigest(artifact: string): Promise<string | undefined>;
  remove(artifact: string): Promise<void>;
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

  /** Lists the regular files with names of an instance, newest name first. */
  async list(instance: string): Promise<readonly StoredArchive[]> {
    if (statSync(this.#path, { throwIfNoEntry: false }) === undefined) return [];
    const stored = readdirSync(this.#path).flatMap((artifact) => {
      if (nameOfArchive(artifact)?.instance !== instance) return [];
      const version = findVersion(join(this.#path, artifact));
      return version === undefined ? [] : [{ artifact, version }];
    });
    return newestFirst(stored);
  }

  /** Computes the lowercase hex SHA-256 of a file; undefined if it cannot be read. */
  async computeDigest(artifact: string): Promise<string | undefined> {
    const file = join(this.#path, artifact);
    if (findVersion(file) === undefined) return undefined;
    // An archive that cannot be read is not verified, and must not stop the backup.
    return await digestOf(file).catch(() => undefined);
  }

  async remove(artifact: string): Promise<void> {
    rmSync(join(this.#path, artifact), { force: true });
    rmSync(join(this.#path, `${artifact}${sidecarSuffix}`), { force: true });
  }
}

/** Identity of the content of a regular file; a change of the content changes its ctime. */
function findVersion(file: string): string | undefined {
  const entry = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  if (entry?.isFile() !== true) return undefined;
  return [entry.dev, entry.ino, entry.size, entry.ctimeNs].join("-");
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

const sidecarSuffix = ".manifest.json";
const sidecarMax = 1_048_576;
