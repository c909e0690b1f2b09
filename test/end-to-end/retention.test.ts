/**
 * Years go by: what expired leaves the inventory, and relying parties and auditors notice nothing.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { canFakeTime, falseTime } from "#test/support/instances/false-time.ts";
import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { said } from "#test/support/instances/preflight.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";
import { until } from "#test/support/until.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 60_000);
afterAll(() => server.stop());

describe.skipIf(!canFakeTime).each(["sqlite", "postgres"] as const)("on %s", (driver) => {
  test("RET-2: after archiving and pruning every question has its answer, and every proof holds", async () => {
    const home = newHome();
    const database = driver === "sqlite" ? {} : { database: { driver, dsn: await migrated(home) } };
    const crl = { base_url: "http://127.0.0.1:9" };
    const config = { ...database, retention, crl };
    const time = falseTime();
    let instance = await Instance.start({ home, config, env: time.env });
    const later = async (days: number) => {
      await instance.stop();
      time.set(days * 86_400);
      instance = await Instance.start({ home, config, env: time.env });
      const { resumed } = await instance.admin<{ resumed: string[] }>(
        "POST",
        "/api/monitor/clock:accept",
      );
      expect(resumed).toEqual(["mass_actions"]);
    };
    try {
      const { intermediateId: ca, folder } = await createChain(instance, "ecdsa-p256");
      const csr = await newCsr(folder, "old.example.test");
      const issue = async () =>
        (
          await instance.admin<{ serial: string }>("POST", `/api/ca/${ca}/issue`, {
            csr,
            validity_days: 1,
          })
        ).serial;
      const [good, revoked] = [await issue(), await issue()];
      await instance.admin("POST", `/api/ca/${ca}/revoke`, {
        serial: revoked,
        reason: "superseded",
      });
      const before = await shown(instance, ca, good);
      // The schedule counts from here on: without a last run one is due at every start.
      expect(await retained(instance)).toMatchObject({ archived: 0, pruned: 0, held_back: 0 });

      await later(200);
      const publish = () => instance.admin("POST", `/api/ca/${ca}/crl:publish`);
      for (let n = 0; n < 2; n++) await publish();
      const looked = await retained(instance, "--dry-run");
      expect(looked).toMatchObject({ dry_run: true, archived: 2, pruned: 0 });
      expect(await retained(instance)).toMatchObject({ archived: 2, pruned: 0, held_back: 0 });
      // Its status is the only thing that has changed with the years.
      expect(await shown(instance, ca, good)).toEqual({ ...before, status: "expired" });
      await proofs(instance, home, ca, [good, revoked]);

      await later(500);
      for (let n = 0; n < 2; n++) await publish();
      expect(await retained(instance)).toMatchObject({ archived: 0, pruned: 2 });
      const left = await shown(instance, ca, good);
      expect(left).toMatchObject({ pruned: true, certificate: "", subject: "", status: "expired" });
      expect(left.public_key_fingerprint).toBe(before.public_key_fingerprint);
      await proofs(instance, home, ca, [good, revoked]);
      await nothingToRead(instance, home, ca, good);
    } finally {
      await instance.dispose();
      time.remove();
    }
  }, 180_000);
});

const retention = {
  enabled: true,
  mode: "prune",
  min_age_days: 90,
  prune_after_days: 400,
  // So seldom by itself that every run here is one that was asked for.
  schedule: { interval_hours: 365 * 24 },
} as const;

type Shown = Readonly<Record<string, unknown>>;
const shown = (instance: Instance, ca: string, serial: string) =>
  instance.admin<Shown>("GET", `/api/ca/${ca}/certificates/${serial}`);

async function retained(instance: Instance, ...flags: string[]): Promise<Shown> {
  const ran = await instance.cli("retention", "run", "--json", ...flags);
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  return JSON.parse(ran.stdout);
}

/** Of what is left of a certificate nobody reads addresses, or keys. */
async function nothingToRead(instance: Instance, home: string, ca: string, good: string) {
  expect((await said(home, "revocation.urls")).status).toBe("skip");
  const named = ["--ca", ca, "--host", "old.example.test", "--serial", good];
  const pinned = await instance.cli("dns-records", "tlsa", ...named);
  expect([pinned.code, pinned.stderr]).toEqual([1, expect.stringContaining("was pruned")]);
  const status = await instance.cli("retention", "status");
  expect(status.stdout).toContain("pruned:    2");
}

/** OCSP, both chains, the rules of the database and the whole sign ledger. */
async function proofs(
  instance: Instance,
  home: string,
  ca: string,
  [good, revoked]: readonly [string, string],
): Promise<void> {
  for (const [serial, word] of [
    [good, "good"],
    [revoked, "revoked"],
  ] as const) {
    // This shell lives today, and would believe no answer of another year.
    let told = "tryLater";
    const line = ["ocsp", "check", "--ca", ca, serial, "--json"];
    // The responder of years ago has expired; the leader makes another one.
    await until(async () => {
      told = JSON.parse((await instance.cli(...line)).stdout).status;
      return told !== "tryLater";
    });
    expect([serial, told]).toEqual([serial, word]);
  }
  expect((await instance.cli("audit", "verify")).code).toBe(0);
  expect((await instance.cli("db", "check", "--deep")).code).toBe(0);
  const proven = await instance.cli("verify");
  expect([proven.code, proven.stdout]).toEqual([0, expect.not.stringContaining("violat")]);
  const log = join(home, `log-${crypto.randomUUID()}.json`);
  expect((await instance.cli("hsm", "log", "--combined", "--out", log)).code).toBe(0);
  type Entries = { readonly items: readonly { readonly signer_fingerprint: string }[] };
  const { items } = await instance.admin<Entries>("GET", "/api/hsm/audit-log?kind=genesis");
  const key = items[0]?.signer_fingerprint ?? "";
  const verified = await instance.cli("hsm", "verify-log", log, "--key", key);
  expect([verified.code, verified.stderr]).toEqual([0, ""]);
}

async function migrated(home: string): Promise<string> {
  const dsn = await server.createMigratedDatabase();
  writeConfig(home, { database: { driver: "postgres", dsn } });
  expect((await runCli(home, ["migrate"])).code).toBe(0);
  return dsn;
}
