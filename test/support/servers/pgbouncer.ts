/** Runs a real PgBouncer in front of a PostgreSQL server. */

import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { freePort } from "./free-port.ts";
import { answering, serverIdentity } from "./postgres.ts";

const binary = "/usr/sbin/pgbouncer";

/** True if PgBouncer is installed. */
export const hasPgBouncer = existsSync(binary);

export interface PgBouncer extends AsyncDisposable {
  /** Address of the database through the pooler. */
  readonly dsn: string;
}

/** Starts a pooler for one database, without any setting beyond the pool mode. */
export async function startPgBouncer(
  dsn: string,
  mode: "session" | "transaction" | "statement",
): Promise<PgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), "pkid-pgbouncer-"));
  chmodSync(folder, 0o755);
  const asServer = serverIdentity(folder);
  const port = await freePort();
  const { hostname, port: target, pathname } = new URL(dsn);
  const file = join(folder, "pgbouncer.ini");
  const lines = [
    "[databases]",
    `pooled = host=${hostname} port=${target} dbname=${pathname.slice(1)} user=pkid`,
    `postgres = host=${hostname} port=${target} dbname=postgres user=pkid`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    `pool_mode = ${mode}`,
    "default_pool_size = 40",
  ];
  writeFileSync(file, lines.join("\n"));
  const child = Bun.spawn([...asServer, binary, "-q", file], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  await answering(`postgres://pkid@127.0.0.1:${port}/postgres`);
  return {
    dsn: `postgres://pkid@127.0.0.1:${port}/pooled`,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGQUIT");
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
