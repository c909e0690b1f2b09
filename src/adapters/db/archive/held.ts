/** One moment of a database, held still while it is read into an archive. */

import { and, desc, eq } from "drizzle-orm";

import type { Connection } from "#adapters/db/engine/connection.ts";
import { openForReading } from "#adapters/db/engine/open-engine.ts";
import { appliedMigrations } from "#adapters/db/engine/migrations.ts";
import { lastOrdinal, tablesOf } from "#adapters/db/move/move.ts";
import type { Carried } from "#adapters/db/move/rows.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import { findViolation } from "#adapters/db/proofs/prove.ts";
import { storedHeads } from "#adapters/db/stores/audit.ts";
import type { SealedValue } from "#domain/envelopes/store.ts";
import type { Random } from "#domain/ports.ts";
import { crlMember, type ExpectedKey, formatName, type Manifest } from "#core/backup/archive.ts";
import { sha256Hex } from "#core/crypto.ts";
import { columnLine, type Lines, tableLines } from "./rows.ts";

/** A table of the moment. */
export interface HeldTable {
  readonly name: string;
  /** The line that names its columns. */
  readonly columns: string;
  /** All of it, about two megabytes at a time. */
  lines(): AsyncGenerator<Lines>;
}

/** What the database does not know of an archive. */
export type ManifestFacts = Pick<Manifest, "version" | "created_at" | "hsm_tokens">;

/** What can be read of the moment until it is released. */
export interface Held {
  readonly tables: readonly HeldTable[];
  /** What a manifest says of it. */
  manifest(of: ManifestFacts): Promise<Manifest>;
  /**
   * Checks the fast part of the records that a restore verifies.
   *
   * @returns a message if the moment could not be restored
   */
  findViolation(random: Pick<Random, "bytes">): Promise<string | undefined>;
  /** The newest version of the KEK; 0 for none. */
  newestKek(): Promise<number>;
  /** Every value that is sealed. */
  sealed(): Promise<readonly SealedValue[]>;
  /** The newest base and delta of each scope, as they were published, by their names. */
  lists(): AsyncGenerator<{ readonly name: string; readonly octets: Uint8Array }>;
  release(): Promise<void>;
}

/** Opens a database for this alone, beside whichever process it belongs to. */
export async function openArchived(options: StoreOptions): Promise<{
  hold(): Promise<Held>;
  close(): Promise<void>;
}> {
  // A standby may lack what the primary has acknowledged, and an archive must not.
  const isRemote = options.driver === "postgres";
  const engine = await openForReading(isRemote ? { ...options, acceptsReadOnly: false } : options);
  return {
    hold: async () => {
      const { connection, release } = await heldView(engine);
      const tables = archivedTables(connection);
      return {
        tables: tables.map((table) => ({
          name: table.name,
          columns: columnLine(table),
          lines: () => tableLines(connection, table),
        })),
        manifest: (of) => manifestOf(connection, of, tables),
        findViolation: (random) => findViolation(connection, random),
        newestKek: () => newestKek(connection),
        sealed: async () => {
          const rows = await connection.db.select().from(connection.t.sealedValues);
          return rows as SealedValue[]; // Only `put` of the envelopes fills the table.
        },
        lists: () => lists(connection),
        release,
      };
    },
    close: () => engine.close(),
  };
}

/**
 * What is copied from one database to another, but for nonces: whoever opens an archive must not
 * learn any, and a restore voids them (RES-2). Sessions are in no table at all.
 */
function archivedTables(connection: Connection): readonly Carried[] {
  const { acmeNonces } = connection.t;
  return tablesOf(connection).filter(({ table }) => table !== acmeNonces);
}

async function manifestOf(
  connection: Connection,
  of: ManifestFacts,
  tables: readonly Carried[],
): Promise<Manifest> {
  const { db, t } = connection;
  const heads = await storedHeads(connection);
  const [instance] = await db.select().from(t.instance).where(eq(t.instance.name, "instance_id"));
  if (instance === undefined) throw new Error("There is no instance in this database.");
  const numbers = await db.select().from(t.crlReservations);
  const ordinal = await connection.row(lastOrdinal[connection.dialect], []);
  return {
    format: formatName,
    version: of.version,
    schema_version: (await appliedMigrations(connection)).length,
    instance_id: instance.value,
    created_at: of.created_at,
    audit: { seq: heads.eventSeq, hash: heads.eventHash },
    ledger: { number: heads.ledgerNumber, hash: heads.ledgerHash },
    revocation_sequence: heads.revocationSequence,
    last_ordinal: Number(ordinal?.[0] ?? 0),
    crl_numbers: numbers.map(({ caId, scope, number }) => ({ ca_id: caId, scope, number })),
    hsm_keys: await expectedKeys(connection),
    hsm_tokens: of.hsm_tokens,
    tables: tables.map(({ name }) => name),
  };
}

/** Keys that the archive only refers to. */
async function expectedKeys({ db, t }: Connection): Promise<readonly ExpectedKey[]> {
  const keys: ExpectedKey[] = [];
  const add = (role: ExpectedKey["role"], key: Omit<ExpectedKey, "role">) => {
    if (key.provider !== "software") keys.push({ role, ...key });
  };
  for (const ca of await db.select().from(t.cas)) {
    const spki_sha256 = sha256Hex(ca.spki);
    add("ca", { provider: ca.keyProvider, label: ca.keyLabel, id: ca.keyId, spki_sha256 });
    if (ca.altKeyProvider === null || ca.altKeyLabel === null || ca.altKeyId === null) continue;
    const alternative = { provider: ca.altKeyProvider, label: ca.altKeyLabel, id: ca.altKeyId };
    add("ca", { ...alternative, ...(ca.altSpki && { spki_sha256: sha256Hex(ca.altSpki) }) });
  }
  for (const kek of await db.select().from(t.kekVersions)) {
    if (kek.status === "retired") continue;
    const spki = kek.spkiSha256 === null ? {} : { spki_sha256: kek.spkiSha256 };
    add("kek", { provider: kek.keyProvider, label: kek.keyLabel, id: kek.keyId, ...spki });
  }
  for (const one of await db.select().from(t.responders)) {
    add("responder", { provider: one.keyProvider, label: one.keyLabel, id: one.keyId });
  }
  return keys;
}

async function newestKek({ db, t }: Connection): Promise<number> {
  const versions = await db.select({ version: t.kekVersions.version }).from(t.kekVersions);
  return Math.max(0, ...versions.map(({ version }) => version));
}

/** A view that lasts until it is released. */
async function heldView(engine: Awaited<ReturnType<typeof openForReading>>) {
  const opened = Promise.withResolvers<Connection>();
  const ended = Promise.withResolvers<void>();
  const viewing = engine.view(async (connection) => {
    opened.resolve(connection);
    await ended.promise;
  });
  viewing.catch(opened.reject);
  const connection = await opened.promise;
  const release = async () => {
    ended.resolve();
    await viewing;
  };
  return { connection, release };
}

async function* lists({ db, t }: Connection) {
  const heads = await db.select().from(t.crlHeads).orderBy(desc(t.crlHeads.number));
  const told = new Set<string>();
  for (const { caId, scope, kind, number } of heads) {
    const name = crlMember(caId, scope, kind);
    if (told.has(name)) continue;
    told.add(name);
    const p = t.crlPieces;
    const its = and(eq(p.caId, caId), eq(p.scope, scope), eq(p.number, number));
    const pieces = await db.select({ octets: p.octets }).from(p).where(its).orderBy(p.position);
    yield { name, octets: Buffer.concat(pieces.map(({ octets }) => octets)) };
  }
}
