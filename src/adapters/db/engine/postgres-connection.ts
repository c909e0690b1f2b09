/**
 * How the repositories speak to PostgreSQL: typed queries and flat statements, each sent where its
 * owner says.
 */

import type { SQL } from "bun";
import { drizzle } from "drizzle-orm/bun-sql";

import { postgresKit } from "#adapters/db/tables/kit.ts";
import { defineTables } from "#adapters/db/tables/schema.ts";

import { type Db, refuseNul, type Rows, type Connection, type Value } from "./connection.ts";

/** Sends one statement over a connection that is there for it. */
export type Ask = <T>(send: (sql: SQL) => PromiseLike<T>) => Promise<T>;

/**
 * What the repositories use, over whatever connection `ask` finds for each statement. But for those
 * of the query builder, statements are sent before the method returns.
 */
export function connectionOverPostgres(ask: Ask): Connection {
  // Both casts: `kit.ts` says why SQLite's types hold for what the repositories use.
  const client = { unsafe: queries(ask) } as unknown as SQL;
  const db = drizzle({ client }) as unknown as Db;
  const rows = async (text: string, values: readonly Value[]): Promise<Rows> =>
    await ask((sql) => sql.unsafe(text, holdable(values)).values().execute());
  return {
    dialect: "postgres",
    t: tables,
    db,
    run: async (text: string, values: readonly Value[]) => {
      const given = values.length === 0 ? undefined : holdable(values);
      const result: { readonly count: number } = await ask((sql) =>
        sql.unsafe(text, given).execute(),
      );
      return result.count;
    },
    row: async (text: string, values: readonly Value[]) => (await rows(text, values))[0],
    rows,
  };
}

/**
 * All that the query builder asks of its client. Like the driver's own query, it is sent only after
 * the caller had the time to say that it wants values and not rows.
 */
function queries(ask: Ask) {
  return (text: string, values?: unknown[]) => {
    let asValues = false;
    const answer = Promise.resolve().then(() =>
      ask<unknown>((sql) => {
        const query = sql.unsafe(text, values && holdable(values));
        return asValues ? query.values() : query;
      }),
    );
    return Object.assign(answer, {
      values: () => {
        asValues = true;
        return answer;
      },
    });
  };
}

/** The driver would send a NUL, and the server end the transaction for it. */
function holdable(values: readonly unknown[]): unknown[] {
  values.forEach(refuseNul);
  return [...values];
}

const tables = defineTables(postgresKit);
