/**
 * Instances of every version in the corpus under this binary: their data directories, database
 * dumps and archives open, verify and continue.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";

import type { CorpusInventories } from "#test/support/corpus/artifacts.ts";
import {
  findVersionFolder,
  loadInventories,
  loadSettings,
  unpackArtifact,
  unpackPostgres,
} from "#test/support/corpus/contents.ts";
import { listCorpusVersions } from "#test/support/corpus/manifest.ts";
import { listRecords } from "#test/support/corpus/records.ts";
import type { CorpusInventory } from "#test/support/corpus/scenario.ts";
import { Instance, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { openssl, saved } from "#test/support/instances/relying-party.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";

const sources = {
  "SQLite data directory": { database: "sqlite", unpack: unpackSqlite, isFinal: true },
  "PostgreSQL dump": { database: "postgres", unpack: unpackDump, isFinal: true },
  archive: { database: "sqlite", unpack: restoreArchive, isFinal: false },
} as const satisfies Record<string, Source>;

interface Source {
  readonly database: keyof CorpusInventories;
  readonly unpack: (folder: string, home: string) => Promise<object>;
  /** True if the records of `addFurtherRecords` are present. */
  readonly isFinal: boolean;
}

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 60_000);
afterAll(() => server.stop());

/** Unpacks the data directory of the version; returns further settings. */
async function unpackSqlite(folder: string, home: string): Promise<object> {
  await unpackArtifact(folder, "sqlite.tar.zst", home);
  return {};
}

async function unpackDump(folder: string, home: string): Promise<object> {
  const dsn = await server.createDatabase();
  await unpackPostgres(folder, home, dsn);
  return { database: { driver: "postgres", dsn } };
}

async function restoreArchive(folder: string, home: string): Promise<object> {
  writeConfig(home, loadSettings(folder));
  const opener = ["--identity", join(folder, "archive-identity.txt")];
  const restored = await runCli(home, ["restore", join(folder, "archive.tar.age"), ...opener]);
  expect(restored.code).toBe(0);
  return {};
}

const cases = listCorpusVersions().flatMap((version) =>
  Object.entries(sources).map(([name, source]) => ({ version, name, source })),
);

describe.each(cases)("version $version, $name", ({ version, source }) => {
  const folder = findVersionFolder(version);
  const home = newHome();
  const inventory = loadInventories(folder)[source.database];
  let config: Readonly<Record<string, unknown>>;
  let instance: Instance;

  beforeAll(async () => {
    config = { ...loadSettings(folder), ...(await source.unpack(folder, home)) };
    writeConfig(home, config);
  }, 60_000);
  afterAll(async () => {
    await instance?.dispose();
    rmSync(home, { recursive: true, force: true });
  });

  test("`migrate`, `db check` and `verify` find nothing wrong", async () => {
    for (const line of [
      ["migrate", "--yes"],
      ["db", "check", "--deep"],
    ]) {
      expect(await runCli(home, line)).toMatchObject({ code: 0 });
    }
    const verified = await runCli(home, ["verify"]);
    expect([verified.code, verified.stdout]).toEqual([
      0,
      expect.stringContaining("Every proof holds."),
    ]);
  }, 60_000);

  test("the server starts, and its OCSP responses and CRLs have the statuses of before", async () => {
    instance = await Instance.start({ home, config });
    const expected = inventory.leaves.map(({ status }) => status);
    expect(await readStatuses(instance, inventory)).toEqual(expected);
    const lists = [
      await readCrl(instance, inventory, ""),
      await readCrl(instance, inventory, "/delta"),
    ];
    for (const { serial, status } of inventory.leaves) {
      const entry = `Serial Number: ${formatHex(serial)}\n`;
      const listed = lists.some((text) => text.includes(entry));
      expect([serial, listed]).toEqual([serial, status !== "good"]);
    }
  }, 60_000);

  test("records that only administrators see are present", async () => {
    const records = await listRecords(instance, inventory.issuing, source.isFinal);
    const expected = source.isFinal ? inventory.finalRecords : inventory.records;
    expect(records).toEqual(expected);
    const statuses = inventory.archived.map(async (serial) => {
      const path = `/api/ca/${inventory.issuing}/certificates/${serial}`;
      return (await instance.admin<{ status: string }>("GET", path)).status;
    });
    expect(await Promise.all(statuses)).toEqual(["expired", "revoked"]);
  }, 60_000);

  test("the server issues, revokes, releases and renews, and every proof still holds", async () => {
    const path = `/api/ca/${inventory.issuing}`;
    const issue = (csr: string) =>
      instance.fetch(`${path}/issue`, {
        method: "POST",
        body: JSON.stringify({ csr }),
        headers: { authorization: `Token ${inventory.token}`, "content-type": "application/json" },
      });
    expect((await issue(inventory.csr)).status).toBe(201);
    const refused = await issue(inventory.blockedCsr);
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining("blocked_key"),
    ]);
    const [first, , , held] = inventory.leaves;
    await instance.admin("POST", `${path}/renew`, { serial: first?.serial });
    await instance.admin("POST", `${path}/revoke`, { serial: first?.serial });
    await instance.admin("POST", `${path}/certificates/${held?.serial}:release`, {});
    const statuses = await readStatuses(instance, inventory);
    expect([statuses[0], statuses[3]]).toEqual(["revoked", "good"]);
    // Rotation opens every sealed value under its old version of the KEK.
    expect(await instance.cli("keys", "kek", "rotate")).toMatchObject({ code: 0 });
    expect(await instance.cli("verify")).toMatchObject({ code: 0 });
  }, 60_000);
});

/** Returns the OCSP status of each certificate as openssl prints it. */
async function readStatuses(
  instance: Instance,
  { issuing, intermediate, root, leaves }: CorpusInventory,
): Promise<readonly string[]> {
  const { home } = instance;
  const issuer = saved(home, "issuing.pem", intermediate);
  const trust = ["-CAfile", saved(home, "root.pem", root), "-verify_other", issuer];
  const files = leaves.map(({ certificate }, index) =>
    saved(home, `leaf-${index}.pem`, certificate),
  );
  // One request for each: the server responds to single requests.
  const statuses: string[] = [];
  for (const file of files) {
    const url = `${instance.publicUrl}/api/ca/${issuing}/ocsp`;
    const request = ["-issuer", issuer, "-cert", file, "-url", url];
    const { text } = await openssl(["ocsp", "-no_nonce", ...trust, ...request]);
    expect(text).toContain("Response verify OK");
    const [, reason] = /Reason: (\w+)/.exec(text) ?? [];
    statuses.push(reason ?? new RegExp(`${file}: (\\w+)`).exec(text)?.[1] ?? "");
  }
  return statuses;
}

/** Returns a CRL of the issuing CA as openssl prints it, after verifying its signature. */
async function readCrl(
  instance: Instance,
  { issuing, intermediate }: CorpusInventory,
  scope: "" | "/delta",
): Promise<string> {
  const issuer = saved(instance.home, "issuing.pem", intermediate);
  const response = await instance.fetch(`/api/ca/${issuing}/crl${scope}`);
  const file = saved(instance.home, "issuing.crl", await response.bytes());
  const line = ["crl", "-inform", "DER", "-in", file, "-CAfile", issuer, "-noout", "-text"];
  const { text } = await openssl(line);
  expect(text).toContain("verify OK");
  return text;
}

/** Returns the serial as openssl prints it in a CRL. */
const formatHex = (serial: string): string => {
  const hex = BigInt(serial).toString(16).toUpperCase();
  return hex.length % 2 === 0 ? hex : `0${hex}`;
};
