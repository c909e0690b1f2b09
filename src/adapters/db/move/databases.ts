/** The two databases of a move: what each must be, and how they are opened for it. */

import { rmSync, statSync } from "node:fs";

import type { Engine } from "#adapters/db/engine/engine.ts";
import { StoreUnfit } from "#adapters/db/engine/faults.ts";
import { fillHeads } from "#adapters/db/engine/heads.ts";
import { migrationState } from "#adapters/db/engine/migration-state.ts";
import { openEngine } from "#adapters/db/engine/open-engine.ts";
import { openSqlite, type SqliteOptions } from "#adapters/db/engine/sqlite.ts";
import { migrateSqlite } from "#adapters/db/engine/sqlite-migrate.ts";
import { ownerNumber, type StoreOptions } from "#adapters/db/open.ts";
import type { Random } from "#domain/ports.ts";

import { refuseMoved, refuseUnfinished } from "./marks.ts";
import { copyStore, handOver, type Moved, tableRows } from "./move.ts";

export interface MoveRequest {
  readonly from: StoreOptions;
  readonly to: StoreOptions;
  /** Only looks at both, and counts. */
  readonly dryRun: boolean;
  /** Moves what was moved before: only when that copy was never in service. */
  readonly again: boolean;
  /** When, as text, for the marks. */
  readonly at: string;
  readonly random: Random;
}

/** What was moved, or would be. */
export type MoveResult = Pick<Moved, "tables"> & Partial<Moved>;

/**
 * Copies the store, proves the copy, and hands over to it. Refuses a source whose schema is not
 * this binary's, and a target that holds anything. A SQLite file whose copy fails is removed; of a
 * PostgreSQL database the mark stays, which keeps every store from opening it.
 */
export async function moveDatabase(request: MoveRequest): Promise<MoveResult> {
  const { from, to, dryRun, again, at, random } = request;
  await mustBeCurrent(from);
  await mustBeEmpty(to);
  const owner = ownerNumber(random.bytes(4));
  const source = await openEngine(from, owner);
  try {
    await (again ? refuseUnfinished : refuseMoved)(source.reader);
    if (dryRun) return { tables: await source.view(tableRows) };
    const one = { engine: source, owner };
    return await intoNew(to, random, {
      copy: (target) => copyStore(one, target, `at ${at} from ${from.driver}`),
      handOver: (target, moved) => handOver(one, target, moved, `at ${at} to ${to.driver}`),
    });
  } finally {
    await source.close();
  }
}

async function mustBeCurrent(from: StoreOptions): Promise<void> {
  const { pending, current } = await migrationState(from);
  if (current === 0) throw new StoreUnfit("not_empty", "There is no database to move.");
  if (pending.length === 0) return;
  throw new StoreUnfit(
    "migration_pending",
    `The database lacks ${pending.length} migration(s); run \`pkid migrate\` first.`,
  );
}

async function mustBeEmpty(to: StoreOptions): Promise<void> {
  const there =
    to.driver === "sqlite"
      ? (statSync(to.path, { throwIfNoEntry: false })?.size ?? 0) > 0
      : (await migrationState(to)).current > 0;
  if (!there) return;
  const where = to.driver === "sqlite" ? `The file ${to.path}` : "The PostgreSQL database";
  throw new StoreUnfit(
    "not_empty",
    `${where} that the other configuration names is not empty; nothing is written over.`,
  );
}

/** Before the second step a copy is worth nothing; from then on it may be all there is. */
interface Steps {
  readonly copy: (target: Engine) => Promise<Moved>;
  readonly handOver: (target: Engine, moved: Moved) => Promise<void>;
}

async function intoNew(to: StoreOptions, random: Random, steps: Steps): Promise<Moved> {
  if (to.driver === "sqlite") return await intoNewFile(to, steps);
  const { PostgresEngine } = await import("#adapters/db/engine/postgres.ts");
  const { migratePostgres } = await import("#adapters/db/engine/postgres-migrate.ts");
  const engine = new PostgresEngine(to, ownerNumber(random.bytes(4)), () => {});
  try {
    await migratePostgres(engine, true, () => fillHeads(engine.writer));
    const moved = await steps.copy(engine);
    await steps.handOver(engine, moved);
    return moved;
  } finally {
    await engine.close();
  }
}

async function intoNewFile(to: SqliteOptions, { copy, handOver: handedOver }: Steps) {
  const engine = openSqlite(to);
  let moved: Moved | undefined;
  try {
    await migrateSqlite(engine, to, () => fillHeads(engine.writer));
    moved = await copy(engine);
    await handedOver(engine, moved);
    return moved;
  } finally {
    await engine.close();
    if (moved === undefined) {
      for (const suffix of ownFiles) rmSync(`${to.path}${suffix}`, { force: true });
    }
  }
}

const ownFiles = ["", "-wal", "-shm", "-holder", "-reserve"] as const;
