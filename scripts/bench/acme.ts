/**
 * ACME: complete orders beside plain issues, nonces beside cached OCSP answers, and what a million
 * old orders cost a new one.
 */

import { join } from "node:path";

import { BenchClient, issuing, ordering } from "./acme-client.ts";
import { fillOrders } from "./acme-fill.ts";
import { BenchWorld } from "./acme-world.ts";
import { issueRequest } from "./issue-request.ts";
import { load } from "./load.ts";
import { cachedGet, newTarget } from "./ocsp.ts";
import { figure, row, section } from "./print.ts";
import { costOfEach, costs } from "./processor.ts";
import type { Bench } from "./scenario.ts";
import { median, percentile } from "./statistics.ts";

/** Prints all of it, with software keys on SQLite. */
export async function acme(bench: Bench): Promise<void> {
  section("acme", "ACME, software keys, ecdsa-p256, SQLite, http-01 answered at once");
  const empty = await BenchWorld.start(bench.binary);
  let world = empty;
  try {
    const clients = await Promise.all(
      Array.from({ length: clientCount }, () => BenchClient.start(world)),
    );
    await rates(world, clients, bench.seconds);
    await nonces(world, bench.seconds);
    const accounts = clients.map(({ account }) => account.slice(account.lastIndexOf("/") + 1));
    // Both are of servers that have just begun and are warm for as long.
    world = await world.restarted(bench.binary, async () => {});
    const before = await latencies(clients, bench.seconds);
    world = await world.restarted(bench.binary, async (folder) => {
      const filling = { ca: world.ca, accounts, rows: bench.rows };
      const perSecond = await fillOrders(join(folder, "pkid.db"), filling);
      row("old orders stored per second", perSecond.toFixed(0));
    });
    const after = await latencies(clients, bench.seconds);
    for (const [name, percent] of [
      ["p50", 50],
      ["p99", 99],
    ] as const) {
      figure({
        name: `latency.${name}`,
        label: `order latency with ${bench.rows.toLocaleString("en")} old orders, ${name}`,
        value: percentile(after, percent),
        unit: "ms",
        floor: { name: "without", value: percentile(before, percent) },
        goal: name === "p99" ? { of: "ratio", most: 1.5 } : undefined,
        note: `4 clients, ${after.length} orders`,
      });
    }
  } finally {
    await world.stop();
  }
}

/**
 * Orders and plain issues in turns, a turn of issues on both sides of each of orders. The floor are
 * issues by the same clients, each with a request of its own as orders have it; beside it stands
 * what a client in C gets with one request over and over.
 */
async function rates(
  { instance, ca }: BenchWorld,
  clients: readonly BenchClient[],
  seconds: number,
): Promise<void> {
  const request = await issueRequest(instance, ca);
  const repeated = { ...request, connections: clientCount, seconds };
  // The runtime compiles what is hot meanwhile.
  await load({ ...repeated, seconds: warmSeconds });
  await ordering(clients, orderWarmSeconds, patientMs);
  const issues = [(await issuing(clients, seconds, request)).perSecond];
  const same: number[] = [];
  const orders: number[] = [];
  const each: { server: number; clients: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const [before, own] = [await costs(instance.pid), process.cpuUsage()];
    const { perSecond, took } = await ordering(clients, seconds, patientMs);
    const { user, system } = process.cpuUsage(own);
    const { serverMs } = costOfEach(before, await costs(instance.pid), took.length);
    each.push({ server: serverMs, clients: (user + system) / 1000 / took.length });
    orders.push(perSecond);
    issues.push((await issuing(clients, seconds, request)).perSecond);
    same.push((await load(repeated)).perSecond);
  }
  const around = (at: number) => ((issues[at] ?? 0) + (issues[at + 1] ?? 0)) / 2;
  const value = median(orders);
  const share = median(orders.map((one, at) => one / around(at)));
  figure({
    name: "orders",
    label: `complete orders over TLS, ${clientCount} clients`,
    value,
    unit: "/s",
    floor: { name: "plain issues", value: value / share },
    goal: { of: "ratio", least: 0.25 },
    note: `${(value / median(same)).toFixed(2)} of one request over and over`,
  });
  const server = median(each.map((one) => one.server));
  const others = median(each.map((one) => one.clients));
  figure({
    name: "orders.server_cpu",
    label: "  processor time of the server by order",
    value: server,
    unit: "ms",
    note: `${others.toFixed(2)} ms of the clients, with names and proofs`,
  });
}

async function nonces({ instance, ca }: BenchWorld, seconds: number): Promise<void> {
  const target = await newTarget(instance, ca, instance.publicUrl);
  const url = `${instance.publicUrl}/acme/new-nonce`;
  await load({ url, connections: clientCount, seconds: warmSeconds / 2 });
  const ocsp = [(await cachedGet(target, seconds)).perSecond];
  const fresh: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { perSecond, failed } = await load({ url, connections: clientCount, seconds });
    if (failed > 0) throw new Error(`${failed} nonces failed`);
    fresh.push(perSecond);
    ocsp.push((await cachedGet(target, seconds)).perSecond);
  }
  const around = (at: number) => ((ocsp[at] ?? 0) + (ocsp[at + 1] ?? 0)) / 2;
  const value = median(fresh);
  const share = median(fresh.map((one, at) => one / around(at)));
  figure({
    name: "nonces",
    label: `new-nonce, ${clientCount} connections, cleartext`,
    value,
    unit: "/s",
    floor: { name: "cached OCSP", value: value / share },
    goal: { of: "ratio", least: 0.7 },
  });
}

/** Milliseconds of each order when the server is not full of them. */
async function latencies(
  clients: readonly BenchClient[],
  seconds: number,
): Promise<readonly number[]> {
  const few = clients.slice(0, 4);
  await ordering(clients, warmSeconds, patientMs);
  return (await ordering(few, seconds * rounds, 0)).took;
}

const clientCount = 32;
/** Clients that wait a little ask once; others ask again and again. */
const patientMs = 20;
const warmSeconds = 8;
/** As many requests as the issues are warmed with: a fifth of them fit into a second. */
const orderWarmSeconds = 5 * warmSeconds;
const rounds = 3;
