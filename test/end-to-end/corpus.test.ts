/**
 * Files of every version in the corpus under this binary: exports, archives, configurations and
 * published folders verify. A changed byte in any of them is detected.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { createPublicKey, verify } from "node:crypto";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { decrypted, encrypted, recipientOf } from "#adapters/age/age.ts";
import { transcriptMessage } from "#domain/approvals/transcript.ts";
import { document, unpacked } from "#test/support/bundle.ts";
import { ran } from "#test/support/child.ts";
import { flipBit } from "#test/support/corpus/changes.ts";
import {
  findVersionFolder,
  loadInventories,
  readArtifact,
  unpackArtifact,
} from "#test/support/corpus/contents.ts";
import {
  checkCorpusFiles,
  listCorpusVersions,
  loadCorpusManifest,
} from "#test/support/corpus/manifest.ts";
import { identityIn } from "#test/support/instances/backed-up.ts";
import { canFakeTime, falseTime } from "#test/support/instances/false-time.ts";
import {
  binary,
  newHome,
  runCli,
  runPlainCli,
  writeConfig,
} from "#test/support/instances/instance.ts";
import { openssl } from "#test/support/instances/relying-party.ts";

const homes: string[] = [];
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

function createHome(): string {
  const home = newHome();
  homes.push(home);
  return home;
}

test("the corpus has a version, and each has the artifacts that users keep", () => {
  const versions = listCorpusVersions();
  expect(versions).toContain("0.1.0");
  for (const version of versions) {
    const { files, ...head } = loadCorpusManifest(findVersionFolder(version));
    expect(head.version).toBe(version);
    expect(files.map(({ name }) => name)).toEqual(expect.arrayContaining(requiredArtifacts));
  }
});

const requiredArtifacts = [
  "sqlite.tar.zst",
  "postgres.tar.zst",
  "archive.tar.age",
  "archive-identity.txt",
  "pkid.yaml",
  "sign-ledger.json.zst",
  "audit.jsonl.zst",
  "transcript.json",
  "published.tar.zst",
  "support-bundle.tar.gz",
];

describe.each(listCorpusVersions())("version %s", (version) => {
  const folder = findVersionFolder(version);
  const manifest = loadCorpusManifest(folder);
  const inventory = loadInventories(folder).sqlite;

  test("the manifest has the digest of every file, and detects a changed, lost or added file", () => {
    expect(checkCorpusFiles(folder)).toEqual([]);
    const copy = join(createHome(), "copy");
    cpSync(folder, copy, { recursive: true });
    for (const { name } of manifest.files) {
      const file = join(copy, name);
      const content = readFileSync(file);
      writeFileSync(file, flipBit(content));
      expect(checkCorpusFiles(copy)).toEqual([`${name} has changed`]);
      rmSync(file);
      expect(checkCorpusFiles(copy)).toEqual([`${name} is missing`]);
      writeFileSync(file, content);
    }
    writeFileSync(join(copy, "added"), "");
    expect(checkCorpusFiles(copy)).toEqual(["added is not in the manifest"]);
  });

  test("`config check` accepts the configurations, and names a key with a changed byte", async () => {
    for (const name of ["pkid.yaml", "example.yaml"]) {
      const home = createHome();
      const content = readFileSync(join(folder, name));
      writeFileSync(join(home, "pkid.yaml"), content);
      expect(await runCli(home, ["config", "check"])).toMatchObject({ code: 0 });
      writeFileSync(join(home, "pkid.yaml"), flipBit(content, "data_dir"));
      const refused = await runCli(home, ["config", "check"]);
      expect([refused.code, refused.stdout + refused.stderr]).toEqual([
        1,
        expect.stringContaining("data^dir"),
      ]);
    }
  });

  describe.each([
    { name: "sign-ledger.json.zst", fields: ['"hash":"', '"signature":"', '"exported_at":"'] },
    { name: "sign-ledger-combined.json.zst", fields: ['"hash":"', '"certificate":"'] },
  ])("$name", ({ name, fields }) => {
    const verifyLog = async (content: Uint8Array) => {
      const home = createHome();
      writeFileSync(join(home, "ledger.json"), content);
      const line = ["hsm", "verify-log", join(home, "ledger.json"), "--key", manifest.ledger_key];
      return await runPlainCli(home, line);
    };

    test("`hsm verify-log` verifies every rule", async () => {
      const { code, stdout } = await verifyLog(readArtifact(folder, name));
      expect([code, stdout]).toEqual([0, expect.not.stringContaining("violated")]);
    });

    test.each(fields)("`hsm verify-log` detects a changed byte in %s", async (field) => {
      const content = readArtifact(folder, name);
      const at = content.indexOf(field) + field.length;
      const value = content.subarray(at, at + 16).toString();
      const changed = await verifyLog(flipBit(content, value));
      expect(changed.code).toBe(1);
    });
  });

  test("`audit verify` verifies the audit export, and detects a changed byte in any field", async () => {
    const content = readArtifact(folder, "audit.jsonl.zst");
    const verifyExport = async (lines: Uint8Array) => {
      const home = createHome();
      writeFileSync(join(home, "audit.jsonl"), lines);
      return await runPlainCli(home, ["audit", "verify", "--from-file", join(home, "audit.jsonl")]);
    };
    expect(await verifyExport(content)).toMatchObject({ code: 0 });
    for (const text of ["copied in 2026", "issuing-kept", "keyCompromise"]) {
      expect([text, (await verifyExport(flipBit(content, text))).code]).toEqual([text, 1]);
    }
  });

  test("the ledger key verifies the approval transcript, and no changed one", () => {
    const key = createPublicKey(readFileSync(join(folder, "ledger.pem")));
    const isGenuine = (text: string) => {
      const parts =
        /^\{"approval":(.*),"events":(\[.*\]),"exported_at":"(.*)","sig.*"signature":"(.*)"\}$/;
      const [, approval = "", events = "", exportedAt = "", signature = ""] =
        parts.exec(text.trimEnd()) ?? [];
      const message = transcriptMessage([approval, events, exportedAt]);
      return verify(null, message, key, Buffer.from(signature, "base64"));
    };
    const text = readFileSync(join(folder, "transcript.json"), "utf8");
    expect([isGenuine(text), text.includes(inventory.approvals.executed)]).toEqual([true, true]);
    const [approver = "no approver"] = /"approver":"[^"]+"/.exec(text) ?? [];
    for (const changed of [approver, '"exported_at":"', "payments"]) {
      expect(isGenuine(flipBit(Buffer.from(text), changed).toString())).toBe(false);
    }
  });

  test("`restore` opens the archive, and refuses a changed byte outside or inside its encryption", async () => {
    const home = createHome();
    writeConfig(home, {});
    const identityFile = join(folder, "archive-identity.txt");
    const restore = (file: string) =>
      runCli(home, ["restore", file, "--identity", identityFile, "--dry-run"]);
    const archive = readFileSync(join(folder, "archive.tar.age"));
    const original = await restore(join(folder, "archive.tar.age"));
    expect(original.code).toBe(0);
    const identity = identityIn(identityFile);
    const plain = await concatenate(decrypted({ identities: [identity] }, toStream(archive)));
    const recipients = [await recipientOf(identity)];
    const seal = (content: Uint8Array) => concatenate(encrypted({ recipients }, toStream(content)));
    const changed = {
      "encrypted content": flipBit(archive),
      "wrapped key": flipBit(archive, "-> X25519"),
      "an event": await seal(flipBit(plain, "copied in 2026")),
      "a label": await seal(flipBit(plain, "issuing-kept")),
      "a digest": await seal(flipBit(plain, '"sha256":')),
    };
    for (const [name, content] of Object.entries(changed)) {
      const file = join(home, "changed.age");
      writeFileSync(file, content);
      const { code, stdout } = await restore(file);
      expect([name, code, stdout]).toEqual([name, 1, ""]);
    }
  }, 60_000);

  describe.skipIf(!canFakeTime)("the published folder", () => {
    const home = createHome();
    const published = join(home, "published");
    const current = join(published, "current");
    const time = falseTime();
    afterAll(() => time.remove());
    /** Unpacks the folder and sets the clock of `publish verify` to a minute after its creation. */
    const unpack = async () => {
      await unpackArtifact(folder, "published.tar.zst", home);
      const { generated_at } = JSON.parse(readFileSync(join(current, "manifest.json"), "utf8"));
      const at = Math.trunc(Date.parse(generated_at) / 1000) + 60;
      time.set(at - Math.trunc(Date.now() / 1000));
      return String(at);
    };
    const verifyFolder = async () => {
      const env = { HOME: home, ...time.env };
      const line = [binary, "publish", "verify", published, "--json"];
      const { code, stdout, stderr } = await ran(line, { cwd: home, env });
      const report = JSON.parse(stdout || "{}");
      const findings: readonly { readonly path: string }[] = report.faults ?? [];
      return { code, paths: findings.map(({ path }) => path), stderr };
    };

    test("`publish verify` accepts it, and openssl verifies CRLs and OCSP responses", async () => {
      const attime = await unpack();
      expect(await verifyFolder()).toEqual({ code: 0, paths: [], stderr: "" });
      const ca = join(current, inventory.issuing);
      const issuer = join(home, "issuing.pem");
      writeFileSync(issuer, inventory.intermediate);
      const root = join(home, "root.pem");
      writeFileSync(root, inventory.root);
      const lists = readdirSync(ca).filter((name) => name.startsWith("crl"));
      expect(lists).toHaveLength(6);
      for (const name of lists) {
        const line = ["crl", "-inform", "DER", "-in", join(ca, name), "-CAfile", issuer, "-noout"];
        expect((await openssl(line)).text).toContain("verify OK");
      }
      for (const [index, { serial, certificate, status }] of inventory.leaves.entries()) {
        const leaf = join(home, `leaf-${index}.pem`);
        writeFileSync(leaf, certificate);
        const response = join(ca, "ocsp/by-serial", `${serial}.der`);
        const trust = ["-CAfile", root, "-verify_other", issuer, "-no_nonce"];
        const line = ["ocsp", "-issuer", issuer, "-cert", leaf, "-respin", response];
        const { text } = await openssl([...line, ...trust, "-attime", attime]);
        expect(text).toContain("Response verify OK");
        // With a later clock, openssl prints a warning between the name and the status.
        expect(text).toMatch(status === "good" ? /(: |^)good$/m : `Reason: ${status}`);
      }
    });

    test("`publish verify` names the file with a changed byte, also for certificates and OCSP responses", async () => {
      await unpack();
      const responses = join(inventory.issuing, "ocsp/by-serial");
      const [response = ""] = readdirSync(join(current, responses));
      const names = ["crl.der", "crl-delta.der", "crl-partition-1.der", "chain.pem", "ca.der"];
      const paths = names.map((name) => join(inventory.issuing, name));
      for (const path of paths.concat(join(responses, response))) {
        const file = join(current, path);
        const content = readFileSync(file);
        writeFileSync(file, flipBit(content));
        const { code, paths: changed } = await verifyFolder();
        writeFileSync(file, content);
        expect([code, changed]).toEqual([1, expect.arrayContaining([path])]);
      }
      const file = join(current, "manifest.json");
      const content = readFileSync(file);
      writeFileSync(file, flipBit(content, '"sha256":"0'));
      expect((await verifyFolder()).code).toBe(1);
      writeFileSync(file, content);
    }, 60_000);
  });

  test("the support bundle is readable, holds no secret, and does not unpack with a changed byte", async () => {
    const file = join(folder, "support-bundle.tar.gz");
    const found = await unpacked(file);
    expect(document(found, "version.json").version).toBe(version);
    expect(document(found, "events.json").length).toBeGreaterThan(50);
    const text = [...found.values()].join("\n");
    for (const secret of await listSecrets(folder)) expect(text).not.toContain(secret);
    expect(text).not.toMatch(/pki_pat_[A-Za-z0-9]|PRIVATE KEY|AGE-SECRET|argon2id\$/);
    const changed = join(createHome(), "changed.tar.gz");
    writeFileSync(changed, flipBit(readFileSync(file)));
    const line = ["tar", "-xzOf", changed];
    expect(Bun.spawnSync(line, { stderr: "ignore" }).exitCode).not.toBe(0);
  });
});

/** Lists passwords, tokens and key files of the SQLite instance, keys in base64 and hexadecimal. */
async function listSecrets(folder: string): Promise<readonly string[]> {
  const home = createHome();
  await unpackArtifact(folder, "sqlite.tar.zst", home);
  const { token, rootPassword } = loadInventories(folder).sqlite;
  const directory = join(home, "data");
  const keys = readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.key$|\.kek$|key\.pem$/.test(name))
    .map((name) => readFileSync(join(directory, name)));
  const encoded = keys.flatMap((key) => [key.toString("base64"), key.toString("hex")]);
  return [token, rootPassword].concat(encoded);
}

async function* toStream(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

async function concatenate(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(Uint8Array.from(chunk));
  return Buffer.concat(all);
}
