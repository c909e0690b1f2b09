/**
 * CRLs at the size a large CA has: a base of a million entries, and how long a revocation takes to
 * be on the delta.
 */

import { Database } from "bun:sqlite";
import { join } from "node:path";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { made } from "./fill.ts";
import { row, section } from "./print.ts";
import type { Bench } from "./scenario.ts";

/**
 * Fills the revocations of a stopped instance directly, builds their base, and revokes some more.
 */
export async function crls({ binary }: Bench, entries = 1_000_000): Promise<void> {
  section("crl", `CRLs with ${entries.toLocaleString("en")} revoked, SQLite, software P-256`);
  const config = {
    log: { level: "info", format: "json" },
    server: { public_http: { enabled: true, address: "127.0.0.1:0" } },
  };
  const first = await Instance.start({ binary, config });
  const { intermediateId: ca } = await createChain(first, "ecdsa-p256");
  await first.stop();
  fill(join(first.dataDir, "pkid.db"), ca, entries);
  const instance = await Instance.start({ binary, home: first.home, config });
  try {
    row("start to ready", `${instance.readyMs.toFixed(0)} ms`);
    for (const run of ["first", "second"]) await base(instance, ca, run);
    await downloads(instance, ca);
    await deltas(instance, ca, entries);
  } finally {
    await instance.dispose();
  }
}

/**
 * Rows as old revocations are: of serials nobody has in the inventory any more, a few to a second.
 */
function fill(file: string, ca: string, entries: number): void {
  const database = new Database(file);
  database.run("pragma synchronous = off");
  const insert = database.prepare(
    `insert into revocations (ca_id, serial, revoked_at, reason, known, expires_at, sequence)
      values (?, ?, ?, ?, 0, null, ?)`,
  );
  const [{ revocation_sequence: from = 0 } = {}] = database
    .query<{ revocation_sequence: number }, []>("select revocation_sequence from heads")
    .all();
  const start = Date.now() - entries * 300;
  for (let at = 0; at < entries; ) {
    database.run("begin");
    for (const end = Math.min(entries, at + 50_000); at < end; at++) {
      const reason = reasons[at % reasons.length] ?? "unspecified";
      insert.run(ca, made(at).serial, start + at * 300, reason, from + at + 1);
    }
    database.run("commit");
  }
  database.run("update heads set revocation_sequence = ?", [from + entries]);
  database.run(
    "insert into revocation_changes (ca_id, sequence) values (?, ?) on conflict (ca_id) do update set sequence = excluded.sequence",
    [ca, from + entries],
  );
  database.close();
}

async function base(instance: Instance, ca: string, run: string): Promise<void> {
  // What the start itself had to do is over when the list that was due is there.
  while (run === "first" && (await listed(instance, ca)) === 0) await Bun.sleep(100);
  await loopDelay(instance);
  await Bun.sleep(2000);
  const idle = await loopDelay(instance);
  const before = await resident(instance.pid);
  const peak = watched(() => resident(instance.pid));
  const begun = performance.now();
  await instance.admin("POST", `/api/ca/${ca}/crl:publish`, {});
  const seconds = (performance.now() - begun) / 1000;
  const grown = (await peak.end()) - before;
  const delay = await loopDelay(instance);
  const list = (await status(instance, ca)).base;
  row(
    `base of ${list.revoked_count} entries and its delta, ${run} time`,
    `${seconds.toFixed(2)} s`,
  );
  row(
    "event-loop delay, p99 before and meanwhile",
    `${milliseconds(idle)}, ${milliseconds(delay)}`,
  );
  row(
    "resident memory, before and grown at its peak",
    `${before.toFixed(0)} MB, ${grown.toFixed(0)} MB`,
  );
}

async function downloads(instance: Instance, ca: string): Promise<void> {
  const url = `${instance.publicUrl}/api/ca/${ca}/crl`;
  const before = await resident(instance.pid);
  const peak = watched(() => resident(instance.pid));
  const begun = performance.now();
  const sizes = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      let size = 0;
      for await (const chunk of (await fetch(url)).body ?? []) size += chunk.length;
      return size;
    }),
  );
  const seconds = (performance.now() - begun) / 1000;
  const megabytes = sizes.reduce((sum, size) => sum + size, 0) / 1e6;
  row(
    "four downloads at once",
    `${(megabytes / seconds).toFixed(0)} MB/s of ${megabytes.toFixed(0)} MB`,
  );
  row("resident memory grown by them", `${((await peak.end()) - before).toFixed(0)} MB`);
}

/** From the acknowledgement of a revocation until base and delta together list it. */
async function deltas(instance: Instance, ca: string, entries: number): Promise<void> {
  const times: number[] = [];
  let revoked = entries;
  const revoke = async (reason: string) => {
    const { serial } = made(revoked);
    await instance.admin("POST", `/api/ca/${ca}/revoke`, { serial, reason });
    revoked += 1;
  };
  for (let n = 0; n < 100; n++) {
    // In the middle of some a base of a million entries is being built.
    if (n % 25 === 10) await revoke("keyCompromise");
    await revoke("superseded");
    const begun = performance.now();
    while ((await listed(instance, ca)) < revoked) await Bun.sleep(5);
    times.push(performance.now() - begun);
    await Bun.sleep((n * 37) % 300);
  }
  times.sort((a, b) => a - b);
  const figures = [times[50], times[98]].map((one = 0) => `${one.toFixed(0)} ms`);
  row("revocation acknowledged to visible, median and p99", figures.join(", "));
}

/** Entries of base and delta, which list different serials. */
async function listed(instance: Instance, ca: string): Promise<number> {
  const { base, delta } = await status(instance, ca);
  return base.revoked_count + delta.revoked_count;
}

interface Status {
  readonly base: { readonly revoked_count: number; readonly number?: number };
  readonly delta: { readonly revoked_count: number };
}

const status = (instance: Instance, ca: string) =>
  instance.admin<Status>("GET", `/api/ca/${ca}/crl/status`);

/** Seconds, the 99th percentile since it was last asked for. */
async function loopDelay(instance: Instance): Promise<number> {
  const text = await (await fetch(`${instance.url}/metrics`, insecure)).text();
  return Number(
    /^pki_process_event_loop_delay_seconds ([0-9.e-]+)$/m.exec(text)?.[1] ?? Number.NaN,
  );
}

/** The highest value until `end`. */
function watched(read: () => Promise<number>) {
  let [highest, going] = [0, true];
  const done = (async () => {
    while (going) {
      highest = Math.max(highest, await read());
      await Bun.sleep(20);
    }
  })();
  return {
    end: async () => {
      going = false;
      await done;
      return highest;
    },
  };
}

/** Megabytes of the server and its signers. */
async function resident(pid: number): Promise<number> {
  const children = (await Bun.file(`/proc/${pid}/task/${pid}/children`).text()).trim();
  const pids = [String(pid), ...children.split(" ").filter((child) => child !== "")];
  let kilobytes = 0;
  for (const one of pids) {
    const text = await Bun.file(`/proc/${one}/status`).text();
    kilobytes += Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0);
  }
  return kilobytes / 1024;
}

const milliseconds = (seconds: number) => `${(seconds * 1000).toFixed(1)} ms`;
const insecure = { tls: { rejectUnauthorized: false } };
const reasons = ["superseded", "unspecified", "cessationOfOperation", "keyCompromise"] as const;
