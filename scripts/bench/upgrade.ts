/**
 * How long a client waits at most while one instance is replaced on sockets that stay open, beside
 * the restart of a bare server of the same size.
 */

import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startClients, worldOf } from "#test/support/instances/clients-of-all.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { heldSocket } from "#test/support/servers/held-sockets.ts";
import { bareProgram, startBare } from "./bare-program.ts";
import { figure, section } from "./print.ts";
import type { Goal } from "./report.ts";
import type { Bench } from "./scenario.ts";
import { median } from "./statistics.ts";

/** Prints the longest wait of a client in a replacement, and what of it is stop and start. */
export async function upgrade({ binary }: Bench): Promise<void> {
  section("upgrade", `one instance replaced under load, median of ${rounds}, software keys`);
  const folder = mkdtempSync(join(tmpdir(), "pkid-upgrade-"));
  try {
    const bare = { name: "a bare restart", value: await bareRestart(binary, folder) };
    const { pauses, stops, starts, failures } = await replacements(binary);
    for (const [name, label, times] of [
      ["pause", "longest wait of a client", pauses],
      ["stop", "SIGTERM to exit", stops],
      ["start", "start to ready", starts],
    ] as const) {
      const goal: Goal | undefined = name === "pause" ? { of: "value", most: 2000 } : undefined;
      figure({ name, label, value: median(times), unit: "ms", floor: bare, goal });
    }
    const goal = { of: "value", most: 0 } as const;
    figure({ name: "failed", label: "failed requests", value: failures, unit: "", goal });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Median from SIGTERM to the word ready of the next one. */
async function bareRestart(binary: string, folder: string): Promise<number> {
  const program = await bareProgram(folder, statSync(binary).size);
  const home = join(folder, "home");
  mkdirSync(home);
  const times: number[] = [];
  let server = await startBare(program, folder, home);
  for (let round = 0; round < rounds; round++) {
    const began = performance.now();
    await server.stop();
    server = await startBare(program, folder, home);
    times.push(performance.now() - began);
  }
  await server.stop();
  return median(times);
}

async function replacements(binary: string) {
  const sockets = { main: heldSocket(), public: heldSocket() };
  const address = `127.0.0.1:${sockets.public.port}`;
  const server = { port: sockets.main.port, public_http: { enabled: true, address } };
  const options = { binary, sockets, config: { server } };
  let instance = await Instance.start(options);
  const [main, open, ca] = [instance.url, instance.publicUrl, [instance.servingCa()]];
  const clients = startClients({ ...(await worldOf(instance)), main, open, ca });
  const { load } = clients;
  const pauses: number[] = [];
  const stops: number[] = [];
  const starts: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await load.more(20);
    load.longestSince();
    const began = performance.now();
    await instance.stop();
    stops.push(performance.now() - began);
    instance = await Instance.start({ ...options, home: instance.home });
    starts.push(instance.readyMs);
    await load.more(20);
    pauses.push(load.longestSince());
  }
  await load.stop();
  clients.close();
  await instance.dispose();
  for (const socket of Object.values(sockets)) socket.close();
  return { pauses, stops, starts, failures: load.failures.length };
}

const rounds = 7;
