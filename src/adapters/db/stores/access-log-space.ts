/** Bounds the file of the access log by its size and by the free space of its volume. */

import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

import type { SqliteConnection } from "#adapters/db/engine/sqlite-connection.ts";

export interface SpaceLimits {
  /** Most bytes of the file; 2 GiB by default. */
  readonly bytesMax?: number | undefined;
  /** True if this connection may write the log of the file into it. */
  readonly checkpoints?: boolean | undefined;
  /** Bytes that must stay free on the volume, or the log shrinks; none by default. */
  readonly bytesFree?: number | undefined;
}

/** An open file of the access log. */
type OpenFile = Pick<SqliteConnection, "database" | "compiled">;

/**
 * Deletes the oldest rows while the file is too large, a bounded number per call, and returns empty
 * pages to the volume.
 *
 * @returns number of deleted rows
 */
export function trimAccessLog(open: OpenFile, path: string, limits: SpaceLimits): number {
  const file = measureFile(open, path);
  const most = computeMost(file.used + file.log, path, limits);
  const rows = file.used + file.log > most ? deleteOldest(open) : 0;
  const logMost = Math.max(logLeast, Math.min(logUsual, most / 4));
  // Both hold the thread, so they wait for a call of the other thread.
  if (limits.checkpoints !== true) return rows;
  // A reader may keep the log from being emptied; the next call tries again.
  if (file.log > logMost) open.database.run(emptyLog);
  const empty = file.pages - file.used;
  if (empty > emptyMax) open.database.run(`pragma incremental_vacuum(${vacuumPages})`);
  return rows;
}

/**
 * Sets up an empty file so that it can return pages to the volume. A file of an earlier version
 * cannot; its empty pages are used again.
 */
export function enableVacuum({ database }: Pick<SqliteConnection, "database">): void {
  database.run("pragma auto_vacuum = incremental");
  database.run("vacuum");
}

/** Measures the bytes of all pages, of the pages in use, and of the WAL. */
function measureFile({ compiled }: OpenFile, path: string) {
  const value = (name: string) => Number(compiled(`pragma ${name}`).values()[0]?.[0] ?? 0);
  const size = value("page_size");
  const pages = value("page_count");
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return { pages: pages * size, used: (pages - value("freelist_count")) * size, log };
}

/**
 * Computes a quarter of the log and the free space together: other files have three times as much.
 * It is less if the volume is nearly full.
 */
function computeMost(used: number, path: string, limits: SpaceLimits): number {
  const { bytesMax = usualMax, bytesFree = 0 } = limits;
  const free = findFree(path);
  if (free === undefined) return bytesMax;
  const missing = Math.max(0, bytesFree * spareShare - free);
  return Math.min(bytesMax, (used + free) / 4, used - missing);
}

/** Deletes single rows of earlier versions first, because they are older than all packs. */
function deleteOldest({ compiled }: OpenFile): number {
  const single = compiled(deleteRows).run(rowsPerCall).changes;
  if (single > 0) return single;
  const packs = compiled(deletePacks).values(packsPerCall);
  return packs.reduce((sum, [rows]) => sum + Number(rows), 0);
}

/** Returns the free bytes; undefined while the volume does not respond. */
function findFree(path: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

const deleteRows =
  "delete from access_log where id in (select id from access_log order by at limit ?)";
const deletePacks = `delete from access_packs where first in
  (select first from access_packs order by oldest limit ?) returning rows`;

const emptyLog = "pragma wal_checkpoint(truncate)";

const usualMax = 2 * 1024 ** 3;
/** The log shrinks before the space runs out that issuance requires. */
const spareShare = 1.5;
/** More than one write adds, so that a full log stays within its bound. */
const packsPerCall = 20;
const rowsPerCall = 5000;
/** Bytes that stay in the file for the next rows. */
const emptyMax = 4 * 1024 ** 2;
/** Bytes of the WAL. */
const logLeast = 1024 ** 2;
const logUsual = 32 * 1024 ** 2;
/** Each page costs a copy. */
const vacuumPages = 2000;
