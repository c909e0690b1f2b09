/**
 * Bulk revocations in the database: runs, the serials they have left, and the walk that selects
 * them.
 */

import { and, asc, eq, gt, inArray, like, lte, ne, notLike, sql } from "drizzle-orm";

import { caId as caIdOf, type CaId, type Serial } from "#core/ids.ts";
import type { SelectableState } from "#core/policy/selection.ts";
import { assert } from "#core/problems.ts";
import type {
  BulkRevocationReads,
  BulkRevocationWrites,
  BulkRun,
  Candidate,
  CandidateRange,
  RunSerial,
  Target,
} from "#domain/revocation/bulk-store.ts";
import type { OperationKey } from "#domain/operation-runs.ts";
import { divided, foldedThrough } from "#adapters/db/engine/folds.ts";
import { ownedByDead } from "#adapters/db/engine/owners.ts";
import {
  breath,
  bulkInserter,
  counted,
  inserter,
  inTexts,
  type Connection,
} from "#adapters/db/engine/connection.ts";

/** Runs and candidates as last committed; `owner` is this store's number among the replicas. */
export function bulkRevocationReads(connection: Connection, owner: number): BulkRevocationReads {
  const { db, t } = connection;
  const { bulkRuns: b, certificates: c, revocations: r } = t;
  return {
    run: async (key) => (await storedRun(connection, key))?.run,
    abandoned: async (own) => {
      const open = inArray(b.state, ["selecting", "running"]);
      const others = own ? undefined : ne(b.owner, owner);
      const found = db
        .select()
        .from(b)
        .where(and(open, ownedByDead(connection, b.owner, owner), others));
      return (await found.orderBy(asc(b.number)).limit(runsMax)).map(record);
    },
    active: async () => {
      const runs = db.select({ ca: b.caId, lineage: b.lineage }).from(b);
      const running = await runs.where(eq(b.state, "running"));
      const lineages = running.map(({ lineage }) => lineage);
      const { id, lineage } = t.cas;
      const cas = db
        .select({ id })
        .from(t.cas)
        .where(inTexts(connection, lineage, lineages));
      // Runs of older releases name no lineage.
      const named = running.map(({ ca }) => caIdOf(ca));
      return new Set([...named, ...(await cas).map((one) => caIdOf(one.id))]);
    },
    end: endOf(connection),
    candidates: candidatesOf(connection),
    named: async (ca, serials) => {
      if (connection.dialect === "sqlite") await breath();
      const its = and(eq(c.caId, ca), inTexts(connection, c.serial, serials));
      return (await db.select(candidateColumns(connection)).from(c).where(its)).map(candidate);
    },
    bare: async (ca, serials) => {
      const its = and(eq(r.caId, ca), eq(r.known, false), inTexts(connection, r.serial, serials));
      const rows = await db.select({ serial: r.serial, reason: r.reason }).from(r).where(its);
      // Only `put` and `putMany` fill the table, with serials.
      return new Map(rows.map(({ serial, reason }) => [serial as Serial, stateOf(reason)]));
    },
  };
}

/** The changes of a unit. */
export function bulkRevocationWrites(connection: Connection, owner: number): BulkRevocationWrites {
  const { db, t } = connection;
  const { bulkRuns: b, bulkSerials: s, revocationChanges } = t;
  const insertRun = inserter(connection, b, "skip");
  const insertSerials = bulkInserter(connection, s);
  const load = async (key: OperationKey) => {
    const found = await storedRun(connection, key);
    assert(found !== undefined, "serials belong to a run that is stored");
    return { number: found.number, ca: found.run.caId };
  };
  return {
    claim: claimOf(connection, owner, (row) => insertRun(row)),
    stage: async (key, serials) => {
      const { number: run, ca } = await load(key);
      await insertSerials(serials.map((one) => ({ run, place: placeOf(one, ca) })));
    },
    changeable: async (key, cas, hold) => {
      const run = await load(key);
      let total = 0;
      for (const ca of cas) total += await changeableOf(connection, run, ca, hold);
      return total;
    },
    lastChange: async (ca) => {
      const [row] = await db.select().from(revocationChanges).where(eq(revocationChanges.caId, ca));
      return row?.sequence ?? 0;
    },
    candidates: candidatesOf(connection),
    end: endOf(connection),
    start: async (key, planned) => {
      await db.update(b).set({ state: "running", planned }).where(named(connection, key));
    },
    drop: async (key) => {
      await db.delete(s).where(eq(s.run, (await load(key)).number));
      await db.delete(b).where(named(connection, key));
    },
    next: async (key, limit) => targetsOf(connection, await load(key), limit),
    advance: async (key, through, more) => {
      const { number: run, ca } = await load(key);
      const done = and(eq(s.run, run), lte(s.place, placeOf(through, ca)));
      await db.delete(s).where(done);
      const { revoked, upgraded, skipped, batches } = more;
      await db
        .update(b)
        .set({
          revoked: sql`${b.revoked} + ${revoked}`,
          skipped: sql`${b.skipped} + ${skipped}`,
          upgraded: sql`${b.upgraded} + ${upgraded}`,
          batches: sql`${b.batches} + ${batches}`,
        })
        .where(named(connection, key));
    },
    settle: async (key, state) => {
      await db.update(b).set({ state }).where(named(connection, key));
    },
  };
}

function claimOf(
  connection: Connection,
  owner: number,
  insert: (row: Connection["t"]["bulkRuns"]["$inferInsert"]) => number | Promise<number>,
): BulkRevocationWrites["claim"] {
  const { db, t } = connection;
  const { bulkRuns: b, bulkSerials: s } = t;
  return async (facts) => {
    const untouched = { planned: 0, revoked: 0, upgraded: 0, skipped: 0, batches: 0 };
    const maker = makerText(facts.maker);
    const fresh = { ...facts, ...untouched, maker, state: "selecting", owner } as const;
    const inserted = await insert(fresh);
    const found = await storedRun(connection, facts);
    assert(found !== undefined, "an id that is taken has its run");
    const { run, number } = found;
    if (inserted === 1 || run.state === "finished") return { run, mine: inserted === 1 };
    const dead = ownedByDead(connection, b.owner, owner) ?? sql`true`;
    const free = and(eq(b.number, number), sql`(${b.state} = 'stopped' or ${dead})`);
    if (run.state !== "selecting") {
      const taken = db.update(b).set({ owner, state: "running", maker }).where(free);
      return { run, mine: (await taken.returning({ id: b.id })).length === 1 };
    }
    // What a store that is gone was collecting never began: the id stands for whatever is asked
    // now.
    const gone = await db.delete(b).where(free).returning({ id: b.id });
    if (gone.length === 0) return { run, mine: false };
    await db.delete(s).where(eq(s.run, number));
    await insert(fresh);
    const anew = await storedRun(connection, facts);
    assert(anew !== undefined, "a run that was taken is stored");
    return { run: anew.run, mine: true };
  };
}

function endOf({ db, t }: Connection): BulkRevocationReads["end"] {
  const last = sql<number | null>`max(${t.certificates.ordinal})`;
  return async () => {
    const [row] = await db.select({ last }).from(t.certificates);
    return Number(row?.last ?? 0);
  };
}

function candidatesOf(connection: Connection): BulkRevocationReads["candidates"] {
  const { db, t } = connection;
  const c = t.certificates;
  return async (range, limit) => {
    // A walk is many of these, and each holds the thread that serves.
    if (connection.dialect === "sqlite") await breath();
    const { part, end } = await looked(connection, range);
    const rows = await db
      .select({ ...candidateColumns(connection), ordinal: c.ordinal })
      .from(part.from)
      .where(and(part.rows, within(connection, { ...range, upTo: end })))
      .orderBy(asc(c.ordinal))
      .limit(limit);
    const reached = rows.length < limit ? end : (rows.at(-1)?.ordinal ?? end);
    return { items: rows.map(candidate), reached };
  };
}

/**
 * What one look reads from, and how far: it does not reach across the mark, but for the index of
 * keys, which holds every row.
 */
async function looked(connection: Connection, { spkiSha256, after, upTo }: CandidateRange) {
  const mark = await foldedThrough(connection, "certificates");
  const [indexed, newest] = divided(connection, "certificates", mark);
  if (spkiSha256 !== undefined) return { part: { ...indexed, rows: undefined }, end: upTo };
  if (newest !== undefined && after >= mark) return { part: newest, end: upTo };
  return { part: indexed, end: Math.min(upTo, mark) };
}

/** Each condition but the last stands in the order of an index that ends with the place. */
function within({ t }: Connection, { caId, profile, spkiSha256, after, upTo }: CandidateRange) {
  const c = t.certificates;
  return and(
    spkiSha256 === undefined ? undefined : eq(c.spkiSha256, spkiSha256),
    profile === undefined || spkiSha256 !== undefined ? undefined : eq(c.profile, profile),
    eq(c.caId, caId),
    eq(c.kind, "leaf"),
    gt(c.ordinal, after),
    lte(c.ordinal, upTo),
  );
}

/** Run as its serials refer to it: its number, and the CA that it names. */
interface StoredRun {
  readonly number: number;
  readonly ca: CaId;
}

/** Counts the changes of a run under one CA of the lineage. */
async function changeableOf(connection: Connection, run: StoredRun, ca: CaId, hold: boolean) {
  const { db, t } = connection;
  const { bulkSerials: s, certificates: c, revocations: r } = t;
  const suffix = ca === run.ca ? "" : caMark + ca;
  const its = suffix === "" ? notLike(s.place, `%${caMark}%`) : like(s.place, `%${suffix}`);
  const serial = sql`substr(${s.place}, 3, length(${s.place}) - ${sql.raw(String(2 + suffix.length))})`;
  const open = hold
    ? sql`${c.status} = 'good'`
    : sql`(${c.status} in ('good', 'held') or (${c.serial} is null and ${r.serial} is null))`;
  const [sum] = await db
    .select({ total: counted })
    .from(s)
    .leftJoin(c, and(eq(c.caId, ca), sql`${c.serial} = ${serial}`))
    .leftJoin(r, and(eq(r.caId, ca), sql`${r.serial} = ${serial}`))
    .where(and(eq(s.run, run.number), its, open));
  return sum?.total ?? 0;
}

/** Loads the next serials of a run; the statements of each CA use an index. */
async function targetsOf(
  connection: Connection,
  run: StoredRun,
  limit: number,
): Promise<readonly Target[]> {
  const { db, t } = connection;
  const s = t.bulkSerials;
  const left = db.select({ place: s.place }).from(s).where(eq(s.run, run.number));
  const places = await left.orderBy(asc(s.place)).limit(limit);
  const serials = places.map(({ place }) => parseRunSerial(place, run.ca));
  const byCa = Map.groupBy(serials, ({ caId }) => caId);
  const states = new Map<CaId, SerialStates>();
  for (const [ca, its] of byCa) {
    const listed = its.map(({ serial }) => serial);
    states.set(ca, await loadStates(connection, ca, listed));
  }
  return serials.map((one) => ({
    ...one,
    certificate: states.get(one.caId)?.issued.get(one.serial),
    entry: states.get(one.caId)?.entries.get(one.serial),
  }));
}

/** Certificates and entries of some serials of one CA. */
interface SerialStates {
  readonly issued: ReadonlyMap<string, Target["certificate"]>;
  readonly entries: ReadonlyMap<string, Target["entry"]>;
}

async function loadStates(
  connection: Connection,
  ca: CaId,
  serials: readonly Serial[],
): Promise<SerialStates> {
  const { db, t } = connection;
  const { certificates: c, revocations: r } = t;
  const { serial, kind, status, notAfter, profile, spkiSha256 } = c;
  const columns = { serial, kind, status, notAfter, profile, spkiSha256 };
  const named = and(eq(c.caId, ca), inTexts(connection, c.serial, serials));
  const known = new Map<string, Target["certificate"]>();
  for (const { serial: own, ...facts } of await db.select(columns).from(c).where(named)) {
    known.set(own, facts as Target["certificate"]); // The words the record's type names.
  }
  const listed = and(eq(r.caId, ca), inTexts(connection, r.serial, serials));
  const entries = new Map<string, Target["entry"]>();
  const facts = { serial: r.serial, reason: r.reason, revokedAt: r.revokedAt };
  for (const { serial: own, ...entry } of await db.select(facts).from(r).where(listed)) {
    entries.set(own, entry as Target["entry"]); // As above.
  }
  return { issued: known, entries };
}

const named = ({ t }: Connection, { lineage, id }: OperationKey) =>
  and(eq(t.bulkRuns.lineage, lineage), eq(t.bulkRuns.id, id));

async function storedRun(connection: Connection, key: OperationKey) {
  const { db, t } = connection;
  const [row] = await db.select().from(t.bulkRuns).where(named(connection, key));
  return row && { run: record(row), number: row.number };
}

function record(row: Connection["t"]["bulkRuns"]["$inferSelect"]): BulkRun {
  const { number: _number, owner: _owner, ...facts } = row;
  const maker: unknown = row.maker === "" ? undefined : JSON.parse(row.maker);
  // Only `bulkRevocationWrites` fills the table.
  return { ...facts, caId: caIdOf(row.caId), maker } as BulkRun;
}

const makerText = (maker: BulkRun["maker"]): string =>
  maker === undefined ? "" : JSON.stringify(maker);

function candidateColumns({ t }: Connection) {
  const { serial, kind, status, profile, commonName, sans } = t.certificates;
  const { notAfter, createdAt, spkiSha256, revokedAt, reason } = t.certificates;
  const named = { serial, kind, status, profile, commonName, sans, spkiSha256 };
  return { ...named, notAfter, createdAt, revokedAt, reason };
}

function candidate(row: object): Candidate {
  // The columns above hold what the record's type says: only the writes of certificates fill them.
  const { ordinal: _ordinal, ...facts } = row as Candidate & { readonly ordinal?: number };
  return { ...facts, revokedAt: facts.revokedAt ?? undefined, reason: facts.reason ?? undefined };
}

const stateOf = (reason: string): SelectableState =>
  reason === "certificateHold" ? "held" : "revoked";

/**
 * Formats a serial as text that sorts by number: two digits for its length, then the serial. A CA
 * other than the one that the run names follows.
 */
function placeOf({ caId, serial }: RunSerial, named: CaId): string {
  const text = String(serial.length).padStart(2, "0") + serial;
  return caId === named ? text : text + caMark + caId;
}

/** Parses the output of `placeOf`. */
function parseRunSerial(text: string, named: CaId): RunSerial {
  const [serial = "", other] = text.slice(2).split(caMark);
  return { caId: other === undefined ? named : caIdOf(other), serial: serial as Serial };
}

const caMark = ":";

/** Runs left by stores that are gone, looked at in one turn. */
const runsMax = 100;
