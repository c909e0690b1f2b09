/**
 * Preflight of the binary against sockets, limits, clocks, weak-key files and switches as they
 * really are.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { command } from "#test/support/instances/first-certificate.ts";
import { canFakeTime, falseTime } from "#test/support/instances/false-time.ts";
import { binary, Instance, writeConfig } from "#test/support/instances/instance.ts";
import { preflight, said, stoppedHome } from "#test/support/instances/preflight.ts";

let home: string;
beforeAll(async () => {
  home = await stoppedHome({}, async (instance) => {
    await command(instance, ["ca", "init-root", "--label", "root", "--cn", "Root"]);
  });
}, 30_000);
afterAll(() => rmSync(home, { recursive: true, force: true }));

const statusOf = async (name: string, more: Parameters<typeof said>[2] = {}) =>
  (await said(home, name, more)).status;

test("listener.sockets: nothing without a server, ours with one, loose when opened, stale after SIGKILL", async () => {
  expect(await statusOf("listener.sockets")).toBe("pass");
  const instance = await Instance.start({ home });
  const socket = join(instance.dataDir, "admin.sock");
  expect(await said(home, "listener.sockets")).toMatchObject({
    status: "pass",
    detail: expect.stringContaining("answers"),
  });
  chmodSync(socket, 0o660);
  expect(await statusOf("listener.sockets")).toBe("warn");
  await instance.kill();
  expect(existsSync(socket)).toBe(true);
  expect(await said(home, "listener.sockets")).toMatchObject({
    status: "fail",
    detail: expect.stringContaining("stale"),
  });
  rmSync(socket);
});

test("leader.presence is told by a running server only", async () => {
  expect(await statusOf("leader.presence")).toBe("skip");
  const instance = await Instance.start({ home });
  try {
    expect(await statusOf("leader.presence")).toBe("pass");
  } finally {
    await instance.stop();
  }
});

test("process.limits follows the limit of open files", async () => {
  const withLimit = (files: number) => {
    const run = `ulimit -n ${files}; exec "$0" preflight --only process.limits --json --config "$1"`;
    const { stdout } = Bun.spawnSync(["sh", "-c", run, binary, join(home, "pkid.yaml")], {
      cwd: home,
      env: process.env,
    });
    return JSON.parse(stdout.toString()).checks[0].status;
  };
  expect([withLimit(9000), withLimit(4096), withLimit(512)]).toEqual(["pass", "warn", "fail"]);
});

test("keychecks.blocklist counts what is listed, warns of old files, fails for one it cannot read", async () => {
  const file = join(home, "weak.txt");
  writeFileSync(file, `${"ab".repeat(32)}\n`);
  writeConfig(home, { keychecks: { weak_key_blocklist_paths: [file] } });
  expect(await said(home, "keychecks.blocklist")).toMatchObject({
    status: "pass",
    detail: "1 files list 1 weak keys. Blocked keys: 0.",
  });
  const longAgo = new Date(Date.now() - 366 * 86_400_000);
  utimesSync(file, longAgo, longAgo);
  expect(await statusOf("keychecks.blocklist")).toBe("warn");
  writeFileSync(file, "no digest\n");
  expect(await said(home, "keychecks.blocklist")).toMatchObject({
    status: "fail",
    detail: expect.stringContaining("line 1"),
  });
  rmSync(file);
  expect(await statusOf("keychecks.blocklist")).toBe("fail");
  writeConfig(home, {});
});

test("auth.cleartext warns on this machine and fails for an address outside it", async () => {
  const env = { PKID_ALLOW_INSECURE_HTTP: "1" };
  expect(await statusOf("auth.cleartext")).toBe("pass");
  expect(await statusOf("auth.cleartext", { env })).toBe("warn");
  writeConfig(home, {
    server: { public_url: "https://pki.example.test" },
    auth: { session: { insecure: true } },
  });
  expect(await statusOf("auth.cleartext")).toBe("fail");
  writeConfig(home, {});
});

test("auth.root_basic warns of Basic beside another administrator", async () => {
  expect(await statusOf("auth.root_basic")).toBe("pass");
  const instance = await Instance.start({ home });
  await instance.token(["admin"], { scope: "platform" });
  await instance.stop();
  expect(await statusOf("auth.root_basic")).toBe("warn");
  writeConfig(home, { policy: { allow_root_basic_auth: false } });
  expect(await statusOf("auth.root_basic")).toBe("pass");
  writeConfig(home, {});
});

test("profiles.gates and caa.identifier tell what a configuration leaves out", async () => {
  expect([await statusOf("profiles.gates"), await statusOf("caa.identifier")]).toEqual([
    "pass",
    "skip",
  ]);
  const profile = { name: "web", key_usages: ["digitalSignature"], ext_key_usages: ["serverAuth"] };
  writeConfig(home, {
    profiles: [{ ...profile, key_checks: { disabled: true }, caa: { mode: "enforce" } }],
  });
  expect(await said(home, "caa.identifier")).toMatchObject({
    status: "fail",
    detail: expect.stringContaining("profiles[0].caa.mode"),
  });
  writeConfig(home, {
    caa: { identifier: "pki.example.test" },
    profiles: [{ ...profile, key_checks: { disabled: true }, caa: { mode: "enforce" } }],
  });
  expect([await statusOf("profiles.gates"), await statusOf("caa.identifier")]).toEqual([
    "warn",
    "pass",
  ]);
  writeConfig(home, {});
});

test("audit.chain_head and ledger.head fail for a database somebody edited", async () => {
  expect([await statusOf("audit.chain_head"), await statusOf("ledger.head")]).toEqual([
    "pass",
    "pass",
  ]);
  const edit = (text: string) => {
    using database = new Database(join(home, "data", "pkid.db"));
    database.run(text);
  };
  edit("update events set actor = 'mallory' where seq = 2");
  edit("update ledger set digest = 'ff' where number = 3");
  const { checks } = await preflight(home, ["audit.chain_head", "ledger.head"]);
  expect(checks["audit.chain_head"]?.detail).toBe("Event 2 breaks the chain (hash).");
  expect(checks["ledger.head"]?.detail).toBe("Ledger entry 3 breaks the chain (hash).");
});

describe.skipIf(!canFakeTime)("under a clock that was set", () => {
  test("clock.skew fails for events in the future, and expiry follows the clock", async () => {
    const time = falseTime();
    try {
      expect(await statusOf("clock.skew", { env: time.env })).toBe("pass");
      time.set(-3600);
      expect(await said(home, "clock.skew", { env: time.env })).toMatchObject({
        status: "fail",
        detail: expect.stringContaining("in the future"),
      });
      expect(await statusOf("certs.ca_expiry", { env: time.env })).toBe("pass");
      time.set(3640 * 86_400);
      expect(await statusOf("certs.ca_expiry", { env: time.env })).toBe("warn");
      time.set(3660 * 86_400);
      expect(await statusOf("certs.ca_expiry", { env: time.env })).toBe("fail");
      expect(await statusOf("crl.freshness", { env: time.env })).not.toBe("fail");
    } finally {
      time.remove();
    }
  });
});
