/**
 * A CA rolled over by the command line, as openssl sees its old and new certificates before and
 * after retirement.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";

import { type Chain, command, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";

const oldLabel = "issuing-ecdsa-p256";
const newLabel = "issuing-ecdsa-p256-r2";
let instance: Instance;
let chain: Chain;

beforeAll(async () => {
  instance = await Instance.start();
  chain = await createChain(instance, "ecdsa-p256");
}, 30_000);

afterAll(() => instance.dispose());

test("rotate, issue with the successor, retire: openssl follows each step", async () => {
  const oldLeaf = await issued("old");
  expect(oldLeaf.caId).toBe(chain.intermediateId);

  const rotated = await command(instance, ["ca", "rotate", oldLabel]);
  expect(rotated.new_ca).toMatchObject({ label: newLabel, status: "active" });
  expect(rotated.old_ca).toMatchObject({ label: oldLabel, status: "superseded" });

  // Asked by its old name the successor signs, and either leaf verifies with the bundle of either
  // CA.
  const newLeaf = await issued("new");
  expect(rotated.new_ca).toMatchObject({ id: newLeaf.caId });
  const bundle = await bundleOf(newLabel, "both.pem");
  for (const untrusted of [bundle, await bundleOf(oldLabel, "old.pem")]) {
    for (const leaf of [oldLeaf, newLeaf]) {
      expect(await verdict(leaf.file, untrusted)).toContain(": OK");
    }
  }
  const before = await crls([oldLabel, newLabel]);
  expect(await verdict(oldLeaf.file, bundle, before)).toContain(": OK");
  expect(await verdict(newLeaf.file, bundle, before)).toContain(": OK");

  // Refused while the old leaf lives, then forced.
  const refused = await instance.cli("ca", "retire", oldLabel, "--yes");
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("leaves_outstanding");
  const retired = await command(instance, ["ca", "retire", oldLabel, "--force", "--yes"]);
  expect(retired).toMatchObject({ retired_ca: { label: oldLabel, status: "retired" } });

  // A client configured with the old name goes on as it is.
  expect(rotated.new_ca).toMatchObject({ id: (await issued("later")).caId });

  // The parent's CRL lists the old CA, so that its leaf has no path any more; the new one's goes
  // on.
  const after = await crls([newLabel]);
  const { text } = await openssl(["crl", "-in", join(chain.folder, `${rootLabel}.crl`), "-text"]);
  const hex = BigInt(String(retired.revoked_serial)).toString(16).toUpperCase();
  expect(text).toContain(`Serial Number: ${hex.padStart(hex.length + (hex.length % 2), "0")}`);
  expect(text).toContain("Cessation Of Operation");
  const held = [...before.slice(0, 2), ...after];
  expect(await verdict(oldLeaf.file, bundle, held)).toContain("certificate revoked");
  expect(await verdict(newLeaf.file, bundle, after)).toContain(": OK");
  const current = await bundleOf(newLabel, "current.pem");
  expect(await verdict(newLeaf.file, current, after)).toContain(": OK");
  expect((await instance.cli("audit", "verify")).code).toBe(0);
}, 60_000);

async function issued(name: string): Promise<{ readonly file: string; readonly caId: string }> {
  await newCsr(chain.folder, `${name}.example.test`);
  const csr = join(chain.folder, `${name}.example.test.csr`);
  const made = await command(instance, ["cert", "issue", "--ca", oldLabel, "--csr", csr]);
  const file = saved(chain.folder, `${name}-leaf.pem`, String(made.certificate));
  return { file, caId: String(made.ca_id) };
}

async function bundleOf(label: string, name: string): Promise<string> {
  const file = join(chain.folder, name);
  expect((await instance.cli("ca", "chain", label, "--out", file)).code).toBe(0);
  return file;
}

/** The CRLs of these CAs and last that of the root, as options of `openssl verify`. */
async function crls(labels: readonly string[]): Promise<readonly string[]> {
  const options: string[] = [];
  for (const label of [...labels, rootLabel]) {
    const file = join(chain.folder, `${label}.crl`);
    const got = await instance.cli("crl", "get", "--ca", label, "--out", file);
    expect([label, got.code]).toEqual([label, 0]);
    options.push("-CRLfile", file);
  }
  return options;
}

async function verdict(leaf: string, untrusted: string, crlOptions: readonly string[] = []) {
  const checked = crlOptions.length > 0 ? ["-crl_check_all", ...crlOptions] : [];
  const trust = ["-CAfile", chain.root, "-untrusted", untrusted];
  const run = ["verify", "-x509_strict", ...checked, ...trust, leaf];
  return (await openssl(run, { mustPass: false })).text;
}

const rootLabel = "root-ecdsa-p256";
