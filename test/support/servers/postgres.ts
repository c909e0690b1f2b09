/**
 * A real PostgreSQL server of the test's own: fresh cluster, fsync on, reachable on 127.0.0.1 only.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { SQL } from "bun";

import { freePort } from "./free-port.ts";

export interface PostgresServer {
  /** Makes an empty database and gives its address. */
  createDatabase(): Promise<string>;
  /** Runs statements in one of the databases. */
  query(dsn: string, text: string): Promise<unknown[]>;
  /** SIGKILL to the server and its children, then a start from what is on disk. */
  crash(): Promise<void>;
  /** SIGSTOP to the server and its children: connections stay, and nothing is answered. */
  pause(): void;
  /** SIGCONT to all of them. */
  resume(): void;
  stop(): Promise<void>;
}

/** Starts a server; throws when PostgreSQL is not installed (Debian package `postgresql`). */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "pkid-postgres-"));
  const cluster = join(folder, "cluster");
  const asServer = serverIdentity(folder);
  run([...asServer, program("initdb"), "-D", cluster, "-U", "pkid", "-A", "trust", "-E", "UTF8"]);
  const port = await freePort();
  const start = () => startServer(asServer, cluster, folder, port);
  let server = start();
  const onExit = () => server.kill("SIGKILL");
  process.on("exit", onExit);
  const address = (database: string) => `postgres://pkid@127.0.0.1:${port}/${database}`;
  await answering(address("postgres"));
  let databases = 0;
  const query = async (dsn: string, text: string): Promise<unknown[]> => {
    await using connection = new SQL({ url: dsn, max: 1 });
    return await connection.unsafe(text);
  };
  return {
    query,
    createDatabase: async () => {
      const name = `pkid_${++databases}`;
      await query(address("postgres"), `create database ${name}`);
      return address(name);
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
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function startServer(asServer: readonly string[], cluster: string, folder: string, port: number) {
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: folder,
    fsync: "on",
    synchronous_commit: "on",
    max_connections: 60,
    shared_buffers: "32MB",
  };
  const given = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return Bun.spawn([...asServer, program("postgres"), "-D", cluster, ...given], {
    stdio: ["ignore", "ignore", "ignore"],
  });
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
function serverIdentity(folder: string): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  run(["chown", "postgres", folder]);
  return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"];
}

function program(name: string): string {
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

function run(command: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([...command], { cwd: "/", stdout: "ignore" });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString()}`);
}

async function answering(dsn: string): Promise<void> {
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
