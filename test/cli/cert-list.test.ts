/** `cert list`: keys are fingerprinted here, and CSV is harmless and never held as a whole. */

import { expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { csvLine } from "#cli/csv.ts";
import { fingerprint } from "#core/x509/public-keys.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";
import { shell } from "#test/support/instances/shell.ts";

const id = "3e3d1b5c-0f2a-4a54-9d6e-2f1f5b7a9c10";
const folder = mkdtempSync(join(tmpdir(), "pkid-cert-list-"));
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const expected = fingerprint(new Uint8Array(publicKey.export({ type: "spki", format: "der" })));

test("every kind of key file is fingerprinted here and only the digest is sent", async () => {
  const forms: Record<string, string | Uint8Array> = {
    "public.pem": publicKey.export({ type: "spki", format: "pem" }),
    "public.der": publicKey.export({ type: "spki", format: "der" }),
    "pkcs8.pem": privateKey.export({ type: "pkcs8", format: "pem" }),
    "pkcs8.der": privateKey.export({ type: "pkcs8", format: "der" }),
    "sec1.pem": `-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n${privateKey.export({ type: "sec1", format: "pem" })}`,
  };
  for (const [name, content] of Object.entries(forms)) {
    writeFileSync(join(folder, name), content);
    for (const at of ["", "@"]) {
      const { code, asked } = await search(`${at}${join(folder, name)}`);
      expect([name, code]).toEqual([name, 0]);
      const { searchParams } = new URL(`http://x${asked[0]?.path}`);
      expect(Object.fromEntries(searchParams)).toEqual({ public_key_sha256: expected });
    }
  }
});

test("a request is fingerprinted, and what holds no key fails before anything is asked", async () => {
  await newCsr(folder, "a.example");
  expect((await search(join(folder, "a.example.csr"))).code).toBe(0);
  const sealed = privateKey.export({
    type: "pkcs8",
    format: "pem",
    cipher: "aes-256-cbc",
    passphrase: "x",
  });
  writeFileSync(join(folder, "sealed.pem"), sealed);
  writeFileSync(join(folder, "empty"), "");
  for (const file of ["sealed.pem", "empty", "absent"]) {
    const { code, asked, stderr } = await search(join(folder, file));
    expect([file, code, asked]).toEqual([file, 1, []]);
    expect(stderr).toContain("error:");
  }
});

test("a requester is asked for as given", async () => {
  const { code, asked } = await shell(["cert", "list", "--ca", id, "--requested-by", "token:a b"]);
  const { searchParams } = new URL(`http://x${asked[0]?.path}`);
  expect([code, Object.fromEntries(searchParams)]).toEqual([0, { requested_by: "token:a b" }]);
});

test("the digest of a certificate is asked for as given", async () => {
  const { code, asked } = await shell([
    "cert",
    "list",
    "--ca",
    id,
    "--certificate-sha256",
    "AB:12",
  ]);
  const { searchParams } = new URL(`http://x${asked[0]?.path}`);
  expect([code, Object.fromEntries(searchParams)]).toEqual([0, { certificate_sha256: "AB:12" }]);
});

test("a key search prints the line that revokes what it found", async () => {
  const items = [
    { serial: "12", status: "good" },
    { serial: "13", status: "revoked" },
  ];
  const { stderr } = await shell(["cert", "list", "--ca", id, "--by-public-key", expected], {
    answers: () => ({ items }),
  });
  expect(stderr).toContain(
    `pkid revoke bulk --ca ${id} --by-public-key ${expected} --reason keyCompromise\n`,
  );
  const [, revoked] = items;
  const nothing = await shell(["cert", "list", "--ca", id, "--by-public-key", expected], {
    answers: () => ({ items: [revoked] }),
  });
  expect(nothing.stderr).toBe("");
});

test("CSV is written page by page, and no cell is a formula", async () => {
  const pages = ["", "p2", "p3"];
  const result = await shell(["cert", "list", "--ca", id, "--all", "--csv"], {
    answers: ({ path }) => {
      const at = pages.indexOf(new URL(`http://x${path}`).searchParams.get("cursor") ?? "");
      const items = [
        { serial: String(at + 1), subject: '=cmd|"calc"!A1', sans: ["dns:a", "dns:b"] },
      ];
      return { items, next_cursor: pages[at + 1] ?? "", has_more: at < 2, total: 3 };
    },
  });
  const [head, ...lines] = result.stdout.split("\r\n");
  expect(head).toStartWith('"serial","status","profile","subject"');
  expect(lines.map((line) => line.slice(0, 4))).toEqual(['"1",', '"2",', '"3",', ""]);
  expect(lines[0]).toContain(`"'=cmd|""calc""!A1"`);
  expect(lines[0]).toContain('"dns:a,dns:b"');
  expect(result.asked.map(({ path }) => path)).toEqual([
    `/api/ca/${id}/certificates?limit=500`,
    `/api/ca/${id}/certificates?cursor=p2&limit=500`,
    `/api/ca/${id}/certificates?cursor=p3&limit=500`,
  ]);
  expect((await shell(["cert", "list", "--ca", id, "--csv", "--json"])).code).toBe(2);
});

test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1"])(
  "the cell %j is text to a spreadsheet",
  (text) => {
    expect(csvLine([text])).toStartWith(`"'`);
    expect(csvLine([text]).trimEnd()).not.toMatch(/[\r\n\t]/);
  },
);

const search = (given: string) => shell(["cert", "list", "--ca", id, "--by-public-key", given]);
