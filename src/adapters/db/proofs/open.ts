/** Opens a database to be looked at: beside a server that writes to it, or without one. */

import { existsSync } from "node:fs";

import type { Engine } from "#adapters/db/engine/engine.ts";
import { StoreUnfit } from "#adapters/db/engine/faults.ts";
import { openSqlite } from "#adapters/db/engine/sqlite.ts";
import type { StoreOptions } from "#adapters/db/open.ts";

/**
 * Nothing can be changed through it. Throws `StoreUnfit` for a SQLite file that is not there; the
 * caller closes it.
 */
export async function openForProof(options: StoreOptions): Promise<Engine> {
  if (options.driver === "sqlite") {
    if (!existsSync(options.path))
      throw new StoreUnfit("unreachable", "There is no database file.");
    return openSqlite({ ...options, readOnly: true });
  }
  const { PostgresEngine } = await import("#adapters/db/engine/postgres.ts");
  const { usualPatience } = await import("#adapters/db/engine/postgres-link.ts");
  const patience = { ...usualPatience, statementMs: statementMsMax };
  return new PostgresEngine({ ...options, patience, acceptsReadOnly: true }, 1, () => {});
}

/** Some statements read a whole table. */
const statementMsMax = 600_000;
