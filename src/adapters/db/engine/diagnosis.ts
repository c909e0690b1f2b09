/**
 * Looks at a database for preflight over a connection of its own, and changes nothing: version,
 * settings, integrity.
 */

import { statSync } from "node:fs";
import { Database } from "bun:sqlite";

import type { Diagnosis } from "#core/preflight/database.ts";
import { instant } from "#core/time.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import { rowRules } from "#adapters/db/tables/row-rules.ts";

import { isDamage, StoreUnfit, UnusableServerError } from "./faults.ts";
import type { PostgresOptions } from "./postgres.ts";
import type { SqliteOptions } from "./sqlite.ts";

/** Throws `StoreUnfit` (`unreachable`) for a database that cannot be opened. */
export async function diagnose(options: StoreOptions): Promise<Diagnosis> {
  return options.driver === "sqlite" ? diagnoseSqlite(options) : await diagnosePostgres(options);
}

/** Everything that breaks a rule of the schema, a sentence each; reads the whole database. */
export async function violations(options: StoreOptions): Promise<readonly string[]> {
  return options.driver === "sqlite"
    ? withSqlite(options, sqliteViolations)
    : await withPostgres(options, postgresViolations, wholeDatabaseMs);
}

function diagnoseSqlite(options: SqliteOptions): Diagnosis {
  return withSqlite(options, (database) => {
    const began = performance.now();
    const version =
      database.query<{ v: string }, []>("select sqlite_version() as v").get()?.v ?? "";
    const pingMs = performance.now() - began;
    const journal =
      database.query<{ journal_mode: string }, []>("pragma journal_mode").get()?.journal_mode ?? "";
    const { size: bytes } = statSync(options.path);
    return {
      engine: "sqlite",
      version,
      pingMs,
      bytes,
      time: undefined,
      askedAt: instant(Date.now()),
      replicaLagSeconds: undefined,
      unusable: undefined,
      isReplicatedAsynchronously: false,
      // `synchronous` belongs to each connection, and pkid opens none without FULL (V-6).
      settings: [
        { name: "journal_mode", value: journal, durable: journal === "wal" },
        { name: "synchronous", value: "full", durable: true },
      ],
    };
  });
}

/** Opens the file for reading only, as long as `look` takes. */
export function withSqlite<T>(
  { path, busy_timeout_ms }: SqliteOptions,
  look: (database: Database) => T,
): T {
  let database: Database;
  try {
    database = new Database(path, { readonly: true });
  } catch (error) {
    throw unreachable("The database file cannot be opened.", error);
  }
  try {
    database.run(`pragma busy_timeout = ${Math.trunc(busy_timeout_ms)}`);
    return look(database);
  } finally {
    database.close();
  }
}

/**
 * Pages, references and rules; of a file that is damaged only that, for nothing else it says can be
 * believed.
 */
function sqliteViolations(database: Database): readonly string[] {
  const damaged = damagedPages(database);
  if (damaged.length > 0) {
    return damaged.map((line) => `SQLite finds the file damaged: ${line}.`);
  }
  const references = database.query<{ table: string }, []>("pragma foreign_key_check").all();
  const broken = (text: string) => Number(database.query(text).values()[0]?.[0]);
  const there = database.query("select name from sqlite_schema where type = 'table'").values();
  return [
    ...(references.length === 0 ? [] : [`References without their row: ${references.length}.`]),
    ...rulesOf(there.map(([name]) => String(name))).flatMap(({ sentence, sql }) =>
      told(sentence, broken(sql)),
    ),
  ];
}

/**
 * What is wrong with pages, a line each; of some damage SQLite's own check says no more than that
 * it is there.
 */
function damagedPages(database: Database): readonly string[] {
  try {
    return database
      .query<{ integrity_check: string }, []>("pragma integrity_check(10)")
      .all()
      .map((row) => row.integrity_check)
      .filter((line) => line !== "ok");
  } catch (error) {
    if (!isDamage(error)) throw error;
    return [error instanceof Error ? error.message : String(error)];
  }
}

function diagnosePostgres(options: PostgresOptions): Promise<Diagnosis> {
  return withPostgres(options, async (ask) => {
    const began = performance.now();
    const [row] = await ask(postgresLook);
    const askedAt = instant(Date.now());
    const pingMs = performance.now() - began;
    const settings = ["fsync", "synchronous_commit", "full_page_writes"].map((name) => {
      const value = String(row?.[name]);
      return { name, value, durable: value !== "off" };
    });
    const readOnly = row?.read_only === "on" ? "read_only" : undefined;
    const reason = row?.standby === true ? "standby" : readOnly;
    const lag = row?.lag === null || row?.lag === undefined ? undefined : Number(row.lag);
    return {
      engine: "postgres",
      version: String(row?.version ?? "").split(" ")[0] ?? "",
      settings,
      time: instant(Number(row?.time)),
      replicaLagSeconds: lag,
      unusable: reason && new UnusableServerError(reason).message,
      isReplicatedAsynchronously: isAsynchronous(row),
      pingMs,
      askedAt,
      bytes: Number(row?.bytes ?? 0),
    };
  });
}

/** With `local` or `off` a commit waits for no standby. */
function isAsynchronous(row: Readonly<Record<string, unknown>> | undefined): boolean {
  const waits = !["local", "off"].includes(String(row?.synchronous_commit));
  return Number(row?.standbys ?? 0) > 0 && !(waits && row?.synchronous_standby_names !== "");
}

/** `look` asks what may take `deadlineMs`. */
export async function withPostgres<T>(
  { dsn, patience: given }: PostgresOptions,
  look: (ask: (text: string) => Promise<Answered>) => Promise<T>,
  longestMs?: number,
): Promise<T> {
  const { Link, usualPatience } = await import("./postgres-link.ts");
  const patience = given ?? usualPatience;
  const deadlineMs = longestMs ?? patience.statementMs;
  const link = await Link.open({ dsn, patience, onReadOnly: () => {} }).catch((error) => {
    throw unreachable("The database does not answer.", error);
  });
  try {
    await link.ask((sql) => sql.unsafe(`set statement_timeout = ${deadlineMs}`));
    return await look((text) => link.ask((sql) => sql.unsafe(text), deadlineMs));
  } finally {
    link.giveUp();
  }
}

type Answered = readonly Readonly<Record<string, unknown>>[];

async function postgresViolations(
  ask: (text: string) => Promise<Answered>,
): Promise<readonly string[]> {
  const unproven = await ask("select conname from pg_constraint where not convalidated");
  const found = [...told("Constraints that were never validated", unproven.length)];
  const there = await ask("select tablename from pg_tables where schemaname = current_schema()");
  for (const { sentence, sql } of rulesOf(there.map(({ tablename }) => String(tablename)))) {
    const [row] = await ask(sql);
    found.push(...told(sentence, Number(row?.broken ?? 0)));
  }
  return found;
}

const told = (sentence: string, broken: number): readonly string[] =>
  broken === 0 ? [] : [`${sentence}: ${broken}.`];

/** Of an older schema, those of the tables it has. */
function rulesOf(tables: readonly string[]): readonly (typeof rules)[number][] {
  const own = rowRules.filter(({ table }) => tables.includes(table));
  return [
    ...rules,
    ...own.map(({ table, broken, says }) => ({
      sentence: `Rows of ${table} that are not what they should be (${says})`,
      sql: `select count(*) as broken from ${table} t where ${broken}`,
    })),
  ];
}

/**
 * The driver's error can name the address but never the password; it stays the cause, for nobody
 * prints it.
 */
function unreachable(sentence: string, cause: unknown): StoreUnfit {
  const fault = new StoreUnfit("unreachable", sentence);
  fault.cause = cause;
  return fault;
}

/** Every row of every table is read. */
const wholeDatabaseMs = 600_000;

/** What no row breaks by itself. */
// biome-ignore format: the table is read by column.
const rules: readonly { readonly sentence: string; readonly sql: string }[] = [
  { sentence: "Serials used twice by one CA",                  sql: "select count(*) as broken from (select 1 from certificates group by ca_id, serial having count(*) > 1) twice" },
  { sentence: "Serials of certificates that came to nothing, or to nothing yet", sql: "select (select count(*) from intents i join certificates c on c.ca_id = i.ca_id and c.serial = i.serial) + (select count(*) from open_intents o join certificates c on c.ca_id = o.ca_id and c.serial = o.serial) as broken" },
  { sentence: "Revoked or held certificates without an entry", sql: "select count(*) as broken from certificates c where c.status <> 'good' and not exists (select 1 from revocations r where r.ca_id = c.ca_id and r.serial = c.serial)" },
  { sentence: "Entries of certificates that are called good",  sql: "select count(*) as broken from revocations r join certificates c on c.ca_id = r.ca_id and c.serial = r.serial where c.status = 'good'" },
];

const postgresLook = `select current_setting('server_version') as version, current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as synchronous_commit, current_setting('full_page_writes') as full_page_writes,
  extract(epoch from clock_timestamp()) * 1000 as time, pg_database_size(current_database()) as bytes,
  pg_is_in_recovery() as standby, current_setting('transaction_read_only') as read_only,
  (select max(extract(epoch from replay_lag)) from pg_stat_replication) as lag,
  current_setting('synchronous_standby_names') as synchronous_standby_names,
  (select count(*) from pg_stat_replication)
  + (select count(*) from pg_replication_slots where slot_type = 'physical' and not active) as standbys`;
