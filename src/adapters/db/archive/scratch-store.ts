/** A database that an archive is read into: a file of its own, which nobody else opens. */

import { openSqlite, type SqliteEngine, type SqliteOptions } from "#adapters/db/engine/sqlite.ts";
import { foldSome } from "#adapters/db/engine/folds.ts";
import { embeddedMigrations } from "#adapters/db/engine/migrations.ts";
import { migrateSqlite } from "#adapters/db/engine/sqlite-migrate.ts";
import { provenChains, written } from "#adapters/db/move/move.ts";
import { storedHeads } from "#adapters/db/stores/audit.ts";
import { numberFloorName } from "#adapters/db/stores/crls.ts";
import { genesis } from "#core/audit/chain.ts";
import { ArchiveUnfit, type Manifest } from "#core/backup/archive.ts";
import type { Piece } from "#core/backup/piece.ts";
import { type Taking, takingRows } from "./rows.ts";

/**
 * How far CRL numbers leap at a restore (RES-2): past everything that was published between the
 * archive and the loss.
 */
export const crlNumberLeap = 1_000_000;

/** The database of a restore. */
export class ScratchStore {
  readonly #options: SqliteOptions;
  readonly #manifest: Manifest;
  readonly #engine: SqliteEngine;
  readonly #takings = new Map<string, Promise<Taking>>();

  private constructor(options: SqliteOptions, manifest: Manifest, engine: SqliteEngine) {
    this.#options = options;
    this.#manifest = manifest;
    this.#engine = engine;
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
    const engine = openSqlite(options);
    const fill = () => filled(engine);
    await migrateSqlite(engine, options, fill, known.slice(0, version));
    return new ScratchStore(options, manifest, engine);
  }

  /** One piece, in a transaction of its own. */
  async rows(table: string, piece: Piece): Promise<void> {
    await this.#settle(async () => {
      const known = this.#takings.get(table) ?? takingRows(this.#engine.writer, table);
      this.#takings.set(table, known);
      await (await known).take(piece);
    });
  }

  /**
   * Puts the heads where the archive says they are, brings the schema up to this binary's, builds
   * what is derived, and walks both chains. What an archive may not bring back goes, and CRL
   * numbers leap.
   */
  async finish(): Promise<void> {
    const { audit, ledger, revocation_sequence, last_ordinal } = this.#manifest;
    await this.#settle(async (run) => {
      await run(
        `update heads set event_seq = ?, event_hash = ?, ledger_number = ?, ledger_hash = ?,
         revocation_sequence = ?`,
        [audit.seq, audit.hash, ledger.number, ledger.hash, revocation_sequence],
      );
      await run("update crl_reservations set number = number + ?", [crlNumberLeap]);
      // Of a scope that had no list yet one may have been published since.
      await run(
        `insert into instance (name, value) values (?, ?) on conflict (name) do update
         set value = cast(value as bigint) + excluded.value`,
        [numberFloorName, String(crlNumberLeap)],
      );
      // An answer that was signed ahead may be older than what the world has seen since.
      await run("delete from presigned", []);
    });
    await migrateSqlite(this.#engine, this.#options, async () => {});
    await this.#settle(async (run) => {
      await run("update folds set removed = max(removed, ?) where name = 'certificates'", [
        last_ordinal,
      ]);
    });
    for (let more = true; more; ) {
      more = await written(this.#engine, (writer) => foldSome(writer, foldedAtOnce));
    }
    await provenChains(this.#engine.reader, await storedHeads(this.#engine.reader));
  }

  /** Everything it holds is on disk, in one file. */
  close(): Promise<void> {
    return this.#engine.close();
  }

  /** Not as a batch of the store: the head row may have the columns of an older schema. */
  async #settle(work: (run: Run) => Promise<void>): Promise<void> {
    const { writer, database } = this.#engine;
    database.run("begin immediate");
    try {
      await work(async (text, values) => void (await writer.run(text, values)));
      database.run("commit");
    } catch (error) {
      database.run("rollback");
      throw error;
    }
  }
}

type Run = (text: string, values: readonly (string | number)[]) => Promise<void>;

/** The head row of chains that have not begun, in the columns every schema has. */
async function filled({ writer }: SqliteEngine): Promise<void> {
  await writer.run(
    `insert into heads (id, event_seq, event_hash, ledger_number, ledger_hash, revocation_sequence)
     values (1, ?, ?, ?, ?, 0)`,
    [genesis.seq, genesis.hash, genesis.seq, genesis.hash],
  );
}

const foldedAtOnce = 2000;
