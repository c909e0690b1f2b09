/**
 * The events of a certificate are found by its CA and serial, whether events or certificate have
 * been taken in, in which order they came, and whether the certificate is there at all.
 */

import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";

import { embeddedMigrations } from "#adapters/db/engine/migrations.ts";
import { openSqlite } from "#adapters/db/engine/sqlite.ts";
import { migrateSqlite } from "#adapters/db/engine/sqlite-migrate.ts";
import { auditReads } from "#adapters/db/stores/audit.ts";
import type { AuditEvent } from "#core/audit/chain.ts";
import { caId, type Serial } from "#core/ids.ts";
import type { AuditReads, EventFilter } from "#domain/audit/store.ts";
import type { Store } from "#domain/store.ts";
import { unfoldedStore } from "#test/support/stores/folded.ts";
import * as make from "#test/support/stores/records.ts";
import {
  connectionOn,
  type DatabaseUnderTest,
  sqliteDatabase,
} from "#test/support/stores/stores.ts";

setDefaultTimeout(120_000);

const cas = [caId("a"), caId("b")] as const;
const serials = ["1", "2", "3"].map((text) => text as Serial); // As `parseSerial` writes them.
const names = cas.flatMap((ca) => serials.map((serial) => ({ caId: ca, serial })));

const named = fc.nat(names.length - 1);
const folds = fc.constantFrom(["certificates"], ["events"], ["certificates", "events"] as const);
const step = fc.oneof(
  { weight: 3, arbitrary: named.map((name) => ({ does: "issue", name }) as const) },
  {
    weight: 3,
    arbitrary: fc
      .record({ name: named, action: fc.constantFrom("cert.revoke", "cert.suspend") })
      .map((row) => ({ does: "tell", ...row }) as const),
  },
  { weight: 1, arbitrary: fc.constant({ does: "tell of a CA" } as const) },
  { weight: 2, arbitrary: named.map((name) => ({ does: "remove", name }) as const) },
  {
    weight: 3,
    arbitrary: fc
      .record({ rows: fc.integer({ min: 1, max: 5 }), tables: folds })
      .map((some) => ({ does: "fold", ...some }) as const),
  },
);

test("random events, folded and orphaned at random moments, are found as a plain filter finds them", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const { store, fold, database } = await unfoldedStore();
      for (const todo of steps) {
        if (todo.does === "issue") await issue(store, todo.name);
        if (todo.does === "tell") await tell(store, { action: todo.action, ...names[todo.name] });
        if (todo.does === "tell of a CA")
          await tell(store, { action: "ca.init_root", caId: cas[0] });
        if (todo.does === "remove") remove(database, todo.name);
        if (todo.does === "fold") await fold(todo.rows, [...todo.tables] as FoldedTables);
      }
      await expectAsPlain(store, database);
      while (await fold(3));
      await expectAsPlain(store, database);
      for (const name of names.keys()) remove(database, name);
      await expectAsPlain(store, database);
      await store.close();
    }),
    { numRuns: 25 },
  );
});

test("an event is numbered when its certificate is there, before or after it, and only then", async () => {
  const { store, fold, database } = await unfoldedStore();
  await tell(store, { action: "cert.revoke", ...names[0] });
  await tell(store, { action: "cert.revoke", ...names[1] });
  await fold(9);
  await issue(store, 0);
  await issue(store, 2);
  await tell(store, { action: "ca.init_root", caId: cas[0] });
  // The look-up finds a certificate that is itself not taken in yet.
  await fold(9, ["events"]);
  expect(await numbers(database)).toEqual([null, null, 1, 2, null]);
  await expectAsPlain(store, database);
  await store.close();
});

test("events of a removed certificate lose its number, which no other gets, and are found", async () => {
  const { store, fold, database } = await unfoldedStore();
  await issue(store, 0);
  await issue(store, 1);
  await fold(9);
  remove(database, 1);
  expect(await numbers(database)).toEqual([1, null]);
  await expectAsPlain(store, database);
  // The same name again: what is told of either is found.
  await issue(store, 1);
  await tell(store, { action: "cert.revoke", ...names[1] });
  await fold(9);
  expect(await numbers(database)).toEqual([1, null, 3, 3]);
  await expectAsPlain(store, database);
  expect(await found(store, { ...names[1] })).toEqual([4, 3, 2]);
  await store.close();
});

test("a fold that fails numbers nothing", async () => {
  const { store, fold, database } = await unfoldedStore();
  await issue(store, 0);
  await fold(9, undefined, true);
  expect(await numbers(database)).toEqual([null]);
  await expectAsPlain(store, database);
  await store.close();
});

test("a database from before events were numbered keeps finding its events, and numbers new ones", async () => {
  const filled = await unfoldedStore();
  for (const name of names.keys()) await issue(filled.store, name);
  await tell(filled.store, { action: "cert.revoke", ...names[0] });
  await filled.fold(4);
  await filled.store.close();
  const database = await olderDatabase(filled.database.target);

  const store = await database.open();
  await expectAsPlain(store, database);
  await tell(store, { action: "cert.revoke", ...names[1] });
  await expectAsPlain(store, database);
  await store.close(); // Which folds what is left.
  // What had been taken in before has no number; of the others each that of its certificate.
  expect(await numbers(database)).toEqual([null, null, null, null, 5, 6, 1, 2]);
  const again = await database.open();
  await expectAsPlain(again, database);
  remove(database, 0);
  remove(database, 5);
  await expectAsPlain(again, database);
  await again.close();
});

/** One with the schema of before, and what events are found by as `from` has it. */
async function olderDatabase(from: string) {
  const database = sqliteDatabase();
  const options = { driver: "sqlite", path: database.target, busy_timeout_ms: 5000 } as const;
  const known = embeddedMigrations("sqlite");
  const numbered = known.findIndex(({ statements }) =>
    statements.some((one) => one.includes("`events_numbered`")),
  );
  const engine = openSqlite(options);
  await migrateSqlite(engine, options, async () => {}, known.slice(0, numbered));
  await engine.close();
  const older = new Database(database.target);
  older.run("attach ? as filled", [from]);
  for (const table of ["certificates", "events", "folds", "heads", "ledger", "open_intents"]) {
    const columns = older.query(`select name from pragma_table_info('${table}', 'main')`).values();
    const listed = columns.map(([name]) => `"${String(name)}"`).join(", ");
    older.run(`delete from main.${table}`);
    older.run(`insert into main.${table} (${listed}) select ${listed} from filled.${table}`);
  }
  older.close();
  return database;
}

type FoldedTables = ("certificates" | "events")[];

async function issue(store: Store, name: number): Promise<void> {
  const row = make.certificate({ ...names[name], spkiSha256: crypto.randomUUID() });
  await make.issue(store, row).catch(() => {}); // A serial that is taken stays as it is.
}

const tell = (store: Store, facts: Parameters<typeof make.draft>[0]) =>
  store.atomically((tx) => tx.audit.appendEvent(make.draft(facts), make.noon));

function remove({ target }: Pick<DatabaseUnderTest, "target">, name: number): void {
  const own = new Database(target);
  const { caId: ca, serial } = names[name] ?? {};
  own.run("delete from certificates where ca_id = ? and serial = ?", [ca ?? "", serial ?? ""]);
  own.close();
}

const numbers = async (database: Pick<DatabaseUnderTest, "query">) =>
  (await database.query("select certificate_ordinal as n from events order by seq")).map(
    (row) => (row as { n: number | null }).n,
  );

const found = async (store: Store, filter: Partial<EventFilter>) =>
  (await store.read.audit.events({ reach: "platform", ...filter }, 100)).items.map(
    ({ seq }) => seq,
  );

/** In slices that cut between any two events, and in one; each page and total. */
async function expectAsPlain(store: Store, { target }: Pick<DatabaseUnderTest, "target">) {
  const all = [...(await store.read.audit.eventsAfter(0, 1000))].reverse();
  const own = new Database(target);
  const audits = [auditReads(connectionOn(own), 1, 2), store.read.audit];
  for (const filter of filters) {
    const fits = all.filter((event) => plainly(event, filter)).map(({ seq }) => seq);
    for (const audit of audits) {
      const asked = { reach: "platform", ...filter } as const;
      const { items, total } = await audit.events(asked, 2);
      expect([filter, total, items.map(({ seq }) => seq)]).toEqual([
        filter,
        fits.length,
        fits.slice(0, 2),
      ]);
      const next = await audit.events(asked, 100, items.at(-1)?.seq ?? 1);
      expect(next.items.map(({ seq }) => seq)).toEqual(fits.slice(2));
    }
    await expectSpan(audits[0], { reach: "platform", ...filter }, fits.toReversed(), 3);
  }
  own.close();
}

/** A span in the middle, its page and its beginning; `all` are those that fit. */
async function expectSpan(
  audit: AuditReads | undefined,
  filter: EventFilter,
  all: readonly number[],
  limit: number,
) {
  const span = { after: 2, through: 40 };
  const inside = all.filter((seq) => seq > span.after && seq <= span.through);
  const told = (await audit?.eventsWithin(filter, span, limit))?.map(({ seq }) => seq);
  expect([filter, told]).toEqual([filter, inside.slice(0, limit)]);
  const before = Math.max(0, inside.length - limit);
  const begin = await audit?.newestWithin(filter, span, limit);
  expect([filter, begin]).toEqual([filter, { after: inside[before - 1] ?? span.after, before }]);
}

const plainly = (event: AuditEvent, { caId: ca, serial, action }: Partial<EventFilter>) =>
  (ca === undefined || event.caId === ca) &&
  (serial === undefined || event.serial === serial) &&
  (action === undefined || event.action === action);

const filters: readonly Partial<EventFilter>[] = [
  ...names,
  ...names.map((name) => ({ ...name, action: "cert.revoke" })),
  ...serials.map((serial) => ({ serial })),
  ...cas.map((ca) => ({ caId: ca })),
  { caId: cas[0], action: "cert.suspend" },
  { caId: caId("c"), serial: "1" as Serial }, // Of no CA there is.
];
