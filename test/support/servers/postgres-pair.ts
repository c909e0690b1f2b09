/**
 * Runs two real PostgreSQL servers, a primary and its standby, which change their roles. The
 * replication is synchronous, so that a promoted standby has every acknowledged commit.
 */

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
   * Promotes the standby, which lacks commits only if it was disconnected. The old primary
   * continues; unless it was fenced, it takes commits of its own.
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
  await requireStandby(primary.port, true);
  let copies = 1;
  let state: "replicated" | "fenced" | "disconnected" = "replicated";
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
      if (state === "replicated") state = "fenced";
    },
    disconnect: async () => {
      await requireStandby(primary.port, false);
      await stopReceiving(standby.port);
      state = "disconnected";
    },
    promote: async () => {
      if (state === "replicated") {
        await requireStandby(primary.port, false);
        await waitForReplay(primary.port, standby.port);
      }
      await query(standby.port, "select pg_promote(true, 60)");
      [primary, standby] = [standby, primary];
    },
    rejoin: async () => {
      await stop(standby);
      copies += 1;
      standby = await startStandby(primary, `standby-${copies}`);
      await requireStandby(primary.port, true);
      state = "replicated";
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

/** Sets if a commit is acknowledged only after the standby has it. */
async function requireStandby(primary: number, isRequired: boolean): Promise<void> {
  await query(primary, `alter system set synchronous_standby_names = '${isRequired ? "*" : ""}'`);
  await query(primary, "select pg_reload_conf()");
  if (!isRequired) return;
  const text = "select count(*)::int as value from pg_stat_replication where sync_state = 'sync'";
  await until(async () => firstValue(await query(primary, text)) === 1);
}

/** Ends the replication on the side of the standby. */
async function stopReceiving(standby: number): Promise<void> {
  await query(standby, "alter system set primary_conninfo = ''");
  await query(standby, "select pg_reload_conf()");
  const text = "select count(*)::int as value from pg_stat_wal_receiver";
  await until(async () => firstValue(await query(standby, text)) === 0);
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
