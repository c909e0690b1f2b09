/**
 * Tests two replicas while PostgreSQL servers switch over: old connections to the earlier primary
 * must not lead to wrong responses.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";

import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { canFakeTime, type FalseTime, falseTime } from "#test/support/instances/false-time.ts";
import { failedStart, Instance, newHome, runCli } from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { SwitchOverLoad } from "#test/support/instances/switch-over-load.ts";
import { selectByRun } from "#test/support/run-length.ts";
import { type MovingPath, openMovingPath } from "#test/support/servers/moving-path.ts";
import { type PostgresPair, startPostgresPair } from "#test/support/servers/postgres-pair.ts";
import { until } from "#test/support/until.ts";

let pair: PostgresPair;
let paths: readonly [MovingPath, MovingPath];
let time: FalseTime;
let one: Instance;
let two: Instance;
let chain: Chain;
let load: SwitchOverLoad;

beforeAll(async () => {
  pair = await startPostgresPair("pkid");
  paths = [await openMovingPath(pair.primary), await openMovingPath(pair.primary)];
  const buildConfig = ({ port }: MovingPath) => ({
    database: { driver: "postgres", dsn: `postgres://pkid@127.0.0.1:${port}/pkid` },
    rate_limit: { enabled: false },
  });
  const home = newHome();
  const config = buildConfig(paths[0]);
  await failedStart({ home, config });
  expect((await runCli(home, ["migrate"])).code).toBe(0);
  one = await Instance.start({ home, config });
  chain = await createChain(one, "ecdsa-p256");
  const software = {
    keystore_dir: join(one.dataDir, "keys"),
    master_key_file: join(one.dataDir, "master.key"),
  };
  time = falseTime();
  two = await Instance.start({
    config: { ...buildConfig(paths[1]), key_provider: { software } },
    env: canFakeTime ? time.env : {},
  });
  load = new SwitchOverLoad({
    id: chain.intermediateId,
    certificate: await Bun.file(chain.intermediate).text(),
    csr: await newCsr(chain.folder, "switch.example.test"),
    token: await one.token(["admin"]),
  });
}, 120_000);

afterAll(async () => {
  await two?.dispose();
  await one?.dispose();
  for (const path of paths ?? []) path.close();
  await pair?.stop();
  time?.remove();
});

test("replicas under load give no wrong status and no number twice while the primary changes, even to a standby that lags", async () => {
  load.start([one, two]);
  try {
    for (let round = 0; round < selectByRun(3, 30); round++) await switchOver();
    for (let round = 0; round < selectByRun(1, 30); round++) await switchToLaggingStandby();
  } finally {
    await load.stop();
  }
  expect(load.violations).toEqual([]);
  expect(load.counts.good).toBeGreaterThan(0);
  expect(load.counts.revoked).toBeGreaterThan(0);
  for (const replica of [one, two]) expect((await replica.cli("audit", "verify")).code).toBe(0);
}, 1_800_000);

/** Moves the second replica first: the first one has only connections to the old primary then. */
async function switchOver(): Promise<void> {
  const serial = await retry(() => load.issue(two));
  await pair.fence();
  await pair.promote();
  paths[1].move(pair.primary);
  await ready(two);
  await retry(() => load.revoke(two, serial));
  for (const hasNonce of [true, false, true]) {
    expect(await load.query(one, serial, hasNonce)).toBe("tryLater");
  }
  await reports(one, "read-only");
  expect((await one.fetch("/readyz")).status).toBe(503);
  paths[0].move(pair.primary);
  await ready(one);
  expect(await load.query(one, serial, true)).toBe("revoked");
  await pair.rejoin();
}

/** Promotes a standby that lacks an acknowledged revocation and a published CRL. */
async function switchToLaggingStandby(): Promise<void> {
  const serial = await retry(() => load.issue(two));
  await pair.disconnect();
  await retry(() => load.revoke(one, serial));
  await retry(() => load.publish(one));
  await pair.fence();
  await pair.promote();
  for (const path of paths) path.move(pair.primary);
  const replicas = [one, two];
  for (const replica of replicas) {
    await reports(replica, "lacks acknowledged changes");
    expect(await load.query(replica, serial, true)).toBe("tryLater");
    await expect(load.issue(replica)).rejects.toThrow("503");
  }
  load.acceptLoss();
  await until(async () => (await one.cli("db", "accept-rollback")).code === 0);
  for (const replica of replicas) await ready(replica);
  await retry(() => load.revoke(two, serial));
  expect(await load.query(one, serial, true)).toBe("revoked");
  await pair.rejoin();
}

test("replicas leave an old primary that still takes writes when the address has moved, and sign nothing until its lost commits are accepted", async () => {
  const serial = await load.issue(one);
  await pair.promote();
  await load.issue(one);
  for (const path of paths) path.move(pair.primary);
  for (const replica of [one, two]) await reports(replica, "lacks acknowledged changes");
  expect(await load.query(one, serial, true)).toBe("tryLater");
  await until(async () => (await one.cli("db", "accept-rollback")).code === 0);
  for (const replica of [one, two]) await ready(replica);
  await load.revoke(two, serial);
  expect(await load.query(one, serial, true)).toBe("revoked");
  await pair.rejoin();
}, 120_000);

describe.skipIf(!canFakeTime)("a replica whose clock differs from that of the database", () => {
  test("a replica issues nothing beyond 60 seconds, and log, readiness and preflight contain the reason", async () => {
    for (const seconds of [-90, 200 * 86_400]) {
      time.set(seconds);
      await reports(two, "60 seconds");
      await expect(load.issue(two)).rejects.toThrow(/503.*differ by more than 60 seconds/s);
      // The clock of the other replica is right, which must not end the pause of this one.
      await load.issue(one);
      await expect(load.issue(two)).rejects.toThrow(/503/);
      await two.logged("clock_skewed");
      const { stdout } = await two.cli("preflight", "--only", "clock.skew", "--json");
      expect(stdout).toContain('"fail"');
      time.set(0);
      await until(async () => !(await databaseDetail(two)).includes("60 seconds"));
    }
  }, 60_000);
});

/** Returns what readiness reports about the database. */
async function databaseDetail(replica: Instance): Promise<string> {
  const { components } = await (await replica.fetch("/readyz")).json();
  return components.database.detail ?? components.database.error ?? "";
}

/** Resolves as soon as readiness contains the text. */
async function reports(replica: Instance, text: string): Promise<void> {
  await until(async () => (await databaseDetail(replica)).includes(text)).catch(async () => {
    throw new Error(`no "${text}" in: ${await databaseDetail(replica)}`);
  });
}

async function ready(replica: Instance): Promise<void> {
  const isReady = async () => (await replica.fetch("/readyz")).status === 200;
  await until(isReady).catch(async () => {
    throw new Error(`not ready: ${await databaseDetail(replica)}`);
  });
}

/** Repeats an operation that the load or a recovery may keep from succeeding. */
async function retry<T>(operation: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await operation();
    } catch (error) {
      if (attempt === 50) throw error;
      await Bun.sleep(100);
    }
  }
}
