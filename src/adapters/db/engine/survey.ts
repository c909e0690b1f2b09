/**
 * Looks at the tables of a database for whoever helps, over a connection of its own, and changes
 * nothing: sizes, rows, states, newest events.
 */

import type { Database } from "bun:sqlite";

import type { StoreOptions } from "#adapters/db/open.ts";

import { withPostgres, withSqlite } from "./diagnosis.ts";

/** What a database holds, as far as it can be read. */
export interface Survey {
  readonly engine: Row;
  readonly tables: readonly Row[];
  /** Rows by state, of CAs, certificates, requests and runs. */
  readonly states: readonly Row[];
}

export type Row = Readonly<Record<string, unknown>>;

/** Throws `StoreUnfit` for a database that cannot be opened; what cannot be read in it is said. */
export const survey = async (options: StoreOptions): Promise<Survey> =>
  options.driver === "sqlite"
    ? withSqlite(options, sqliteSurvey)
    : await withPostgres(options, postgresSurvey);

/** The newest events, newest first. Throws what the engine throws of a table it cannot read. */
export async function newestEventsOf(options: StoreOptions, max: number): Promise<readonly Row[]> {
  const text = `${newestEvents} limit ${Math.trunc(max)}`;
  return options.driver === "sqlite"
    ? withSqlite(options, (database) => database.query<Row, []>(text).all())
    : await withPostgres(options, (ask) => ask(text));
}

function sqliteSurvey(database: Database): Survey {
  const ask = (text: string) => database.query<Row, []>(text).all();
  const names = ask("select name from sqlite_master where type = 'table' order by name");
  const tables = names.map(({ name: table }) => {
    const text = `select count(*) as n from (select 1 from "${table}" limit ${countedMax + 1})`;
    try {
      const rows = Number(ask(text)[0]?.n);
      return rows > countedMax ? { table, rows_over: countedMax } : { table, rows };
    } catch (error) {
      return { table, fault: messageOf(error) };
    }
  });
  const pragmas = ["page_size", "page_count", "freelist_count", "journal_mode"].flatMap((name) =>
    Object.entries(ask(`pragma ${name}`)[0] ?? {}),
  );
  const states = stateQueries.flatMap((text) => {
    try {
      return ask(text);
    } catch (error) {
      return [{ fault: messageOf(error) }];
    }
  });
  return { engine: Object.fromEntries(pragmas), tables, states };
}

async function postgresSurvey(ask: (text: string) => Promise<readonly Row[]>): Promise<Survey> {
  const [engine = {}] = await ask(postgresEngine);
  const tables = await ask(postgresTables);
  const states: Row[] = [];
  for (const text of stateQueries) {
    try {
      // Sums come as texts.
      states.push(...(await ask(text)).map((row) => ({ ...row, rows: Number(row.rows) })));
    } catch (error) {
      states.push({ fault: messageOf(error) });
    }
  }
  return { engine, tables, states };
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

const newestEvents =
  'select seq, timestamp, actor, actor_name as "actorName", actor_roles as "actorRoles", action, result, tenant, ca_id as "caId", serial, target, target_name as "targetName", detail, ip, request_id as "requestId" from events order by seq desc';

const stateQueries = [
  "select 'cas' as \"of\", status, count(*) as rows from cas group by status",
  "select 'certificates' as \"of\", status, sum(number) as rows from certificate_counts group by status",
  "select 'approvals' as \"of\", status, count(*) as rows from approvals group by status",
  "select 'intents' as \"of\", state as status, count(*) as rows from intents group by state",
  "select 'bulk_runs' as \"of\", state as status, count(*) as rows from bulk_runs group by state",
  "select 'acme_accounts' as \"of\", status, count(*) as rows from acme_accounts group by status",
  // Those that are valid are most of them, and no index has them together.
  "select 'acme_orders' as \"of\", status, count(*) as rows from acme_orders where status <> 'valid' group by status",
  "select 'acme_challenges' as \"of\", status, count(*) as rows from acme_challenges where status = 'processing' group by status",
  "select 'acme_replacements' as \"of\", state as status, count(*) as rows from acme_replacements group by state",
  "select 'open intents' as \"of\", 'open' as status, count(*) as rows from open_intents",
];

const postgresEngine =
  "select current_setting('server_version') as version, pg_database_size(current_database())::float8 as bytes, (select count(*) from pg_stat_activity where datname = current_database())::int as connections";
const postgresTables = `select c.relname as "table", c.reltuples::float8 as rows, pg_total_relation_size(c.oid)::float8 as bytes
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and n.nspname = current_schema() order by c.relname`;
const countedMax = 100_000;
