/**
 * How many leaves of CAs were issued and revoked on each day, without walking them: `day_counts`
 * keeps them, all but the newest, which are few.
 */

import type { CertificateReads } from "#domain/certificates/store.ts";
import type { DayUsage } from "#domain/tenants/store.ts";
import { breath, type Connection, isAmong, textList } from "#adapters/db/engine/connection.ts";
import { markOf } from "#adapters/db/engine/folds.ts";

/** A statement for so many CAs, since SQLite answers on the thread that serves. */
export function daysOf(connection: Connection, atOnce = casAtOnce): CertificateReads["days"] {
  const text = daysQuery(connection);
  return async (cas, firstDay) => {
    const days = new Map<number, DayUsage>();
    for (let at = 0; at < cas.length; at += atOnce) {
      if (at > 0) await breath();
      const some = textList(cas.slice(at, at + atOnce));
      for (const row of await connection.rows(text, [some, firstDay])) {
        const [day = 0, issued = 0, revoked = 0] = row.map(Number);
        const before = days.get(day) ?? { day, issued: 0, revoked: 0 };
        days.set(day, {
          day,
          issued: before.issued + issued,
          revoked: before.revoked + revoked,
        });
      }
    }
    return [...days.values()];
  };
}

/**
 * Counters, and on SQLite the rows they do not hold yet, as one statement sees both. Values: CAs,
 * first day.
 */
export function daysQuery({ dialect }: Pick<Connection, "dialect">): string {
  const [cas, first] = dialect === "sqlite" ? ["?1", "?2"] : ["$1", "$2"];
  const theirs = isAmong({ dialect }, "ca_id", cas);
  const kept = `select day, kind, number from day_counts where ${theirs} and day >= ${first}`;
  const newest = (kind: string, at: string, its: string) =>
    `union all select ${at} / ${dayMs}, '${kind}', 1 from certificates not indexed
      where ordinal > ${markOf("certificates")} and kind = 'leaf' and ${theirs}
        and ${at} >= ${first} * ${dayMs} ${its}`;
  const waiting = `${newest("issued", "created_at", "")}
    ${newest("revoked", "coalesce(revoked_at, created_at)", "and status = 'revoked'")}`;
  const sum = (kind: string) => `sum(case when kind = '${kind}' then number else 0 end)`;
  return `select day, ${sum("issued")}, ${sum("revoked")}
    from (${kept} ${dialect === "sqlite" ? waiting : ""}) as happened group by day`;
}

const dayMs = 86_400_000;
/** With ninety days each SQLite adds them up in a few milliseconds. */
const casAtOnce = 100;
