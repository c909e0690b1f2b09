/**
 * The access log: rows are buffered and written at most a second later; when the database stalls,
 * the oldest go.
 */

import type { Instant } from "#core/time.ts";
import type { AccessLogReads, AccessLogRow } from "#domain/audit/store.ts";
import { breath } from "#adapters/db/engine/connection.ts";

/** Where the rows go. */
export interface AccessLogTarget {
  readonly reads: AccessLogReads;
  insert(rows: readonly AccessLogRow[]): Promise<void>;
  /**
   * Deletes oldest rows before `before`, about `most` at most; true while there may be more. Rows
   * written together go together.
   */
  prune(before: Instant, most: number): Promise<boolean>;
  /** Returns the rows that were deleted for lack of space since the start. */
  readonly trimCount?: () => number;
  /** Ends what only many rows need; what is written next starts it anew. */
  rest(): Promise<void>;
  close(): Promise<void>;
}

/** The buffer and its lazy writer; `dropped` counts the rows that never reached the table. */
export class AccessLog {
  readonly #target: AccessLogTarget;
  readonly #onFault: (sentence: string, error: unknown) => void;
  #rows: AccessLogRow[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();
  #busy = false;
  #earlierTrims = 0;
  dropped = 0;

  constructor(deps: {
    target: AccessLogTarget;
    onFault: (sentence: string, error: unknown) => void;
  }) {
    this.#target = deps.target;
    this.#onFault = deps.onFault;
  }

  add(row: AccessLogRow): void {
    if (this.#rows.length >= bufferedMax) {
      // Many at a time: taking the oldest from a long list costs as much as taking a thousand.
      this.dropped += this.#rows.splice(0, batchRows).length;
    }
    this.#rows.push(storable(row));
    if (this.#rows.length >= batchRows && !this.#busy) this.#write();
    this.#writeSoon();
  }

  /**
   * Deletes the rows before `before`, a bounded number at a time, so that nobody else waits long.
   */
  async prune(before: Instant): Promise<void> {
    while (await this.#target.prune(before, pruneBatch)) await breath();
  }

  /** Returns the rows that were deleted for lack of space since the last call. */
  takeTrimCount(): number {
    const now = this.#target.trimCount?.() ?? 0;
    const rows = now - this.#earlierTrims;
    this.#earlierTrims = now;
    return rows;
  }

  /** Nobody asks for anything just now. */
  rest(): void {
    if (!this.#busy) void this.#target.rest();
  }

  /** Writes what is buffered, waits for it, and takes nothing more. */
  async close(): Promise<void> {
    do {
      this.#write();
      await this.#writing;
    } while (this.#rows.length > 0);
    await this.#target.close();
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#busy || this.#rows.length === 0) return;
    this.#busy = true;
    this.#writing = this.#drain();
  }

  /**
   * A few rows to a unit, so that no request waits behind thousands of them; a small rest waits for
   * more.
   */
  async #drain(): Promise<void> {
    do {
      const rows = this.#rows.splice(0, batchRows);
      try {
        await this.#target.insert(rows);
      } catch (error) {
        // Written when there is time: the loss is counted, and requests go on.
        this.dropped += rows.length;
        this.#onFault("access log rows were lost", error);
      }
    } while (this.#rows.length >= batchRows);
    this.#busy = false;
    // Their time may have come while others were written, and nobody else may come for long.
    if (this.#rows.length > 0) this.#writeSoon();
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => this.#write(), lagMilliseconds).unref();
  }
}

/**
 * Path and user agent come from strangers: what no database can hold must not cost the rows beside
 * it. Nearly every row is kept as it is, since one is added per request.
 */
function storable(row: AccessLogRow): AccessLogRow {
  const { requestId, subject, method, path, userAgent } = row;
  if (Number.isInteger(row.durationMs) && holdable(path) && holdable(userAgent)) {
    if (holdable(requestId) && holdable(subject) && holdable(method)) return row;
  }
  return {
    ...row,
    durationMs: Math.round(row.durationMs),
    requestId: clean(requestId),
    subject: clean(subject),
    method: clean(method),
    path: clean(path),
    userAgent: clean(userAgent),
  };
}

const holdable = (text: string) => text.length <= textMax && !text.includes("\0");
const clean = (text: string) => text.replaceAll("\0", "").slice(0, textMax);

const pruneBatch = 5000;
const textMax = 4096;
const bufferedMax = 20_000;
/** Rows written at once when there are many; fewer wait for the lag to end. */
export const batchRows = 500;
const lagMilliseconds = 500;
