/**
 * An instance of the first release under this binary: migrated, with a copy of before, and nothing
 * of it lost.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { embeddedMigrations } from "#adapters/db/engine/migrations.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import {
  binary,
  failedStart,
  Instance,
  newHome,
  runCli,
} from "#test/support/instances/instance.ts";
import { openssl, saved } from "#test/support/instances/relying-party.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";
import {
  type FirstRelease,
  firstRelease,
  firstReleaseConfig,
  firstReleaseRun,
} from "#test/support/stores/first-release.ts";

const newest = embeddedMigrations("sqlite").length;
const listeners = { public_http: { enabled: true, address: "127.0.0.1:0" } };
const closing: (() => unknown)[] = [];
let config: Readonly<Record<string, unknown>>;
let server: PostgresServer;
let world: AcmeWorld;

/** It serves ACME, too, whose tables the first release did not have. */
beforeAll(async () => {
  server = await startPostgres();
  closing.push(() => server.stop());
  world = await AcmeWorld.start({ config: { server: listeners } });
  closing.push(() => world.stop());
  await world.instance.dispose();
  const acme = { ...(world.config.acme as object), ca_label: "issuing" }; // What the world made.
  config = { ...world.config, ...firstReleaseConfig, acme };
}, 60_000);

afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

/** A home with the instance in it. */
async function ownHome(dsn?: string): Promise<FirstRelease & { readonly home: string }> {
  const home = newHome();
  closing.push(() => rmSync(home, { recursive: true, force: true }));
  return { ...(await firstRelease(home, dsn)), home };
}

type Found = FirstRelease & { readonly home: string };
const at = ({ issuing }: Found, verb: string) => `/api/ca/${issuing}/${verb}`;
const revoke = (instance: Instance, found: Found, leaf: number) =>
  instance.admin("POST", at(found, "revoke"), { serial: found.leaves[leaf]?.serial });

async function statuses(instance: Instance, found: Found): Promise<readonly string[]> {
  const issuer = saved(found.home, "issuing.pem", found.intermediate);
  const about = ["-issuer", issuer, "-CAfile", saved(found.home, "root.pem", found.root)];
  const url = ["-url", `${instance.publicUrl}${at(found, "ocsp")}`, "-no_nonce"];
  const told: string[] = [];
  for (const [index, { certificate }] of found.leaves.entries()) {
    const file = saved(found.home, `leaf-${index}.pem`, certificate);
    const line = ["ocsp", ...about, "-verify_other", issuer, ...url, "-cert", file];
    const { text } = await openssl(line);
    expect(text).toContain("Response verify OK");
    const [, reason] = /Reason: (\w+)/.exec(text) ?? [];
    told.push(reason ?? new RegExp(`${file}: (\\w+)`).exec(text)?.[1] ?? "");
  }
  return told;
}

const issue = (instance: Instance, found: Found, csr: string) =>
  instance.fetch(at(found, "issue"), {
    method: "POST",
    body: JSON.stringify({ csr }),
    headers: { authorization: `Token ${found.token}`, "content-type": "application/json" },
  });

/** What an instance of before has to be good for. */
async function goesOn(instance: Instance, found: Found): Promise<void> {
  expect(await statuses(instance, found)).toEqual([
    "superseded",
    "good",
    "good",
    "certificateHold",
  ]);
  await revoke(instance, found, 1);
  const { serial = "" } = found.leaves[3] ?? {};
  const released = await instance.cli("revoke", "release", "--ca", "issuing", serial);
  expect(released).toMatchObject({ code: 0 });
  expect(await statuses(instance, found)).toEqual(["superseded", "revoked", "good", "good"]);
  expect((await issue(instance, found, found.csr)).status).toBe(201);
  const refused = await issue(instance, found, found.doomed);
  expect([refused.status, await refused.text()]).toEqual([
    400,
    expect.stringContaining("blocked_key"),
  ]);
  const listed = instance.admin<{ items: object[] }>("GET", at(found, "certificates?q=kept"));
  expect((await listed).items).toHaveLength(5);
  await remembers(instance);
  world.instance = instance;
  const client = await world.client();
  const { leaf } = await client.obtain([world.name()], world.show);
  expect((await client.renewalInfo(leaf)).status).toBe(200);
  const lines = [["audit", "verify"], ["db", "check", "--deep"], ["verify"]];
  for (const line of lines) expect(await instance.cli(...line)).toMatchObject({ code: 0 });
}

/** What else was done before: a tenant, a request that waits, and a run that is not run twice. */
async function remembers(instance: Instance): Promise<void> {
  const listed = async (...line: string[]) => (await instance.cli(...line)).stdout;
  expect(await listed("tenant", "list")).toContain("Web platform");
  expect(await listed("approvals", "list")).toContain("ca.rotate");
  const filter = ["--ca", "issuing", "--pattern", "many.*", "--reason", "cessationOfOperation"];
  const again = ["--operation-id", firstReleaseRun, "--force", "--yes", "--json"];
  const { stdout } = await instance.cli("revoke", "bulk", ...filter, ...again);
  expect(JSON.parse(stdout)).toMatchObject({ revoked: 0, already_skipped: 3 });
}

test("a SQLite database of the first release is migrated at the start, after a copy that opens again, and goes on", async () => {
  const found = await ownHome();
  const folder = join(found.home, "data");
  const file = join(folder, "pkid.db");
  const instance = await Instance.start({ home: found.home, config });
  const copy = `${file}.before-2`;
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  await goesOn(instance, found);
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
  for (const name of readdirSync(folder)) {
    if (name.startsWith("pkid.db") && name !== "pkid.db.before-2") rmSync(join(folder, name));
  }
  renameSync(copy, file);
  const again = await Instance.start({ home: found.home, config });
  expect((await again.fetch("/readyz")).status).toBe(503);
  expect(await again.cli("db", "accept-rollback")).toMatchObject({ code: 0 });
  expect((await statuses(again, found))[1]).toBe("good");
  expect((await again.cli("audit", "verify")).code).toBe(0);
  await again.stop();
}, 120_000);

test("a PostgreSQL database of the first release waits for `pkid migrate`, and goes on after it", async () => {
  const dsn = await server.createDatabase();
  const found = await ownHome(dsn);
  const { home } = found;
  const onPostgres = { ...config, database: { driver: "postgres", dsn } };
  const refused = await failedStart({ home, config: onPostgres });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("pkid migrate")]);
  // Nothing could be put back: no backup was ever made of it.
  for (const line of [["migrate"], ["serve", "--migrate"]]) {
    const bare = await runCli(home, line);
    expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining("it has no backup")]);
  }
  expect((await failedStart({ home, config: onPostgres })).code).toBe(1);
  const migrated = await runCli(home, ["migrate", "--yes"]);
  expect([migrated.code, migrated.stdout]).toEqual([
    0,
    expect.stringContaining("newest backup: none is known"),
  ]);
  const instance = await Instance.start({ home, config: onPostgres });
  await goesOn(instance, found);
  await instance.stop();
}, 120_000);

test("`pkid serve --migrate --yes` migrates a PostgreSQL database of the first release and goes on", async () => {
  const dsn = await server.createDatabase();
  const found = await ownHome(dsn);
  const program = join(found.home, "migrating");
  writeFileSync(program, `#!/bin/sh\nexec ${binary} "$@" --migrate --yes\n`, { mode: 0o755 });
  const onPostgres = { ...config, database: { driver: "postgres", dsn } };
  const instance = await Instance.start({ home: found.home, config: onPostgres, binary: program });
  expect((await statuses(instance, found))[0]).toBe("superseded");
  await instance.stop();
}, 120_000);

test("a newer schema is refused with what to do, and nothing changes", async () => {
  const { home } = await ownHome();
  const folder = join(home, "data");
  const instance = await Instance.start({ home, config });
  await instance.stop();
  const copies = () => readdirSync(folder).filter((name) => name.includes(".before-"));
  const before = copies();
  const database = new Database(join(folder, "pkid.db"));
  database.run("insert into schema_migrations values (?, 'of a later release')", [newest + 1]);
  database.close();
  const refused = await failedStart({ home, config });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`has version ${newest + 1}; this binary knows ${newest}`);
  expect(refused.stderr).toContain("Run the newer binary again, or ");
  expect(copies()).toEqual(before);
  expect(existsSync(join(folder, "admin.sock"))).toBe(false);
}, 60_000);
