/** The floors: what the machine gives without pkid, measured in the same run. */

import { Database } from "bun:sqlite";
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type Load, load } from "./load.ts";

/** P-256 signatures per second on one thread. */
export function rawSigning(seconds: number): number {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const message = randomBytes(600);
  return rate(seconds, () => sign("sha256", message, privateKey));
}

/** Single-row commits per second with synchronous=FULL. */
export async function rawCommits(seconds: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "pkid-bench-"));
  const db = new Database(join(folder, "floor.db"));
  db.run("PRAGMA journal_mode=WAL");
  db.run("PRAGMA synchronous=FULL");
  db.run("CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)");
  const insert = db.prepare("INSERT INTO t (v) VALUES (?)");
  const blob = randomBytes(1000);
  const perSecond = rate(seconds, () => insert.run(blob));
  db.close();
  rmSync(folder, { recursive: true });
  return perSecond;
}

/**
 * P-256 signatures per second of the token that `env` names; with as many threads and sessions on
 * all processors.
 */
export async function hsmTokenSigning(
  env: Readonly<Record<string, string>>,
  seconds: number,
  sessions: number,
): Promise<number> {
  const script = join(import.meta.dir, "token-floor.ts");
  const child = Bun.spawn([process.execPath, script, String(seconds), String(sessions)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
    env: { ...process.env, ...env },
  });
  return Number(await new Response(child.stdout).text());
}

/** What a server sends for every request. */
export interface SameBytes {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** What is asked of a bare server, and over what. */
export interface BareQuestion {
  readonly bytes?: SameBytes;
  readonly tls?: true;
  /** POSTed instead of a GET. */
  readonly post?: { readonly body: Uint8Array; readonly contentType: string };
}

/**
 * Answers per second of a `Bun.serve` in a process of its own that always sends the same, by
 * default 1.6 kB.
 */
export async function bareServer(seconds: number, asked: BareQuestion = {}): Promise<number> {
  const { bytes, tls = false, post } = asked;
  const same = bytes && {
    body: Buffer.from(bytes.body).toString("base64"),
    headers: bytes.headers,
  };
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "bare-server.ts")], {
    stdin: new Blob([JSON.stringify({ ...same, tls })]),
    stdout: "pipe",
    stderr: "inherit",
  });
  const url = await firstLine(child.stdout);
  const headers = post && { "content-type": post.contentType };
  const request = {
    url,
    connections: 32,
    ...(post && headers && { method: "POST", body: post.body, headers }),
  };
  await load({ ...request, seconds: 1 });
  const result = await load({ ...request, seconds });
  child.kill();
  await child.exited;
  return result.perSecond;
}

/** A bare CA that runs: what this runtime gives at best at a certificate authority's job. */
export interface BareCa {
  readonly pid: number;
  /** Durable issues for this request over so many keep-alive connections. */
  issues(csr: string, connections: number, seconds: number): Promise<Load>;
  /** Ends it and removes its database. */
  stop(): Promise<void>;
}

/**
 * Starts `bare-ca.ts` with a fresh database: TLS as pkid's, the request's signature verified, two
 * group commits of one row, P-256 in software signed and verified; no gates, no audit.
 */
export async function startBareCa(): Promise<BareCa> {
  const folder = mkdtempSync(join(tmpdir(), "pkid-bench-"));
  const script = join(import.meta.dir, "bare-ca.ts");
  const child = Bun.spawn([process.execPath, script, folder], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const url = await firstLine(child.stdout);
  return {
    pid: child.pid,
    issues: (csr, connections, seconds) =>
      load({
        url,
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ csr, profile: "server" }),
        connections,
        seconds,
      }),
    stop: async () => {
      child.kill();
      await child.exited;
      rmSync(folder, { recursive: true });
    },
  };
}

/** What a process says first: its address. */
async function firstLine(output: ReadableStream<Uint8Array>): Promise<string> {
  const { value } = await output.getReader().read();
  return new TextDecoder().decode(value).trim();
}

function rate(seconds: number, once: () => unknown): number {
  for (let n = 0; n < 200; n++) once();
  const started = performance.now();
  let count = 0;
  while (performance.now() - started < seconds * 1000) {
    for (let n = 0; n < 50; n++) once();
    count += 50;
  }
  return (count / (performance.now() - started)) * 1000;
}
