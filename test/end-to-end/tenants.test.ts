/**
 * Tenants, quotas and grants through the binary: over HTTP, remote calls and the shell, from
 * configuration and from the API.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { createExpiringToken } from "#test/support/instances/expiring-token.ts";
import { type Chain, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, newHome, writeConfig } from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";

let instance: Instance;
let chain: Chain;
let csr: string;
const grants = (role: string, user: string) => [
  { resource: "ca/issuing-ecdsa-p256", role, users: [user] },
];
const config = (more: object = {}) => ({
  tenants: [{ slug: "web", name: "Web platform", quotas: { max_certs_per_day: 3 } }],
  rpc: { enabled: true },
  ...more,
});

beforeAll(async () => {
  const home = newHome();
  instance = await Instance.start({ home, config: config() });
  chain = await createChain(instance, "ecdsa-p256");
  csr = await newCsr(home, "a.example.test");
}, 60_000);
afterAll(() => instance.dispose());

const as = (secret: string, method: string, path: string, body?: unknown) =>
  instance.fetch(path, {
    method,
    headers: { authorization: `Token ${secret}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const issueAt = (ca: string, secret: string) => as(secret, "POST", `/api/ca/${ca}/issue`, { csr });
const root = async (label: string, tenant_id: string) =>
  (
    await instance.admin<{ id: string }>("POST", "/api/ca/init-root", {
      label,
      subject: { cn: label },
      key_type: "ecdsa-p256",
      tenant_id,
    })
  ).id;

describe("a tenant of the configuration", () => {
  test("is there at the first start, with its quotas, and owns what is made in it", async () => {
    const ca = await root("web-root", "web");
    const secret = await instance.token(["issuer"], { tenant_id: "web" });
    expect((await as(secret, "GET", `/api/ca/${chain.intermediateId}`)).status).toBe(404);
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) statuses.push((await issueAt(ca, secret)).status);
    expect(statuses).toEqual([201, 201, 201, 429]);
    const refused = await issueAt(ca, secret);
    const { quota, retry_after, code } = await refused.json();
    expect([code, quota]).toEqual(["quota_exceeded", "max_certs_per_day"]);
    expect(refused.headers.get("retry-after")).toBe(String(retry_after));
    const rpc = await as(secret, "POST", "/pki.v1.PKIService/IssueCertificate", {
      caId: ca,
      csrPem: csr,
    });
    expect([rpc.status, (await rpc.json()).code]).toEqual([429, "resource_exhausted"]);
    const usage = JSON.parse((await instance.cli("tenant", "usage", "web", "--json")).stdout);
    expect(usage).toMatchObject({ active_certs: 3, total_issued: 3, cas: 1 });
  }, 30_000);

  test("issues nothing from the next request on once it is suspended, and revokes as ever", async () => {
    expect((await instance.cli("tenant", "quota", "web", "--certs-per-day", "0")).code).toBe(0);
    const secret = await instance.token(["issuer"], { tenant_id: "web" });
    const [ca] = (await instance.admin<{ items: { id: string }[] }>("GET", "/api/ca?tenant=web"))
      .items;
    const id = ca?.id ?? "";
    const issued = await (await issueAt(id, secret)).json();
    expect((await instance.cli("tenant", "suspend", "web")).code).toBe(0);
    const refused = await issueAt(id, secret);
    expect([refused.status, (await refused.json()).code]).toEqual([403, "tenant_suspended"]);
    const { serial } = issued;
    const revoked = await as(secret, "POST", `/api/ca/${id}/revoke`, { serial });
    expect(await revoked.json()).toMatchObject({ status: "revoked" });
    expect((await instance.cli("tenant", "activate", "web")).code).toBe(0);
    expect((await issueAt(id, secret)).status).toBe(201);
    const deleted = await instance.cli("tenant", "delete", "web", "--yes");
    expect([deleted.code, deleted.stderr]).toEqual([
      1,
      expect.stringContaining("tenant_not_empty"),
    ]);
  }, 30_000);
});

describe("a grant", () => {
  test("holds alike over REST, remote calls and the shell, as long as it stands", async () => {
    const secret = await instance.token(["auditor"], { tenant_id: "web" });
    const { sub } = await (await as(secret, "GET", "/api/me")).json();
    const id = chain.intermediateId;
    const rpc = () =>
      as(secret, "POST", "/pki.v1.PKIService/IssueCertificate", { caId: id, csrPem: csr });
    const outcomes = async () => [(await issueAt(id, secret)).status, (await rpc()).status];
    expect(await outcomes()).toEqual([403, 403]);
    const request = ["--resource", id, "--user", sub, "--role", "ca-issuer"];
    expect((await instance.cli("grant", "add", ...request)).code).toBe(0);
    expect(await outcomes()).toEqual([201, 200]);
    const effective = ["grant", "effective", "--resource", id, "--user", sub, "--json"];
    expect(JSON.parse((await instance.cli(...effective)).stdout)).toMatchObject({
      subject: sub,
      resource_roles: ["ca-issuer"],
      tenant_roles: [],
    });
    const asTheToken = ["ca", "list", "--json", "--url", instance.url, "--token", secret];
    const trusted = ["--ca-file", `${instance.dataDir}/serving-ca.pem`];
    const { stdout } = await instance.remoteCli(...asTheToken, ...trusted);
    const labels = JSON.parse(stdout).items.map(({ label }: { label: string }) => label);
    expect(labels.sort()).toEqual(["issuing-ecdsa-p256", "web-root"]);
    expect((await instance.cli("grant", "remove", ...request)).code).toBe(0);
    expect(await outcomes()).toEqual([403, 403]);
  }, 30_000);

  test("of the configuration comes and goes with a reload", async () => {
    const secret = await instance.token(["auditor"], { tenant_id: "web" });
    const { sub } = await (await as(secret, "GET", "/api/me")).json();
    const id = chain.intermediateId;
    expect((await issueAt(id, secret)).status).toBe(403);
    const reloaded = async (rbac: object, count: number) => {
      writeConfig(instance.home, config({ rbac }));
      instance.signal("SIGHUP");
      const lines = () => instance.logs.filter((line) => line.includes("config_reloaded")).length;
      while (lines() < count) await Bun.sleep(10);
    };
    await reloaded({ grants: grants("ca-issuer", sub) }, 1);
    expect((await issueAt(id, secret)).status).toBe(201);
    const list = await instance.cli("grant", "list", "--resource", id, "--json");
    expect(JSON.parse(list.stdout).items).toMatchObject([{ source: "config", entity_id: sub }]);
    const request = ["--resource", id, "--user", sub, "--role", "ca-issuer"];
    const refused = await instance.cli("grant", "remove", ...request);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("config_managed")]);
    await reloaded({}, 2);
    expect((await issueAt(id, secret)).status).toBe(403);
  }, 30_000);
});

describe("attacks on tokens and paths", () => {
  test("unknown, malformed, expired and revoked tokens, and a token by another scheme, look identical", async () => {
    const revoked = await instance.token(["auditor"]);
    const { items } = await instance.admin<{ items: { id: string }[] }>("GET", "/api/tokens");
    await instance.admin("DELETE", `/api/tokens/${items[0]?.id}`);
    const expired = await createExpiringToken(instance, ["auditor"]);
    while ((await as(expired, "GET", "/api/ca")).status === 200) await Bun.sleep(50);
    const presented = [
      revoked,
      expired,
      `pki_pat_${"A".repeat(43)}`,
      "pki_pat_",
      "x",
      `${revoked} `,
      revoked.toUpperCase(),
      revoked.slice(0, -1),
      `${revoked}A`,
      "pki_pat_\u00e9",
    ];
    const answers = new Set<string>();
    for (const secret of presented) {
      for (const scheme of ["Token", "token", "Bearer"]) {
        const response = await instance.fetch("/api/ca", {
          headers: { authorization: `${scheme} ${encodeURI(secret)}` },
        });
        const { request_id, ...body } = await response.json();
        expect(request_id).toBeString();
        const challenge = response.headers.get("www-authenticate");
        answers.add(JSON.stringify([response.status, body, challenge]));
      }
    }
    expect([...answers]).toHaveLength(1);
    expect([...answers][0]).toContain("invalid_token");
  }, 30_000);

  test("a token of one tenant meets the objects of another as it meets absent ones", async () => {
    const secret = await instance.token(["admin"], { tenant_id: "web" });
    const id = chain.intermediateId;
    const absent = crypto.randomUUID();
    const asked = async (method: string, path: string, body?: unknown) => {
      const response = await as(secret, method, path, body);
      const { request_id: _, ...rest } = await response.json();
      return [response.status, rest];
    };
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["GET", "/certificates", undefined],
      ["GET", "/certificates/7", undefined],
      ["GET", "/revoked", undefined],
      ["GET", "/public-key", undefined],
      ["DELETE", "", undefined],
      ["POST", "/issue", { csr }],
      ["POST", "/revoke", { serial: "7" }],
      ["POST", "/certificates/7:suspend", undefined],
      ["POST", "/rotate", {}],
      ["POST", "/revocations:bulk", { dry_run: true, all: true }],
    ] as const) {
      const foreign = await asked(method, `/api/ca/${id}${path}`, body);
      expect(foreign).toEqual(await asked(method, `/api/ca/${absent}${path}`, body));
      expect([path, foreign[0]]).toEqual([path, method === "GET" ? 404 : 403]);
    }
  }, 30_000);

  test("a verb is one segment split at its last colon, and what only resembles it is nothing", async () => {
    const secret = await instance.token(["admin"]);
    const id = chain.intermediateId;
    const base = `/api/ca/${id}/certificates`;
    const { serial } = await (await issueAt(id, secret)).json();
    const near = [
      `${base}/${serial}:Suspend`,
      `${base}/${serial}:suspend:`,
      `${base}/${serial}::suspend/`,
      `${base}/${serial}:suspend/`,
      `${base}/${serial}/:suspend`,
      `${base}/${serial}/suspend`,
      `${base}/${serial}%3Asuspend%2F`,
      `${base}/${serial}:suspendx`,
      `${base}:suspend`,
      `${base}/${serial}:delete`,
      `${base}/:suspend`,
      `${base}/${serial};suspend`,
    ];
    for (const path of near) {
      const { status } = await as(secret, "POST", path);
      expect([path, status >= 400 && status < 500]).toEqual([path, true]);
    }
    const certStatus = await (await as(secret, "GET", `${base}/${serial}`)).json();
    expect(certStatus.status).toBe("good");
    expect((await as(secret, "POST", `${base}/${serial}:suspend`)).status).toBe(200);
  }, 30_000);
});
