/** CAA from the outside: the binary asks a real name server, and no caller gets past its answer. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";

import { caa, type DnsServer, startDnsServer } from "#test/support/servers/dns-server.ts";
import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";

const identifier = "ca.example.net";
let server: DnsServer;
let instance: Instance;
let chain: Chain;
beforeAll(async () => {
  server = await startDnsServer();
  server.zone.set("open.example.test", [caa("issue", identifier)]);
  server.zone.set("closed.example.test", [caa("issue", ";"), caa("iodef", "mailto:x@y.test")]);
  server.tricks.set("broken.example.test", { kind: "code", code: 2 });
  const usages = { key_usages: ["digitalSignature"], ext_key_usages: ["serverAuth"] };
  instance = await Instance.start({
    config: {
      caa: { identifier, dns_resolver: `127.0.0.1:${server.port}` },
      profiles: [{ name: "server", ...usages, max_validity_days: 90, caa: { mode: "enforce" } }],
    },
  });
  chain = await createChain(instance, "ecdsa-p256");
}, 30_000);
afterAll(async () => {
  await instance.dispose();
  await server.stop();
});

async function issueByCli(name: string) {
  await newCsr(chain.folder, name);
  const file = join(chain.folder, `${name}.csr`);
  return await instance.cli("cert", "issue", "--ca", "issuing-ecdsa-p256", "--csr", file);
}

async function issueByJson(name: string) {
  const csr = await newCsr(chain.folder, name);
  const authorization = `Token ${await instance.token(["issuer"])}`;
  const response = await instance.fetch(`/api/ca/${chain.intermediateId}/issue`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ csr, profile: "server" }),
  });
  const answer: { code?: string; gates?: { name: string }[] } = await response.json();
  return { status: response.status, ...answer };
}

const inventory = async () => {
  const path = `/api/ca/${chain.intermediateId}/certificates`;
  return (await instance.admin<{ items: { common_name: string }[] }>("GET", path)).items;
};

test("the shell and JSON issue what the domain allows", async () => {
  expect((await issueByCli("open.example.test")).code).toBe(0);
  expect((await issueByJson("open.example.test")).status).toBe(201);
});

test.each([
  ["what the domain forbids", "closed.example.test", "forbidden"],
  ["what cannot be looked up", "broken.example.test", "lookup_error"],
])("neither issues %s, and both say why", async (_what, name, reason) => {
  const before = (await inventory()).length;
  const shell = await issueByCli(name);
  expect(shell.code).not.toBe(0);
  const answer = await issueByJson(name);
  expect(answer).toMatchObject({ status: 400, code: "gate_refused" });
  expect(answer.gates?.find((gate) => gate.name === "caa")).toMatchObject({
    status: "fail",
    findings: [{ code: reason, mode: "error" }],
  });
  expect(await inventory()).toHaveLength(before);
  const { items } = await instance.admin<{ items: { detail: string; result: string }[] }>(
    "GET",
    "/api/events?action=cert.caa&limit=1",
  );
  expect(items[0]).toMatchObject({ result: "denied" });
  expect(items[0]?.detail).toContain(`names=${name} verdict=`);
});

test("GET /api/profiles tells the mode", async () => {
  const { items } = await instance.admin<{ items: { name: string; caa: unknown }[] }>(
    "GET",
    "/api/profiles",
  );
  expect(items.find(({ name }) => name === "server")?.caa).toEqual({
    mode: "enforce",
    timeout_seconds: 5,
  });
});
