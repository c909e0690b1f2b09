/** A database that an archive is read into: a file of its own, which nobody else opens. */

import { embeddedMigrations } from "#adapters/db/engine/migrations.ts";
import { openSqlite, type SqliteEngine, type SqliteOptions } from "#adapters/db/engine/sqlite.ts";
import { migrateSqlite } from "#adapters/db/engine/sqlite-migrate.ts";
import { historyEpochName } from "#adapters/db/history/snapshot.ts";
import { written } from "#adapters/db/move/move.ts";
import { numberFloorName } from "#adapters/db/stores/crls.ts";
import { genesis } from "#core/audit/chain.ts";
import { ArchiveUnfit, type Manifest } from "#core/backup/archive.ts";
import type { Piece } from "#core/backup/piece.ts";
import { type Instant, parseTimestamp } from "#core/time.ts";
import { applyCrlNumberJump, computeCrlNumberJump } from "#core/x509/crl-numbers.ts";
import { BulkLoad } from "./load.ts";
import { voidAcme } from "./voided.ts";

const rowsPerCollection = 5_000;

/** The database of a restore. */
export class ScratchStore {
  readonly #options: SqliteOptions;
  readonly #manifest: Manifest;
  readonly #load: BulkLoad;
  #rows = 0;

  private constructor(options: SqliteOptions, manifest: Manifest) {
    this.#options = options;
    this.#manifest = manifest;
    this.#load = new BulkLoad(options.path);
  }

  /**
   * Makes an empty one with the schema the archive was made with. Throws `ArchiveUnfit` for a
   * schema that this binary does not know.
   */
  static async make(path: string, manifest: Manifest): Promise<ScratchStore> {
    const known = embeddedMigrations("sqlite");
    const { schema_version: version } = manifest;
    if (version > known.length) {
      throw new ArchiveUnfit(
        `The archive has schema version ${version}; this binary knows ${known.length}. Restore it with pkid ${manifest.version} or newer.`,
      );
    }
    const options = { driver: "sqlite", path, busy_timeout_ms: 5000 } as const;
    await migrated(options, known.slice(0, version));
    return new ScratchStore(options, manifest);
  }

  /** One piece. What it says is proven when all of them are there. */
  rows(table: string, piece: Piece): void {
    this.#load.take(table, piece);
    // Else garbage piles up to a hundred megabytes over a million certificates.
    const before = this.#rows;
    this.#rows += piece.rows.length;
    const collected = Math.floor(before / rowsPerCollection);
    if (Math.floor(this.#rows / rowsPerCollection) > collected) Bun.gc(true);
  }

  /**
   * Puts the heads where the archive says they are, builds what is derived, and brings the schema
   * up to this binary's. What an archive may not bring back goes, and CRL numbers leap.
   *
   * @param now time of the restore, which decides how far CRL numbers leap
   */
  async finish(now: Instant): Promise<void> {
    const { audit, ledger, revocation_sequence, last_ordinal, created_at } = this.#manifest;
    const jump = computeCrlNumberJump(parseTimestamp(created_at) ?? now, now);
    const load = this.#load;
    load.run(
      `update heads set event_seq = ?, event_hash = ?, ledger_number = ?, ledger_hash = ?,
       revocation_sequence = ?`,
      [audit.seq, audit.hash, ledger.number, ledger.hash, revocation_sequence],
    );
    load.run("update crl_reservations set number = max(number + ?, ?)", [jump.step, jump.floor]);
    // Of a scope that had no list yet one may have been published since.
    load.run(
      `insert into instance (name, value) values (?, ?) on conflict (name) do update
       set value = cast(max(cast(value as bigint) + ?, ?) as bigint)`,
      [numberFloorName, String(applyCrlNumberJump(0, jump)), jump.step, jump.floor],
    );
    // Replicas that know a later state accept this one: it was restored on purpose.
    load.run(
      `insert into instance (name, value) values (?, ?) on conflict (name) do update
       set value = excluded.value`,
      [historyEpochName, String(now)],
    );
    // An answer that was signed ahead may be older than what the world has seen since.
    load.run("delete from presigned");
    if (load.has("folds")) {
      load.run("update folds set removed = max(removed, ?) where name = 'certificates'", [
        last_ordinal,
      ]);
    }
    await load.end();
    await migrated(this.#options, embeddedMigrations("sqlite"));
    await voided(this.#options);
  }

  /** Ends it before its end. */
  abandon(): void {
    this.#load.close();
  }
}

async function migrated(
  options: SqliteOptions,
  known: Parameters<typeof migrateSqlite>[3],
): Promise<void> {
  const engine = openSqlite(options);
  try {
    // From the archive it can be made again.
    await migrateSqlite(engine, options, () => filled(engine), known, true);
  } finally {
    await engine.close();
  }
}

/** Last, for only then every archive has the tables of this binary. */
async function voided(options: SqliteOptions): Promise<void> {
  const engine = openSqlite(options);
  try {
    await written(engine, voidAcme);
  } finally {
    await engine.close();
  }
}

/** The head row of chains that have not begun, in the columns every schema has. */
async function filled({ writer }: SqliteEngine): Promise<void> {
  await writer.run(
    `insert into heads (id, event_seq, event_hash, ledger_number, ledger_hash, revocation_sequence)
     values (1, ?, ?, ?, ?, 0)`,
    [genesis.seq, genesis.hash, genesis.seq, genesis.hash],
  );
}
