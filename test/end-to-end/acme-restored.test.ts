/**
 * ACME after the loss of its server, of its KEK, and after the move of its database: accounts,
 * credentials, orders and plans go on, and an archive holds no more of them than it may.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { goesOn, type Left, leftBehind, useNonce } from "#test/support/acme/left.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { backedUp, identityIn, type BackedUp } from "#test/support/instances/backed-up.ts";
import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { membersOf } from "#test/support/instances/rewritten-archive.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";

let server: PostgresServer;
let world: AcmeWorld;
let left: Left;
let made: BackedUp;
let firstHome: string;
/** What nobody but its holder has. */
let secrets: Readonly<Record<string, string>>;

const password = "correct horse battery staple";

beforeAll(async () => {
  server = await startPostgres();
  world = await AcmeWorld.start({ config: { root_user: { password } } });
  firstHome = world.instance.home;
  left = await leftBehind(world);
  secrets = await secretsOf(world.instance);
  // What somebody has put beside the keys.
  writeFileSync(join(world.instance.dataDir, "keys", "hsm-pin"), "a PIN of somebody");
  made = await backedUp(world.instance);
  await useNonce(left);
  await world.instance.stop();
}, 120_000);
afterAll(async () => {
  await world.stop();
  await server.stop();
}, 30_000);

/** Another home for the instance; its place in the world is that of the one before. */
async function restored(...flags: readonly string[]): Promise<void> {
  const home = newHome();
  writeConfig(home, world.config);
  const line = ["restore", made.archive, "--identity", made.identity, ...flags];
  const { code, stdout } = await runCli(home, line);
  expect([code, stdout]).toEqual([0, expect.stringContaining("Restored into")]);
  world.instance = await Instance.start({ home, config: world.config });
}

test("never inside an archive are nonces, sessions, the access log, PINs, and secrets in clear", async () => {
  const members = await membersOf(made.archive, identityIn(made.identity));
  const names = [...members.keys()];
  expect(names).toContain("database/acme_accounts.jsonl");
  expect(names.filter((name) => /nonce|session|access|log_heads|pin/.test(name))).toEqual([
    "database/ct_log_heads.jsonl",
  ]);
  const { tables } = JSON.parse(String(members.get("manifest.json")));
  expect(tables.filter((name: string) => /nonce|session|access/.test(name))).toEqual([]);
  const all = Buffer.concat([...members.values()]);
  for (const [what, secret] of Object.entries(secrets)) {
    expect([what, secret.length > 9, all.includes(secret)]).toEqual([what, true, false]);
    // As columns of octets have it.
    expect([what, all.includes(Buffer.from(secret).toString("hex"))]).toEqual([what, false]);
  }
});

test("RES-2: after a restore what was decided goes on, and what was under way is void", async () => {
  await restored();
  await goesOn(world, left, true);
  await world.instance.dispose();
}, 120_000);

test("RES-4: the same after a restore without its KEK", async () => {
  await restored("--new-kek");
  await goesOn(world, left, true);
  await world.instance.dispose();
}, 120_000);

test("after the move of its database all of it goes on", async () => {
  const home = firstHome;
  const database = { driver: "postgres", dsn: await server.createDatabase() };
  const away = { ...world.config, database };
  const to = join(home, "to.yaml");
  const known = JSON.parse(readFileSync(join(home, "pkid.yaml"), "utf8"));
  writeFileSync(to, JSON.stringify({ ...known, database }), { mode: 0o600 });
  const moved = await runCli(home, ["db", "migrate", "--to-config", to]);
  expect([moved.code, moved.stdout]).toEqual([0, expect.stringContaining("chains verified to")]);
  world.instance = await Instance.start({ home, config: away });
  await goesOn(world, left, false);
}, 120_000);

async function secretsOf(instance: Instance) {
  const login = await instance.fetch("/auth/login/password", {
    method: "POST",
    body: JSON.stringify({ username: "root", password }),
    headers: { "content-type": "application/json", origin: new URL(instance.url).origin },
  });
  const session = /=([^;]{20,})/.exec(login.headers.get("set-cookie") ?? "")?.[1] ?? "";
  return {
    session,
    password,
    token: await instance.token(["auditor"]),
    "binding key": left.credential.hmac_key,
    "used nonce": left.nonces.used,
    PIN: "a PIN of somebody",
  };
}
