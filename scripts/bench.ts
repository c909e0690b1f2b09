/**
 * `bun run bench`: what pkid does per second, each figure beside a floor measured in the same run.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { Instance } from "#test/support/instances/instance.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { createHsmToken } from "#test/support/keys/soft-token.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { bareServer, rawCommits, rawSigning } from "./bench/floors.ts";
import { type Load, load } from "./bench/load.ts";
import { bold, ratio, row } from "./bench/print.ts";
import { access } from "./bench/access.ts";
import { answers } from "./bench/answers.ts";
import { bulk } from "./bench/bulk.ts";
import { bulkRevocation } from "./bench/bulk-revocation.ts";
import { crls } from "./bench/crl.ts";
import { gates } from "./bench/gates.ts";
import { inventory } from "./bench/inventory.ts";
import { cachedGet, freshPost } from "./bench/ocsp.ts";
import { starts } from "./bench/starts.ts";

const seconds = Number(process.argv.find((a) => a.startsWith("--seconds="))?.slice(10) ?? "5");
const rows = argument("rows");
const only = process.argv.find((a) => a.startsWith("--only="))?.slice(7);

function argument(name: string): number | undefined {
  const given = process.argv.find((a) => a.startsWith(`--${name}=`))?.split("=")[1];
  return given === undefined ? undefined : Number(given);
}

interface Scenario {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string>>;
  readonly keyType: string;
}

if (only === "inventory" || only === "inventory-postgres") {
  await inventory(rows ?? 1_000_000, only === "inventory" ? "SQLite" : "PostgreSQL");
  process.exit(0);
}

if (only === "starts") {
  await starts(rows ?? 1_000_000);
  process.exit(0);
}
if (only === "bulk") {
  await bulk(10_000);
  process.exit(0);
}
if (only === "bulk-revocation") {
  await bulkRevocation(100_000);
  process.exit(0);
}
if (only === "crl") {
  await crls(1_000_000);
  process.exit(0);
}
if (only === "ocsp") {
  await answers(seconds);
  process.exit(0);
}
if (only === "gates") {
  await gates(seconds);
  process.exit(0);
}
if (only === "access") {
  await access(seconds);
  process.exit(0);
}

const publicHttp = { enabled: true, address: "127.0.0.1:0" };

/** The request log goes to stderr: a reader of it would be part of what is measured. */
const quiet = { log: { level: "info", format: "json" } };

bold(`floors (${seconds} s each, ${navigator.hardwareConcurrency} cores)`);
const signing = rawSigning(Math.min(2, seconds));
row("raw P-256 signing, one thread", `${signing.toFixed(0)}/s`);
const commits = await rawCommits(Math.min(2, seconds));
row("raw SQLite commits, synchronous=FULL", `${commits.toFixed(0)}/s`);
const bare = await bareServer(seconds);
row("bare Bun.serve, 1.6 kB answer, cleartext", `${bare.toFixed(0)}/s`);

const hsmToken = await createHsmToken();
const scenarios: readonly Scenario[] = [
  { name: "software keys", config: {}, env: {}, keyType: "ecdsa-p256" },
  { name: "SoftHSM keys", config: hsmToken.config, env: hsmToken.env, keyType: "ecdsa-p256" },
];
for (const scenario of scenarios) {
  if (only === undefined || scenario.name.startsWith(only)) await run(scenario);
}
hsmToken.remove();
if (only === undefined) {
  await gates(seconds);
  await access(seconds);
  await bulk(10_000);
  await bulkRevocation(100_000);
  await crls(1_000_000);
  await inventory(1_000_000, "SQLite");
}
process.exit(0);

async function run({ name, config, env, keyType }: Scenario): Promise<void> {
  bold(`${name}, ${keyType}`);
  const instance = await Instance.start({
    config: { ...config, ...quiet, server: { public_http: publicHttp } },
    env,
  });
  try {
    row("start to ready, empty data directory", `${instance.readyMs.toFixed(0)} ms`);
    await restart(instance.home, { ...config, ...quiet }, env);
    row("idle RSS, server and signer", `${(await memory(instance.pid)).toFixed(0)} MB`);
    const chain = await createChain(instance, keyType);
    await issuing(instance, chain.intermediateId);
    await answering(instance, chain.intermediateId);
    row("RSS after the load", `${(await memory(instance.pid)).toFixed(0)} MB`);
    const { valid, events } = await instance.admin<{ valid: boolean; events: number }>(
      "GET",
      "/api/events/verify",
    );
    row("audit chain after the load", `${valid ? "valid" : "BROKEN"}, ${events} events`);
  } finally {
    await instance.dispose();
  }
}

/**
 * A start on a data directory that exists, measured beside the running instance's on a copy of none
 * of its state.
 */
async function restart(
  home: string,
  config: Scenario["config"],
  env: Scenario["env"],
): Promise<void> {
  const again = join(home, "restart");
  mkdirSync(again);
  const first = await Instance.start({ home: again, config, env });
  await first.stop();
  const times: number[] = [];
  for (let n = 0; n < 5; n++) {
    const instance = await Instance.start({ home: again, config, env });
    times.push(instance.readyMs);
    await instance.stop();
  }
  times.sort((a, b) => a - b);
  row("start to ready, existing data (median of 5)", `${times[2]?.toFixed(0)} ms`);
}

async function issuing(instance: Instance, ca: string): Promise<void> {
  const csr = await newCsr(instance.home, "bench.example.test");
  const { secret } = await instance.admin<{ secret: string }>("POST", "/api/tokens", {
    name: "bench",
    roles: ["issuer"],
  });
  const request = {
    url: `${instance.url}/api/ca/${ca}/issue`,
    method: "POST",
    headers: { authorization: `Token ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ csr, profile: "server" }),
  };
  for (const connections of [1, 16, 64]) {
    await load({ ...request, connections, seconds: 1 });
    const result = await load({ ...request, connections, seconds });
    row(
      `durable issues over TLS, ${connections} clients`,
      describe(result, signing, "raw signing"),
    );
  }
}

async function answering(instance: Instance, ca: string): Promise<void> {
  const { items } = await instance.admin<{ items: { serial: string; certificate: string }[] }>(
    "GET",
    `/api/ca/${ca}/certificates?limit=1`,
  );
  const serial = items[0]?.serial ?? "";
  const { certificate } = await instance.admin<{ certificate: string }>("GET", `/api/ca/${ca}`);
  const target = { base: `${instance.publicUrl}/api/ca/${ca}/ocsp`, issuer: certificate, serial };
  const cached = await cachedGet(target, seconds);
  row("cached OCSP GET, 32 connections", describe(cached, bare, "bare Bun.serve"));
  const fresh = await freshPost(target, seconds);
  row("freshly signed OCSP with nonce, 32 connections", describe(fresh, signing, "raw signing"));
}

function describe(result: Load, floor: number, floorName: string): string {
  const failed = result.failed > 0 ? `, ${result.failed} FAILED` : "";
  const p99 = `p50 ${result.p50} p99 ${result.p99}`;
  return `${result.perSecond.toFixed(0)}/s, ${ratio(result.perSecond, floor)} of ${floorName}, ${p99}${failed}`;
}

/** Resident megabytes of the process and its children. */
async function memory(pid: number): Promise<number> {
  const children = (await Bun.file(`/proc/${pid}/task/${pid}/children`).text()).trim();
  const pids = [String(pid), ...children.split(" ").filter((child) => child !== "")];
  let kilobytes = 0;
  for (const one of pids) {
    const status = await Bun.file(`/proc/${one}/status`).text();
    kilobytes += Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
  }
  return kilobytes / 1024;
}
