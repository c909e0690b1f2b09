/** Events and the sign ledger as they are read; `journal.ts` writes them. */

import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  lt,
  type SQL,
  sql,
  type Subquery,
} from "drizzle-orm";

import type { AuditEvent } from "#core/audit/chain.ts";
import type { LedgerEntry } from "#core/audit/ledger.ts";
import { assert } from "#core/problems.ts";
import type { AuditReads, EventFilter, LedgerFilter, SeqSpan } from "#domain/audit/store.ts";
import type { Heads } from "#adapters/db/engine/journal.ts";
import { ownedByDead } from "#adapters/db/engine/owners.ts";
import {
  breath,
  counted,
  pageOf,
  type Connection,
  startsWith,
} from "#adapters/db/engine/connection.ts";
import { divided, eventsNamed, foldedThrough } from "#adapters/db/engine/folds.ts";
import { newestOf } from "#adapters/db/inventory/sliced-search.ts";

import { within } from "./cas.ts";

/**
 * `owner` is this store's number among the replicas. On SQLite, whose answers hold this thread,
 * others have their turn between slices of `sliceRows` events: a filter that fits nothing looks at
 * all of them.
 */
export function auditReads(
  connection: Connection,
  owner: number,
  sliceRows = usualSlice,
): AuditReads {
  const { db, t } = connection;
  return {
    events: async (filter, limit, beforeSeq) => {
      const search = new EventSearch(connection, filter, sliceRows);
      const { rows, total } = await search.newest(limit + 1, beforeSeq);
      const items = rows.slice(0, limit).map(event);
      const last = items.at(-1);
      const next = rows.length > limit && last ? { at: last.seq, id: "" } : undefined;
      return { items, next, total };
    },
    eventsAfter: async (afterSeq, limit) => {
      const later = db.select().from(t.events).where(gt(t.events.seq, afterSeq));
      return (await later.orderBy(asc(t.events.seq)).limit(limit)).map(event);
    },
    eventsWithin: async (filter, span, limit) => {
      const search = new EventSearch(connection, filter, sliceRows);
      return (await search.oldest(span, limit)).map(event);
    },
    newestWithin: (filter, span, most) =>
      new EventSearch(connection, filter, sliceRows).newestBegin(span, most),
    eventHead: async () => {
      const { eventSeq, eventHash } = await storedHeads(connection);
      return { seq: eventSeq, hash: eventHash };
    },
    ledger: async (filter, limit, beforeNumber) => {
      const chain = await ledgerChain(connection, filter, sliceRows);
      const { rows, total } = await newestOf(chain, limit + 1, beforeNumber);
      return pageOf(rows.map(entry), limit, total, ({ number }) => ({ at: number, id: "" }));
    },
    ledgerAfter: async (afterNumber, limit) => {
      const later = db.select().from(t.ledger).where(gt(t.ledger.number, afterNumber));
      return (await later.orderBy(asc(t.ledger.number)).limit(limit)).map(entry);
    },
    ledgerHead: async () => {
      const { ledgerNumber, ledgerHash } = await storedHeads(connection);
      return { seq: ledgerNumber, hash: ledgerHash };
    },
    openLedgerIntents: async (limit) => {
      const open = db
        .select({ ledger: t.ledger })
        .from(t.openIntents)
        .innerJoin(t.ledger, eq(t.ledger.number, t.openIntents.number))
        // Of those whose entry has its outcome the number is null.
        .where(ownedByDead(connection, t.openIntents.owner, owner));
      const rows = await open.orderBy(asc(t.openIntents.number)).limit(limit);
      return rows.map((row) => entry(row.ledger));
    },
  };
}

class EventSearch {
  readonly #connection: Connection;
  readonly #where: SQL | undefined;
  readonly #named: Subquery | undefined;
  readonly #sliceRows: number;

  constructor(connection: Connection, filter: EventFilter, sliceRows: number) {
    this.#connection = connection;
    this.#where = matching(connection, filter);
    const { caId, serial } = filter;
    if (caId !== undefined && serial !== undefined) this.#named = eventsNamed(caId, serial);
    this.#sliceRows = connection.dialect === "sqlite" ? sliceRows : Number.MAX_SAFE_INTEGER;
  }

  /**
   * At most `wanted` matching events before `beforeSeq`, newest first, and how many match in all.
   */
  async newest(wanted: number, beforeSeq = Number.MAX_SAFE_INTEGER) {
    const { eventSeq } = await storedHeads(this.#connection);
    // No event is ever deleted, so without a filter the last number is their number.
    if (this.#where === undefined) {
      return {
        rows: await this.#rows(1, Math.min(eventSeq + 1, beforeSeq), wanted),
        total: eventSeq,
      };
    }
    const mark = await foldedThrough(this.#connection, "events");
    const chain = {
      first: 1,
      end: eventSeq + 1,
      cut: mark + 1,
      sliceRows: this.#sliceRows,
      rows: (low: number, high: number, limit: number) => this.#found({ low, high, limit, mark }),
      count: (low: number, high: number) => this.#count({ low, high, mark }),
    };
    return await newestOf(chain, wanted, beforeSeq);
  }

  /** At most `wanted` matching events of the span, oldest first. */
  async oldest({ after, through }: SeqSpan, wanted: number): Promise<readonly EventRow[]> {
    const mark = await foldedThrough(this.#connection, "events");
    const rows: EventRow[] = [];
    for (let low = after + 1; low <= through && rows.length < wanted; ) {
      const end = low <= mark ? Math.min(through, mark) : through;
      const high = Math.min(end + 1, low + this.#sliceRows);
      const limit = wanted - rows.length;
      for (const row of await this.#found({ low, high, limit, mark, order: asc })) rows.push(row);
      low = high;
      if (low <= through) await breath();
    }
    return rows;
  }

  /** As `AuditReads.newestWithin`: walks back until so many are found, and counts the others. */
  async newestBegin({ after, through }: SeqSpan, most: number) {
    const mark = await foldedThrough(this.#connection, "events");
    const begin = { after, before: 0 };
    let left = most;
    for (let high = through + 1; high > after + 1; ) {
      const first = high > mark + 1 ? Math.max(after, mark) + 1 : after + 1;
      const low = Math.max(first, high - this.#sliceRows);
      const here = await this.#count({ low, high, mark });
      if (here > left && begin.before === 0) {
        begin.after = await this.#last({ low, high, mark }, left);
        begin.before = here - left;
      } else if (here > left) begin.before += here;
      left = Math.max(0, left - here);
      high = low;
      if (high > after + 1) await breath();
    }
    return begin;
  }

  /** The number of the newest matching event but so many. */
  async #last({ low, high, mark }: Slice, skipped: number): Promise<number> {
    const { db, t } = this.#connection;
    const { from, rows } = this.#part(low, mark);
    const found = db.select({ seq: t.events.seq }).from(from);
    const those = found.where(and(rows, this.#within(low, high))).orderBy(desc(t.events.seq));
    const [row] = await those.limit(1).offset(skipped);
    return row?.seq ?? low - 1;
  }

  async #rows(low: number, high: number, limit: number): Promise<readonly EventRow[]> {
    const { db, t } = this.#connection;
    const found = db.select().from(t.events).where(this.#within(low, high));
    return await found.orderBy(desc(t.events.seq)).limit(limit);
  }

  async #found({ low, high, limit, mark, order = desc }: Slice & Wanted) {
    const { db, t } = this.#connection;
    const { from, rows } = this.#part(low, mark);
    const found = db.select(getTableColumns(t.events)).from(from);
    const those = found.where(and(rows, this.#within(low, high)));
    return await those.orderBy(order(t.events.seq)).limit(limit);
  }

  async #count({ low, high, mark }: Slice): Promise<number> {
    const { from, rows } = this.#part(low, mark);
    const where = and(rows, this.#within(low, high));
    const [sum] = await this.#connection.db.select({ total: counted }).from(from).where(where);
    return sum?.total ?? 0;
  }

  /** The part of the table a slice lies in, which never reaches across the mark. */
  #part(low: number, mark: number) {
    const [indexed, newest] = divided(this.#connection, "events", mark);
    if (newest === undefined) return indexed;
    if (low > mark) return newest;
    return this.#named === undefined ? indexed : { ...indexed, from: this.#named };
  }

  /** Sequence numbers from `low` up to, not including, `high`. */
  #within(low: number, high: number): SQL | undefined {
    const { seq } = this.#connection.t.events;
    return and(this.#where, gte(seq, low), lt(seq, high));
  }
}

interface Slice {
  readonly low: number;
  readonly high: number;
  readonly mark: number;
}

interface Wanted {
  readonly limit: number;
  readonly order?: typeof asc;
}

type EventRow = Connection["t"]["events"]["$inferSelect"];

/** The head row as last committed. */
export async function storedHeads({ db, t }: Connection): Promise<Heads> {
  const [row] = await db.select().from(t.heads).where(eq(t.heads.id, 1));
  assert(row !== undefined, "there is one head row");
  const { id: _id, ...heads } = row;
  return heads;
}

function matching({ t, dialect }: Connection, filter: EventFilter): SQL | undefined {
  const e = t.events;
  const { action, actor, result, caId, serial, requestId, tenant, from, to } = filter;
  const oneAction = action !== undefined && !action.endsWith(".*");
  // The sign keeps SQLite from the index of a CA, which has more events than most of these.
  const sign = sql.raw(dialect === "sqlite" && (oneAction || actor !== undefined) ? "+" : "");
  return and(
    within({ tenant: e.tenant, ca: e.caId }, filter.reach),
    action === undefined ? undefined : named(e, action),
    actor === undefined ? undefined : eq(e.actor, actor),
    result === undefined ? undefined : eq(e.result, result),
    caId === undefined ? undefined : sql`${sign}${e.caId} = ${caId}`,
    serial === undefined ? undefined : eq(e.serial, serial),
    requestId === undefined ? undefined : eq(e.requestId, requestId),
    tenant === undefined ? undefined : eq(e.tenant, tenant),
    from === undefined ? undefined : gte(e.at, from),
    to === undefined ? undefined : lt(e.at, to),
  );
}

/**
 * The part of the ledger a filter looks at; without more than numbers to go by nothing has to be
 * counted.
 */
async function ledgerChain(
  connection: Connection,
  { kind, signerFingerprint, fromNumber = 1, toNumber = Number.MAX_SAFE_INTEGER }: LedgerFilter,
  sliceRows: number,
) {
  const { db, t, dialect } = connection;
  const { ledgerNumber } = await storedHeads(connection);
  const fits = and(
    kind === undefined ? undefined : eq(t.ledger.kind, kind),
    signerFingerprint === undefined ? undefined : eq(t.ledger.signerFingerprint, signerFingerprint),
  );
  const within = (low: number, high: number) =>
    and(fits, gte(t.ledger.number, low), lt(t.ledger.number, high));
  return {
    first: fromNumber,
    end: Math.min(ledgerNumber, toNumber) + 1,
    sliceRows: dialect === "sqlite" && fits !== undefined ? sliceRows : Number.MAX_SAFE_INTEGER,
    rows: async (low: number, high: number, limit: number) => {
      const found = db.select().from(t.ledger).where(within(low, high));
      return await found.orderBy(desc(t.ledger.number)).limit(limit);
    },
    count: async (low: number, high: number) => {
      if (fits === undefined) return high - low;
      const [sum] = await db.select({ total: counted }).from(t.ledger).where(within(low, high));
      return sum?.total ?? 0;
    },
  };
}

function named(e: Connection["t"]["events"], action: string): SQL {
  return action.endsWith(".*") ? startsWith(e.action, action.slice(0, -1)) : eq(e.action, action);
}

/** The event as it was hashed: without the columns that only serve filters. */
export function event(row: EventRow): AuditEvent {
  const { at: _at, folded: _folded, certificateOrdinal: _ordinal, ...hashed } = row;
  return hashed;
}

/** Only the journal fills the table, so its texts are the closed words the entry's types name. */
export function entry(row: Connection["t"]["ledger"]["$inferSelect"]): LedgerEntry {
  return row as LedgerEntry; // See above.
}

const usualSlice = 20_000;
