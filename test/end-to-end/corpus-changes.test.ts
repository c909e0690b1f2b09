/**
 * Data directories and dumps of every version in the corpus after a byte has changed. This binary
 * detects the change and names the record or file.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { decodePem } from "#core/asn1/pem.ts";
import { flipBit } from "#test/support/corpus/changes.ts";
import {
  findVersionFolder,
  loadInventories,
  loadSettings,
  unpackArtifact,
} from "#test/support/corpus/contents.ts";
import { listCorpusVersions } from "#test/support/corpus/manifest.ts";
import type { CorpusLeaf } from "#test/support/corpus/scenario.ts";
import { failedStart, newHome, runCli, writeConfig } from "#test/support/instances/instance.ts";
import { type PostgresServer, startPostgres } from "#test/support/servers/postgres.ts";
import { restoreDump } from "#test/support/servers/postgres-dump.ts";

const homes: string[] = [];
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 60_000);
afterAll(async () => {
  await server.stop();
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

async function unpackHome(folder: string, name: string): Promise<string> {
  const home = newHome();
  homes.push(home);
  await unpackArtifact(folder, name, home);
  return home;
}

describe.each(listCorpusVersions())("version %s", (version) => {
  const folder = findVersionFolder(version);

  test("`verify` detects a changed byte in the SQLite database", async () => {
    const home = await unpackHome(folder, "sqlite.tar.zst");
    writeConfig(home, loadSettings(folder));
    const file = join(home, "data/pkid.db");
    const content = readFileSync(file);
    const { hashes, leaves } = loadInventories(folder).sqlite;
    const changes = [
      [hashes.event, /^FAIL +Audit chain/m],
      [hashes.ledgerEntry, /^FAIL +Sign ledger/m],
      [readSignature(leaves), /^FAIL +Signatures of what is stored/m],
      ["alice@example.com", /^FAIL +Schema, references, states/m],
      ["SQLite format 3", /file is not a database/],
    ] as const;
    for (const [needle, message] of changes) {
      writeFileSync(file, flipBit(content, needle));
      const { code, stdout, stderr } = await runCli(home, ["verify"]);
      expect([code, stdout + stderr]).toEqual([1, expect.stringMatching(message)]);
    }
  }, 60_000);

  test("`verify` detects a changed byte in the PostgreSQL dump", async () => {
    const home = await unpackHome(folder, "postgres.tar.zst");
    const dump = readFileSync(join(home, "dump.sql"));
    const { hashes, leaves } = loadInventories(folder).postgres;
    const changes = [
      [hashes.event, /^FAIL +Audit chain/m],
      [hashes.ledgerEntry, /^FAIL +Sign ledger/m],
      [readSignature(leaves).toHex(), /^FAIL +Signatures of what is stored/m],
    ] as const;
    for (const [needle, message] of changes) {
      const dsn = await server.createDatabase();
      await restoreDump(dsn, flipBit(dump, needle).toString());
      writeConfig(home, { ...loadSettings(folder), database: { driver: "postgres", dsn } });
      const { code, stdout, stderr } = await runCli(home, ["verify"]);
      expect([code, stdout + stderr]).toEqual([1, expect.stringMatching(message)]);
    }
  }, 60_000);

  test("the server refuses to start, or preflight fails, with a changed byte in the key files", async () => {
    const home = await unpackHome(folder, "sqlite.tar.zst");
    const config = loadSettings(folder);
    writeConfig(home, config);
    for (const name of ["master.key", "identity", "keys/store-id", "keys/instance"]) {
      const file = join(home, "data", name);
      const content = readFileSync(file);
      writeFileSync(file, flipBit(content));
      const refused = await failedStart({ home, config });
      writeFileSync(file, content);
      const message = expect.stringMatching(/^error: The (database|master key)/m);
      expect([name, refused.code, refused.stderr]).toEqual([name, 1, message]);
    }
    const keys = join(home, "data/keys");
    for (const name of readdirSync(keys).filter((file) => file.endsWith(".key"))) {
      writeFileSync(join(keys, name), flipBit(readFileSync(join(keys, name))));
    }
    const line = ["preflight", "--only", "keys.ca", "--no-network"];
    const failed = await runCli(home, line);
    expect([failed.code, failed.stdout]).toEqual([2, expect.stringContaining("issuing-kept")]);
  }, 60_000);
});

/** Returns the last bytes of the first certificate, which are part of its signature. */
function readSignature([leaf]: readonly CorpusLeaf[]): Uint8Array {
  const der = decodePem(leaf?.certificate ?? "", ["CERTIFICATE"]);
  if (der === undefined) throw new Error("the inventory has certificates");
  return der.subarray(-24);
}
