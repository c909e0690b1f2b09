/** Runs two real PostgreSQL servers, a primary and its standby, which change their roles. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { SQL } from "bun";

import { until } from "#test/support/until.ts";
import { freePort } from "./free-port.ts";
import {
  answering,
  initializeCluster,
  program,
  run,
  serverIdentity,
  startServer,
  stopImmediately,
} from "./postgres.ts";

export interface PostgresPair {
  /** Ports of the present primary and of its standby. */
  readonly primary: number;
  readonly standby: number;
  /** Makes the primary read-only. Its connections remain open, and new ones are accepted. */
  fence(): Promise<void>;
  /** Ends the replication: the standby lacks every later commit. */
  disconnect(): Promise<void>;
  /**
   * Promotes the standby, after it has replayed every commit unless it was disconnected. The old
   * primary continues.
   */
  promote(): Promise<void>;
  /** Replaces the old primary by a standby of the new one. */
  rejoin(): Promise<void>;
  /** Runs statements on one of the servers. */
  query(port: number, text: string, database?: string): Promise<unknown[]>;
  stop(): Promise<void>;
}

/** Starts a primary with one empty database and a standby. */
export async function startPostgresPair(database: string): Promise<PostgresPair> {
  const folder = mkdtempSync(join(tmpdir(), "pkid-pair-"));
  const asServer = serverIdentity(folder);
  const cluster = join(folder, "primary");
  initializeCluster(cluster, asServer);
  let primary = await start({ asServer, folder, cluster });
  await query(primary.port, `create database ${database}`);
  let standby = await startStandby(primary, "standby-1");
  let copies = 1;
  let isReplicated = true;
  const servers = () => [primary, standby];
  const onExit = () => {
    for (const { cluster: directory } of servers()) stopImmediately(asServer, directory);
  };
  process.prependListener("exit", onExit);
  return {
    get primary() {
      return primary.port;
    },
    get standby() {
      return standby.port;
    },
    query,
    fence: async () => {
      await query(primary.port, "alter system set default_transaction_read_only = on");
      await query(primary.port, "select pg_reload_conf()");
      const text = "select current_setting('default_transaction_read_only') as value";
      await until(async () => firstValue(await query(primary.port, text)) === "on");
    },
    disconnect: async () => {
      await query(standby.port, "alter system set primary_conninfo = ''");
      await query(standby.port, "select pg_reload_conf()");
      const text = "select count(*)::int as value from pg_stat_wal_receiver";
      await until(async () => firstValue(await query(standby.port, text)) === 0);
      isReplicated = false;
    },
    promote: async () => {
      if (isReplicated) await waitForReplay(primary.port, standby.port);
      await query(standby.port, "select pg_promote(true, 60)");
      [primary, standby] = [standby, primary];
    },
    rejoin: async () => {
      await stop(standby);
      copies += 1;
      standby = await startStandby(primary, `standby-${copies}`);
      isReplicated = true;
    },
    stop: async () => {
      process.off("exit", onExit);
      for (const server of servers()) await stop(server);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Cluster {
  readonly asServer: readonly string[];
  readonly folder: string;
  readonly cluster: string;
}

interface Server extends Cluster {
  readonly port: number;
  readonly child: ReturnType<typeof startServer>;
}

async function start(files: Cluster): Promise<Server> {
  const port = await freePort();
  const child = startServer(files.asServer, files.cluster, files.folder, port);
  await answering(`postgres://pkid@127.0.0.1:${port}/postgres`);
  return { ...files, port, child };
}

async function startStandby(primary: Server, name: string): Promise<Server> {
  const { asServer, folder, port } = primary;
  const cluster = join(folder, name);
  const source = ["-h", "127.0.0.1", "-p", String(port), "-U", "pkid"];
  const options = ["-D", cluster, "-R", "-X", "stream", "-c", "fast"];
  run([...asServer, program("pg_basebackup"), ...source, ...options]);
  return await start({ asServer, folder, cluster });
}

async function stop({ child, cluster }: Server): Promise<void> {
  child.kill("SIGINT");
  await child.exited;
  rmSync(cluster, { recursive: true, force: true });
}

/** Resolves as soon as the standby has every commit of the primary. */
async function waitForReplay(primary: number, standby: number): Promise<void> {
  const written = firstValue(await query(primary, "select pg_current_wal_lsn() as value"));
  const text = `select pg_last_wal_replay_lsn() >= '${written}'::pg_lsn as value`;
  await until(async () => firstValue(await query(standby, text)) === true);
}

async function query(port: number, text: string, database = "postgres"): Promise<unknown[]> {
  const url = `postgres://pkid@127.0.0.1:${port}/${database}`;
  await using connection = new SQL({ url, max: 1 });
  return await connection.unsafe(text);
}

function firstValue([row]: unknown[]): unknown {
  return typeof row === "object" && row !== null && "value" in row ? row.value : undefined;
}
