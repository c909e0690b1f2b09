/** Sixteen clients with an ordinary load: ACME orders, issuance, OCSP, lists and CRLs. */

import { BenchClient } from "./acme-client.ts";
import type { BenchWorld } from "./acme-world.ts";
import { type KindRequest, kindRequests } from "./kinds.ts";

/** Latencies of one period, in milliseconds, by kind of request. */
export interface OrdinaryLatencies {
  readonly times: ReadonlyMap<string, readonly number[]>;
  readonly failures: readonly string[];
}

/** Each client sends one request, or one order, after the other, with a pause between them. */
export class OrdinaryClients {
  readonly #tasks: readonly OrdinaryTask[];

  private constructor(tasks: readonly OrdinaryTask[]) {
    this.#tasks = tasks;
  }

  /** Creates accounts and requests. */
  static async start(world: BenchWorld): Promise<OrdinaryClients> {
    const requests = await kindRequests(world.instance, world.ca);
    const tasks: OrdinaryTask[] = [];
    for (let n = 0; n < 4; n++) {
      const client = await BenchClient.start(world);
      tasks.push({ kind: "ACME order", run: () => client.order(20) });
    }
    for (const [kind, count] of [
      ["issue", 4],
      ["ocsp_fresh", 4],
      ["list", 2],
      ["crl", 2],
    ] as const) {
      const run = () => timeRequest(world.instance.url, requests[kind]);
      for (let n = 0; n < count; n++) tasks.push({ kind, run });
    }
    return new OrdinaryClients(tasks);
  }

  /** Runs all clients for some seconds. */
  async run(seconds: number): Promise<OrdinaryLatencies> {
    const times = new Map<string, number[]>();
    const failures: string[] = [];
    const end = performance.now() + seconds * 1000;
    const work = async ({ kind, run }: OrdinaryTask) => {
      const latencies = times.get(kind) ?? [];
      times.set(kind, latencies);
      while (performance.now() < end) {
        const started = performance.now();
        await run().catch((error: unknown) => failures.push(`${kind}: ${error}`));
        latencies.push(performance.now() - started);
        await Bun.sleep(pauseMs * (0.5 + Math.random()));
      }
    };
    await Promise.all(this.#tasks.map(work));
    return { times, failures };
  }
}

interface OrdinaryTask {
  readonly kind: string;
  readonly run: () => Promise<unknown>;
}

async function timeRequest(
  origin: string,
  { method, path, headers, body }: KindRequest,
): Promise<void> {
  const response = await Bun.fetch(origin + path, {
    method,
    headers: { ...headers },
    tls: { rejectUnauthorized: false },
    ...(method === "POST" && { body: Buffer.from(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
}

const pauseMs = 100;
