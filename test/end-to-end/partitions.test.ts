/**
 * Partitions and deltas of the binary: found by the pointers in certificates, through power cuts
 * and changes of `crl.shards`.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";

import { oids } from "#core/asn1/oids.ts";
import { encodePem } from "#core/asn1/pem.ts";
import { parseSerial, type Serial } from "#core/ids.ts";
import { extensionOf, parseCertificate } from "#core/x509/certificate.ts";
import { parseCrl } from "#core/x509/crl.ts";
import { parseDeltaCrlIndicator } from "#core/x509/crl-extensions.ts";
import { partitionOf } from "#core/x509/partitions.ts";
import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";

const configOf = (shards: number) => ({
  server: { public_http: { enabled: true, address: "127.0.0.1:0" } },
  crl: { shards, base_url: "http://crl.example.test" },
});
let shards = 4;
let instance: Instance;
let chain: Chain;
let csr: string;

beforeAll(async () => {
  instance = await Instance.start({ config: configOf(shards) });
  chain = await createChain(instance, "ecdsa-p256");
  csr = await newCsr(instance.home, "partition.example.test");
}, 60_000);

afterAll(() => instance.dispose());

interface Issued {
  readonly serial: Serial;
  /** Path of its distribution point. */
  readonly path: string;
  readonly file: string;
}

async function issue(): Promise<Issued> {
  const made = await instance.admin<{ serial: string; certificate: string }>(
    "POST",
    `/api/ca/${chain.intermediateId}/issue`,
    { csr },
  );
  const shown = new X509Certificate(made.certificate);
  const point = extensionOf(parseCertificate(shown.raw), oids.crlDistributionPoints);
  const url = /http:\/\/crl\.example\.test(\S+)/.exec(Buffer.from(point?.value ?? []).toString());
  const file = saved(chain.folder, `${made.serial}.pem`, made.certificate);
  return { serial: parseSerial(made.serial), path: url?.[1] ?? "", file };
}

const revoke = (serial: string, action = "revoke") =>
  action === "revoke"
    ? instance.admin("POST", `/api/ca/${chain.intermediateId}/revoke`, { serial })
    : instance.admin(
        "POST",
        `/api/ca/${chain.intermediateId}/certificates/${serial}:${action}`,
        {},
      );

async function fetched(path: string) {
  const response = await fetch(`${instance.publicUrl}${path}`);
  expect([path, response.status]).toEqual([path, 200]);
  return parseCrl(await response.bytes());
}

/**
 * What base and delta at a distribution point say together: of one moment, because a base replaced
 * in between has another delta.
 */
async function listed(path: string): Promise<ReadonlyMap<string, string>> {
  const told = new Map<string, string>();
  const base = await fetched(path);
  for (const { serial, reason } of base.entries) told.set(serial, reason);
  const delta = await fetched(`${path}/delta`);
  if ((await fetched(path)).number !== base.number) return listed(path);
  const indicator = extensionOf(delta, oids.deltaCrlIndicator)?.value ?? new Uint8Array(0);
  const number = base.number ?? 0;
  // Until the delta of a new base is published, the one of the base before is served.
  if (parseDeltaCrlIndicator(indicator) < number) return listed(path);
  expect(parseDeltaCrlIndicator(indicator)).toBe(number);
  for (const { serial, reason } of delta.entries) {
    if (reason === "removeFromCRL") told.delete(serial);
    else told.set(serial, reason);
  }
  return told;
}

async function until(done: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 200; turn++) {
    if (await done()) return;
    await Bun.sleep(50);
  }
  throw new Error("it did not come to pass");
}

async function restart(next: number, kill = false): Promise<void> {
  if (kill) await instance.kill();
  else await instance.stop();
  shards = next;
  instance = await Instance.start({ home: instance.home, config: configOf(shards) });
}

test("openssl finds a revocation in the delta of the partition its certificate names, and its release", async () => {
  const leaf = await issue();
  const partition = partitionOf(leaf.serial, 4);
  expect(leaf.path).toBe(`/api/ca/${chain.intermediateId}/crl/partition/${partition}`);
  const row = await instance.admin<{ crl_partition?: number }>(
    "GET",
    `/api/ca/${chain.intermediateId}/certificates/${leaf.serial}`,
  );
  expect(row.crl_partition).toBe(partition);
  const all = JSON.parse((await instance.cli("ca", "list", "--json")).stdout);
  const rootId = all.items.find((ca: { id: string }) => ca.id !== chain.intermediateId).id;
  const verdict = async () => {
    const root = `/api/ca/${rootId}/crl`;
    const paths = [root, `${root}/delta`, leaf.path, `${leaf.path}/delta`];
    const ders = await Promise.all(
      paths.map(async (path) => (await fetch(`${instance.publicUrl}${path}`)).bytes()),
    );
    const pems = ders.map((der) => encodePem("X509 CRL", der)).join("");
    const crls = saved(chain.folder, "lists.pem", pems);
    const { text } = await openssl(
      [
        "verify",
        "-crl_check_all",
        "-extended_crl",
        "-use_deltas",
        "-CRLfile",
        crls,
        "-CAfile",
        chain.root,
        "-untrusted",
        chain.intermediate,
        leaf.file,
      ],
      { mustPass: false },
    );
    return text;
  };
  expect(await verdict()).toContain(": OK");
  await revoke(leaf.serial, "suspend");
  await until(async () => (await verdict()).includes("certificate revoked"));
  await revoke(leaf.serial, "release");
  await until(async () => (await verdict()).includes(": OK"));
}, 60_000);

test("pkid crl gets, describes, signs and imports what curl gets", async () => {
  const ca = "issuing-ecdsa-p256";
  const publish = await instance.cli("crl", "publish", "--ca", ca);
  expect(publish.stdout.split("\n")).toHaveLength(7);
  const got = await instance.cli("crl", "get", "--ca", ca, "--shard", "2", "--delta", "--json");
  const crl = await (
    await fetch(
      `${instance.publicUrl}/api/ca/${chain.intermediateId}/crl/partition/2/delta?format=pem`,
    )
  ).text();
  expect(JSON.parse(got.stdout)).toEqual({ crl });
  const status = await instance.cli("crl", "status", "--ca", ca);
  expect(status.stdout.match(/partition-\d +(base|delta) +true/g)).toHaveLength(8);
  const refused = await instance.cli("crl", "get", "--ca", ca, "--shard", "4");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("CRL partition")]);
  const file = saved(chain.folder, "import.pem", crl);
  const imported = await instance.cli("crl", "import", "--ca", ca, file);
  expect([imported.code, imported.stdout]).toEqual([0, expect.stringMatching(/imported: +0/)]);
}, 60_000);

test("after every change of crl.shards each certificate's own partition lists its revocation", async () => {
  const leaves: Issued[] = [];
  for (const next of [4, 0, 7, 2]) {
    await restart(next);
    leaves.push(await issue(), await issue());
  }
  await revoke("123456789");
  for (const { serial } of leaves) await revoke(serial);
  for (const next of [2, 0, 5]) {
    await restart(next);
    for (const { path, serial } of leaves) {
      await until(async () => (await listed(path)).has(serial));
    }
  }
  // A serial nobody has issued counts under every number of partitions there ever was.
  for (const count of [4, 7, 2, 5]) {
    const partition = partitionOf(parseSerial("123456789"), count);
    const path = `/api/ca/${chain.intermediateId}/crl/partition/${partition}`;
    const response = await fetch(`${instance.publicUrl}${path}`);
    if (response.status === 400) continue; // No valid certificate names it.
    await until(async () => (await listed(path)).has("123456789"));
  }
  const unknown = await fetch(
    `${instance.publicUrl}/api/ca/${chain.intermediateId}/crl/partition/999`,
  );
  expect([unknown.status, await unknown.json()]).toMatchObject([
    400,
    { code: "bad_partition", shard_count: 5 },
  ]);
}, 120_000);

test("SIGKILL inside builds: no number comes twice, deltas name published bases, and nothing is lost", async () => {
  await restart(3);
  const seen = new Map<string, number>();
  const revoked: Issued[] = [];
  for (let round = 0; round < 5; round++) {
    const leaf = await issue();
    await revoke(leaf.serial);
    revoked.push(leaf);
    const publishing = instance.admin("POST", `/api/ca/${chain.intermediateId}/crl:publish`, {});
    await Bun.sleep(round * 7);
    const ended = publishing.catch(() => undefined); // Cut off, or answered just before.
    await restart(3, true);
    await ended;
    for (const name of ["", "/partition/0", "/partition/1", "/partition/2"]) {
      const path = `/api/ca/${chain.intermediateId}/crl${name}`;
      await until(async () => {
        const told = await listed(path);
        const here = revoked.filter((one) => name === "" || one.path === path);
        return here.every(({ serial }) => told.has(serial));
      });
      for (const list of [path, `${path}/delta`]) {
        const { number = 0 } = await fetched(list);
        expect(number).toBeGreaterThanOrEqual(seen.get(list) ?? 0);
        seen.set(list, number);
      }
    }
  }
  const ledger = await instance.cli("audit", "verify");
  expect(ledger.code).toBe(0);
  const published = await instance.admin<{ items: { target_name: string; detail: string }[] }>(
    "GET",
    "/api/events?action=crl.publish&limit=1000",
  );
  const ofIssuing = published.items
    .map((event) => JSON.stringify(event))
    .filter((text) => text.includes(chain.intermediateId));
  const numbers = ofIssuing.map((text) => {
    const scope = /"target_name":"([^"]+)"/.exec(text)?.[1];
    return `${scope} ${/number=(\d+)/.exec(text)?.[1]}`;
  });
  expect(numbers.length).toBeGreaterThan(10);
  expect(new Set(numbers).size).toBe(numbers.length);
}, 120_000);
