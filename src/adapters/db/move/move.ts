/**
 * Moves a whole store into an empty database of either kind, and proves that nothing was lost.
 */

import { eq, getTableName } from "drizzle-orm";

import { type AuditEvent, genesis, violation } from "#core/audit/chain.ts";
import { type LedgerEntry, ledgerHash } from "#core/audit/ledger.ts";
import { auditReads, storedHeads } from "#adapters/db/stores/audit.ts";
import { type Connection, counted } from "#adapters/db/engine/connection.ts";
import type { Engine } from "#adapters/db/engine/engine.ts";
import { StoreUnfit } from "#adapters/db/engine/faults.ts";
import { foldSome } from "#adapters/db/engine/folds.ts";
import type { Heads } from "#adapters/db/engine/journal.ts";
import { otherStores } from "#adapters/db/engine/owners.ts";
import {
  isMark,
  type Marked,
  marksIn,
  movedText,
  setMark,
  unfinishedText,
  unsetMark,
} from "./marks.ts";
import { type Carried, carried, insertRows, pages, type Row, Sum } from "./rows.ts";

/** What became of one table. */
export interface MovedTable {
  readonly table: string;
  readonly rows: number;
}

/** What was moved, and where both chains end. */
export interface Moved {
  readonly tables: readonly MovedTable[];
  readonly heads: Readonly<Heads>;
}

/** What is copied, and this process's number among its stores. */
export interface Source {
  readonly engine: Engine;
  readonly owner: number;
}

/** A move that has begun: what its marks say, and how many rows each write takes. */
export interface Underway {
  readonly marked: Marked;
  readonly batch: number;
}

/**
 * Copies what the source holds at one moment into `to`, reads everything back, and walks both
 * chains there. `to` has the schema, and either nothing else or what an earlier run brought: rows
 * are copied in one order, so that as many as are there are left out. From the first row on `to` is
 * marked as unfinished, so that nobody opens it. Refuses while another process is at work on the
 * source, and a copy that is not what the source holds now.
 */
export async function copyStore(
  { engine: from, owner }: Source,
  to: Engine,
  { marked, batch }: Underway,
): Promise<Moved> {
  await refuseOthers(from, owner);
  await written(to, (writer) => setMark(writer, "unfinished", unfinishedText(marked)));
  const { tables, heads } = await from.view(async (source) => {
    const moved: MovedTable[] = [];
    for (const one of chainsFirst(tablesOf(source))) {
      moved.push(await copied(source, to, one, batch));
    }
    return { tables: moved, heads: await storedHeads(source) };
  });
  // Last: what is written before it moves nothing in it.
  await written(to, (writer) => setHeads(writer, heads), heads);
  await numbered(from, to);
  await foldedWhole(to);
  await provenChains(to.reader, heads);
  return { tables, heads };
}

/**
 * Deletes the rows of an unfinished PostgreSQL copy whose source has changed. It stays marked as
 * unfinished.
 */
export async function clearCopy(to: Engine, { marked }: Underway): Promise<void> {
  const { certificateCounts, dayCounts, revocationCounts, tenantCounts } = to.reader.t;
  const counters = [certificateCounts, dayCounts, revocationCounts, tenantCounts];
  const all = [...tablesOf(to.reader).map(({ name }) => name), ...counters.map(getTableName)];
  await written(to, async (writer) => {
    await writer.run(`truncate table ${all.map((name) => `"${name}"`).join(", ")}`, []);
    await setMark(writer, "unfinished", unfinishedText(marked));
  });
}

/**
 * Marks the source as moved, and then takes the mark from its copy: at no moment do both open, and
 * who is cut short in between has a source whose mark says what happened. Refuses a source that has
 * changed since it was copied.
 */
export async function handOver(
  source: Source,
  to: Engine,
  { heads }: Moved,
  { marked }: Underway,
): Promise<void> {
  await retired(source, heads, movedText(marked));
  await written(to, (writer) => unsetMark(writer, "unfinished"), heads);
}

/**
 * Holds a copy against what it was made of, row by row and link by link; changes neither. Events
 * that the copy has told since are left out. Refuses the first table that differs.
 */
export async function compareStores(from: Engine, to: Engine): Promise<Moved> {
  return await from.view(async (source) => {
    const heads = await storedHeads(source);
    const tables: MovedTable[] = [];
    for (const one of chainsFirst(tablesOf(source))) {
      const there = counterpart(to, one);
      const since = (row: Row) => one.name === "events" && Number(row.seq) > heads.eventSeq;
      const [was, is] = [await summed(source, one), await summed(to.reader, there, since)];
      tables.push(same(one, was, is));
    }
    await provenChains(to.reader, await storedHeads(to.reader));
    return { tables, heads };
  });
}

/** How many rows each table has that would be moved. */
export async function tableRows(source: Connection): Promise<readonly MovedTable[]> {
  const found: MovedTable[] = [];
  for (const one of chainsFirst(tablesOf(source))) {
    found.push({ table: one.name, rows: await rowsIn(source, one) });
  }
  return found;
}

/**
 * Everything but the head row, what is counted from rows, what is only log, and what says how far
 * the schema is.
 */
export function tablesOf({ dialect, t }: Connection): readonly Carried[] {
  const { heads, accessLog, migrations, folds } = t;
  const { certificateCounts, dayCounts, revocationCounts, tenantCounts } = t;
  const left = new Set<unknown>([heads, accessLog, migrations, folds]);
  for (const counters of [certificateCounts, dayCounts, revocationCounts, tenantCounts]) {
    left.add(counters);
  }
  const tables = Object.values(t).filter((table) => !left.has(table));
  return tables.map((table) => carried({ dialect }, table, ownColumns));
}

/** A copy whose chains differ is another history, so that is found before any other difference. */
const chainsFirst = (tables: readonly Carried[]): readonly Carried[] =>
  tables.toSorted((a, b) => Number(isChain(b.name)) - Number(isChain(a.name)));

/** True for the tables of the audit chain and of the sign ledger, whose rows never change. */
export const isChain = (table: string): boolean => table === "events" || table === "ledger";

async function copied(
  source: Connection,
  to: Engine,
  from: Carried,
  batch: number,
): Promise<MovedTable> {
  const there = counterpart(to, from);
  const earlier = await summed(to.reader, there);
  const sum = new Sum();
  for await (const page of pages(source, from, batch)) {
    const rows = page.filter((row) => !isMark(from.name, row));
    const present = rows.splice(0, Math.max(0, earlier.rows - sum.rows));
    for (const row of present) sum.add(row, from);
    // Before the first row is added, the copy must equal as many rows of the source.
    if (present.length > 0 && sum.rows === earlier.rows) same(from, sum, earlier);
    if (rows.length > 0) await written(to, (writer) => insertRows(writer, there, rows));
    for (const row of rows) sum.add(row, from);
  }
  return same(from, sum, await summed(to.reader, there));
}

function counterpart(to: Engine, { name }: Carried): Carried {
  const there = tablesOf(to.reader).find((one) => one.name === name);
  if (there === undefined) throw new Error(`${name} is a table of both`);
  return there;
}

/** Without marks, as they are not carried over. */
async function rowsIn(reader: Connection, { table, name }: Carried): Promise<number> {
  const [sum] = await reader.db.select({ rows: counted }).from(table);
  return (sum?.rows ?? 0) - (name === "instance" ? await marksIn(reader) : 0);
}

async function summed(reader: Connection, from: Carried, except = (_row: Row) => false) {
  const sum = new Sum();
  for await (const page of pages(reader, from, pageRows)) {
    for (const row of page) if (!isMark(from.name, row) && !except(row)) sum.add(row, from);
  }
  return sum;
}

function same({ name: table }: Carried, was: Sum, is: Sum): MovedTable {
  if (was.rows === is.rows && was.digest === is.digest) return { table, rows: was.rows };
  throw new StoreUnfit(
    "copy_failed",
    `The copy of ${table} is not what was copied: ${is.rows} of ${was.rows} rows were read back, or one of them differs.`,
    table,
  );
}

/** Rows that are added from now on get numbers past all that were ever given out. */
export async function numbered(from: Engine, to: Engine): Promise<void> {
  const last = Number(await one(from.reader, lastOrdinal[from.dialect]));
  await written(to, async (writer) => {
    if (to.dialect === "sqlite") {
      const set = "update folds set removed = max(removed, ?) where name = 'certificates'";
      await writer.run(set, [last]);
      return;
    }
    for (const [table, column, least] of [
      ["certificates", "ordinal", last],
      ["bulk_runs", "number", 0],
    ] as const) {
      const highest = `greatest(${least}, (select coalesce(max(${column}), 0) from ${table}))`;
      const sequence = `pg_get_serial_sequence('${table}', '${column}')`;
      await writer.rows(`select setval(${sequence}, greatest(1, ${highest}), ${highest} > 0)`, []);
    }
  });
}

/** Indexes and counters hold everything before anybody asks. */
export async function foldedWhole(to: Engine): Promise<void> {
  if (to.dialect !== "sqlite") return;
  for (let more = true; more; ) {
    more = await written(to, (writer) => foldSome(writer, pageRows));
  }
}

/** Both chains from their beginning to the heads of what was copied. */
export async function provenChains(reader: Connection, heads: Readonly<Heads>): Promise<void> {
  const audit = auditReads(reader, 0);
  let event: Pick<AuditEvent, "seq" | "hash"> = genesis;
  for (let more = true; more; ) {
    const page = await audit.eventsAfter(event.seq, pageRows);
    for (const next of page) {
      const fault = violation(event, next);
      if (fault !== undefined) throw brokenAt(`event ${event.seq + 1}`, fault);
      event = next;
    }
    more = page.length > 0;
  }
  let entry: Pick<LedgerEntry, "number" | "hash"> = { number: genesis.seq, hash: genesis.hash };
  for (let more = true; more; ) {
    const page = await audit.ledgerAfter(entry.number, pageRows);
    for (const next of page) {
      const linked = next.number === entry.number + 1 && next.prevHash === entry.hash;
      if (!linked || ledgerHash(next) !== next.hash) {
        throw brokenAt(`ledger entry ${entry.number + 1}`, "link or hash");
      }
      entry = next;
    }
    more = page.length > 0;
  }
  const ends = event.hash === heads.eventHash && entry.hash === heads.ledgerHash;
  if (!ends) throw brokenAt("the end of a chain", "not where the head row says");
}

/** From here on nobody begins on what was copied; refuses when it has changed since. */
async function retired(
  { engine, owner }: Source,
  copiedHeads: Readonly<Heads>,
  mark: string,
): Promise<void> {
  await refuseOthers(engine, owner);
  await written(engine, async (writer, heads) => {
    const unchanged = headNames.every((name) => heads[name] === copiedHeads[name]);
    if (!unchanged) {
      throw new StoreUnfit("in_use", "The database was written to while it was copied.");
    }
    await setMark(writer, "moved", mark);
  });
}

async function refuseOthers({ dialect, reader }: Engine, owner: number): Promise<void> {
  if (dialect === "sqlite") return; // The lock on the file leaves no other process.
  const others = await otherStores(reader, owner);
  if (others === 0) return;
  throw new StoreUnfit(
    "in_use",
    `${others} other process(es) are at work on the database; stop every replica first.`,
  );
}

/** One transaction of its own; `left` is what its head row says then, if it is another. */
export async function written<T>(
  engine: Engine,
  work: (writer: Connection, heads: Readonly<Heads>) => Promise<T>,
  left?: Readonly<Heads>,
): Promise<T> {
  const heads = await engine.begin();
  try {
    const value = await work(engine.writer, heads);
    await engine.commit(left ?? heads);
    return value;
  } catch (error) {
    await engine.rollback(error);
    throw error;
  }
}

async function setHeads({ db, t }: Connection, heads: Readonly<Heads>): Promise<void> {
  const { rowsVersion: _own, ...chains } = heads;
  await db.update(t.heads).set(chains).where(eq(t.heads.id, 1));
}

async function one(reader: Connection, text: string): Promise<unknown> {
  return (await reader.row(text, []))?.[0] ?? 0;
}

const brokenAt = (where: string, what: string) =>
  new StoreUnfit("copy_failed", `The copy does not verify at ${where}: ${what}.`);

/** What each kind of database keeps for its own indexes and versions. */
const ownColumns = ["folded", "certificate_ordinal"];

const headNames = ["eventSeq", "eventHash", "ledgerNumber", "ledgerHash"] as const;

export const lastOrdinal = {
  sqlite: `select max(removed, coalesce((select max(ordinal) from certificates), 0))
    from folds where name = 'certificates'`,
  postgres: "select last_value from certificates_ordinal_seq",
} as const;

const pageRows = 2000;
