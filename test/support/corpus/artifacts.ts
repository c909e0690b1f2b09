/** Writes the artifacts of one corpus version, each by the command that a user would run. */

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ran } from "#test/support/child.ts";
import { backedUp } from "#test/support/instances/backed-up.ts";
import { type Instance, newHome, runPlainCli } from "#test/support/instances/instance.ts";
import { dumpDatabase } from "#test/support/servers/postgres-dump.ts";
import { writeCorpusManifest } from "./manifest.ts";
import { type CorpusRecords, listRecords } from "./records.ts";
import {
  addFurtherRecords,
  type CorpusInventory,
  createBaseRecords,
  presignResponses,
} from "./scenario.ts";

/** Home and `database` section of both instances; the schema of PostgreSQL is migrated. */
export interface CorpusHomes {
  readonly sqlite: string;
  readonly postgres: string;
  readonly dsn: string;
}

/** Content of `inventory.json`. */
export type CorpusInventories = Readonly<Record<"sqlite" | "postgres", FinalInventory>>;

/** Inventory with the records that the data directory has in addition. */
export interface FinalInventory extends CorpusInventory {
  /** Records at the end of `addFurtherRecords`. */
  readonly finalRecords: CorpusRecords;
}

/** Fills both instances, and writes every artifact and the manifest into the empty folder. */
export async function writeCorpus(folder: string, homes: CorpusHomes): Promise<void> {
  const created_at = `${new Date().toISOString().slice(0, 19)}Z`;
  const base = await createBaseRecords(homes.sqlite, {});
  const { instance } = base;
  const ledgerKey = await writeExports(folder, instance, base.inventory.approvals.executed);
  await writeArchive(folder, instance);
  await instance.stop();
  await writePublishedFolder(folder, homes.sqlite);
  const world = await addFurtherRecords(homes.sqlite, {});
  await writeConfigurations(folder, world.instance);
  const sqlite = await withFinalRecords(base.inventory, world.instance);
  await world.instance.stop();
  await pack(join(folder, "sqlite.tar"), homes.sqlite, ["data"]);
  const postgres = await writePostgres(folder, homes);
  const inventories: CorpusInventories = { sqlite, postgres };
  writeFileSync(join(folder, "inventory.json"), `${JSON.stringify(inventories, null, 2)}\n`);
  const { stdout } = await runPlainCli(newHome(), ["version", "--json"]);
  const { version, commit, schema_version } = JSON.parse(stdout);
  const head = { version, commit, schema_version, created_at, ledger_key: ledgerKey };
  writeCorpusManifest(folder, head, createdBy);
}

/** Fills the instance on PostgreSQL, and writes its data directory with a dump. */
async function writePostgres(folder: string, { postgres, dsn }: CorpusHomes) {
  const database = { database: { driver: "postgres", dsn } };
  const { instance, inventory } = await createBaseRecords(postgres, database);
  await instance.stop();
  await (await presignResponses(postgres, database)).stop();
  const world = await addFurtherRecords(postgres, database);
  const final = await withFinalRecords(inventory, world.instance);
  await world.instance.stop();
  writeFileSync(join(postgres, "dump.sql"), await dumpDatabase(dsn));
  await pack(join(folder, "postgres.tar"), postgres, ["dump.sql", "data"]);
  return final;
}

async function withFinalRecords(
  inventory: CorpusInventory,
  instance: Instance,
): Promise<FinalInventory> {
  return { ...inventory, finalRecords: await listRecords(instance, inventory.issuing, true) };
}

/** Writes ledger, audit log, transcript and support bundle; returns the ledger key fingerprint. */
async function writeExports(folder: string, instance: Instance, approval: string) {
  await run(instance, "hsm", "log", "--out", join(folder, "sign-ledger.json"));
  await run(
    instance,
    "hsm",
    "log",
    "--combined",
    "--out",
    join(folder, "sign-ledger-combined.json"),
  );
  await run(instance, "audit", "export", "--out", join(folder, "audit.jsonl"));
  await run(
    instance,
    "approvals",
    "transcript",
    approval,
    "--out",
    join(folder, "transcript.json"),
  );
  await run(instance, "support-bundle", "--out", join(folder, "support-bundle.tar.gz"));
  const pem = await run(instance, "keys", "inventory", "--ledger-key");
  writeFileSync(join(folder, "ledger.pem"), pem);
  for (const name of ["sign-ledger.json", "sign-ledger-combined.json", "audit.jsonl"]) {
    await compress(join(folder, name));
  }
  const { items } = await instance.admin<{
    items: readonly { readonly role: string; readonly public_key_fingerprint: string }[];
  }>("GET", "/api/inventory/keys");
  const ledger = items.find(({ role }) => role === "ledger");
  if (ledger === undefined) throw new Error("the instance has a ledger key");
  return ledger.public_key_fingerprint;
}

async function writeArchive(folder: string, instance: Instance): Promise<void> {
  const { archive, identity } = await backedUp(instance);
  renameSync(archive, join(folder, "archive.tar.age"));
  renameSync(`${archive}.manifest.json`, join(folder, "archive.tar.age.manifest.json"));
  renameSync(identity, join(folder, "archive-identity.txt"));
}

async function writePublishedFolder(folder: string, home: string): Promise<void> {
  const instance = await presignResponses(home, {});
  await run(instance, "publish", "run", "--out", join(home, "published"));
  await instance.stop();
  await pack(join(folder, "published.tar"), home, ["published"]);
}

/** Writes the configuration of the instance for another data directory, and the example. */
async function writeConfigurations(folder: string, { home }: Instance): Promise<void> {
  const text = readFileSync(join(home, "pkid.yaml"), "utf8");
  writeFileSync(join(folder, "pkid.yaml"), text.replaceAll(home, "/srv/pkid"));
  const { stdout } = await runPlainCli(newHome(), ["config", "example"]);
  writeFileSync(join(folder, "example.yaml"), stdout);
}

/** Runs a command against the server and returns its output; throws if it fails. */
async function run(instance: Instance, ...line: string[]): Promise<string> {
  const { code, stdout, stderr } = await instance.cli(...line);
  if (code !== 0) throw new Error(`pkid ${line.join(" ")} exited ${code}: ${stderr}`);
  return stdout;
}

/** Writes a compressed archive whose bytes depend on names and contents only. */
async function pack(file: string, folder: string, names: readonly string[]): Promise<void> {
  const fixed = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];
  // The reserve is disk space that the next start allocates again.
  const line = ["tar", "-C", folder, ...fixed, "--exclude=pkid.db-reserve", "-cf", file];
  const packed = await ran(line.concat(names));
  if (packed.code !== 0) throw new Error(`tar: ${packed.stderr}`);
  await compress(file);
}

/** Replaces the file by its Zstandard form. */
async function compress(file: string): Promise<void> {
  writeFileSync(`${file}.zst`, Bun.zstdCompressSync(readFileSync(file), { level: 22 }));
  await Bun.file(file).delete();
}

const createdBy = {
  "sqlite.tar.zst": "data directory after `pkid serve`, without pkid.db-reserve",
  "postgres.tar.zst": "data directory after `pkid serve`, and `pg_dump` as dump.sql",
  "archive.tar.age": "pkid backup create --recipient",
  "archive.tar.age.manifest.json": "pkid backup create --recipient",
  "archive-identity.txt": "pkid backup keygen",
  "pkid.yaml": "configuration of the SQLite instance, data directory renamed",
  "example.yaml": "pkid config example",
  "sign-ledger.json.zst": "pkid hsm log",
  "sign-ledger-combined.json.zst": "pkid hsm log --combined",
  "audit.jsonl.zst": "pkid audit export",
  "transcript.json": "pkid approvals transcript",
  "ledger.pem": "pkid keys inventory --ledger-key",
  "published.tar.zst": "pkid publish run --out",
  "support-bundle.tar.gz": "pkid support-bundle",
  "inventory.json": "ids, serials and secrets that the tests need",
};
