/**
 * An instance of the first release under this binary: migrated, with a copy of before, and nothing
 * of it lost.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

import { embeddedMigrations } from "#adapters/db/engine/migrations.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import type { Chain } from "#test/support/instances/first-certificate.ts";
import { failedStart, Instance, newHome, runCli } from "#test/support/instances/instance.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";
import { firstReleasePostgres, firstReleaseSqlite } from "#test/support/stores/first-release.ts";

const newest = embeddedMigrations("sqlite").length;
const open = { public_http: { enabled: true, address: "127.0.0.1:0" } };
const closing: (() => unknown)[] = [];
let world: AcmeWorld;
let home: string;
let config: Readonly<Record<string, unknown>>;
let chain: Chain;
let csr: string;
let token: string;
const leaves: { readonly serial: string; readonly file: string }[] = [];
let server: PostgresServer;

/** Data of a present instance: the first of three certificates is revoked. */
beforeAll(async () => {
  server = await startPostgres();
  closing.push(() => server.stop());
  world = await AcmeWorld.start({ config: { server: open } });
  const { instance } = world;
  closing.push(() => world.stop());
  ({ config, chain } = world);
  ({ home } = instance);
  closing.push(() => rmSync(home, { recursive: true, force: true }));
  csr = await newCsr(home, "kept.example.test");
  token = await instance.token(["issuer"]);
  for (let n = 0; n < 3; n++) {
    const asked = instance.admin<{ serial: string; certificate: string }>("POST", at("issue"), {
      csr,
    });
    const { serial, certificate } = await asked;
    leaves.push({ serial, file: saved(home, `leaf-${n}.pem`, certificate) });
  }
  await revoke(instance, 0);
  await instance.stop();
  firstReleaseSqlite(join(home, "data/pkid.db"), join(home, "first.db"));
}, 90_000);

afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

const at = (verb: string) => `/api/ca/${chain.intermediateId}/${verb}`;
const revoke = (instance: Instance, leaf: number) =>
  instance.admin("POST", at("revoke"), { serial: leaves[leaf]?.serial, reason: "superseded" });

/** The data directory of the instance, under a home of its own and without its database. */
function ownHome(): string {
  const own = newHome();
  closing.push(() => rmSync(own, { recursive: true, force: true }));
  mkdirSync(join(own, "data"), { mode: 0o700 });
  for (const name of readdirSync(join(home, "data"))) {
    const wanted = !/^(pkid\.db|access-log|lock|private|.*\.sock)/.test(name);
    if (wanted) cpSync(join(home, "data", name), join(own, "data", name), { recursive: true });
  }
  return own;
}

async function status(instance: Instance, leaf: number): Promise<string> {
  const { file = "" } = leaves[leaf] ?? {};
  const about = ["-issuer", chain.intermediate, "-cert", file, "-CAfile", chain.root];
  const url = ["-url", `${instance.publicUrl}${at("ocsp")}`, "-no_nonce"];
  const { text } = await openssl(["ocsp", ...about, "-verify_other", chain.intermediate, ...url]);
  expect(text).toContain("Response verify OK");
  return new RegExp(`${file}: (\\w+)`).exec(text)?.[1] ?? "";
}

/** What an instance of before has to be good for. */
async function goesOn(instance: Instance): Promise<void> {
  expect(await Promise.all([0, 1, 2].map((leaf) => status(instance, leaf)))).toEqual([
    "revoked",
    "good",
    "good",
  ]);
  await revoke(instance, 1);
  expect(await status(instance, 1)).toBe("revoked");
  const answer = await instance.fetch(at("issue"), {
    method: "POST",
    body: JSON.stringify({ csr }),
    headers: { authorization: `Token ${token}`, "content-type": "application/json" },
  });
  expect(answer.status).toBe(201);
  const found = await instance.admin<{ items: object[] }>("GET", at("certificates?q=kept"));
  expect(found.items).toHaveLength(4);
  // Tables that the first release did not have are served from.
  world.instance = instance;
  const client = await world.client();
  const { leaf } = await client.obtain([world.name()], world.show);
  expect((await client.renewalInfo(leaf)).status).toBe(200);
  const lines = [["verify"], ["audit", "verify"], ["db", "check", "--deep"]];
  for (const line of lines) expect(await instance.cli(...line)).toMatchObject({ code: 0 });
}

test("a SQLite database of the first release is migrated at the start, after a copy that opens again, and goes on", async () => {
  const own = ownHome();
  const file = join(own, "data/pkid.db");
  cpSync(join(home, "first.db"), file);
  const instance = await Instance.start({ home: own, config });
  const copy = `${file}.before-2`;
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  await goesOn(instance);
  await instance.stop();
  const versions = (path: string) => {
    const database = new Database(path, { readonly: true });
    const { n } = database.query("select max(version) n from schema_migrations").get() as {
      n: number; // An aggregate always has one row.
    };
    database.close();
    return n;
  };
  expect([versions(copy), versions(file)]).toEqual([1, newest]);
  // The remedy: the copy in the place of the database is the instance of before.
  for (const name of readdirSync(join(own, "data"))) {
    if (name.startsWith("pkid.db") && name !== "pkid.db.before-2") rmSync(join(own, "data", name));
  }
  renameSync(copy, file);
  const again = await Instance.start({ home: own, config });
  expect(await status(again, 1)).toBe("good");
  expect((await again.cli("audit", "verify")).code).toBe(0);
  await again.stop();
}, 120_000);

test("a PostgreSQL database of the first release waits for `pkid migrate`, and goes on after it", async () => {
  const own = ownHome();
  const dsn = await server.createDatabase();
  await firstReleasePostgres(join(home, "first.db"), dsn);
  const away = { ...config, database: { driver: "postgres", dsn } };
  const refused = await failedStart({ home: own, config: away });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("pkid migrate")]);
  // Nothing could be put back: no backup was ever made of it.
  const bare = await runCli(own, ["migrate"]);
  expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining("it has no backup")]);
  expect((await failedStart({ home: own, config: away })).code).toBe(1);
  const migrated = await runCli(own, ["migrate", "--yes"]);
  expect([migrated.code, migrated.stdout]).toEqual([
    0,
    expect.stringContaining("newest backup: none is known"),
  ]);
  const instance = await Instance.start({ home: own, config: away });
  await goesOn(instance);
  await instance.stop();
}, 120_000);

test("a newer schema is refused with what to do, and nothing changes", async () => {
  const own = ownHome();
  const file = join(own, "data/pkid.db");
  cpSync(join(home, "first.db"), file);
  const instance = await Instance.start({ home: own, config });
  await instance.stop();
  const copies = () => readdirSync(join(own, "data")).filter((name) => name.includes(".before-"));
  const before = copies();
  const database = new Database(file);
  database.run("insert into schema_migrations values (?, 'of a later release')", [newest + 1]);
  database.close();
  const refused = await failedStart({ home: own, config });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`has version ${newest + 1}; this binary knows ${newest}`);
  expect(refused.stderr).toContain("Run the newer binary again, or ");
  expect(copies()).toEqual(before);
  expect(existsSync(join(own, "data/admin.sock"))).toBe(false);
}, 60_000);
