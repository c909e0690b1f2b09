/** Deletes old archives of this instance, and only archives that its events record (BAK-4). */

import type { RecordedArchive } from "#domain/backup/recorded-archives.ts";
import type { ArchivePlace, StoredArchive } from "./directory.ts";

/** `backup.retention`. */
export interface RetentionSection {
  /** Number of newest archives that always stay. */
  readonly keep: number;
  /** Days; 0 deletes older archives immediately. */
  readonly max_age_days: number;
}

/** Input of one retention run. */
export interface RetentionQuery {
  readonly retention: RetentionSection;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** Lists the archives among `names` that events of this instance record, newest first. */
  readonly findRecords: (names: ReadonlySet<string>) => Promise<readonly RecordedArchive[]>;
}

/** Result of one retention run: file names. */
export interface RetentionResult {
  readonly removed: readonly string[];
  /** Files with names of this instance whose digest no event records. They are never deleted. */
  readonly unverified: readonly string[];
}

/** Deletes old archives, and caches digests so that an unchanged archive is read once. */
export class ArchiveRetention {
  readonly #digests = new Map<string, string>();

  /**
   * Deletes the archives of `instance` in `target` that `retention` does not keep. A file counts
   * and is deleted only if an event of this instance names its digest, so junk files with later
   * names displace no archive. The newest recorded archive always stays.
   */
  async run(
    target: ArchivePlace,
    instance: string,
    { retention, nowMs, findRecords }: RetentionQuery,
  ): Promise<RetentionResult> {
    const stored = new Map((await target.list(instance)).map((one) => [one.artifact, one]));
    const recorded = await findRecords(new Set(stored.keys()));
    const named = new Set(recorded.map(({ artifact }) => artifact));
    const unverified = [...stored.keys()].filter((artifact) => !named.has(artifact));
    const keep = Math.max(1, retention.keep);
    if (recorded.length <= keep) return { removed: [], unverified };
    const oldestMs = nowMs - retention.max_age_days * dayMs;
    const removed: string[] = [];
    let counted = 0;
    for (const { artifact, sha256, at } of recorded) {
      const file = stored.get(artifact);
      if (file === undefined) continue;
      if (counted >= keep && retention.max_age_days > 0 && at >= oldestMs) continue;
      if ((await this.#computeDigest(target, file)) !== sha256) {
        unverified.push(artifact);
        continue;
      }
      if (counted < keep) counted += 1;
      else removed.push(artifact);
    }
    for (const artifact of removed) await target.remove(artifact);
    this.#evictOthers(target, stored);
    return { removed, unverified };
  }

  async #computeDigest(target: ArchivePlace, file: StoredArchive): Promise<string | undefined> {
    const key = cacheKey(target, file);
    const cached = key === undefined ? undefined : this.#digests.get(key);
    if (cached !== undefined) return cached;
    const digest = await target.computeDigest(file.artifact);
    if (key !== undefined && digest !== undefined) this.#digests.set(key, digest);
    return digest;
  }

  /** Evicts digests of files that were deleted or replaced. */
  #evictOthers(target: ArchivePlace, stored: ReadonlyMap<string, StoredArchive>): void {
    const current = new Set([...stored.values()].map((file) => cacheKey(target, file)));
    for (const key of this.#digests.keys()) {
      if (key.startsWith(`${target.name} `) && !current.has(key)) this.#digests.delete(key);
    }
  }
}

const cacheKey = (target: ArchivePlace, { artifact, version }: StoredArchive) =>
  version === undefined ? undefined : `${target.name} ${artifact} ${version}`;

const dayMs = 86_400_000;
