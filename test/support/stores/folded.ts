/** A SQLite store that takes no row into its indexes by itself, and takes in so many when told. */

import { Database } from "bun:sqlite";

import { foldSome, type FoldedTable } from "#adapters/db/engine/folds.ts";
import { openStore } from "#adapters/db/open.ts";
import { systemClock, systemRandom } from "#adapters/system.ts";
import { connectionOn, sqliteDatabase } from "./stores.ts";

/**
 * Opens one; `fold` gives whether more rows are left, and takes none in when it is told to fail.
 */
export async function unfoldedStore() {
  const database = sqliteDatabase();
  const path = database.target;
  // No volume has so much room, and what can wait is not written where room is scarce.
  const limits = { busy_timeout_ms: 5000, min_free_mb: 1_000_000_000_000 };
  const store = await openStore(
    { driver: "sqlite", path, ...limits },
    { clock: systemClock, random: systemRandom },
  );
  const fold = async (rows: number, tables?: readonly FoldedTable[], fails = false) => {
    const own = new Database(path);
    try {
      own.run("begin immediate");
      const more = await foldSome(connectionOn(own), rows, tables);
      own.run(fails ? "rollback" : "commit");
      return more;
    } finally {
      own.close();
    }
  };
  return { store, database, fold };
}
