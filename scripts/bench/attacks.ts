/**
 * Ordinary clients next to attackers: latency of 16 clients and of `/healthz` undisturbed and then
 * during an attack, for each attack.
 *
 * The attackers run in a process of their own with the lowest priority and a bounded rate. So the
 * figures show how the server queues work, and not how processes share the processors.
 */

import { join } from "node:path";

import { pollHealth } from "#test/support/fuzz/fuzz.ts";
import { type AttackName, attackNames } from "./attack-names.ts";
import type { AttackPlan } from "./attacker.ts";
import { BenchWorld } from "./acme-world.ts";
import { OrdinaryClients } from "./ordinary-clients.ts";
import { figure, section } from "./print.ts";
import type { Bench } from "./scenario.ts";
import { percentile } from "./statistics.ts";

/** Prints the latencies without and during each attack. */
export async function attacks(bench: Bench): Promise<void> {
  const { seconds, attacks: names = Object.keys(attackNames) as AttackName[] } = bench; // Its keys.
  section("attacks", `16 ordinary clients next to attackers (${seconds} s each)`);
  // Limits by address distinguish the attackers from the clients.
  const world = await BenchWorld.start(bench.binary, { trusted_proxies: ["127.0.0.1/32"] });
  try {
    const clients = await OrdinaryClients.start(world);
    const plan = await planAttacks(world);
    await clients.run(warmSeconds);
    for (const attack of names) {
      const calm = await measure(world, clients, Math.ceil(seconds / calmShare));
      print(`before ${attack}`, calm);
      const attacker = await Attacker.start({ ...plan, attack });
      const disturbed = await measure(world, clients, seconds);
      const note = await attacker.end();
      print(attack, disturbed, { calm, note });
      await Bun.sleep(restMs);
    }
  } finally {
    await world.stop();
  }
}

interface Latencies {
  /** Milliseconds by kind of request. */
  readonly times: ReadonlyMap<string, readonly number[]>;
  readonly failures: readonly string[];
  readonly health: { readonly p99: number; readonly longest: number };
}

async function measure(
  { instance }: BenchWorld,
  clients: OrdinaryClients,
  seconds: number,
): Promise<Latencies> {
  const health = pollHealth(instance);
  const { times, failures } = await clients.run(seconds);
  return { times, failures, health: await health.stop() };
}

/** Prints p99 of all clients and of each kind, next to that without an attack. */
function print(
  name: string,
  { times, failures, health }: Latencies,
  against?: { readonly calm: Latencies; readonly note: string },
): void {
  const row = (kind: string, all: readonly number[], before: readonly number[] | undefined) =>
    figure({
      name: `${name}.${kind}.p99`,
      label: `${name}: ${kind}, p99`,
      value: percentile(all, 99),
      unit: "ms",
      floor: before && { name: "undisturbed", value: percentile(before, 99) },
      goal: before && { of: "ratio", most: 2 },
      note: `p50 ${percentile(all, 50).toFixed(1)} ms of ${all.length}`,
    });
  const calm = against?.calm.times;
  row("all clients", [...times.values()].flat(), calm && [...calm.values()].flat());
  for (const [kind, all] of times) row(kind, all, calm?.get(kind));
  const { longest, p99 } = health;
  figure({
    name: `${name}.healthz.max`,
    label: `${name}: /healthz, longest`,
    value: longest,
    unit: "ms",
    goal: { of: "value", most: 100 },
    note: `p99 ${p99.toFixed(1)} ms`,
  });
  const [first = ""] = failures;
  const note = [first, against?.note].filter(Boolean).join("; ") || undefined;
  figure({
    name: `${name}.failed`,
    label: `${name}: failures`,
    value: failures.length,
    unit: "",
    note,
  });
}

/** Creates the credentials of the attackers. */
async function planAttacks({
  instance,
  ca,
  base,
}: BenchWorld): Promise<Omit<AttackPlan, "attack">> {
  const readers: string[] = [];
  for (let n = 0; n < 20; n++) readers.push(await instance.token(["auditor"]));
  const issuer = await instance.token(["issuer"]);
  const administrator = await instance.token(["admin"], { scope: "platform" });
  const { certificate } = await instance.admin<{ certificate: string }>("GET", `/api/ca/${ca}`);
  const { publicUrl } = instance;
  return { base, publicUrl, ca, certificate, issuer, administrator, readers };
}

/** One process of attackers with the lowest priority. */
class Attacker {
  private constructor(private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">) {}

  /** Starts it; resolves when its accounts and connections are ready. */
  static async start(plan: AttackPlan): Promise<Attacker> {
    const program = [process.execPath, join(import.meta.dir, "attacker.ts")];
    const child = Bun.spawn(["nice", "-n", "19", ...program], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    child.stdin.write(`${JSON.stringify(plan)}\n`);
    await child.stdin.flush();
    const attacker = new Attacker(child);
    await attacker.#line();
    return attacker;
  }

  /** Ends it and returns its counts of responses by status. */
  async end(): Promise<string> {
    this.child.stdin.write("\n");
    await this.child.stdin.end();
    const line = await this.#line();
    await this.child.exited;
    return line;
  }

  async #line(): Promise<string> {
    const reader = this.child.stdout.getReader();
    let text = "";
    while (!text.includes("\n")) {
      const { done, value } = await reader.read();
      if (done) break;
      text += new TextDecoder().decode(value);
    }
    reader.releaseLock();
    if (text === "") throw new Error("the attackers ended early");
    return text.trim();
  }
}

/** Until the code of the server is compiled: it would make the comparison too easy. */
const warmSeconds = 15;
/** Part of the time of an attack that is measured without it, immediately before. */
const calmShare = 3;
const restMs = 2000;
