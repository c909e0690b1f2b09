/** Stores the high-water mark in a small file next to the database, durable soon after a commit. */

import { chownSync, existsSync, readFileSync, statSync } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { HighWaterMark } from "#core/history/mark.ts";
import { encodeMark, parseMark } from "#core/history/mark-lines.ts";
import { StoreUnfit } from "#adapters/db/engine/faults.ts";

/** Returns the path of the file in the data directory. */
export const highWaterPath = (dataDirectory: string): string => join(dataDirectory, "high-water");

/** Where a process stores its mark, and the mark of the process before it. */
export interface HighWaterStorage {
  /** Mark as it was stored last; undefined before the first one. */
  readonly mark: HighWaterMark | undefined;
  /**
   * Stores the mark in the background. Calls are coalesced: a mark is on disk about 0.1 s after
   * the call at the latest, and almost immediately after a pause.
   *
   * @param scopes keys of the CRL scopes whose number changed; undefined to store every scope
   */
  record(mark: HighWaterMark, scopes: Iterable<string> | undefined): void;
  /** Resolves when every recorded mark is durable, or its write has failed. */
  flush(): Promise<void>;
  /** Writes the newest mark and closes the file. */
  close(): Promise<void>;
}

/**
 * Reads the stored mark without changing the file.
 *
 * @throws {StoreUnfit} if the file is damaged
 */
function readHighWaterFile(path: string): HighWaterMark | undefined {
  if (!existsSync(path)) return undefined;
  const mark = parseMark(readFileSync(path, "utf8"));
  if (mark !== undefined) return mark;
  throw new StoreUnfit(
    "high_water_damaged",
    `${path} is damaged, so nothing shows that the database is the newest one. ` +
      "Move the file away only if you are sure that it is.",
  );
}

/** Reads the stored mark for a process that changes nothing, such as preflight. */
export const openHighWaterForReading = (path: string): HighWaterStorage => ({
  mark: readHighWaterFile(path),
  record: () => {},
  flush: async () => {},
  close: async () => {},
});

/** File that grows by one line per write and is replaced when it has become long. */
export class HighWaterFile implements HighWaterStorage {
  readonly mark: HighWaterMark | undefined;
  readonly #path: string;
  readonly #onError: (error: unknown) => void;
  /** Open for appending; undefined if the next write must replace the file. */
  #handle: FileHandle | undefined;
  #bytes = 0;
  /** Size after which the file is replaced by one line with every scope. */
  #bytesMax = leastBytesMax;
  #pending: { readonly mark: HighWaterMark; readonly scopes: Set<string> | undefined } | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> | undefined;
  #writtenAt = Number.NEGATIVE_INFINITY;
  /** Number of calls of `record`, and of those whose write has ended. */
  #recorded = 0;
  #attempted = 0;
  #failing = false;

  /** @throws {StoreUnfit} if the file is damaged */
  constructor(path: string, onError: (error: unknown) => void) {
    this.#path = path;
    this.#onError = onError;
    this.mark = readHighWaterFile(path);
  }

  record(mark: HighWaterMark, scopes: Iterable<string> | undefined): void {
    this.#recorded += 1;
    const before = this.#pending;
    const isFull = scopes === undefined || (before !== undefined && before.scopes === undefined);
    const all = before?.scopes ?? new Set();
    for (const scope of scopes ?? []) all.add(scope);
    this.#pending = { mark, scopes: isFull ? undefined : all };
    this.#schedule();
  }

  async flush(): Promise<void> {
    const recorded = this.#recorded;
    while (this.#attempted < recorded) await (this.#writing ?? this.#start());
  }

  async close(): Promise<void> {
    await this.flush();
    await this.#writing;
    clearTimeout(this.#timer);
    // The last chance of a mark whose write has failed.
    await this.#write();
    await this.#discardHandle();
  }

  #schedule(): void {
    if (this.#writing !== undefined || this.#timer !== undefined) return;
    const wait = Math.max(0, this.#writtenAt + betweenWritesMs - performance.now());
    // `close` writes the last mark of a process that ends.
    this.#timer = setTimeout(() => void this.#start(), wait).unref();
  }

  #start(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const writing = this.#write().finally(() => {
      this.#writing = undefined;
      if (this.#pending !== undefined) this.#schedule();
    });
    this.#writing = writing;
    return writing;
  }

  /** Never throws: a write that failed is repeated with the next one. */
  async #write(): Promise<void> {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    this.#writtenAt = performance.now();
    const recorded = this.#recorded;
    try {
      await this.#store(pending.mark, pending.scopes);
      this.#failing = false;
    } catch (error) {
      await this.#discardHandle();
      this.#pending = { ...(this.#findNewer() ?? pending), scopes: undefined };
      this.#writtenAt = performance.now() + afterFailureMs;
      if (!this.#failing) this.#onError(error);
      this.#failing = true;
    }
    this.#attempted = recorded;
  }

  /** Returns the mark that was recorded during a write. */
  #findNewer() {
    return this.#pending;
  }

  async #store(mark: HighWaterMark, scopes: Iterable<string> | undefined): Promise<void> {
    if (this.#handle === undefined || scopes === undefined || this.#bytes > this.#bytesMax) {
      await this.#replace(mark);
      return;
    }
    const line = Buffer.from(encodeMark(mark, scopes));
    await writeLine(this.#handle, line, this.#bytes);
    await this.#handle.datasync();
    this.#bytes += line.length;
  }

  async #replace(mark: HighWaterMark): Promise<void> {
    await this.#discardHandle();
    const temporary = `${this.#path}.new`;
    const line = Buffer.from(encodeMark(mark, mark.crlNumbers.keys()));
    const handle = await open(temporary, "w", 0o600);
    try {
      await writeLine(handle, line, 0);
      await handle.sync();
      chownToFolderOwner(temporary, dirname(this.#path));
      await rename(temporary, this.#path);
      await syncFolder(dirname(this.#path));
    } catch (error) {
      await handle.close();
      throw error;
    }
    this.#handle = handle;
    this.#bytes = line.length;
    this.#bytesMax = Math.max(leastBytesMax, line.length * 4);
  }

  async #discardHandle(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => {}); // Only a write that failed before can fail it.
  }
}

async function writeLine(handle: FileHandle, line: Uint8Array, position: number): Promise<void> {
  const { bytesWritten } = await handle.write(line, 0, line.length, position);
  if (bytesWritten !== line.length) throw new Error("a line was written only in part");
}

/** A command of root must not take the file from the user that the server runs as. */
function chownToFolderOwner(path: string, folder: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  chownSync(path, uid, gid);
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const betweenWritesMs = 100;
const afterFailureMs = 1000;
const leastBytesMax = 262_144;
