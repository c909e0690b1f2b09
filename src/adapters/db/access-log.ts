/** The access log: rows are buffered and written at most a second later; when the database stalls, the oldest go. */

import type { Instant } from "#core/time.ts";
import type { AccessLogRow } from "#domain/audit/store.ts";
import type { AccessLogThread } from "./access-log-thread.ts";
import { bulkInserter, type Session } from "./session.ts";

/** The buffer and its lazy writer; `dropped` counts the rows that never reached the table. */
export class AccessLog {
  readonly #writer: Session;
  readonly #insert: (rows: readonly AccessLogRow[]) => Promise<void>;
  readonly #run: (unit: () => Promise<void>) => Promise<void>;
  readonly #thread: Pick<AccessLogThread, "write"> | undefined;
  readonly #runAlone: (unit: () => Promise<void>) => Promise<void>;
  readonly #onFault: (sentence: string, error: unknown) => void;
  #rows: AccessLogRow[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();
  #busy = false;
  dropped = 0;

  constructor(deps: {
    writer: Session;
    run: (unit: () => Promise<void>) => Promise<void>;
    /** Runs what writes by itself, while no transaction is open and none is begun. */
    runAlone: (unit: () => Promise<void>) => Promise<void>;
    /** Writes in place of this thread when there is much to write. */
    thread?: Pick<AccessLogThread, "write"> | undefined;
    onFault: (sentence: string, error: unknown) => void;
  }) {
    this.#writer = deps.writer;
    this.#insert = bulkInserter(deps.writer, deps.writer.t.accessLog);
    this.#run = deps.run;
    this.#runAlone = deps.runAlone;
    this.#thread = deps.thread;
    this.#onFault = deps.onFault;
  }

  add(row: AccessLogRow): void {
    if (this.#rows.length >= bufferedMax) {
      // Many at a time: taking the oldest from a long list costs as much as taking a thousand.
      this.dropped += this.#rows.splice(0, batchRows).length;
    }
    this.#rows.push(storable(row));
    if (this.#rows.length >= batchRows && !this.#busy) this.#write();
    this.#timer ??= setTimeout(() => this.#write(), lagMilliseconds).unref();
  }

  /** Deletes the rows before `before`, a bounded number to a unit, so that no other unit waits long. */
  async prune(before: Instant): Promise<void> {
    const text = prunes[this.#writer.dialect];
    let deleted: number;
    do {
      deleted = 0;
      await this.#run(async () => {
        deleted = await this.#writer.run(text, [before]);
      });
    } while (deleted === pruneBatch);
  }

  /** Writes what is buffered and waits for it. */
  async flush(): Promise<void> {
    do {
      this.#write();
      await this.#writing;
    } while (this.#rows.length > 0);
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#busy || this.#rows.length === 0) return;
    this.#busy = true;
    this.#writing = this.#drain();
  }

  /** A few rows to a unit, so that no request waits behind thousands of them; a small rest waits for more. */
  async #drain(): Promise<void> {
    do {
      const rows = this.#rows.splice(0, batchRows);
      try {
        await this.#store(rows);
      } catch (error) {
        // Lazily written by contract: the loss is counted, and requests go on.
        this.dropped += rows.length;
        this.#onFault("access log rows were lost", error);
      }
    } while (this.#rows.length >= batchRows);
    this.#busy = false;
  }

  async #store(rows: readonly AccessLogRow[]): Promise<void> {
    const thread = rows.length === batchRows ? this.#thread : undefined;
    if (thread !== undefined) {
      try {
        await this.#runAlone(() => thread.write(rows));
        return;
      } catch (error) {
        this.#onFault("the thread of the access log failed; its rows are written here", error);
      }
    }
    await this.#run(() => this.#insert(rows));
  }
}

/**
 * Path and user agent come from strangers: what no database can hold must not cost the rows beside it. Nearly every row
 * is kept as it is, since one is added per request.
 */
function storable(row: AccessLogRow): AccessLogRow {
  const { requestId, subject, method, path, userAgent } = row;
  if (Number.isInteger(row.durationMs) && holdable(path) && holdable(userAgent)) {
    if (holdable(requestId) && holdable(subject) && holdable(method)) return row;
  }
  return {
    ...row,
    ...{ durationMs: Math.round(row.durationMs), requestId: clean(requestId) },
    ...{ subject: clean(subject), method: clean(method), path: clean(path) },
    userAgent: clean(userAgent),
  };
}

const holdable = (text: string) => text.length <= textMax && !text.includes("\0");
const clean = (text: string) => text.replaceAll("\0", "").slice(0, textMax);

const pruneBatch = 5000;
const oldest = (mark: string) =>
  `delete from access_log where id in (select id from access_log where at < ${mark} order by at limit ${pruneBatch})`;
const prunes = { sqlite: oldest("?"), postgres: oldest("$1") };
const textMax = 4096;
const bufferedMax = 20_000;
const batchRows = 500;
const lagMilliseconds = 500;
