/**
 * A real PostgreSQL server of the test's own: fresh cluster, fsync on, reachable on 127.0.0.1 only.
 */

import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { SQL } from "bun";

import { once } from "#core/once.ts";
import { freePort } from "./free-port.ts";

/** The part of a server that leaves the databases of other test files alone. */
export interface SharedPostgres {
  /** Makes an empty database and gives its address. */
  createDatabase(): Promise<string>;
  /** Creates a database with today's schema and no rows, and returns its address. */
  createMigratedDatabase(): Promise<string>;
  /** Runs statements in one of the databases. */
  query(dsn: string, text: string): Promise<unknown[]>;
}

export interface PostgresServer extends SharedPostgres {
  /** SIGKILL to the server and its children, then a start from what is on disk. */
  crash(): Promise<void>;
  /** SIGSTOP to the server and its children: connections stay, and nothing is answered. */
  pause(): void;
  /** SIGCONT to all of them. */
  resume(): void;
  stop(): Promise<void>;
}

/** Returns the server that the test files of a process share; it ends with the process. */
export const sharePostgres = once((): Promise<SharedPostgres> => startPostgres());

/** Starts a server; throws if PostgreSQL is not installed (Debian package `postgresql`). */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "pkid-postgres-"));
  const asServer = serverIdentity(folder);
  const cluster = join(folder, "cluster");
  const shared = process.env.PKID_TEST_SHARED;
  if (shared === undefined) initializeCluster(cluster, asServer);
  else run(["cp", "-a", await prepareCluster(shared), cluster]);
  return serveCluster(folder, asServer);
}

/**
 * Returns the cluster that the servers of a test run copy: with a migrated database in it, created
 * by the first process that needs it.
 */
async function prepareCluster(shared: string): Promise<string> {
  const prepared = join(shared, "postgres");
  if (existsSync(prepared)) return join(prepared, "cluster");
  const folder = mkdtempSync(join(shared, "postgres-"));
  const asServer = serverIdentity(folder);
  initializeCluster(join(folder, "cluster"), asServer);
  const server = await serveCluster(folder, asServer, false);
  await server.createTemplate();
  await server.stop();
  try {
    renameSync(folder, prepared);
  } catch {
    // Another process was faster; its cluster is the same.
    rmSync(folder, { recursive: true, force: true });
  }
  return join(prepared, "cluster");
}

/** Creates an empty cluster. */
export const initializeCluster = (cluster: string, asServer: readonly string[]): void =>
  run([...asServer, program("initdb"), "-D", cluster, "-U", "pkid", "-A", "trust", "-E", "UTF8"]);

/** Starts a server on the cluster in the folder; `stop` removes the folder if `isOwned`. */
async function serveCluster(
  folder: string,
  asServer: readonly string[],
  isOwned = true,
): Promise<PostgresServer & { createTemplate(): Promise<void> }> {
  const port = await freePort();
  const start = () => startServer(asServer, join(folder, "cluster"), folder, port);
  let server = start();
  const onExit = () => stopImmediately(asServer, join(folder, "cluster"));
  // Before the folder that all tests write to is removed.
  process.prependListener("exit", onExit);
  const address = (database: string) => `postgres://pkid@127.0.0.1:${port}/${database}`;
  await answering(address("postgres"));
  const query = async (dsn: string, text: string): Promise<unknown[]> => {
    await using connection = new SQL({ url: dsn, max: 1 });
    return await connection.unsafe(text);
  };
  let databases = 0;
  const createDatabase = async (template = "template1") => {
    const name = `pkid_${++databases}`;
    // Copying files takes less work than logging their blocks.
    const source = `template ${template} strategy file_copy`;
    await query(address("postgres"), `create database ${name} ${source}`);
    return address(name);
  };
  const createTemplate = once(async () => {
    const [existing] = await query(
      address("postgres"),
      "select 1 from pg_database where datname = 'migrated'",
    );
    if (existing !== undefined) return;
    await query(address("postgres"), "create database migrated");
    await migrate(address("migrated"));
  });
  return {
    query,
    createTemplate,
    createDatabase,
    createMigratedDatabase: async () => {
      await createTemplate();
      return createDatabase("migrated");
    },
    crash: async () => {
      // Immediate shutdown: no checkpoint, no goodbye; the next start recovers from the write-ahead
      // log.
      server.kill("SIGQUIT");
      await server.exited;
      server = start();
      await answering(address("postgres"));
    },
    pause: () => signalAll(server.pid, "SIGSTOP"),
    resume: () => signalAll(server.pid, "SIGCONT"),
    stop: async () => {
      process.off("exit", onExit);
      server.kill("SIGINT");
      await server.exited;
      if (isOwned) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Brings an empty database to today's schema. */
async function migrate(dsn: string): Promise<void> {
  const { openStore } = await import("#adapters/db/open.ts");
  const { systemClock, systemRandom } = await import("#adapters/system.ts");
  const limits = {
    max_open_conns: 2,
    conn_max_lifetime_seconds: 1800,
    conn_max_idle_time_seconds: 300,
  };
  const store = await openStore(
    { driver: "postgres", dsn, migrate: true, ...limits },
    { clock: systemClock, random: systemRandom },
  );
  await store.close();
}

/** Starts a server on a cluster, without waiting for it. */
export function startServer(
  asServer: readonly string[],
  cluster: string,
  folder: string,
  port: number,
) {
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: folder,
    max_connections: 60,
    shared_buffers: "32MB",
  };
  const given = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return Bun.spawn([...asServer, program("postgres"), "-D", cluster, ...given], {
    stdio: ["ignore", "ignore", "ignore"],
  });
}

/** Stops a server without a checkpoint and waits until it has removed its shared memory. */
export function stopImmediately(asServer: readonly string[], cluster: string): void {
  const how = ["stop", "-D", cluster, "-m", "immediate", "-t", "10"];
  Bun.spawnSync([...asServer, program("pg_ctl"), ...how], { cwd: "/", stdout: "ignore" });
}

/** The postmaster first, so that it starts no further child meanwhile. */
function signalAll(postmaster: number, signal: "SIGSTOP" | "SIGCONT"): void {
  process.kill(postmaster, signal);
  const listed = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8");
  for (const child of listed.split(" ").filter((text) => text !== "")) {
    try {
      process.kill(Number(child), signal);
    } catch {
      // It has ended since it was listed.
    }
  }
}

/** PostgreSQL refuses to run as root; the account its package makes lends its name then. */
export function serverIdentity(folder: string): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  run(["chown", "postgres", folder]);
  return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"];
}

/** Returns the path of a program of the newest version. */
export function program(name: string): string {
  const versions = "/usr/lib/postgresql";
  const newest = readdirOf(versions).sort((a, b) => Number(b) - Number(a))[0];
  const found = newest === undefined ? Bun.which(name) : join(versions, newest, "bin", name);
  if (found === null) throw new Error(`${name} is missing: install the package postgresql`);
  return found;
}

function readdirOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // Not Debian: the programs are on the path.
  }
}

/** Runs a command; throws with its error output. */
export function run(command: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([...command], { cwd: "/", stdout: "ignore" });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString()}`);
}

/** Waits until a server accepts connections. */
export async function answering(dsn: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const connection = new SQL({ url: dsn, max: 1, connectionTimeout: 2 });
    try {
      await connection.unsafe("select 1");
      return;
    } catch (error) {
      if (attempt === 1000) throw error;
      await Bun.sleep(100);
    } finally {
      await connection.close();
    }
  }
}
