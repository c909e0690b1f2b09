/**
 * What a batch of units sends to the database, and that it comes to what each unit did by itself.
 */

import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";

import fc from "fast-check";

import { openStore } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { caId } from "#core/ids.ts";
import type { CertificateRecord, IntentRecord } from "#domain/certificates/store.ts";
import type { Store, Unit } from "#domain/store.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { type SharedPostgres, sharePostgres } from "#test/support/servers/postgres.ts";
import { openWire } from "#test/support/servers/postgres-wire.ts";
import {
  activate,
  certificate,
  draft,
  intend,
  intentFor,
  issue,
  ledgerDraft,
  newSerial,
  noon,
} from "#test/support/stores/records.ts";
import { heardStatements } from "#test/support/stores/statements.ts";
import { postgresDatabase, postgresLimits, sqliteDatabase } from "#test/support/stores/stores.ts";
import { wholeChain, wholeLedger } from "#test/contracts/store-durable.suite.ts";

setDefaultTimeout(120_000);

let server: SharedPostgres;
beforeAll(async () => {
  server = await sharePostgres();
});

describe("on PostgreSQL", () => {
  test("a batch of intents, and one of certificates, is two round trips without a savepoint", async () => {
    const { store, wire } = await watchedPostgres();
    await issue(store, certificate());
    const rows = Array.from({ length: 8 }, () => certificate());
    const intents = rows.map((row) => intentFor(row));
    // The statements of a batch are sent behind one another, and the commit behind them.
    wire.holdAnswers("insert", "commit");
    const from = wire.executed.length;
    await Promise.all(
      intents.map((intent) => store.atomically((tx) => intend(tx, intent), { takes: intent })),
    );
    expect(sent(wire.executed, from)).toEqual([
      "begin",
      "select heads",
      "select certificates",
      "insert ledger",
      "insert open_intents",
      "update heads",
      "commit",
    ]);
    const later = wire.executed.length;
    await Promise.all(
      rows.map((row, at) => {
        const intent = intents[at] ?? intentFor(row);
        const settles = { opId: intent.opId, serial: row.serial };
        return store.atomically((tx) => activate(tx, intent, row), { settles });
      }),
    );
    expect(sent(wire.executed, later)).toEqual([
      "begin",
      "select heads",
      "select open_intents",
      "insert events",
      "insert ledger",
      "delete open_intents",
      "insert certificates",
      "update heads",
      "select pg_notify",
      "commit",
    ]);
    for (const { caId: ca, serial } of rows) {
      expect((await store.read.certificates.bySerial(ca, serial))?.serial).toBe(serial);
    }
    await store.close();
    wire.close();
  });

  test("what a batch looks up costs the same however much there is, though it was planned on empty tables", async () => {
    const { target, open } = await postgresDatabase(server);
    await (await open()).close();
    // A table that was emptied and vacuumed looks as if reading all of it cost nothing.
    await server.query(target, "vacuum analyze certificates, open_intents");
    const store = await open();
    const ca = caId(crypto.randomUUID());
    const batches = 20;
    for (let batch = 0; batch < batches; batch++) {
      const rows = Array.from({ length: 8 }, () => certificate({ caId: ca }));
      const intents = rows.map((row) => intentFor(row));
      await Promise.all(
        intents.map((intent) => store.atomically((tx) => intend(tx, intent), { takes: intent })),
      );
      await Promise.all(
        rows.map((row, at) => {
          const intent = intents[at] ?? intentFor(row);
          const settles = { opId: intent.opId, serial: row.serial };
          return store.atomically((tx) => activate(tx, intent, row), { settles });
        }),
      );
    }
    await store.close(); // A connection tells what it has read when it ends, if not before.
    const read = async () => (await server.query(target, rowsReadText))[0] as RowsRead;
    const told = async (): Promise<RowsRead> => {
      const now = await read();
      if (Number(now.inserted) === 8 * batches) return now;
      await Bun.sleep(50);
      return await told();
    };
    const { walked, certificates } = await told();
    expect(Number(walked)).toBe(0);
    // For each serial none or the next one.
    expect(Number(certificates)).toBeLessThanOrEqual(8 * batches);
  });

  test("an intent that another replica settled meanwhile fails its own unit alone", async () => {
    const database = await postgresDatabase(server);
    const [ours, theirs] = [await database.open(), await database.open()];
    const rows = Array.from({ length: 5 }, () => certificate());
    const intents = rows.map((row) => intentFor(row));
    for (const intent of intents) await ours.atomically((tx) => intend(tx, intent));
    const lost = intents[2]?.opId ?? "";
    await theirs.atomically((tx) => tx.certificates.settle(lost, "orphaned"));
    const outcomes = await Promise.allSettled(
      rows.map((row, at) => {
        const intent = intents[at] ?? intentFor(row);
        const settles = { opId: intent.opId, serial: row.serial };
        return ours.atomically((tx) => activate(tx, intent, row), { settles });
      }),
    );
    const kept = outcomes.map(({ status }) => status === "fulfilled");
    expect(kept).toEqual([true, true, false, true, true]);
    expect(await wholeChain(ours)).toHaveLength(4);
    expect(await wholeLedger(ours)).toHaveLength(5 + 4);
    for (const [at, { caId: ca, serial }] of rows.entries()) {
      expect((await ours.read.certificates.bySerial(ca, serial)) !== undefined).toBe(at !== 2);
    }
    await ours.close();
    await theirs.close();
  });

  test("what is foreseen wrongly is asked for, and no serial is taken twice for it", async () => {
    const store = await (await postgresDatabase(server)).open();
    const row = certificate();
    await issue(store, row);
    const again = intentFor(row);
    const takes = { caId: row.caId, serial: newSerial() };
    const taking = store.atomically((tx) => tx.certificates.intend(again), { takes });
    expect(await taking).toBe(false);
    const both = await Promise.all(
      [1, 2].map(() => {
        const intent = intentFor({ ...row, serial: takes.serial });
        return store.atomically((tx) => tx.certificates.intend(intent), { takes });
      }),
    );
    expect(both).toEqual([true, false]);
    await store.close();
  });
});

test("on SQLite a unit that only intends or issues sends no savepoint, and another one does", async () => {
  const { sent, deaf } = heardStatements();
  const store = await sqliteDatabase().open();
  await Promise.all(Array.from({ length: 8 }, () => issue(store, certificate())));
  expect(sent.filter((text) => text.includes("savepoint"))).toEqual([]);
  const value = (name: string) => store.atomically((tx) => tx.instance.setValue(name, "b"));
  await Promise.all([value("a"), value("b"), issue(store, certificate())]);
  expect(sent.filter((text) => text.includes("savepoint"))).toHaveLength(2);
  await store.close();
  deaf();
});

describe.each([
  ["SQLite", async () => sqliteDatabase().open()],
  ["PostgreSQL", async () => (await postgresDatabase(server)).open()],
] as const)("on %s", (_dialect, open) => {
  test("units of a batch see what units before them did, written or not", async () => {
    const store = await open();
    const row = certificate();
    const intent = intentFor(row);
    const twin = intentFor(row);
    const [, , taken, seen, , opposite] = await Promise.all([
      store.atomically((tx) => intend(tx, intent)),
      store.atomically((tx) => activate(tx, intent, row)),
      store.atomically((tx) => tx.certificates.intend(twin)),
      store.atomically((tx) => tx.certificates.lock(row.caId, row.serial)),
      store.atomically((tx) =>
        tx.certificates.setStatus(row.caId, row.serial, "held", noon, "certificateHold"),
      ),
      store.atomically((tx) => tx.certificates.lock(row.caId, row.serial)),
    ]);
    expect(taken).toBe(false);
    expect([seen?.status, opposite?.status]).toEqual(["good", "held"]);
    expect(await store.read.audit.openLedgerIntents(10)).toEqual([]);
    await store.close();
  });

  test("what a batch has settled no later batch settles again, and what it took back one does", async () => {
    const store = await open();
    const rows = [certificate(), certificate(), certificate()] as const;
    const [issued, abandoned, closed] = rows;
    for (const row of rows)
      await store.atomically((tx) => intend(tx, intentFor(row, { opId: row.id })));
    const again = async (work: (tx: Unit) => Promise<unknown>) =>
      await store.atomically(work).then(
        () => "kept",
        () => "refused",
      );
    const issuing = (row: CertificateRecord) => (tx: Unit) =>
      activate(tx, intentFor(row, { opId: row.id }), row);
    // Taken back with its unit.
    await again(async (tx) => {
      await issuing(issued)(tx);
      throw new Error("no");
    });
    expect(await again(issuing(issued))).toBe("kept");
    expect(await again((tx) => tx.certificates.activate(issued.id, issued))).toBe("refused");
    await store.atomically(async (tx) => {
      await tx.audit.appendLedger(ledgerDraft("outcome", abandoned.id));
      await tx.certificates.settle(abandoned.id, "abandoned");
    });
    expect(await again((tx) => tx.certificates.activate(abandoned.id, abandoned))).toBe("refused");
    // The ledger has its outcome, and its serial is still open.
    await store.atomically((tx) => tx.audit.appendLedger(ledgerDraft("outcome", closed.id)));
    await store.atomically((tx) => tx.certificates.activate(closed.id, closed));
    expect(await store.read.audit.openLedgerIntents(10)).toEqual([]);
    await store.close();
  });

  test("any mix of units in any batches has the outcome of units that run alone", async () => {
    const store = await open();
    const numRuns = store.dialect === "sqlite" ? 300 : 60;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.array(aStep, { maxLength: 4 }), { maxLength: 8 }), { maxLength: 3 }),
        async (batches) => {
          const model = createMemoryStore();
          const operations = newOperations();
          const outcomes = await ran(store, operations, batches, (transactions) =>
            Promise.allSettled(transactions.map((run) => run())),
          );
          expect(outcomes).toEqual(await ran(model, operations, batches, settleOneByOne));
          expect(await left(store, operations)).toEqual(await left(model, operations));
        },
      ),
      { numRuns },
    );
    await wholeChain(store);
    await wholeLedger(store);
    await store.close();
  });
});

/** What a unit does, one after the other; three operations, the last two of one serial. */
type Step = readonly ["intend" | "issue" | "abandon" | "close" | "sign" | "look" | "fail", number];

const aStep: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom("intend", "intend", "issue", "issue", "abandon", "close", "sign", "look", "fail"),
  fc.integer({ min: 0, max: 2 }),
);

interface OneOperation {
  readonly intent: IntentRecord;
  readonly row: CertificateRecord;
}

function newOperations(): readonly OneOperation[] {
  const ca = caId(crypto.randomUUID());
  const [first, second] = [certificate({ caId: ca }), certificate({ caId: ca })];
  return [first, second, second].map((row) => ({ row, intent: intentFor(row) }));
}

type Settle = (
  transactions: readonly (() => Promise<void>)[],
) => Promise<readonly PromiseSettledResult<void>[]>;

/** Runs each transaction after the commit of its predecessor. */
const settleOneByOne: Settle = async (transactions) => {
  const outcomes: PromiseSettledResult<void>[] = [];
  for (const run of transactions) outcomes.push(...(await Promise.allSettled([run()])));
  return outcomes;
};

/** Returns the outcome of each transaction; `settle` runs those of a batch. */
async function ran(
  store: Store,
  operations: readonly OneOperation[],
  batches: readonly (readonly Step[][])[],
  settle: Settle,
) {
  // The ledger has no outcome without an intent before it, which units see to.
  let intended: ReadonlySet<number> = new Set();
  const kept: string[] = [];
  for (const [batch, units] of batches.entries()) {
    const outcomes = await settle(
      units.map(
        (steps, unit) => () =>
          store.atomically(async (tx) => {
            const within = new Set(intended);
            for (const [place, [what, at]] of steps.entries()) {
              const operation = operations[at];
              if (operation === undefined) throw new Error("there are three");
              if (what === "close" && !within.has(at)) continue;
              if (what === "intend") within.add(at);
              await step(tx, what, operation, `${batch} ${unit} ${place}`);
            }
            intended = within;
          }),
      ),
    );
    kept.push(...outcomes.map(({ status }) => status));
  }
  return kept;
}

async function step(
  tx: Unit,
  what: Step[0],
  { intent, row }: OneOperation,
  place: string,
): Promise<void> {
  const { opId } = intent;
  // An operation of the ledger alone, as of a list.
  if (what === "sign") await tx.audit.appendLedger(ledgerDraft("intent", `${opId} ${place}`));
  if (what === "intend") await intend(tx, intent);
  if (what === "issue") await activate(tx, intent, row);
  if (what === "look") await tx.certificates.lock(row.caId, row.serial);
  if (what === "fail") throw new Error("no");
  if (what === "close") await tx.audit.appendLedger(ledgerDraft("outcome", opId));
  if (what !== "abandon") return;
  await tx.audit.appendLedger(ledgerDraft("outcome", opId));
  await tx.certificates.settle(opId, "abandoned");
  await tx.audit.appendEvent(draft({ serial: row.serial }), noon);
}

/** What is stored of the operations, and at last what a start finds open. */
async function left(store: Store, operations: readonly OneOperation[]) {
  const stored: (string | undefined)[] = [];
  for (const { row } of operations) {
    stored.push((await store.read.certificates.bySerial(row.caId, row.serial))?.id);
  }
  const ca = operations[0]?.row.caId ?? caId("none");
  const ids = operations.map(({ intent }) => intent.opId);
  const open = (await store.read.audit.openLedgerIntents(10_000)).map(({ opId }) => opId);
  const beyond = await store.read.certificates.signedBeyond(ca, undefined);
  const orphaned = await store.atomically((tx) => tx.certificates.orphanOpenIntents());
  const orphans = (await store.read.certificates.orphans(ca, 10)).items.map(({ opId }) => opId);
  // None of what was taken is free, whatever came of it.
  const free: boolean[] = [];
  for (const { row } of operations) {
    free.push(await store.atomically((tx) => tx.certificates.intend(intentFor(row))));
  }
  await store.atomically((tx) => tx.certificates.orphanOpenIntents());
  return {
    stored,
    beyond,
    free,
    open: open.filter((opId) => ids.some((id) => opId.startsWith(id))).sort(),
    orphaned: orphaned.map(({ opId }) => opId).sort(),
    orphans: orphans.sort(),
  };
}

interface RowsRead {
  readonly inserted: string;
  readonly walked: string;
  readonly certificates: string;
}

const rowsReadText = `select
  (select n_tup_ins from pg_stat_user_tables where relname = 'certificates') as inserted,
  (select sum(seq_tup_read) from pg_stat_user_tables
   where relname in ('certificates', 'open_intents', 'intents')) as walked,
  (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'certificates') as certificates`;

async function watchedPostgres() {
  const { target } = await postgresDatabase(server);
  const address = new URL(target);
  const wire = await openWire(Number(address.port));
  address.port = String(wire.port);
  const dsn = String(address);
  const options = { driver: "postgres", dsn, ...postgresLimits, migrate: true } as const;
  const store = await openStore(options, { clock: systemClock, random: systemRandom });
  return { store, wire };
}

/** The verb and the first table of what writes; the feed and the watch read beside it. */
function sent(executed: readonly string[], from: number): readonly string[] {
  return executed.slice(from).flatMap((text) => {
    const [, verb = "", named = ""] =
      /^(\w+)(?:.*?(?:into|from|update|(?=pg_notify))\s*"?(?!json_)(\w+))?/s.exec(text) ?? [];
    const beside = named === "events" && verb === "select";
    const beat = named === "heads" && verb === "select" && !text.includes("for update");
    const table = verb === "update" ? (/^update "?(\w+)/.exec(text)?.[1] ?? "") : named;
    return beside || beat
      ? []
      : [verb === "begin" || verb === "commit" ? verb : `${verb} ${table}`];
  });
}
