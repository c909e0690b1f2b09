/** Bounds the table of the access log in PostgreSQL by its rows and by their size. */

import type { AccessLogRow } from "#domain/audit/store.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";

/**
 * Deletes the oldest rows beyond a number that follows from the size of the newest. The size of the
 * table is unsuitable: it does not shrink with its rows.
 */
export class RowLimit {
  readonly #writer: Pick<Connection, "run">;
  readonly #limits: { readonly rows: number; readonly bytes: number };
  #inserted = 0;
  #average = rowBytes;
  /** Deleted rows since the start. */
  trimCount = 0;

  constructor(writer: Pick<Connection, "run">, limits = usualLimits) {
    this.#writer = writer;
    this.#limits = limits;
  }

  /** Deletes the rows beyond the limit, in the transaction that has inserted `rows`. */
  async trim(rows: readonly AccessLogRow[]): Promise<void> {
    for (const { path, userAgent, requestId } of rows) {
      const bytes = rowBytes + path.length + userAgent.length + requestId.length;
      this.#average += (bytes - this.#average) / averagedRows;
    }
    this.#inserted += rows.length;
    if (this.#inserted < checkEvery) return;
    this.#inserted = 0;
    const most = Math.min(this.#limits.rows, Math.floor(this.#limits.bytes / this.#average));
    const deleted = await this.#writer.run(deleteBeyond, [most, trimRows]);
    this.trimCount += deleted;
    // Until none is beyond, every insertion deletes more than it brings.
    if (deleted > 0) this.#inserted = checkEvery;
  }
}

/** Ids ascend, so their difference is the largest possible number of rows. */
const deleteBeyond = `delete from access_log where id in (select id from access_log
where id <= (select max(id) from access_log) - $1 order by id limit $2)`;

const usualLimits = { rows: 5_000_000, bytes: 2 * 1024 ** 3 };
/** Bytes of a row and its index without the strings that clients choose. */
const rowBytes = 200;
const averagedRows = 10_000;
/** Rows between two checks. */
const checkEvery = 5000;
const trimRows = 2000;
