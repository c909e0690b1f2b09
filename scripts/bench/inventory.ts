/**
 * The inventory of a million certificates: what one question costs its caller, and everybody else.
 */

import type { Instance } from "#test/support/instances/instance.ts";
import { filledInstance, type Made } from "./fill.ts";
import { filledPostgres } from "./fill-postgres.ts";
import { row, section } from "./print.ts";
import type { Bench } from "./scenario.ts";
import { startsBeside } from "./starts.ts";

/**
 * Fills the database of a stopped instance directly, then asks the started one.
 */
export async function inventory(
  { rows, binary }: Bench,
  driver: "SQLite" | "PostgreSQL",
): Promise<void> {
  const name = driver === "SQLite" ? "inventory" : "inventory-postgres";
  section(name, `inventory of ${rows} certificates, ${driver}`);
  const { instance, ca, stop, ...filled } =
    driver === "SQLite" ? await filledSqlite(binary, rows) : await filledPostgres(binary, rows, 10);
  row("rows stored per second, by the thousands", filled.perSecond.toFixed(0));
  try {
    row("start to ready", `${instance.readyMs.toFixed(0)} ms`);
    const before = await resident(instance.pid);
    const path = `/api/ca/${ca}`;
    await ask(instance, `${path}/certificates`, filled.last);
    for (const [name, query] of [
      ["revoked: first page", "limit=100"],
      ["revoked: by 12 digits", `serial_prefix=${filled.last.serial.slice(0, 12)}`],
      ["revoked: by 2 digits", `serial_prefix=${filled.last.serial.slice(0, 2)}`],
    ]) {
      row(String(name), await timed(instance, `${path}/revoked?${query}`));
    }
    for (const [name, asked] of [
      ["usage of the tenant", "/api/tenants/default/usage"],
      ["counts by status and by time left", "/api/inventory/certificates"],
      ["expiring, the first", "/api/monitor/expiring?limit=1"],
      ["lists of revocations", "/api/crls?limit=500"],
    ]) {
      row(String(name), await timed(instance, String(asked)));
    }
    const begun = performance.now();
    await instance.admin("POST", `${path}/rotate`, {});
    row("rotate", `${(performance.now() - begun).toFixed(0)} ms`);
    row("state of the rotation", await timed(instance, `${path}/rotation`));
    row("rotations", await timed(instance, "/api/rotations"));
    const grown = (await resident(instance.pid)) - before;
    row("resident memory, before and grown", `${before.toFixed(0)} MB, ${grown.toFixed(0)} MB`);
  } finally {
    await stop();
  }
}

async function filledSqlite(binary: string, rows: number) {
  const filled = await filledInstance(binary, rows, 10);
  const instance = await startsBeside(binary, filled.instance);
  return { ...filled, instance, stop: () => instance.dispose() };
}

async function ask(instance: Instance, path: string, last: Made): Promise<void> {
  const questions: readonly (readonly [string, string])[] = [
    ["first page", ""],
    ["by key", `public_key_sha256=${last.key}`],
    ["by serial prefix, 12 digits", `serial_prefix=${last.serial.slice(0, 12)}`],
    ["by serial prefix, 8 hex digits", `serial_prefix=0x${last.hex.slice(0, 8)}`],
    ["by serial prefix, 2 digits", `serial_prefix=${last.serial.slice(0, 2)}`],
    ["by whole serial", `q=${last.serial}`],
    ["by name, one match", `q=${last.name.slice(0, 14)}`],
    ["by name, no match", "q=nowhere.example"],
    ["by name, every row matches", "q=example"],
    ["by profile", "profile=server"],
    ["by requester, none", "requested_by=nobody"],
    ["by its own digest, none", `certificate_sha256=${"0".repeat(64)}`],
    ["good ones", "status=good"],
    ["revoked ones", "status=revoked"],
    ["expiring tomorrow", `expires_before=${new Date(Date.now() + 86_400_000).toISOString()}`],
  ];
  for (const [name, query] of questions) {
    const figure = await timed(instance, `${path}?${query}`);
    row(name, figure);
  }
}

/**
 * The first, the median and the worst of some runs, and how long somebody else's request waited
 * meanwhile.
 */
async function timed(instance: Instance, target: string): Promise<string> {
  const times: number[] = [];
  let total = 0;
  let worst = 0;
  let asking = true;
  const others = (async () => {
    while (asking) {
      const begun = performance.now();
      await instance.admin("GET", "/healthz");
      worst = Math.max(worst, performance.now() - begun);
    }
  })();
  for (let n = 0; n < 9; n++) {
    const begun = performance.now();
    total = (await instance.admin<{ total: number }>("GET", target)).total;
    times.push(performance.now() - begun);
  }
  asking = false;
  await others;
  const [first = 0] = times;
  times.sort((a, b) => a - b);
  const [median = 0, slowest = 0] = [times[4], times[8]];
  const figures = `${median.toFixed(1)} ms (first ${first.toFixed(1)}, worst ${slowest.toFixed(1)})`;
  return `${figures}, total ${total ?? "-"}; others waited at most ${worst.toFixed(1)} ms`;
}

/** Megabytes. */
async function resident(pid: number): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text();
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
