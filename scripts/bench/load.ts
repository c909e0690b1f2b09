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
  /** As wrk writes them, e.g. `1.23ms`. */
  readonly p50: string;
  readonly p99: string;
  /** Answers that were not 2xx, and socket errors. */
  readonly failed: number;
}

/** Sends the same request over keep-alive connections for some seconds. */
export async function load(request: LoadRequest): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), "pkid-load-"));
  const script = join(folder, "request.lua");
  const bodyFile = join(folder, "body");
  writeFileSync(bodyFile, request.body ?? "");
  writeFileSync(script, lua(request, bodyFile));
  const child = Bun.spawn(
    [
      "wrk",
      "--latency",
      "-t",
      "1",
      "-c",
      String(request.connections),
      "-d",
      `${request.seconds}s`,
      "-s",
      script,
      request.url,
    ],
    { stdin: "ignore", stdout: "pipe", stderr: "inherit" },
  );
  const text = await new Response(child.stdout).text();
  rmSync(folder, { recursive: true });
  if ((await child.exited) !== 0) throw new Error(`wrk failed:\n${text}`);
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1] ?? 0),
    p50: /^\s+50%\s+(\S+)/m.exec(text)?.[1] ?? "?",
    p99: /^\s+99%\s+(\S+)/m.exec(text)?.[1] ?? "?",
    failed:
      Number(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1] ?? 0) +
      Number(/Socket errors: connect (\d+)/.exec(text)?.[1] ?? 0),
  };
}

function lua(request: LoadRequest, bodyFile: string): string {
  const headers = Object.entries(request.headers ?? {}).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  );
  const body = `local f = io.open(${JSON.stringify(bodyFile)}, "rb")\nwrk.body = f:read("*all")\nf:close()`;
  const lines = [`wrk.method = ${JSON.stringify(request.method ?? "GET")}`, ...headers];
  if (request.body !== undefined) lines.push(body);
  return `${lines.join("\n")}\n`;
}
