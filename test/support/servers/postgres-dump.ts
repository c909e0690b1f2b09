/** Dumps of PostgreSQL databases in plain SQL, as operators keep them. */

import { ran } from "#test/support/child.ts";

/** Returns the dump of the database, without owners and privileges. */
export async function dumpDatabase(dsn: string): Promise<string> {
  const { code, stdout, stderr } = await ran([
    "pg_dump",
    "--no-owner",
    "--no-privileges",
    `--dbname=${dsn}`,
  ]);
  if (code !== 0) throw new Error(`pg_dump: ${stderr}`);
  return stdout;
}

/**
 * Restores a dump into an empty database.
 *
 * @throws {Error} with the message of psql if a statement fails
 */
export async function restoreDump(dsn: string, dump: string): Promise<void> {
  const line = ["psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", `--dbname=${dsn}`];
  const { code, stderr } = await ran(line, { stdin: dump });
  if (code !== 0) throw new Error(`psql: ${stderr}`);
}
