/** The two databases, for what is tested on each of them in the same words. */

import { sharePostgres } from "#test/support/servers/postgres.ts";
import { type DatabaseUnderTest, postgresDatabase, sqliteDatabase } from "./stores.ts";

/** Rows for `describe.each`, each with a function that creates an empty database. */
export function bothDatabases() {
  return [
    ["SQLite", async (): Promise<DatabaseUnderTest> => sqliteDatabase()],
    ["PostgreSQL", async () => postgresDatabase(await sharePostgres())],
  ] as const;
}
