/**
 * A bulk revocation from the shell: what it shows first, what it revokes, and what openssl says
 * afterwards.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { csr } from "#test/support/worlds/issuance.ts";
import { openssl, saved } from "#test/support/instances/relying-party.ts";

let instance: Instance;
let chain: Chain;
let issued: readonly Issued[];

interface Issued {
  readonly ref: string;
  readonly serial: string;
  readonly certificate: string;
}

beforeAll(async () => {
  instance = await Instance.start();
  chain = await createChain(instance, "ecdsa-p256");
  issued = await issue(["web-1", "web-2", "web-3", "mail-1", "mail-2", "mail-3"]);
}, 60_000);
afterAll(() => instance.dispose());

test("the plan prints the line that revokes what it shows, and that line does", async () => {
  const plan = await bulk("--pattern", "WEB-*.example", "--reason", "superseded");
  expect(plan.code).toBe(1);
  expect(plan.stdout).toMatch(/^total: +3$/m);
  const [, line = ""] = /^ {2}pkid (.*)$/m.exec(plan.stderr) ?? [];
  expect(line).toEndWith("--confirm 3");
  const words = line.split(" ").map((word) => word.replaceAll("'", ""));
  const ran = await instance.cli(...words, "--json");
  expect([ran.code, JSON.parse(ran.stdout)]).toMatchObject([0, { planned: 3, revoked: 3 }]);
  expect(await statuses()).toEqual({
    "web-1": "revoked",
    "web-2": "revoked",
    "web-3": "revoked",
    "mail-1": "good",
    "mail-2": "good",
    "mail-3": "good",
  });
}, 30_000);

test("relying parties learn it from the CRL that the run has published", async () => {
  const crl = join(chain.folder, "issuing.crl");
  const label = `issuing-${chain.folder.split("/").at(-1)}`;
  expect((await instance.cli("crl", "get", "--ca", label, "--out", crl)).code).toBe(0);
  for (const { ref, certificate } of issued) {
    const leaf = saved(chain.folder, `${ref}.pem`, certificate);
    const verify = ["verify", "-crl_check", "-CRLfile", crl, "-CAfile", chain.root];
    const { text } = await openssl([...verify, "-untrusted", chain.intermediate, leaf], {
      mustPass: false,
    });
    const revoked = ref.startsWith("web");
    expect([ref, text.includes("certificate revoked")]).toEqual([ref, revoked]);
  }
}, 30_000);

test("a number that has drifted revokes nothing, and says what there is", async () => {
  await issue(["mail-4"]);
  const drifted = await bulk("--pattern", "mail-*", "--confirm", "3", "--json");
  expect(drifted.code).toBe(1);
  const told = drifted.stderr.slice(drifted.stderr.indexOf("{"));
  expect(JSON.parse(told)).toMatchObject({
    code: "confirm_count_mismatch",
    confirm_count: 3,
    actual_count: 4,
  });
  expect((await statuses())["mail-1"]).toBe("good");
}, 30_000);

test("a file of serials as openssl prints them revokes those, and no repetition revokes more", async () => {
  const leaf = saved(chain.folder, "mail-1.pem", issued[3]?.certificate ?? "");
  const printed = await openssl(["x509", "-in", leaf, "-noout", "-serial"]);
  const file = join(chain.folder, "leaked");
  writeFileSync(file, `# from the incident\n${printed.text.trim().replace("serial=", "")}\n`);
  const flags = ["--serials-file", file, "--serial-format", "hex", "--operation-id", "incident-1"];
  const first = await bulk(...flags, "--confirm", "1", "--json");
  expect(JSON.parse(first.stdout)).toMatchObject({ revoked: 1, operation_id: "incident-1" });
  const again = await bulk(...flags, "--confirm", "1", "--json");
  expect(JSON.parse(again.stdout)).toMatchObject({ planned: 0, revoked: 0, already_skipped: 1 });
  const other = await bulk("--all", "--operation-id", "incident-1", "--force", "--json");
  expect(other.stderr).toContain("operation_mismatch");
  expect(await statuses()).toMatchObject({ "mail-1": "revoked", "mail-2": "good" });
}, 30_000);

test("a server that is told to stop ends the run first, and answers it", async () => {
  const serials = Array.from({ length: 600 }, (_, at) => String(at + 1));
  const body = { filter: { serials }, confirm_count: serials.length, batch_size: 5 };
  const path = `/api/ca/${chain.intermediateId}/revocations:bulk`;
  const before = await listed();
  const answer = instance.admin<{ revoked: number }>("POST", path, body);
  while ((await listed()) === before) await Bun.sleep(1);
  const { home } = instance;
  const [{ revoked }, code] = await Promise.all([answer, instance.stop()]);
  expect([revoked, code]).toEqual([serials.length, 0]);
  instance = await Instance.start({ home });
}, 30_000);

test("without a server the same command opens the instance itself", async () => {
  const { home } = instance;
  await instance.stop();
  const ran = await bulk("--all", "--reason", "cessationOfOperation", "--force", "--json");
  expect([ran.code, JSON.parse(ran.stdout)]).toMatchObject([0, { revoked: 3 }]);
  instance = await Instance.start({ home });
  expect((await instance.cli("audit", "verify")).code).toBe(0);
}, 30_000);

const bulk = (...flags: readonly string[]) =>
  instance.cli("revoke", "bulk", "--ca", chain.intermediateId, ...flags);

async function issue(refs: readonly string[]): Promise<readonly Issued[]> {
  const items = refs.map((ref) => {
    const name = `${ref}.example`;
    return { ref, csr: csr({ dns: [name], subject: [{ type: "CN", value: name }] }) };
  });
  const path = `/api/ca/${chain.intermediateId}/certificates:bulk`;
  const body = { items, confirm_count: items.length };
  return (await instance.admin<{ items: readonly Issued[] }>("POST", path, body)).items;
}

/** How many serials are revoked. */
async function listed(): Promise<number> {
  const path = `/api/ca/${chain.intermediateId}/revoked?limit=1`;
  return (await instance.admin<{ total: number }>("GET", path)).total;
}

async function statuses(): Promise<Readonly<Record<string, string>>> {
  const path = `/api/ca/${chain.intermediateId}/certificates/`;
  const found = issued.map(async ({ ref, serial }) => {
    const { status } = await instance.admin<{ status: string }>("GET", path + serial);
    return [ref, status] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}
