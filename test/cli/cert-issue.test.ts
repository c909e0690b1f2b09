/**
 * `cert issue --name`: key and request are made here, and the key goes nowhere but into its file.
 */

import { describe, expect, test } from "bun:test";
import { createPrivateKey, createPublicKey } from "node:crypto";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { csrSignatureValid, parseCsr } from "#core/x509/csr.ts";
import { parsePublicKey } from "#core/x509/public-keys.ts";
import { subscriberKeyTypes } from "#cli/new-request.ts";
import { rowOf } from "#cli/rows.ts";
import { type Answers, shell } from "#test/support/instances/shell.ts";

const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
const folder = mkdtempSync(join(tmpdir(), "pkid-issue-"));
const fresh = () => join(folder, `${crypto.randomUUID()}.key`);
const issued: Answers = () => ({ certificate: "PEM\n", serial: "1", not_after: "t" });
const issue = (...flags: string[]) =>
  shell(["cert", "issue", "--ca", id, ...flags], { answers: issued });

test.each(subscriberKeyTypes)(
  "a key of type %s is written for its owner only, and certified",
  async (type) => {
    const file = fresh();
    const names = ["--name", "www.example.test", "--name", "192.0.2.7"];
    const { code, stdout, asked } = await issue(...names, "--key-out", file, "--key-type", type);
    expect([code, stdout]).toEqual([0, "PEM\n"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const csr = String(rowOf(asked[0]?.body).csr);
    const request = parseCsr(csr);
    expect(csrSignatureValid(request)).toBe(true);
    expect(request.sans).toEqual([
      { kind: "dns", value: "www.example.test" },
      { kind: "ip", value: "192.0.2.7" },
    ]);
    const key = createPublicKey(createPrivateKey(readFileSync(file, "utf8")));
    const spki = new Uint8Array(key.export({ format: "der", type: "spki" }));
    expect(request.spki).toEqual(spki);
    expect(parsePublicKey(spki).keyType).toBe(type);
    const secret = readFileSync(file, "utf8").split("\n")[1] ?? "none";
    expect(JSON.stringify(asked)).not.toContain(secret);
  },
  30_000,
);

test("mail addresses and URIs are names of their kind, and a long name is no common name", async () => {
  const long = `${"a".repeat(60)}.example.test`;
  const flags = [long, "a@example.test", "spiffe://example.test/a"].flatMap((name) => [
    "--name",
    name,
  ]);
  const { asked } = await issue(...flags, "--key-out", fresh());
  const request = parseCsr(String(rowOf(asked[0]?.body).csr));
  expect(request.sans.map(({ kind }) => kind)).toEqual(["dns", "email", "uri"]);
  expect(Buffer.from(request.subject.der).includes("a@example.test")).toBe(true);
  expect(Buffer.from(request.subject.der).includes(long)).toBe(false);
});

describe("the file of the key", () => {
  test("is never one that is there", async () => {
    const file = fresh();
    for (const content of ["-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", ""]) {
      writeFileSync(file, content);
      const { code, asked } = await issue("--name", "a.test", "--key-out", file);
      expect([code, asked, readFileSync(file, "utf8")]).toEqual([1, [], content]);
    }
  });

  test("is gone when the instance refuses, and kept when nobody knows or others decide", async () => {
    const said = (code: string, status: number) => () =>
      Response.json({ error: "No.", code, request_id: "r" }, { status });
    const parked = () => Response.json({ approval_id: "apr_1" }, { status: 202 });
    const odd = () => new Response("<html>", { status: 502 });
    for (const [answers, kept] of [
      [said("gate_refused", 400), false],
      [said("approval_rejected", 409), false],
      // It may have been stored, or may yet be issued.
      [said("storage_unavailable", 503), true],
      [said("internal", 500), true],
      [said("approval_failed", 409), true],
      [parked, true],
      [odd, true],
    ] as const) {
      const file = fresh();
      const argv = ["cert", "issue", "--ca", id, "--name", "a.test", "--key-out", file];
      const { code, stderr } = await shell(argv, { answers });
      expect([code, existsSync(file), stderr.includes(`The key is in ${file}.`)]).toEqual([
        1,
        kept,
        kept,
      ]);
    }
  });

  test("is never replaced by the certificate, by whatever name that comes to it", async () => {
    const [file, link] = [fresh(), fresh()];
    symlinkSync(file, link);
    const { code } = await issue("--name", "a.test", "--key-out", file, "--out", link);
    expect(code).toBe(1);
    expect(createPrivateKey(readFileSync(file, "utf8")).type).toBe("private");
  });

  test("must be named, and is for --name alone", async () => {
    for (const flags of [
      ["--name", "a.test"],
      ["--csr", "-", "--key-out", fresh()],
      ["--csr", "-", "--name", "a.test", "--key-out", fresh()],
      ["--csr", "-", "--key-type", "ed25519"],
      ["--name", "a.test", "--key-out", fresh(), "--key-type", "slh-dsa-sha2-128s"],
      ["--name", "a.test", "--key-out", fresh(), "--dry-run"],
      ["--name", "a.test", "--key-out", join(folder, "one"), "--out", `${folder}/./one`],
    ]) {
      const { code, asked } = await issue(...flags);
      expect({ flags, code, asked }).toEqual({ flags, code: 2, asked: [] });
    }
  });
});

test("a dry run needs no file and keeps no key", async () => {
  const answers = () => ({ would_issue: true });
  const { code, asked } = await shell(
    ["cert", "issue", "--ca", id, "--name", "a.test", "--dry-run"],
    { answers },
  );
  expect([code, asked[0]?.path]).toEqual([0, `/api/ca/${id}/certificates:preview`]);
});

test("PKID_CA_FILE is trusted where --ca-file is not given", async () => {
  const env = { PKID_CA_FILE: "/nonexistent.pem" };
  const { code, stderr } = await shell(["ca", "list", "--url", "https://localhost:1"], { env });
  expect([code, stderr]).toEqual([1, "error: /nonexistent.pem cannot be read.\n"]);
});
