/**
 * How many leaves of a CA there are, by stored status and notAfter, without walking them:
 * `certificate_counts` keeps them by day, all but the newest, which are few.
 */

import { and, asc, eq, gte, inArray, lt, type SQL, sql } from "drizzle-orm";

import type { CaId } from "#core/ids.ts";
import { instant, type Instant } from "#core/time.ts";
import type {
  CertificateFilter,
  CertificateReads,
  StoredStatus,
} from "#domain/certificates/store.ts";
import { counted, type Connection } from "#adapters/db/engine/connection.ts";
import { markOf, newestAbove, type Part, partsOf } from "#adapters/db/engine/folds.ts";

import { countedRanges } from "./serial-ranges.ts";

/** Which leaves; `from` is inside, `until` is not. */
export interface Counted {
  readonly caId: CaId;
  readonly statuses: readonly StoredStatus[];
  readonly profile?: string | undefined;
  readonly from?: Instant | undefined;
  readonly until?: Instant | undefined;
}

/**
 * Whole days from the counters, what is left of the first and the last day from the index by
 * notAfter.
 */
export async function countLeaves(
  connection: Connection,
  which: Counted,
  stepMax = indexStepMax,
): Promise<number> {
  const { from, until } = which;
  const firstDay = from === undefined ? undefined : Math.ceil(from / dayMs);
  const endDay = until === undefined ? undefined : Math.floor(until / dayMs);
  const between = (low: number | undefined, high: number | undefined) =>
    low === undefined || high === undefined || low >= high
      ? 0
      : countBetween(connection, which, { low, high, stepMax });
  if (firstDay !== undefined && endDay !== undefined && firstDay > endDay) {
    return between(from, until);
  }
  const whole = await countDays(connection, which, firstDay, endDay);
  const first = await between(from, firstDay === undefined ? undefined : firstDay * dayMs);
  const last = await between(endDay === undefined ? undefined : endDay * dayMs, until);
  return first + whole + last;
}

/**
 * The leaves a filter selects, where it asks for nothing the counters and that index do not know;
 * else undefined.
 */
export function leavesOf(filter: CertificateFilter): Counted | undefined {
  const { caId, status, profile, expiresBefore, now } = filter;
  const { text, serialPrefix, spkiSha256, requestedBy } = filter;
  const others = [text, serialPrefix, spkiSha256, requestedBy];
  if (others.some((other) => other !== undefined)) return undefined;
  if (status === undefined)
    return { caId, statuses: storedStatuses, profile, until: expiresBefore };
  if (status === "expired") {
    const until = instant(Math.min(now, expiresBefore ?? now));
    return { caId, statuses: ["good"], profile, until };
  }
  const from = status === "good" ? now : undefined;
  return { caId, statuses: [status], profile, from, until: expiresBefore };
}

/**
 * The leaves whose serial begins so, range by range of the unique index. It does not know kinds,
 * and all kinds but leaves are few.
 */
export async function countSerials(
  connection: Connection,
  ca: CaId,
  prefix: string,
): Promise<number> {
  const { db, t } = connection;
  const c = t.certificates;
  let total = 0;
  for (const within of countedRanges(connection.dialect, sql`${c.serial}`, prefix)) {
    const rows = and(eq(c.caId, ca), within);
    const [all] = await db.select({ number: counted }).from(c).where(rows);
    total += all?.number ?? 0;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  if (total === 0) return 0;
  const others = and(eq(c.caId, ca), inArray(c.kind, [...otherKinds, "responder"]));
  for (const { from, rows } of await partsOf(connection, "certificates")) {
    const rest = await db.select({ serial: c.serial }).from(from).where(and(rows, others));
    total -= rest.filter(({ serial }) => beginsWith(serial, prefix)).length;
  }
  return total;
}

/** Intents come first: one that is settled in between is counted twice rather than not at all. */
export function outstandingOf(connection: Connection): CertificateReads["outstanding"] {
  const { db, t } = connection;
  const c = t.certificates;
  const living: readonly StoredStatus[] = ["good", "held"];
  return async (ca, now) => {
    const o = t.openIntents;
    const open = and(eq(o.caId, ca), inArray(o.purpose, leafPurposes));
    const [signing] = await db.select({ count: counted }).from(o).where(open);
    const leaves = await countLeaves(connection, { caId: ca, statuses: living, from: now });
    const others = and(
      eq(c.caId, ca),
      inArray(c.kind, [...otherKinds]),
      inArray(c.status, [...living]),
      gte(c.notAfter, now),
    );
    let count = (signing?.count ?? 0) + leaves;
    for (const { from, rows } of await partsOf(connection, "certificates")) {
      const [found] = await db.select({ count: counted }).from(from).where(and(rows, others));
      count += found?.count ?? 0;
    }
    const latest = await latestNotAfter(connection, ca, living);
    return { count, latestNotAfter: latest === undefined || latest < now ? undefined : latest };
  };
}

/** Counters and the rows that are not in them yet, as one statement sees both. */
async function countDays(
  { db, t, dialect }: Connection,
  which: Counted,
  firstDay: number | undefined,
  endDay: number | undefined,
): Promise<number> {
  const { caId, statuses, profile } = which;
  const k = t.certificateCounts;
  const rows = and(
    eq(k.caId, caId),
    inArray(k.status, [...statuses]),
    firstDay === undefined ? undefined : gte(k.day, firstDay),
    endDay === undefined ? undefined : lt(k.day, endDay),
    profile === undefined ? undefined : eq(k.profile, profile),
  );
  const ends = {
    low: firstDay === undefined ? undefined : firstDay * dayMs,
    high: endDay === undefined ? undefined : endDay * dayMs,
  };
  const waiting =
    dialect === "sqlite"
      ? sql`(select count(*) from ${newestAbove("certificates", sql.raw(markOf("certificates")))} and ${between({ dialect, t }, which, ends)})`
      : sql`0`;
  const [sum] = await db
    .select({ number: sql<number | null>`coalesce(sum(${k.number}), 0) + ${waiting}` })
    .from(k)
    .where(rows);
  return Number(sum?.number ?? 0);
}

interface Span {
  /** Inside. */
  readonly low: number;
  /** Not inside. */
  readonly high: number;
  readonly stepMax: number;
}

type Ends = { readonly [End in "low" | "high"]: number | undefined };

/**
 * At most a day's worth, which may be many all the same: SQLite counts so many entries at once, and
 * lets others run.
 */
async function countBetween(connection: Connection, which: Counted, span: Span): Promise<number> {
  const [indexed, newest] = await partsOf(connection, "certificates");
  let total = newest === undefined ? 0 : await countIn(connection, newest, which, span);
  for (let low = span.low; low < span.high; ) {
    const high =
      connection.dialect === "sqlite"
        ? await stepEnd(connection, which, { ...span, low, indexed })
        : span.high;
    total += await countIn(connection, indexed, which, { low, high });
    low = high;
    if (low < span.high) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return total;
}

async function countIn(
  connection: Connection,
  { from, rows }: Part,
  which: Counted,
  ends: Ends,
): Promise<number> {
  const its = and(rows, between(connection, which, ends));
  const [row] = await connection.db.select({ count: counted }).from(from).where(its);
  return row?.count ?? 0;
}

/** The notAfter so many entries of one status on, or the end where there are fewer. */
async function stepEnd(
  { db, t, dialect }: Connection,
  which: Counted,
  span: Span & { readonly indexed: Part },
): Promise<number> {
  const { notAfter } = t.certificates;
  let end = span.high;
  for (const status of which.statuses) {
    const alone = { caId: which.caId, statuses: [status] };
    const [row] = await db
      .select({ notAfter })
      .from(span.indexed.from)
      .where(and(span.indexed.rows, between({ dialect, t }, alone, span)))
      .orderBy(asc(notAfter))
      .limit(1)
      .offset(span.stepMax);
    // A step of one instant alone would never end.
    if (row !== undefined) end = Math.min(end, Math.max(row.notAfter, span.low + 1));
  }
  return end;
}

function between(
  { dialect, t }: Pick<Connection, "dialect" | "t">,
  { caId, statuses, profile }: Counted,
  { low, high }: Ends,
): SQL | undefined {
  const c = t.certificates;
  // The sign keeps SQLite on the index by notAfter.
  const named = dialect === "sqlite" ? sql`+${c.profile}` : sql`${c.profile}`;
  return and(
    eq(c.caId, caId),
    eq(c.kind, "leaf"),
    inArray(c.status, [...statuses]),
    low === undefined ? undefined : gte(c.notAfter, instant(low)),
    high === undefined ? undefined : lt(c.notAfter, instant(high)),
    profile === undefined ? undefined : eq(named, profile),
  );
}

/** One look at the end of the index for every kind and status, and one at the newest rows. */
async function latestNotAfter(
  connection: Connection,
  ca: CaId,
  statuses: readonly StoredStatus[],
): Promise<Instant | undefined> {
  const c = connection.t.certificates;
  const kinds = ["leaf", ...otherKinds];
  const [indexed, newest] = await partsOf(connection, "certificates");
  let latest: number | undefined;
  const look = async ({ from, rows }: Part, its: SQL | undefined) => {
    const max = sql<number | null>`max(${c.notAfter})`;
    const whose = and(rows, eq(c.caId, ca), its);
    const [row] = await connection.db.select({ max }).from(from).where(whose);
    if (row?.max != null) latest = Math.max(latest ?? 0, Number(row.max));
  };
  for (const kind of kinds) {
    for (const status of statuses) {
      await look(indexed, and(eq(c.kind, kind), eq(c.status, status)));
    }
  }
  const any = and(inArray(c.kind, kinds), inArray(c.status, [...statuses]));
  if (newest !== undefined) await look(newest, any);
  return latest === undefined ? undefined : instant(latest);
}

const beginsWith = (serial: string, prefix: string): boolean =>
  prefix.startsWith("0x")
    ? BigInt(serial).toString(16).startsWith(prefix.slice(2))
    : serial.startsWith(prefix);

const leafPurposes = ["certificate", "precertificate", "ca_certificate", "cross_certificate"];
/** Kinds beside leaves that need the CA's key to stay trusted; of all of them there are few. */
const otherKinds = ["ca", "cross", "serving"] as const;
const storedStatuses: readonly StoredStatus[] = ["good", "revoked", "held"];
const dayMs = 86_400_000;
/** Index entries SQLite counts in about a millisecond. */
const indexStepMax = 20_000;
