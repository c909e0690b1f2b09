/**
 * A look at a database by a program that knows nothing of pkid: one query, in a process of its own.
 */

import { expect } from "bun:test";

/**
 * Debian's `sqlite3` where there is one: as the last one out, it removes the log even beneath a
 * busy writer.
 */
export function lookFromOutside(database: string): void {
  const program = Bun.which("sqlite3");
  const look =
    program === null
      ? [process.execPath, "-e", script, database]
      : [program, database, "pragma busy_timeout = 5000; select count(*) from certificates"];
  const { exitCode, stderr } = Bun.spawnSync(look);
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
}

const script = `const { Database } = await import("bun:sqlite");
  const database = new Database(process.argv[1]);
  const counting = database.prepare("select count(*) from certificates");
  counting.get();
  counting.finalize();
  database.close(true);`;
