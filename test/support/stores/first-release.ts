/**
 * Databases as the first release left them: the oldest migration alone, and the rows of a present
 * instance as that release wrote them.
 */

import { Database } from "bun:sqlite";
import { SQL } from "bun";

import { embeddedMigrations } from "#adapters/db/engine/migrations.ts";

/** Makes `file` of the present database `from`, which no process may have open. */
export function firstReleaseSqlite(from: string, file: string): void {
  const database = new Database(file);
  database.run("pragma foreign_keys = off");
  // The present database is in its log still, when the checkpoint has not come to it.
  database.run("attach ? as present", [from]);
  database.run("begin");
  for (const statement of recorded("sqlite")) database.run(statement);
  for (const table of ownTables(database)) {
    const columns = columnsOf(database, table).map((name) => `"${name}"`);
    const given = columns.map((name) => (table === "certificates" ? asIssued(name) : name));
    const line = `insert into main."${table}" (${columns}) select ${given} from present."${table}"`;
    database.run(`${line} order by 1`);
  }
  for (const statement of certificateRows('present."certificates"')) database.run(statement);
  // What a later release remembers of work that this one had not done.
  database.run("delete from main.instance where name = 'entry_ends'");
  database.run("commit");
  database.run("detach present");
  database.close();
}

/** Makes the same of an empty PostgreSQL database, with the rows of the file made above. */
export async function firstReleasePostgres(file: string, dsn: string): Promise<void> {
  const source = new Database(file, { readonly: true });
  await using target = new SQL({ url: dsn, max: 1 });
  await target.unsafe("begin");
  for (const statement of recorded("postgres")) await target.unsafe(statement);
  const tables = [...ownTables(source), "intents"];
  for (const table of tables) {
    const types = await typesOf(target, table);
    for (const row of source.query(`select * from "${table}"`).all()) {
      const given = Object.entries(row as object); // A row is an object by column.
      const names = given.map(([name]) => `"${name}"`).join(", ");
      const places = given.map((_, index) => `$${index + 1}`).join(", ");
      const values = given.map(([name, value]) =>
        issuedValue(table, name, types.get(name) === "boolean" ? value === 1 : value),
      );
      await target.unsafe(`insert into "${table}" (${names}) values (${places})`, values);
    }
  }
  for (const { ordinal, status, revoked_at, reason } of ended(source)) {
    const set = "update certificates set status = $1, revoked_at = $2, reason = $3";
    await target.unsafe(`${set} where ordinal = $4`, [status, revoked_at, reason, ordinal]);
  }
  const next = "select setval(pg_get_serial_sequence('certificates', 'ordinal'), max(ordinal))";
  await target.unsafe(`${next} from certificates`);
  await target.unsafe("commit");
  source.close();
}

/** The oldest migration, and the row that says it was applied. */
function recorded(dialect: "sqlite" | "postgres"): readonly string[] {
  const [first] = embeddedMigrations(dialect);
  if (first === undefined) throw new Error("there is no migration");
  return [
    'create table "schema_migrations" ("version" bigint primary key, "hash" text not null)',
    ...first.statements,
    `insert into "schema_migrations" values (1, '${first.hash}')`,
  ];
}

/** Tables whose rows nobody derives: triggers fill the counts, and intents are told anew. */
function ownTables(database: Database): readonly string[] {
  const names = database
    .query<{ name: string }, []>("select name from main.sqlite_schema where type = 'table'")
    .all();
  return names.map(({ name }) => name).filter((name) => !derived.test(name));
}

const derived =
  /^(sqlite_|certificate_search|.*_counts$|schema_migrations$|intents$|open_intents$)/;

function columnsOf(database: Database, table: string): readonly string[] {
  const text = `select name from pragma_table_info('${table}', 'main')`;
  return database
    .query<{ name: string }, []>(text)
    .all()
    .map(({ name }) => name);
}

/** A certificate was stored good, and became what it is by an update, which is what is counted. */
const asIssued = (column: string): string => {
  if (column === '"status"') return "'good'";
  return ['"revoked_at"', '"reason"'].includes(column) ? "null" : column;
};

function issuedValue(table: string, name: string, value: unknown): unknown {
  if (table !== "certificates") return value;
  if (name === "status") return "good";
  return name === "revoked_at" || name === "reason" ? null : value;
}

/** What became of the certificates, and their intents, which that release kept when they ended. */
const certificateRows = (present: string): readonly string[] => [
  `update main.certificates set status = p.status, revoked_at = p.revoked_at, reason = p.reason
   from ${present} p where p.ordinal = certificates.ordinal and p.status <> 'good'`,
  `insert into main.intents
   select lower(hex(randomblob(16))), ca_id, serial, iif(kind = 'leaf', '', 'ca_') || 'certificate',
   lower(hex(randomblob(32))), requested_by, created_at, 'issued', 7 from ${present}`,
];

const ended = (source: Database) =>
  source
    .query<Record<"ordinal" | "status" | "revoked_at" | "reason", string | number | null>, []>(
      "select ordinal, status, revoked_at, reason from certificates where status <> 'good'",
    )
    .all();

async function typesOf(target: SQL, table: string): Promise<ReadonlyMap<string, string>> {
  const rows: readonly { column_name: string; data_type: string }[] = await target.unsafe(
    "select column_name, data_type from information_schema.columns where table_name = $1",
    [table],
  );
  return new Map(rows.map(({ column_name, data_type }) => [column_name, data_type]));
}
