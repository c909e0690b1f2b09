/**
 * Moves a whole store into an empty database of either kind, and proves that nothing was lost.
 */

import { eq } from "drizzle-orm";

import { type AuditEvent, genesis, violation } from "#core/audit/chain.ts";
import { type LedgerEntry, ledgerHash } from "#core/audit/ledger.ts";
import { auditReads, storedHeads } from "#adapters/db/stores/audit.ts";
import { type Connection, counted } from "#adapters/db/engine/connection.ts";
import type { Engine } from "#adapters/db/engine/engine.ts";
import { StoreUnfit } from "#adapters/db/engine/faults.ts";
import { foldSome } from "#adapters/db/engine/folds.ts";
import type { Heads } from "#adapters/db/engine/journal.ts";
import { otherStores } from "#adapters/db/engine/owners.ts";
import { isMark, markNames, setMark, unsetMark } from "./marks.ts";
import { type Carried, carried, insertRows, pages, Sum } from "./rows.ts";

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

/**
 * Copies what the source holds at one moment into `to`, whose schema was just made and is empty,
 * reads everything back, and walks both chains there. From the first row on `to` is marked as
 * unfinished, so that nobody opens it. Refuses while another process is at work on the source.
 */
export async function copyStore(
  { engine: from, owner }: Source,
  to: Engine,
  mark: string,
): Promise<Moved> {
  await refuseOthers(from, owner);
  await written(to, (writer) => setMark(writer, markNames.unfinished, mark));
  const { tables, heads } = await from.view(async (source) => {
    const moved: MovedTable[] = [];
    for (const one of tablesOf(source)) moved.push(await copied(source, to, one));
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
 * Marks the source as moved, and then takes the mark from its copy: at no moment do both open, and
 * who is cut short in between has a source whose mark says what happened. Refuses a source that has
 * changed since it was copied.
 */
export async function handOver(
  source: Source,
  to: Engine,
  { heads }: Moved,
  mark: string,
): Promise<void> {
  await retired(source, heads, mark);
  await written(to, (writer) => unsetMark(writer, markNames.unfinished), heads);
}

/** How many rows each table has that would be moved. */
export async function tableRows(source: Connection): Promise<readonly MovedTable[]> {
  const found: MovedTable[] = [];
  for (const { table, name } of tablesOf(source)) {
    const [sum] = await source.db.select({ rows: counted }).from(table);
    found.push({ table: name, rows: sum?.rows ?? 0 });
  }
  return found;
}

/**
 * Everything but the head row, what is counted from rows, what is only log, and what says how far
 * the schema is.
 */
export function tablesOf({ dialect, t }: Connection): readonly Carried[] {
  const { heads, accessLog, migrations, folds } = t;
  const { certificateCounts, revocationCounts, tenantCounts } = t;
  const left = new Set<unknown>([heads, accessLog, migrations, folds]);
  for (const counters of [certificateCounts, revocationCounts, tenantCounts]) left.add(counters);
  const tables = Object.values(t).filter((table) => !left.has(table));
  return tables.map((table) => carried({ dialect }, table, ownColumns));
}

async function copied(source: Connection, to: Engine, from: Carried): Promise<MovedTable> {
  const there = tablesOf(to.reader).find(({ name }) => name === from.name);
  if (there === undefined) throw new Error(`${from.name} is a table of both`);
  const sum = new Sum();
  for await (const page of pages(source, from, pageRows)) {
    const rows = page.filter((row) => !isMark(from.name, row));
    await written(to, (writer) => insertRows(writer, there, rows));
    for (const row of rows) sum.add(row, from);
  }
  const read = new Sum();
  for await (const page of pages(to.reader, there, pageRows)) {
    for (const row of page) if (!isMark(from.name, row)) read.add(row, there);
  }
  if (sum.rows !== read.rows || sum.digest !== read.digest) {
    throw new StoreUnfit(
      "copy_failed",
      `The copy of ${from.name} is not what was copied: ${read.rows} of ${sum.rows} rows were read back, or one of them differs.`,
    );
  }
  return { table: from.name, rows: sum.rows };
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
    const same = headNames.every((name) => heads[name] === copiedHeads[name]);
    if (!same) {
      throw new StoreUnfit("in_use", "The database was written to while it was copied.");
    }
    await setMark(writer, markNames.moved, mark);
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
