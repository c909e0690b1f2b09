/**
 * A disk that fails at any write and then loses its power, in the short mode; `bun run chaos
 * --disk` is the long one.
 */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";

import {
  everyFault,
  newStore,
  runOnFaultyDisk,
  sweepFaults,
} from "#test/support/chaos/disk-faults.ts";
import { createChain } from "#test/support/instances/first-certificate.ts";
import { DiskUnder, newFaultyDisk } from "#test/support/chaos/faulty-disk.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";

const library = newFaultyDisk();

test("the disk of these tests forgets what was never synced, and what a failed sync has dropped", async () => {
  for (const [synchronous, from, kept] of [
    ["off", 0, 0],
    ["full", 0, 2],
    ["full", 4, 0],
  ] as const) {
    const { target } = sqliteDatabase();
    Bun.spawnSync(["touch", target]);
    const disk = new DiskUnder(target);
    const script = `const { Database } = await import("bun:sqlite");
      const database = new Database(process.argv[1]);
      database.run("pragma journal_mode = wal; pragma synchronous = ${synchronous}");
      database.run("create table t (a)");
      try { database.run("insert into t values (1), (2)"); } catch {}
      process.kill(process.pid, "SIGKILL");`;
    const fault = { from, times: 1000, errno: "EIO", seed: 5 } as const;
    const env = { ...process.env, ...disk.env(library, fault) };
    Bun.spawnSync([process.execPath, "-e", script, target], { env });
    expect(disk.operations).toBeGreaterThan(3);
    disk.cutPower();
    const database = new Database(target);
    const tables = database.query("select name from sqlite_schema").all();
    const rows = tables.length === 0 ? [] : database.query("select a from t").all();
    expect(rows).toHaveLength(kept);
    database.close();
  }
});

test("a power cut alone loses nothing", async () => {
  const plan = { library, rounds: 2, wanted: 5 };
  const fault = { from: 0, times: 0, errno: "EIO", seed: 1 } as const;
  const run = await runOnFaultyDisk({ ...plan, target: await newStore(), fault });
  expect(run.broken).toEqual([]);
}, 60_000);

test("EIO or ENOSPC at one write, sync or truncation, or at some in a row, then a power cut: nothing acknowledged is lost", async () => {
  const swept = await sweepFaults({ library, made: newStore, step: 23, faults: everyFault });
  expect(swept.broken).toEqual([]);
  expect(swept.runs).toBeGreaterThan(8);
  // Nearly every operation belongs to a commit, and its failure ends writing until the store has
  // verified itself.
  expect(swept.stopped).toBeGreaterThan(swept.runs / 2);
}, 120_000);

test("a server under load whose disk fails once and then loses its power has lost nothing it acknowledged", async () => {
  const home = newHome();
  const made = await Instance.start({ home });
  const chain = await createChain(made, "ecdsa-p256");
  const csr = await newCsr(home, "disk.example.test");
  await made.stop();
  const disk = new DiskUnder(join(home, "data", "pkid.db"));
  // Starting takes some forty operations, a certificate about twenty.
  const fault = { from: 200, times: 2, errno: "EIO", seed: 7 } as const;
  const instance = await Instance.start({ home, env: disk.env(library, fault) });
  const ca = `/api/ca/${chain.intermediateId}`;
  const acknowledged = { issued: [] as string[], revoked: [] as string[] };
  let refused = 0;
  const client = async () => {
    for (let n = 0; n < 12; n++) {
      try {
        const issue = instance.admin<{ serial: string }>("POST", `${ca}/issue`, { csr });
        const { serial } = await issue;
        acknowledged.issued.push(serial);
        await instance.admin("POST", `${ca}/revoke`, { serial, reason: "superseded" });
        acknowledged.revoked.push(serial);
      } catch (error) {
        expect(String(error)).toContain("storage_unavailable");
        refused += 1;
      }
    }
  };
  await Promise.all([client(), client(), client(), client()]);
  expect(refused).toBeGreaterThan(0);
  expect((await instance.fetch("/readyz")).status).toBe(200);
  expect(disk.operations).toBeGreaterThan(fault.from + 100);
  await instance.kill();
  disk.cutPower();
  const after = await Instance.start({ home });
  const status = async (serial: string) =>
    (await after.admin<{ status: string }>("GET", `${ca}/certificates/${serial}`)).status;
  expect(acknowledged.revoked.length).toBeGreaterThan(20);
  for (const serial of acknowledged.issued)
    expect(["good", "revoked"]).toContain(await status(serial));
  for (const serial of acknowledged.revoked) expect(await status(serial)).toBe("revoked");
  expect((await after.cli("audit", "verify")).code).toBe(0);
  expect((await after.cli("db", "check", "--deep")).code).toBe(0);
  await after.dispose();
}, 120_000);
