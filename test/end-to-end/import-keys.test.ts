/** The forms in which the key of a CA comes, and the one in which it stays where it is. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ran } from "#test/support/child.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { OpensslCa } from "#test/support/instances/openssl-ca.ts";
import { openssl } from "#test/support/instances/relying-party.ts";
import { createHsmToken, type SoftHsmToken } from "#test/support/keys/soft-token.ts";

let hsmToken: SoftHsmToken;
let instance: Instance;
let ec: OpensslCa;
let rsa: OpensslCa;

beforeAll(async () => {
  hsmToken = await createHsmToken();
  const server = { public_http: { enabled: true, address: "127.0.0.1:0" } };
  instance = await Instance.start({ config: { ...hsmToken.config, server }, env: hsmToken.env });
  ec = await OpensslCa.make({ cn: "Curve Root" });
  rsa = await OpensslCa.make({ key: "rsa:2048", cn: "Number Root" });
  for (const ca of [ec, rsa]) ca.write("passphrase", "correct horse\n");
}, 60_000);

afterAll(async () => {
  await instance.dispose();
  hsmToken.remove();
});

/** What openssl leaves out of a CA unless it is told: it does not sign OCSP answers itself. */
const warned = "Worth a look: digital_signature_absent.\n";

const tried = (ca: OpensslCa, ...more: readonly string[]) =>
  instance.cli("import", "openssl", ca.directory, "--label", "tried", "--dry-run", ...more);

const pass = ["-passout", "pass:correct horse"];
const forms: Readonly<Record<string, (ca: () => OpensslCa) => Promise<string[]>>> = {
  "PKCS#8 under a passphrase": async (ca) => {
    await ca().openssl(["pkcs8", "-topk8", "-in", "private/cakey.pem", "-out", "k8.pem", ...pass]);
    return ["k8.pem"];
  },
  "PKCS#8 in DER": async (ca) => {
    const form = ["-topk8", "-nocrypt", "-outform", "DER"];
    await ca().openssl(["pkcs8", ...form, "-in", "private/cakey.pem", "-out", "k8.der"]);
    return ["k8.der"];
  },
  "PKCS#8 in DER under a passphrase": async (ca) => {
    const form = ["-topk8", "-outform", "DER", ...pass];
    await ca().openssl(["pkcs8", ...form, "-in", "private/cakey.pem", "-out", "k8e.der"]);
    return ["k8e.der"];
  },
  "the traditional form": async (ca) => {
    await ca().openssl(["pkey", "-traditional", "-in", "private/cakey.pem", "-out", "t.pem"]);
    return ["t.pem"];
  },
  "the traditional form under a passphrase": async (ca) => {
    const form = ["-traditional", "-aes256", ...pass];
    await ca().openssl(["pkey", ...form, "-in", "private/cakey.pem", "-out", "te.pem"]);
    return ["te.pem"];
  },
  "a PKCS#12 store": async (ca) => {
    const from = ["-inkey", "private/cakey.pem", "-in", "cacert.pem"];
    await ca().openssl(["pkcs12", "-export", ...from, "-out", "ca.p12", ...pass]);
    return ["ca.p12"];
  },
};

for (const [name, form] of Object.entries(forms)) {
  describe(name, () => {
    for (const [kind, ca] of [
      ["EC", () => ec],
      ["RSA", () => rsa],
    ] as const) {
      test(`is read, of ${kind}`, async () => {
        const [file = ""] = await form(ca);
        const secret = ["--key-passphrase-file", ca().file("passphrase")];
        const found = await tried(ca(), "--ca-key", ca().file(file), ...secret);
        expect(found).toMatchObject({ code: 0, stderr: warned });
      });
    }
  });
}

test("a wrong passphrase, none, and what is no key are told apart, and nothing is quoted", async () => {
  await forms["a PKCS#12 store"]?.(() => ec);
  await forms["PKCS#8 under a passphrase"]?.(() => ec);
  ec.write("wrong", "battery staple\n");
  for (const file of ["ca.p12", "k8.pem"]) {
    const key = ["--ca-key", ec.file(file)];
    const wrong = await tried(ec, ...key, "--key-passphrase-file", ec.file("wrong"));
    expect(wrong.stderr).toContain("does not open: the passphrase is wrong");
    expect((await tried(ec, ...key)).stderr).toContain("is locked");
  }
  const none = await tried(ec, "--ca-key", ec.file("cacert.pem"));
  expect(none.stderr).toContain("cacert.pem holds no private key.");
  const absent = await tried(ec, "--ca-key", ec.file("absent.pem"));
  expect(absent.stderr).toContain("absent.pem cannot be read: ENOENT.");
  writeFileSync(ec.file("noise.der"), "noise");
  const noise = await tried(ec, "--ca-key", ec.file("noise.der"));
  expect(noise.stderr).toContain("is neither a private key nor a PKCS#12 store");
}, 30_000);

for (const [id, kind, ca] of [
  ["01", "EC", () => ec],
  ["02", "RSA", () => rsa],
] as const) {
  test(`a ${kind} key another program has put on the token is used where it is`, async () => {
    const label = `old-${kind}`;
    const file = ca().file("hsm.pem");
    await ca().openssl(["pkcs8", "-topk8", "-nocrypt", "-in", "private/cakey.pem", "-out", file]);
    const token = ["--token", "pkid", "--pin", "1234", "--label", label, "--id", id];
    const put = await ran(["softhsm2-util", "--import", file, ...token], { env: hsmToken.env });
    expect(put.code).toBe(0);
    const before = readdirSync(join(instance.dataDir, "keys"));
    const done = await instance.cli(
      "import",
      "openssl",
      ca().directory,
      "--label",
      label,
      "--key-label",
      label,
    );
    expect(done).toMatchObject({ code: 0, stderr: warned });
    expect(readdirSync(join(instance.dataDir, "keys"))).toEqual(before);
    const cas = await instance.admin<{ items: { id: string; label: string }[] }>("GET", "/api/ca");
    const caId = cas.items.find((one) => one.label === label)?.id;
    const response = await fetch(`${instance.publicUrl}/api/ca/${caId}/crl`);
    writeFileSync(ca().file("new.crl"), new Uint8Array(await response.arrayBuffer()));
    const list = [
      "-inform",
      "DER",
      "-in",
      ca().file("new.crl"),
      "-CAfile",
      ca().file("cacert.pem"),
    ];
    expect((await openssl(["crl", ...list, "-noout"])).text).toContain("verify OK");
  }, 30_000);
}

test("a label that names the key of another CA is refused, and nothing begins", async () => {
  const other = await OpensslCa.make({ cn: "Third Root" });
  const done = await instance.cli(
    "import",
    "openssl",
    other.directory,
    "--label",
    "third",
    "--key-label",
    "old-EC",
  );
  expect(done.code).toBe(1);
  const cas = await instance.admin<{ items: { label: string }[] }>("GET", "/api/ca");
  expect(cas.items.map(({ label }) => label)).not.toContain("third");
}, 30_000);
