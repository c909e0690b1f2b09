/** Writes an archive: one moment of the database, and what lies beside it, as a tar stream. */

import { existsSync } from "node:fs";

import { and, desc, eq } from "drizzle-orm";

import type { Connection } from "#adapters/db/engine/connection.ts";
import { openForReading } from "#adapters/db/engine/open-engine.ts";
import { appliedMigrations } from "#adapters/db/engine/migrations.ts";
import { lastOrdinal, tablesOf } from "#adapters/db/move/move.ts";
import type { Carried } from "#adapters/db/move/rows.ts";
import type { StoreOptions } from "#adapters/db/open.ts";
import { storedHeads } from "#adapters/db/stores/audit.ts";
import {
  crlMember,
  encodeDigests,
  encodeManifest,
  type ExpectedKey,
  formatName,
  type Manifest,
  type MemberDigest,
  memberNames,
  signedOctets,
  softwareFile,
  tablePiece,
} from "#core/backup/archive.ts";
import { sha256Hex } from "#core/crypto.ts";
import { tarEnd, tarHeader, tarPadding } from "#core/tar.ts";
import type { ArchiveHost } from "#domain/backup/archiving.ts";
import { keyStoreFiles, newestKekIn } from "./key-store.ts";
import { columnLine, tableLines } from "./rows.ts";

/** What an archive is made of; everything crosses to another thread. */
export interface ArchiveOrder {
  readonly store: StoreOptions;
  /** Directory of the software key store. */
  readonly keystore: string;
  /** The file of the master key; undefined under a passphrase. */
  readonly masterKeyFile: string | undefined;
  /** Whether it goes along. */
  readonly withMasterKey: boolean;
  /** The effective configuration without secrets; undefined where it stays out. */
  readonly configuration: string | undefined;
  /** Of pkid. */
  readonly version: string;
  /** RFC 3339, UTC. */
  readonly createdAt: string;
}

/** The archive, piece by piece. Throws what keeps it from being complete. */
export async function* archiveOf(
  order: ArchiveOrder,
  host: ArchiveHost,
): AsyncGenerator<Uint8Array> {
  const engine = await openForReading(order.store);
  try {
    for (let attempt = 1; ; attempt++) {
      const held = await heldView(engine);
      try {
        const files = keyStoreFiles(order.keystore, order.masterKeyFile);
        // Keys were resealed under a version that the database of this moment does not know.
        if ((await newestKek(held.connection)) < newestKekIn(files) && attempt < attemptsMax) {
          continue;
        }
        yield* new Archive(order, host).written(held.connection, files);
        return;
      } finally {
        await held.release();
      }
    }
  } finally {
    await engine.close();
  }
}

class Archive {
  readonly #order: ArchiveOrder;
  readonly #host: ArchiveHost;
  readonly #members: MemberDigest[] = [];
  readonly #mtime: number;

  constructor(order: ArchiveOrder, host: ArchiveHost) {
    this.#order = order;
    this.#host = host;
    this.#mtime = Math.trunc(Date.parse(order.createdAt) / 1000);
  }

  async *written(
    connection: Connection,
    files: ReadonlyMap<string, Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    const tables = tablesOf(connection);
    const manifest = await manifestOf(connection, this.#order, tables);
    this.#host.begun(manifest);
    yield* this.#member(memberNames.manifest, encodeManifest(manifest));
    for (const table of tables) yield* this.#table(connection, table);
    yield* this.#member(memberNames.dataKeys, await this.#host.dataKeys());
    for (const [name, octets] of files) yield* this.#member(softwareFile(name), octets);
    const { masterKeyFile, withMasterKey, configuration } = this.#order;
    if (withMasterKey && masterKeyFile !== undefined && existsSync(masterKeyFile)) {
      yield* this.#member(memberNames.masterKey, await Bun.file(masterKeyFile).bytes());
    }
    if (configuration !== undefined) {
      yield* this.#member(memberNames.configuration, Buffer.from(configuration));
    }
    yield* this.#lists(connection);
    const signature = await this.#host.sign(signedOctets(this.#members));
    const vouched = { algorithm: "ed25519", ...signature } as const;
    const digests = { members: [...this.#members], signature: vouched };
    yield* this.#member(memberNames.digests, encodeDigests(digests));
    yield tarEnd();
  }

  async *#table(connection: Connection, table: Carried): AsyncGenerator<Uint8Array> {
    const first = columnLine(table);
    let [piece, rows, octets] = [1, 0, first.length];
    let lines: string[] = [first];
    const member = () =>
      this.#member(tablePiece(table.name, piece), Buffer.from(lines.join("")), rows);
    for await (const page of tableLines(connection, table)) {
      if (octets + page.text.length > pieceOctets && rows > 0) {
        yield* member();
        [piece, rows, octets, lines] = [piece + 1, 0, first.length, [first]];
      }
      lines.push(page.text);
      rows += page.rows;
      octets += page.text.length;
    }
    yield* member();
  }

  /** The newest base and delta of each scope, as they were published. */
  async *#lists({ db, t }: Connection): AsyncGenerator<Uint8Array> {
    const heads = await db.select().from(t.crlHeads).orderBy(desc(t.crlHeads.number));
    const told = new Set<string>();
    for (const { caId, scope, kind, number } of heads) {
      const name = crlMember(caId, scope, kind);
      if (told.has(name)) continue;
      told.add(name);
      const p = t.crlPieces;
      const its = and(eq(p.caId, caId), eq(p.scope, scope), eq(p.number, number));
      const pieces = await db.select({ octets: p.octets }).from(p).where(its).orderBy(p.position);
      yield* this.#member(name, Buffer.concat(pieces.map(({ octets }) => octets)));
    }
  }

  *#member(name: string, octets: Uint8Array, rows?: number): Generator<Uint8Array> {
    const counted = rows === undefined ? {} : { rows };
    this.#members.push({ name, size: octets.length, sha256: sha256Hex(octets), ...counted });
    yield tarHeader(name, octets.length, this.#mtime, 0o600);
    yield octets;
    yield tarPadding(octets.length);
  }
}

async function manifestOf(
  connection: Connection,
  order: ArchiveOrder,
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
    version: order.version,
    schema_version: (await appliedMigrations(connection)).length,
    instance_id: instance.value,
    created_at: order.createdAt,
    audit: { seq: heads.eventSeq, hash: heads.eventHash },
    ledger: { number: heads.ledgerNumber, hash: heads.ledgerHash },
    revocation_sequence: heads.revocationSequence,
    last_ordinal: Number(ordinal?.[0] ?? 0),
    crl_numbers: numbers.map(({ caId, scope, number }) => ({ ca_id: caId, scope, number })),
    hsm_keys: await expectedKeys(connection),
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

const attemptsMax = 5;
/** A piece of a table is gathered before it is written, and read whole. */
const pieceOctets = 8_388_608;
