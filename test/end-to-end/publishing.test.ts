/**
 * Static publishing by the running binary: served as published, checked without keys, whole at
 * every moment.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome } from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";

const home = newHome();
const folder = join(home, "published");
const config = {
  publish: { enabled: true, include_ocsp: true, dir: { path: folder, keep_snapshots: 2 } },
  presign: { enabled: true },
  crl: { shards: 2, base_url: "http://pki.example.test" },
};
let instance: Instance;
let caId: string;

beforeAll(async () => {
  instance = await Instance.start({ home, config });
  ({ intermediateId: caId } = await createChain(instance, "ecdsa-p256"));
  const csr = await newCsr(home, "www.example.test");
  await instance.admin("POST", `/api/ca/${caId}/issue`, { csr });
  await instance.admin("POST", "/api/ocsp:presign");
}, 60_000);

afterAll(() => instance.dispose());

const verify = (where: string) => instance.cli("publish", "verify", where, "--json");
const faultsAt = async (where: string) => {
  const { code, stdout } = await verify(where);
  const { faults } = JSON.parse(stdout) as { faults: { path: string; fault: string }[] };
  expect(code).toBe(faults.length === 0 ? 0 : 1);
  return faults;
};

test("`publish run` writes what is served, and `publish verify` finds it good", async () => {
  const ran = await instance.cli("publish", "run", "--json");
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  const report = JSON.parse(ran.stdout) as { target: string; artifacts: number };
  expect(report.target).toBe("dir");
  expect(report.artifacts).toBeGreaterThan(20);
  for (const [path, name] of [
    ["crl", "crl.der"] as const,
    ["crl/delta", "crl-delta.der"] as const,
    ["crl/partition/1", "crl-partition-1.der"] as const,
    ["chain", "chain.pem"] as const,
    ["certificate", "ca.der"] as const,
  ]) {
    const served = await instance.fetch(`/api/ca/${caId}/${path}`);
    const published = readFileSync(join(folder, "current", caId, name));
    expect(Buffer.from(await served.arrayBuffer())).toEqual(published);
  }
  const [answer = ""] = readdirSync(join(folder, "current", caId, "ocsp", "by-request"));
  const asked = await instance.fetch(`/api/ca/${caId}/ocsp/${answer.replace(/\.der$/, "")}`);
  expect(asked.status).toBe(200);
  expect(await faultsAt(folder)).toEqual([]);
}, 30_000);

test("over HTTP it is checked the same way, and what was tampered with is named", async () => {
  const copy = join(mkdtempSync(join(tmpdir(), "pkid-copy-")), "copy");
  cpSync(join(folder, "current"), copy, { recursive: true, dereference: true });
  const web = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const file = Bun.file(join(copy, new URL(request.url).pathname));
      return (await file.exists()) ? new Response(file) : new Response("", { status: 404 });
    },
  });
  const address = `http://127.0.0.1:${web.port}`;
  expect(await faultsAt(address)).toEqual([]);
  const crl = join(copy, caId, "crl.der");
  const octets = readFileSync(crl);
  octets[octets.length - 3] = (octets.at(-3) ?? 0) ^ 1;
  writeFileSync(crl, octets);
  expect(await faultsAt(address)).toEqual([
    { path: `${caId}/crl.der`, fault: "its digest is not that of the manifest." },
  ]);
  writeFileSync(join(copy, "manifest.json"), "{}");
  const unreadable = await verify(address);
  expect([unreadable.code, unreadable.stdout]).toEqual([1, ""]);
  expect(unreadable.stderr).toContain("The manifest cannot be read");
  await web.stop(true);
}, 30_000);

test("what cannot be read is named by its path, and the rest is judged all the same", async () => {
  const copy = join(mkdtempSync(join(tmpdir(), "pkid-copy-")), "copy");
  cpSync(join(folder, "current"), copy, { recursive: true, dereference: true });
  const [crl, chain] = [join(copy, caId, "crl.der"), join(copy, caId, "chain.pem")];
  rmSync(crl);
  symlinkSync("crl.der", crl);
  rmSync(chain);
  expect(await faultsAt(copy)).toEqual([
    { path: `${caId}/chain.pem`, fault: "it is missing, or longer than the manifest says." },
    { path: `${caId}/crl.der`, fault: "it cannot be read (ELOOP)." },
  ]);
  const web = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) =>
      request.url.endsWith("/crl-delta.der")
        ? new Response("", { status: 503 })
        : new Response(Bun.file(join(folder, "current", new URL(request.url).pathname))),
  });
  const faults = await faultsAt(`http://127.0.0.1:${web.port}`);
  expect(faults.map(({ fault }) => fault)).toEqual(faults.map(() => "the address answers 503."));
  expect(faults.map(({ path }) => path)).toContain(`${caId}/crl-delta.der`);
  await web.stop(true);
}, 30_000);

test("a path of the host is taken from local callers only, and commands need a target", async () => {
  const token = await instance.token(["admin"], { scope: "platform" });
  const refused = await instance.fetch("/api/publish:run", {
    method: "POST",
    body: JSON.stringify({ out: "/tmp/anywhere" }),
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ code: "invalid_field", field: "out" });
  const out = join(home, "elsewhere");
  const ran = await instance.cli("publish", "run", "--out", out, "--ca", caId, "--skip-ocsp");
  expect(ran.code).toBe(0);
  expect(await faultsAt(out)).toEqual([]);
  expect(existsSync(join(out, "current", caId, "ocsp"))).toBe(false);
}, 30_000);

test("killed at any moment, what `current` shows is whole", async () => {
  for (let round = 0; round < 4; round += 1) {
    const running = instance.admin("POST", "/api/publish:run").catch(() => undefined);
    await Bun.sleep(3 + 9 * round);
    await instance.kill();
    await running;
    instance = await Instance.start({ home, config });
    expect(await faultsAt(folder)).toEqual([]);
  }
  await instance.admin("POST", "/api/publish:run");
  expect(readdirSync(join(folder, "snapshots")).length).toBe(2);
}, 60_000);
