/**
 * A database from before open intents had a table of their own keeps everything it knew of them.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";

import {
  applyMigrations,
  embeddedMigrations,
  ensureRecord,
} from "#adapters/db/engine/migrations.ts";
import { PostgresEngine } from "#adapters/db/engine/postgres.ts";
import { openSqlite } from "#adapters/db/engine/sqlite.ts";
import type { Engine } from "#adapters/db/engine/engine.ts";
import { genesis } from "#core/audit/chain.ts";
import { type LedgerEntry, ledgerHash } from "#core/audit/ledger.ts";
import { caId, type Serial } from "#core/ids.ts";
import { bothDatabases } from "#test/support/stores/both.ts";
import { certificate, intentFor, ledgerDraft } from "#test/support/stores/records.ts";
import {
  type DatabaseUnderTest,
  emptyPostgresDatabase,
  postgresLimits,
} from "#test/support/stores/stores.ts";

setDefaultTimeout(60_000);

describe.each(bothDatabases(emptyPostgresDatabase))("on %s", (dialect, create) => {
  const driver = dialect === "SQLite" ? "sqlite" : "postgres";

  test("no serial is free again, and what was open is found by the next start", async () => {
    const database = await create();
    await fillBefore(database, driver);
    const store = await database.open();
    const taken = Object.values(serials);
    const again = await Promise.all(
      taken.map((serial) => {
        const intent = intentFor(certificate({ caId: ca, serial }));
        return store.atomically((tx) => tx.certificates.intend(intent));
      }),
    );
    expect(again).toEqual(taken.map(() => false));

    const open = await store.read.audit.openLedgerIntents(10);
    expect(open.map(({ opId, number }) => [opId, number])).toEqual([
      ["op-open", 1],
      ["op-list", 2],
    ]);
    const { items } = await store.read.certificates.orphans(ca, 10);
    expect(items.map(({ opId }) => opId).sort()).toEqual(["op-lost", "op-orphaned"]);

    const orphaned = await store.atomically((tx) => tx.certificates.orphanOpenIntents());
    const facts = orphaned.map(({ opId, serial, state }) => [opId, serial, state]);
    expect(facts.sort()).toEqual([
      ["op-bare", serials.bare, "orphaned"],
      ["op-open", serials.open, "orphaned"],
    ]);
    expect(orphaned.find(({ opId }) => opId === "op-open")).toMatchObject({
      caId: ca,
      purpose: "certificate",
      tbsDigest: "digest of op-open",
      requestedBy: "somebody",
      createdAt: 1_700_000_000_000,
    });
    for (const { opId } of open) {
      await store.atomically((tx) => tx.audit.appendLedger(ledgerDraft("outcome", opId)));
    }
    expect(await store.read.audit.openLedgerIntents(10)).toEqual([]);
    expect((await store.read.certificates.orphans(ca, 10)).total).toBe(4);
    await store.close();
    expect(await database.query("select * from open_intents")).toEqual([]);
    const states = await database.query("select op_id, state from intents order by op_id");
    expect(states.map((row) => Object.values(Object(row)).join(" "))).toEqual([
      "op-abandoned abandoned",
      "op-bare orphaned",
      "op-lost orphaned",
      "op-open orphaned",
      "op-orphaned orphaned",
    ]);
  });
});

const ca = caId("7f000000-0000-4000-8000-000000000001");
/** Of each kind of row there was; each operation is named after its serial. */
const serials = {
  issued: "101" as Serial,
  // As nothing but a tampered database has it.
  lost: "102" as Serial,
  abandoned: "103" as Serial,
  orphaned: "104" as Serial,
  open: "105" as Serial,
  // Its entry in the ledger is closed already, as of one that waits for logs.
  bare: "106" as Serial,
};

async function fillBefore(database: DatabaseUnderTest, driver: "sqlite" | "postgres") {
  const { target } = database;
  const engine: Engine =
    driver === "sqlite"
      ? openSqlite({ driver, path: target, busy_timeout_ms: 1000 })
      : new PostgresEngine({ driver, dsn: target, ...postgresLimits, migrate: true }, 1, () => {});
  if (engine instanceof PostgresEngine) await engine.connect();
  await ensureRecord(engine.writer);
  await applyMigrations(engine.writer, embeddedMigrations(driver).slice(0, versionBefore));
  const entries = ledgerOf(["op-open", "op-list"]);
  for (const text of [
    ...Object.entries(states).map(([name, state]) => intentRow(name, state)),
    "insert into open_intents (number, op_id, owner) values (1, 'op-open', 7), (2, 'op-list', 7)",
    ...entries.map(ledgerRow),
    `insert into heads (id, event_seq, event_hash, ledger_number, ledger_hash, revocation_sequence)
       values (1, ${genesis.seq}, '${genesis.hash}', 2, '${entries[1]?.hash}', 0)`,
    certificateRow(driver),
  ]) {
    await engine.writer.run(text, []);
  }
  await engine.close();
}

const states: Readonly<Record<keyof typeof serials, string>> = {
  issued: "issued",
  lost: "issued",
  abandoned: "abandoned",
  orphaned: "orphaned",
  open: "intended",
  bare: "intended",
};

const intentRow = (name: string, state: string): string => {
  const { [name as keyof typeof serials]: serial } = serials; // The keys of `states` are its.
  return `insert into intents (op_id, ca_id, serial, purpose, tbs_digest, requested_by, created_at, state, owner)
    values ('op-${name}', '${ca}', '${serial}', 'certificate', 'digest of op-${name}', 'somebody', 1700000000000, '${state}', 7)`;
};

function ledgerOf(opIds: readonly string[]): readonly LedgerEntry[] {
  const entries: LedgerEntry[] = [];
  for (const opId of opIds) {
    const last = entries.at(-1);
    const unhashed = {
      ...emptyEntry,
      ...ledgerDraft("intent", opId),
      number: entries.length + 1,
      prevHash: last?.hash ?? genesis.hash,
    };
    entries.push({ ...unhashed, hash: ledgerHash(unhashed) });
  }
  return entries;
}

const emptyEntry: Omit<LedgerEntry, "number" | "timestamp" | "kind" | "prevHash" | "hash"> = {
  opId: "",
  provider: "",
  deviceSerial: "",
  keyLabel: "",
  signerFingerprint: "",
  role: "",
  operation: "",
  algorithm: "",
  digest: "",
  purpose: "",
  caId: "",
  artifact: "",
  result: "",
  signatureSha256: "",
  error: "",
  count: "",
  total: "",
};

function ledgerRow(entry: LedgerEntry): string {
  const columns = Object.keys(entry).map((name) =>
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  const values = Object.values(entry).map((value) =>
    typeof value === "number" ? value : `'${value}'`,
  );
  return `insert into ledger (${columns.join(", ")}) values (${values.join(", ")})`;
}

const certificateRow = (driver: "sqlite" | "postgres"): string =>
  `insert into certificates (id, ca_id, tenant, serial, serial_hex, kind, subject, common_name, sans, search,
     profile, certificate, not_before, not_after, status, requested_by, created_at, spki_sha256, marker)
   values ('c1', '${ca}', 'default', '${serials.issued}', '65', 'leaf', 'CN=a', 'a', '[]', 'cn=a',
     'server', ${driver === "sqlite" ? "x'3000'" : "'\\x3000'"}, 0, 1900000000000, 'good', 'somebody', 1700000000000, 'ab', '')`;

/** Migrations such a database has had. */
const versionBefore = 2;
