/** The two databases, for what is tested on each of them in the same words. */

import { sharePostgres } from "#test/support/servers/postgres.ts";
import { type DatabaseUnderTest, postgresDatabase, sqliteDatabase } from "./stores.ts";

/**
 * Rows for `describe.each`, each with a function that creates a database without rows.
 *
 * @param createPostgres `emptyPostgresDatabase` for tests that create the schema themselves
 */
export function bothDatabases(createPostgres = postgresDatabase) {
  return [
    ["SQLite", async (): Promise<DatabaseUnderTest> => sqliteDatabase()],
    ["PostgreSQL", async () => createPostgres(await sharePostgres())],
  ] as const;
}
