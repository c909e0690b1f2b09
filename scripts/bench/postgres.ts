/**
 * Issuing on PostgreSQL: in turns with SQLite, through a network with some distance, and with a
 * second replica.
 */

import { join } from "node:path";

import { SQL } from "bun";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";
import { type IssueRequest, issueRequest } from "./issue-request.ts";
import { type Load, load } from "./load.ts";
import { figure, section } from "./print.ts";
import { type Bench, measured, softwareKeys } from "./scenario.ts";
import { median } from "./statistics.ts";

/** Prints rates of sixty-four clients and their ratios, each of neighbours in time. */
export async function postgres(bench: Bench): Promise<void> {
  section("postgres", `issuing on PostgreSQL, 64 clients, median of ${rounds} rounds in turns`);
  const server = await startPostgres();
  const open: Instance[] = [];
  try {
    const dsn = await server.createDatabase();
    const near = await issuer(bench, open, { driver: "postgres", dsn });
    const sqlite = await issuer(bench, open, { driver: "sqlite" });
    await besideSqlite(bench, near, sqlite);
    await open.pop()?.dispose(); // SQLite is done with, and waits for nothing meanwhile.
    await replicas(bench, open, near, dsn);
    while (open.length > 0) await open.pop()?.dispose();
    await atDistance(bench, open, server);
  } finally {
    for (const instance of open) await instance.dispose();
    await server.stop();
  }
}

interface Issuer {
  readonly instance: Instance;
  readonly ca: string;
  readonly request: IssueRequest;
}

/** An instance with a database of its own and a CA that issues. */
async function issuer(
  bench: Bench,
  open: Instance[],
  database: { readonly driver: "sqlite" } | { readonly driver: "postgres"; readonly dsn: string },
): Promise<Issuer> {
  const options = measured(bench, softwareKeys);
  const config = { ...options.config, database };
  const home = newHome();
  writeConfig(home, config);
  if (database.driver === "postgres") {
    const migrated = await runCli(home, ["migrate"], "", {}, bench.binary);
    if (migrated.code !== 0) throw new Error(migrated.stderr);
  }
  const instance = await Instance.start({ ...options, home, config });
  open.push(instance);
  const { intermediateId: ca } = await createChain(instance, "ecdsa-p256");
  return { instance, ca, request: await issueRequest(instance, ca) };
}

async function besideSqlite({ seconds }: Bench, near: Issuer, sqlite: Issuer): Promise<void> {
  await rate(near, 1);
  await rate(sqlite, 1);
  const pairs: { near: Load; sqlite: Load }[] = [];
  for (let round = 0; round < rounds; round++) {
    pairs.push({ near: await rate(near, seconds), sqlite: await rate(sqlite, seconds) });
  }
  const ratio = median(pairs.map((pair) => pair.near.perSecond / pair.sqlite.perSecond));
  const value = median(pairs.map((pair) => pair.near.perSecond));
  const failed = pairs.reduce((sum, pair) => sum + pair.near.failed + pair.sqlite.failed, 0);
  figure({
    name: "loopback.rate",
    label: "durable issues, server on this machine",
    value,
    unit: "/s",
    floor: { name: "SQLite", value: value / ratio },
    goal: { of: "ratio", least: 0.6 },
    note: failedNote(failed),
  });
  for (const which of ["p50", "p99"] as const) {
    const times = pairs.map((pair) => pair.near[which]);
    figure({
      name: `loopback.${which}`,
      label: `  latency, ${which}`,
      value: median(times),
      unit: "ms",
    });
  }
}

/** A second instance on the same database; the clients are as many, half of them at each. */
async function replicas(bench: Bench, open: Instance[], one: Issuer, dsn: string): Promise<void> {
  const { dataDir } = one.instance;
  // Software keys lie in the data directory of the first; the second uses them there.
  const software = {
    keystore_dir: join(dataDir, "keys"),
    master_key_file: join(dataDir, "master.key"),
  };
  const options = measured(bench, softwareKeys);
  const database = { driver: "postgres", dsn };
  const config = { ...options.config, database, key_provider: { software } };
  const instance = await Instance.start({ ...options, config });
  open.push(instance);
  const url = `${instance.url}/api/ca/${one.ca}/issue`;
  const two: Issuer = { ...one, instance, request: { ...one.request, url } };
  const both = async (seconds: number): Promise<readonly Load[]> =>
    Promise.all([rate(one, seconds, 32), rate(two, seconds, 32)]);
  await both(1);
  const pairs: { alone: number; both: number; failed: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const alone = await rate(one, bench.seconds);
    const halves = await both(bench.seconds);
    pairs.push({
      alone: alone.perSecond,
      both: halves.reduce((sum, { perSecond }) => sum + perSecond, 0),
      failed: halves.reduce((sum, { failed }) => sum + failed, alone.failed),
    });
  }
  const ratio = median(pairs.map((pair) => pair.both / pair.alone));
  const value = median(pairs.map((pair) => pair.both));
  const cores = `${navigator.hardwareConcurrency} cores`;
  const failed = failedNote(pairs.reduce((sum, pair) => sum + pair.failed, 0));
  figure({
    name: "replicas.rate",
    label: "durable issues, two replicas",
    value,
    unit: "/s",
    floor: { name: "one replica", value: value / ratio },
    goal: { of: "ratio", least: 1.5 },
    note: failed === undefined ? cores : `${cores}, ${failed}`,
  });
}

/** The same through a network of two milliseconds each way. */
async function atDistance(bench: Bench, open: Instance[], server: PostgresServer): Promise<void> {
  const dsn = new URL(await server.createDatabase());
  const script = join(import.meta.dir, "distance.ts");
  const network = Bun.spawn([process.execPath, script, dsn.port, String(delayMs)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  try {
    const { value } = await network.stdout.getReader().read();
    dsn.port = new TextDecoder().decode(value).trim();
    figure({
      name: "distance.round_trip",
      label: `round trip at a distance of ${delayMs} ms each way`,
      value: await roundTrip(dsn.href),
      unit: "ms",
    });
    const far = await issuer(bench, open, { driver: "postgres", dsn: dsn.href });
    await rate(far, 1);
    // An answer may take seconds where every statement waits for the network.
    const issued = await rate(far, Math.max(leastFarSeconds, bench.seconds));
    figure({
      name: "distance.rate",
      label: "durable issues at that distance",
      value: issued.perSecond,
      unit: "/s",
      goal: { of: "value", least: 400 },
      note: failedNote(issued.failed),
    });
    figure({ name: "distance.p50", label: "  latency, p50", value: issued.p50, unit: "ms" });
    while (open.length > 0) await open.pop()?.dispose();
  } finally {
    network.kill();
    await network.exited;
  }
}

async function roundTrip(dsn: string): Promise<number> {
  await using connection = new SQL({ url: dsn, max: 1 });
  const times: number[] = [];
  for (let n = 0; n < 20; n++) {
    const began = performance.now();
    await connection.unsafe("select 1").simple();
    times.push(performance.now() - began);
  }
  return median(times);
}

const rate = ({ request }: Issuer, seconds: number, connections = 64): Promise<Load> =>
  load({ ...request, connections, seconds });

const failedNote = (failed: number) => (failed > 0 ? `${failed} FAILED` : undefined);

const rounds = 3;
const delayMs = 2;
const leastFarSeconds = 15;
