/** `pkid keys block`: the key of a file is fingerprinted here, and only its digest is sent. */

import { expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { fingerprint } from "#core/x509/public-keys.ts";
import { csr, initRoot, issuanceWorld, newKey, spkiOf } from "#test/support/worlds/issuance.ts";
import { shell } from "#test/support/instances/shell.ts";

const directory = mkdtempSync(join(tmpdir(), "pkid-keys-"));
const file = (name: string, content: string | Uint8Array) => {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
};
const block = async (...args: string[]) => {
  const given = ["keys", "block", "add", ...args, "--reason", "leaked"];
  const { code, stderr, asked } = await shell(given, { answers: () => ({ id: "1" }) });
  return { code, stderr, body: asked[0]?.body };
};

test("request, certificate and public key name the key they hold, in PEM and in DER", async () => {
  const key = newKey("ecdsa-p256");
  const root = await initRoot(issuanceWorld());
  const expected = { public_key_sha256: fingerprint(spkiOf(key.publicKey)), reason: "leaked" };
  expect((await block("--csr", file("a.csr", csr({ key })))).body).toEqual(expected);
  const pem = String(key.publicKey.export({ type: "spki", format: "pem" }));
  expect((await block("--key", file("a.pub", pem))).body).toEqual(expected);
  expect((await block("--key", file("a.der", spkiOf(key.publicKey)))).body).toEqual(expected);
  const certificate = file("ca.der", root.certificate ?? new Uint8Array());
  expect((await block("--cert", certificate)).body).toEqual({
    public_key_sha256: fingerprint(root.spki),
    reason: "leaked",
  });
});

test("a key is taken off the list by the row that blocks it", async () => {
  const line = "keys block remove --fingerprint ab12".split(" ");
  const items = [{ id: "row" }];
  const { asked } = await shell(line, { answers: () => ({ items, status: "deleted" }) });
  expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "GET /api/blocked-keys?public_key_sha256=ab12",
    "DELETE /api/blocked-keys/row",
  ]);
  expect((await shell(line, { answers: () => ({ items: [] }) })).code).toBe(1);
  expect((await shell([...line, "--id", "row"])).code).toBe(2);
});

test("a private key, another object and two names at once are refused before anything is sent", async () => {
  const pem = String(newKey("ecdsa-p256").privateKey.export({ type: "pkcs8", format: "pem" }));
  const { code, stderr, body } = await block("--key", file("private.pem", pem));
  expect({ code, body }).toEqual({ code: 1, body: undefined });
  expect(stderr).toContain("private.pem is no public key.");
  expect((await block("--csr", file("b.txt", "x"))).code).toBe(1);
  expect((await block("--fingerprint", "ab", "--key", "x")).code).toBe(2);
  expect((await block()).code).toBe(2);
});
