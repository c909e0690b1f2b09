/** The two databases, for what is tested on each of them in the same words. */

import { afterAll, beforeAll } from "bun:test";

import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";
import { type DatabaseUnderTest, postgresDatabase, sqliteDatabase } from "./stores.ts";

/**
 * Rows for `describe.each`, each with what makes an empty database. A server of PostgreSQL runs as
 * long as the tests of the file that calls this.
 */
export function bothDatabases() {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  return [
    ["SQLite", async (): Promise<DatabaseUnderTest> => sqliteDatabase()],
    ["PostgreSQL", () => postgresDatabase(server)],
  ] as const;
}
