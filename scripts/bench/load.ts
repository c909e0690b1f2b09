/**
 * Load from wrk (Debian package `wrk`): a C program, so that the client costs the machine as little
 * as it can.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface LoadRequest {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly connections: number;
  readonly seconds: number;
}

export interface Load {
  readonly perSecond: number;
  readonly requests: number;
  /** Milliseconds; NaN where nothing was answered. */
  readonly p50: number;
  readonly p99: number;
  /** Answers that were not 2xx, and socket errors. */
  readonly failed: number;
  /** Those of them that are connections which ended while wrk read. */
  readonly ended: number;
}

/** Sends the same request over keep-alive connections for some seconds. */
export async function load(request: LoadRequest): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), "pkid-load-"));
  const script = join(folder, "request.lua");
  const bodyFile = join(folder, "body");
  writeFileSync(bodyFile, request.body ?? "");
  writeFileSync(script, lua(request, bodyFile));
  const text = await runWrk(script, request);
  rmSync(folder, { recursive: true });
  return parsedLoad(text);
}

/** Runs wrk with a script and gives all it printed; throws when it fails. */
export async function runWrk(
  script: string,
  { url, connections, seconds }: Pick<LoadRequest, "url" | "connections" | "seconds">,
): Promise<string> {
  const counts = ["-t", "1", "-c", String(connections), "-d", `${seconds}s`, "--timeout", "30s"];
  const child = Bun.spawn(["wrk", "--latency", ...counts, "-s", script, url], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`wrk failed:\n${text}`);
  return text;
}

/** What wrk printed; throws when it is not what wrk prints. */
export function parsedLoad(text: string): Load {
  const perSecond = /Requests\/sec:\s+([\d.]+)/.exec(text)?.[1];
  const requests = /(\d+) requests in/.exec(text)?.[1];
  if (perSecond === undefined || requests === undefined) throw new Error(`not wrk's:\n${text}`);
  const errors = /Socket errors: (.*)/.exec(text)?.[1]?.match(/\d+/g) ?? [];
  const ended = /Socket errors: .*read (\d+)/.exec(text)?.[1] ?? "0";
  // Where nothing was answered wrk writes a latency of nothing.
  const latency = (line: RegExp) =>
    requests === "0" ? Number.NaN : milliseconds(line.exec(text)?.[1]);
  const refused = Number(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1] ?? 0);
  return {
    perSecond: Number(perSecond),
    requests: Number(requests),
    p50: latency(/^\s+50%\s+(\S+)/m),
    p99: latency(/^\s+99%\s+(\S+)/m),
    failed: errors.reduce((sum, count) => sum + Number(count), refused),
    ended: Number(ended),
  };
}

/** `1.23ms`, `584.00us`, `1.02s` or `1.50m`, as wrk writes them. */
function milliseconds(text = ""): number {
  const [, number = "", unit = ""] = /^([\d.]+)(us|ms|s|m|h)$/.exec(text) ?? [];
  return Number(number || Number.NaN) * (unitMs[unit] ?? Number.NaN);
}

const unitMs: Readonly<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

function lua(request: LoadRequest, bodyFile: string): string {
  const headers = Object.entries(request.headers ?? {}).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  );
  const body = `local f = io.open(${JSON.stringify(bodyFile)}, "rb")\nwrk.body = f:read("*all")\nf:close()`;
  const lines = [`wrk.method = ${JSON.stringify(request.method ?? "GET")}`, ...headers];
  if (request.body !== undefined) lines.push(body);
  return `${lines.join("\n")}\n`;
}
