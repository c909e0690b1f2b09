/** Load limits of the running binary: who is told to wait, in which form, and what never waits. */

import { afterAll, beforeAll, expect, test } from "bun:test";

import { Instance, writeConfig } from "#test/support/instances/instance.ts";

const password = "correct horse battery staple";
const config = {
  root_user: { password },
  rate_limit: { enabled: true, per_ip: { rate: 0.001, burst: 3 } },
};
let instance: Instance;
let token: string;

beforeAll(async () => {
  instance = await Instance.start({ config });
  token = await instance.token(["auditor"]);
}, 30_000);

afterAll(() => instance.dispose());

const asRoot = (guess: string) => ({ authorization: `Basic ${btoa(`root:${guess}`)}` });
const me = async (headers: Record<string, string>) =>
  (await instance.fetch("/api/me", { headers })).status;

test("who guesses a password is made to wait, and then even the right one must", async () => {
  expect(await me(asRoot(password))).toBe(200);
  for (let n = 0; n < 3; n += 1) expect(await me(asRoot(`guess ${n}`))).toBe(401);
  const refused = await instance.fetch("/api/me", { headers: asRoot(password) });
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await refused.json()).toMatchObject({ code: "rate_limited", tier: "per_ip" });
});

test("a relying party of that address is told tryLater, everything exempt goes on", async () => {
  const ocsp = await instance.fetch("/api/ca/none/ocsp/MEQ");
  expect(ocsp.status).toBe(429);
  expect(ocsp.headers.get("content-type")).toBe("application/ocsp-response");
  expect((await instance.fetch("/api/ca/none/crl")).status).toBe(429);
  const login = { method: "POST", body: JSON.stringify({ username: "root", password }) };
  const headers = { "content-type": "application/json" };
  expect((await instance.fetch("/auth/login/password", { ...login, headers })).status).toBe(429);
  for (const path of ["/healthz", "/readyz", "/metrics"]) {
    expect((await instance.fetch(path)).status).toBe(200);
  }
  expect(await me({ authorization: `Bearer ${token}` })).toBe(200);
  expect(await instance.admin("GET", "/api/me")).toMatchObject({ roles: ["admin"] });
});

test("a reload lifts the limits without a restart", async () => {
  writeConfig(instance.home, { ...config, rate_limit: { enabled: false } });
  instance.signal("SIGHUP");
  await instance.logged("config_reloaded");
  expect(await me(asRoot(password))).toBe(200);
  expect((await instance.fetch("/api/ca/none/crl")).status).toBe(404);
});
