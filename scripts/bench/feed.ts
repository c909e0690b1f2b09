/**
 * What readers of the live feed cost issuing: certificates for 64 clients while 500 follow every
 * event, in turns with the same load while nobody does.
 */

import { join } from "node:path";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { issueRequest } from "./issue-request.ts";
import { type Load, load } from "./load.ts";
import { figure, section } from "./print.ts";
import { costOfEach, costs, processorSeconds, treeMemory } from "./processor.ts";
import { type Bench, measured, softwareKeys } from "./scenario.ts";
import { median } from "./statistics.ts";

/** What the readers say at their end; events and lags are those of one of them. */
interface Told {
  readonly octets: number;
  readonly events: number;
  readonly lags: number;
  readonly dropped: number;
  readonly ended: number;
}

/** Prints the rate with readers beside that without, and what the readers were told. */
export async function feed(bench: Bench): Promise<void> {
  const { seconds } = bench;
  section("feed", `issuing while ${readers} follow the live feed (${seconds} s each)`);
  const instance = await Instance.start(measured(bench, softwareKeys));
  try {
    const { intermediateId } = await createChain(instance, "ecdsa-p256");
    const request = { ...(await issueRequest(instance, intermediateId)), connections: 64 };
    await load({ ...request, seconds: warmSeconds });
    const apiTokens: string[] = [];
    for (let n = 0; n < readers / readersOfToken; n++) {
      apiTokens.push(await instance.token(["auditor"]));
    }
    const turn = async (): Promise<Turn> => {
      const before = await costs(instance.pid);
      const of = await load({ ...request, seconds });
      const { serverMs } = costOfEach(before, await costs(instance.pid), of.requests);
      return { ...of, serverMs };
    };
    const alone = [await turn()];
    const beside: Turn[] = [];
    const told: Told[] = [];
    const worked: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const following = await Followers.start(instance, apiTokens);
      const before = await processorSeconds(following.pid);
      beside.push(await turn());
      worked.push((await processorSeconds(following.pid)) - before);
      told.push(await following.end());
      alone.push(await turn());
    }
    print({ alone, beside, told, worked, seconds, memory: treeMemory(instance.pid).pss });
  } finally {
    await instance.dispose();
  }
}

/** A load, with the processor time of the server by certificate. */
type Turn = Load & { readonly serverMs: number };

interface Measured {
  /** A turn without readers on both sides of each with them. */
  readonly alone: readonly Turn[];
  readonly beside: readonly Turn[];
  readonly told: readonly Told[];
  /** Processor time of the readers. */
  readonly worked: readonly number[];
  readonly seconds: number;
  /** Megabytes at the end. */
  readonly memory: number;
}

function print({ alone, beside, told, worked, seconds, memory }: Measured): void {
  const around = (at: number, of: "perSecond" | "p99" | "serverMs") =>
    ((alone[at]?.[of] ?? 0) + (alone[at + 1]?.[of] ?? 0)) / 2;
  const failed = [...alone, ...beside].reduce((sum, one) => sum + one.failed, 0);
  for (const [of, label, unit] of [
    ["perSecond", "durable issues over TLS, 64 clients", "/s"],
    ["p99", "  latency, p99", "ms"],
    ["serverMs", "  processor time of the server by certificate", "ms"],
  ] as const) {
    const value = median(beside.map((one) => one[of]));
    const ratio = median(beside.map((one, at) => one[of] / around(at, of)));
    figure({
      name: names[of],
      label,
      value,
      unit,
      floor: { name: "that without readers", value: value / ratio },
      goal: of === "perSecond" ? { of: "ratio", least: 0.9 } : undefined,
      note: failed > 0 ? `${failed} FAILED` : undefined,
    });
  }
  const each = (read: (one: Told) => number) => median(told.map(read));
  const issued = median(beside.map(({ requests }) => requests));
  figure({
    name: "told",
    label: "  told to all readers",
    value: each(({ octets }) => octets) / seconds / 1e6,
    unit: "MB/s",
  });
  figure({
    name: "events",
    label: "  events a reader was told",
    value: each(({ events }) => events) / seconds,
    unit: "/s",
    floor: { name: "those issued", value: issued / seconds },
    note: `the others counted in ${each(({ lags }) => lags)} lags`,
  });
  figure({
    name: "ended",
    label: "  readers that were let go",
    value: told.reduce((sum, one) => sum + one.ended, 0),
    unit: "",
  });
  const share = (median([...worked]) / seconds) * 100;
  figure({ name: "readers_cpu", label: "  processor the readers took", value: share, unit: "%" });
  figure({ name: "memory", label: "  memory afterwards", value: memory, unit: "MB" });
}

/** The readers of one turn. */
class Followers {
  readonly #child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly #lines: AsyncIterator<string>;

  static async start(instance: Instance, apiTokens: readonly string[]): Promise<Followers> {
    const { hostname: host, port } = new URL(instance.url);
    const followers = new Followers();
    followers.#say(JSON.stringify({ host, port: Number(port), apiTokens, readers }));
    await followers.#lines.next();
    return followers;
  }

  private constructor() {
    this.#child = Bun.spawn([process.execPath, join(import.meta.dir, "feed-readers.ts")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = linesOf(this.#child.stdout);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Ends them, and gives what they were told. */
  async end(): Promise<Told> {
    this.#say("end");
    const { value } = await this.#lines.next();
    await this.#child.exited;
    return JSON.parse(value);
  }

  #say(line: string): void {
    this.#child.stdin.write(`${line}\n`);
    this.#child.stdin.flush();
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const octets of stream) {
    const lines = (rest + decoder.decode(octets, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

const names = { perSecond: "rate", p99: "p99", serverMs: "server_cpu" } as const;
const readers = 500;
/** As many as one caller may have. */
const readersOfToken = 50;
const rounds = 3;
const warmSeconds = 10;
