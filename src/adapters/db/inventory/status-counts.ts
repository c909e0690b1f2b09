/**
 * How many leaves of CAs there are by status, without walking them: a statement for many CAs over
 * `certificate_counts` and the newest rows, which are few.
 */

import type { CaId } from "#core/ids.ts";
import { type Instant, instant } from "#core/time.ts";
import type { CertificateReads, StatusCounts } from "#domain/certificates/store.ts";
import { breath, type Connection, isAmong, textList } from "#adapters/db/engine/connection.ts";
import { markOf } from "#adapters/db/engine/folds.ts";

import { countLeaves } from "./certificate-counts.ts";

/** SQLite answers on the thread that serves: a statement has as many CAs as it has time for. */
export function statusCountsOf(connection: Connection): CertificateReads["statusCounts"] {
  const queries = statusQueries(connection);
  return async (cas, now) => {
    const counts: Counts = { good: 0, held: 0, revoked: 0, expired: 0 };
    let width = connection.dialect === "sqlite" ? casAtFirst : casAway;
    for (let at = 0; at < cas.length; ) {
      const some = cas.slice(at, at + width);
      at += some.length;
      const begun = performance.now();
      await addTo(counts, { connection, queries }, some, now);
      if (connection.dialect !== "sqlite") continue;
      const took = performance.now() - begun;
      if (took < shortMs) width = Math.min(width * 2, casMost);
      else if (took > longMs) width = Math.max(width >> 1, 1);
      if (at < cas.length) await breath();
    }
    // What was stored between two statements may have been counted by the second alone.
    return { ...counts, good: Math.max(counts.good, 0) };
  };
}

type Counts = Record<keyof StatusCounts, number>;

interface Asking {
  readonly connection: Connection;
  readonly queries: ReturnType<typeof statusQueries>;
}

async function addTo(
  counts: Counts,
  { connection, queries }: Asking,
  cas: readonly CaId[],
  now: Instant,
): Promise<void> {
  const theirs = textList(cas);
  const today = Math.floor(now / dayMs);
  for (const row of await connection.rows(queries.sums, [theirs, today])) {
    const [good = 0, held = 0, revoked = 0, expired = 0] = row.map(Number);
    counts.good += good;
    counts.held += held;
    counts.revoked += revoked;
    counts.expired += expired;
  }
  for (const [ca] of await connection.rows(queries.endingToday, [theirs, today])) {
    // Only `intend` takes ids.
    const of = { caId: ca as CaId, statuses: ["good"] } as const;
    const from = instant(today * dayMs);
    const ended = await countLeaves(connection, { ...of, from, until: now });
    counts.good -= ended;
    counts.expired += ended;
  }
}

/**
 * Counters, and on SQLite the rows they do not hold yet, as one statement sees both. Values: CAs,
 * and a day, before which what is good has expired; `endingToday` gives the CAs of which some end
 * on that day itself.
 */
function statusQueries({ dialect }: Pick<Connection, "dialect">) {
  const [cas, today] = dialect === "sqlite" ? ["?1", "?2"] : ["$1", "$2"];
  const theirs = isAmong({ dialect }, "ca_id", cas);
  const leaves = (its: (day: string) => string) => {
    const kept = `select ca_id, status, day, number from certificate_counts
      where ${theirs} and number > 0 ${its("day")}`;
    const day = `not_after / ${dayMs}`;
    const newest = `select ca_id, status, ${day} as day, 1 as number from certificates not indexed
      where ordinal > ${markOf("certificates")} and kind = 'leaf' and ${theirs} ${its(day)}`;
    return dialect === "sqlite" ? `${kept} union all ${newest}` : kept;
  };
  const sum = (its: string) => `coalesce(sum(case when ${its} then number else 0 end), 0)`;
  return {
    sums: `select ${sum(`status = 'good' and day >= ${today}`)}, ${sum("status = 'held'")},
        ${sum("status = 'revoked'")}, ${sum(`status = 'good' and day < ${today}`)}
      from (${leaves(() => "")}) as leaves`,
    endingToday: `select distinct ca_id
      from (${leaves((day) => `and status = 'good' and ${day} = ${today}`)}) as leaves`,
  };
}

const dayMs = 86_400_000;
const casAtFirst = 8;
const casMost = 128;
/** Another server's thread is nobody's here. */
const casAway = 1000;
const shortMs = 2;
const longMs = 6;
