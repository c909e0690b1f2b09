/**
 * The ends of certificates in the database, walked by their index in slices: SQLite works on the
 * thread that serves, so a slice there is a few milliseconds (EXP-1).
 */

import { and, asc, eq, gt, lte, ne, type SQL, sql } from "drizzle-orm";

import type { CaId, Serial } from "#core/ids.ts";
import { type Instant, instant } from "#core/time.ts";
import {
  type EndCount,
  type EndPlace,
  type ExpiryReads,
  type Watched,
  type WatchedStatus,
  watchedStatuses,
} from "#domain/expiry/store.ts";
import { breath, counted, type Connection } from "#adapters/db/engine/connection.ts";
import { divided, foldedThrough, type Part } from "#adapters/db/engine/folds.ts";
import { countLeaves } from "#adapters/db/inventory/certificate-counts.ts";

import { outlived } from "./superseded.ts";

/** As last committed. */
export const expiryReads = (connection: Connection): ExpiryReads => ({
  ending: endingOn(connection),
  endCounts: endCountsOn(connection),
});

/** The rows one walk is over: those of a CA with one status. */
interface Walked {
  readonly caId: CaId;
  readonly status: WatchedStatus;
  /** The last end, inside. */
  readonly until: Instant | undefined;
}

function endingOn(connection: Connection): ExpiryReads["ending"] {
  const { db, t, dialect } = connection;
  const c = t.certificates;
  return async (filter, after) => {
    const isOutlived = outlived(connection, filter.caId);
    const facts = {
      caId: c.caId,
      ordinal: c.ordinal,
      serial: c.serial,
      commonName: c.commonName,
      subject: c.subject,
      profile: c.profile,
      notBefore: c.notBefore,
      notAfter: c.notAfter,
      superseded: sql`${isOutlived}`.mapWith(Boolean),
    };
    const parts = divided(
      connection,
      "certificates",
      await foldedThrough(connection, "certificates"),
    );
    const rows = dialect === "sqlite" ? rowsAStep : rowsAway;
    const to = await placeAfter(connection, parts[0], filter, after, rows);
    const wanted = filter.superseded ? undefined : sql`not ${isOutlived}`;
    const found: (Watched & EndPlace)[] = [];
    for (const { from, rows: within } of parts) {
      const its = and(within, watched(connection, filter, after, to), wanted);
      const some = await db
        .select(facts)
        .from(from)
        .where(its)
        .orderBy(asc(c.notAfter), asc(c.ordinal));
      for (const row of some) found.push(watchedOf(row, filter.status));
    }
    const items = found.sort(inOrder).map(({ ordinal: _ordinal, ...one }) => one);
    return { items, next: to };
  };
}

function endCountsOn(connection: Connection): ExpiryReads["endCounts"] {
  return async (caId, ends) => {
    // Rows above it are walked as they are, and it stays where it is for the whole count.
    const mark = await foldedThrough(connection, "certificates");
    // Most CAs have few or none, and are looked at as a whole.
    const leaves = await countLeaves(connection, { caId, statuses: watchedStatuses });
    if (leaves === 0) return inSpans([], ends);
    if (leaves <= rowsAStep) {
      return inSpans(await endsOf(connection, mark, caId, ends.at(-1)), ends);
    }
    const counts: EndCount[] = [];
    let last: Instant | undefined;
    for (const until of ends) {
      let sum: EndCount = { present: 0, superseded: 0 };
      for (const status of watchedStatuses) {
        const of = { caId, status, until };
        sum = plus(sum, await countOf(connection, mark, of, last));
      }
      counts.push(sum);
      last = until;
    }
    return counts;
  };
}

/** Of a CA with few leaves, which are read in one step. */
async function endsOf(
  connection: Connection,
  mark: number,
  caId: CaId,
  until: Instant | undefined,
): Promise<readonly Ended[]> {
  const { notAfter } = connection.t.certificates;
  const superseded = sql`${outlived(connection, caId)}`.mapWith(Boolean);
  const found: Ended[] = [];
  for (const { from, rows } of divided(connection, "certificates", mark)) {
    for (const status of watchedStatuses) {
      const its = and(rows, watched(connection, { caId, status, until }, undefined, undefined));
      found.push(...(await connection.db.select({ notAfter, superseded }).from(from).where(its)));
    }
  }
  return found;
}

interface Ended {
  readonly notAfter: number;
  readonly superseded: boolean;
}

function inSpans(found: readonly Ended[], ends: readonly Instant[]): readonly EndCount[] {
  const counts = ends.map(() => ({ present: 0, superseded: 0 }));
  for (const { notAfter, superseded } of found) {
    const span = counts[ends.findIndex((end) => notAfter <= end)];
    if (span !== undefined) span[superseded ? "superseded" : "present"] += 1;
  }
  return counts;
}

/** Slice by slice, as wide as their time allows. */
async function countOf(
  connection: Connection,
  mark: number,
  of: Walked,
  beyond: Instant | undefined,
): Promise<EndCount> {
  const isSqlite = connection.dialect === "sqlite";
  const parts = divided(connection, "certificates", mark);
  let sum: EndCount = { present: 0, superseded: 0 };
  let after = beyond === undefined ? undefined : { notAfter: beyond, ordinal: ordinalMax };
  for (let width = isSqlite ? rowsAStep : rowsAway; ; ) {
    const begun = performance.now();
    const to = await placeAfter(connection, parts[0], of, after, width);
    for (const part of parts) sum = plus(sum, await countIn(connection, part, of, after, to));
    if (to === undefined) return sum;
    after = to;
    if (!isSqlite) continue;
    const took = performance.now() - begun;
    if (took < shortMs) width = Math.min(width * 2, rowsMost);
    else if (took > longMs) width = Math.max(width >> 1, rowsLeast);
    await breath();
  }
}

async function countIn(
  connection: Connection,
  { from, rows }: Part,
  of: Walked,
  after: EndPlace | undefined,
  to: EndPlace | undefined,
): Promise<EndCount> {
  const isOutlived = outlived(connection, of.caId);
  const superseded = sql<number>`coalesce(sum(case when ${isOutlived} then 1 else 0 end), 0)`;
  const [row] = await connection.db
    .select({ all: counted, superseded: superseded.mapWith(Number) })
    .from(from)
    .where(and(rows, watched(connection, of, after, to)));
  const { all = 0, superseded: gone = 0 } = row ?? {};
  return { present: all - gone, superseded: gone };
}

/** The place so many entries of the index on; undefined where fewer are left. */
async function placeAfter(
  connection: Connection,
  { from, rows }: Part,
  of: Walked,
  after: EndPlace | undefined,
  width: number,
): Promise<EndPlace | undefined> {
  const { notAfter, ordinal } = connection.t.certificates;
  const [row] = await connection.db
    .select({ notAfter, ordinal })
    .from(from)
    .where(and(rows, indexed(connection, of, after, undefined)))
    .orderBy(asc(notAfter), asc(ordinal))
    .limit(1)
    .offset(width - 1);
  return row && { notAfter: instant(row.notAfter), ordinal: row.ordinal };
}

/** What the index by notAfter knows: the rows behind a place, up to another or the last end. */
function indexed(
  { t }: Connection,
  of: Walked,
  after: EndPlace | undefined,
  to: EndPlace | undefined,
): SQL | undefined {
  const c = t.certificates;
  const until = of.until === undefined ? undefined : lte(c.notAfter, of.until);
  return and(
    eq(c.caId, of.caId),
    eq(c.kind, "leaf"),
    eq(c.status, of.status),
    after && sql`(${c.notAfter}, ${c.ordinal}) > (${after.notAfter}, ${after.ordinal})`,
    // One upper bound alone: of two SQLite takes the first, and would read on to the last end.
    to === undefined
      ? until
      : sql`(${c.notAfter}, ${c.ordinal}) <= (${to.notAfter}, ${to.ordinal})`,
  );
}

/** The same of what is watched at all: of canaries and archived ones nothing is. */
function watched(
  connection: Connection,
  of: Walked,
  after: EndPlace | undefined,
  to: EndPlace | undefined,
): SQL | undefined {
  const { marker, certificate } = connection.t.certificates;
  const isThere = gt(sql`length(${certificate})`, 0);
  return and(indexed(connection, of, after, to), ne(marker, "canary"), isThere);
}

interface Row {
  readonly caId: string;
  readonly ordinal: number;
  readonly serial: string;
  readonly commonName: string;
  readonly subject: string;
  readonly profile: string;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly superseded: boolean;
}

const watchedOf = (row: Row, status: WatchedStatus): Watched & EndPlace => ({
  ...row,
  status,
  caId: row.caId as CaId, // Only `intend` takes ids and serials.
  serial: row.serial as Serial,
  notBefore: instant(row.notBefore),
  notAfter: instant(row.notAfter),
});

const inOrder = (a: EndPlace, b: EndPlace): number =>
  a.notAfter - b.notAfter || a.ordinal - b.ordinal;

const plus = (a: EndCount, b: EndCount): EndCount => ({
  present: a.present + b.present,
  superseded: a.superseded + b.superseded,
});

/** Past every row that ends at the same moment. */
const ordinalMax = Number.MAX_SAFE_INTEGER;
/** Rows SQLite looks at in one step: each is fetched, and its identity looked up. */
const rowsAStep = 200;
const rowsLeast = 50;
const rowsMost = 2000;
/** Another server's thread is nobody's here; what counts is what comes back. */
const rowsAway = 5000;
const shortMs = 2;
const longMs = 6;
