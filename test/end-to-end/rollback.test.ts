/**
 * An older database under the binary: the server writes and signs nothing until an operator
 * accepts it, and publishes no CRL number twice.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { parseCrl } from "#core/x509/crl.ts";
import { parseOcspResponse } from "#core/x509/ocsp-responses.ts";
import { type Chain, command, createChain } from "#test/support/instances/first-certificate.ts";
import { Instance, runCli } from "#test/support/instances/instance.ts";
import { newCsr, openssl, saved } from "#test/support/instances/relying-party.ts";
import { until } from "#test/support/until.ts";

const config = { server: { public_http: { enabled: true, address: "127.0.0.1:0" } } };
const ca = ["--ca", "issuing-ecdsa-p256"];

interface IssueResult {
  readonly serial: string;
  readonly certificate: string;
}

describe("an older pkid.db that was put back", () => {
  let instance: Instance;
  let chain: Chain;
  let csr: string;
  let serial: string;
  let pem: string;
  /** Highest published CRL number. */
  let published = 0;

  beforeAll(async () => {
    instance = await Instance.start({ config });
    chain = await createChain(instance, "ecdsa-p256");
    csr = await newCsr(chain.folder, "a.example.test");
    ({ serial, certificate: pem } = await issue());
    await command(instance, ["crl", "publish", ...ca]);
    await instance.stop();
    copyFileSync(database(), `${database()}.old`);
    await start();
    await command(instance, ["revoke", "cert", ...ca, serial, "--reason", "keyCompromise"]);
    for (let count = 0; count < 3; count++) await command(instance, ["crl", "publish", ...ca]);
    published = await crlNumber();
    // The mark is on disk although the process was killed.
    await instance.kill();
    putBack();
    await start();
  }, 60_000);

  afterAll(() => instance.dispose());

  const database = () => join(instance.dataDir, "pkid.db");
  const start = async () => {
    instance = await Instance.start({ home: instance.home, config });
  };
  const putBack = () => {
    copyFileSync(`${database()}.old`, database());
    for (const suffix of ["-wal", "-shm"]) rmSync(database() + suffix, { force: true });
  };
  const issue = () =>
    instance.admin<IssueResult>("POST", `/api/ca/${chain.intermediateId}/issue`, { csr });
  const crlNumber = async () => {
    const response = await fetch(`${instance.publicUrl}/api/ca/${chain.intermediateId}/crl`);
    expect(response.status).toBe(200);
    return parseCrl(await response.bytes()).number ?? 0;
  };
  const checkOcsp = async () => {
    const { stdout, stderr } = await instance.cli("ocsp", "check", ...ca, serial);
    return stdout + stderr;
  };

  /** Returns the jobs of all lines with this message. */
  const listJobs = (message: string) =>
    instance.logs
      .filter((line) => line.includes(`"${message}"`))
      .map((line) => (JSON.parse(line) as { job: string }).job); // Such a line has one.

  test("the server is not ready, with reason and remedy, and serves health, metrics and lists", async () => {
    const ready = await instance.fetch("/readyz");
    expect(ready.status).toBe(503);
    expect(JSON.stringify(await ready.json())).toContain("pkid db accept-rollback");
    for (const path of ["/healthz", "/metrics"]) {
      expect((await instance.fetch(path)).status).toBe(200);
    }
    expect(await crlNumber()).toBeLessThan(published);
    const chainResponse = await fetch(`${instance.publicUrl}/api/ca/${chain.rootId}/chain`);
    expect(chainResponse.status).toBe(200);
  });

  test("the server issues, revokes and publishes nothing", async () => {
    const before = await instance.admin("GET", "/api/events?limit=1");
    const path = `/api/ca/${chain.intermediateId}`;
    const requests = [
      [`${path}/issue`, { csr }],
      [`${path}/revoke`, { serial }],
      [`${path}/crl:publish`, {}],
      ["/api/tokens", { name: "x", roles: ["admin"], scope: "platform" }],
    ] as const;
    for (const [target, body] of requests) {
      const refused = instance.admin("POST", target, body);
      await expect(refused).rejects.toThrow(/503 .*accept-rollback.*storage_unavailable/);
    }
    expect(await instance.admin("GET", "/api/events?limit=1")).toEqual(before);
  });

  test("the OCSP responder returns only tryLater", async () => {
    const request = join(chain.folder, "a.ocsp");
    const certificate = saved(chain.folder, "a.pem", pem);
    const names = ["-issuer", chain.intermediate, "-cert", certificate];
    await openssl(["ocsp", ...names, "-no_nonce", "-reqout", request]);
    const path = `/api/ca/${chain.intermediateId}/ocsp`;
    const post = { method: "POST", headers: { "content-type": "application/ocsp-request" } };
    const query = () => fetch(instance.publicUrl + path, { ...post, body: readFileSync(request) });
    for (const response of [await query(), await query()]) {
      expect(parseOcspResponse(await response.bytes()).status).toBe("tryLater");
    }
  });

  test("the server admits administrators and rejects a wrong password", async () => {
    const password = readFileSync(join(instance.dataDir, "root-password"), "utf8").trim();
    const login = async (secret: string) => {
      const body = JSON.stringify({ username: "root", password: secret });
      const headers = { "content-type": "application/json", origin: instance.url };
      const init = { method: "POST", headers, body };
      return (await instance.fetch("/auth/login/password", init)).status;
    };
    expect([await login("wrong"), await login(password)]).toEqual([401, 200]);
  });

  test("preflight fails with the reason", async () => {
    const { stdout } = await instance.cli(
      "preflight",
      "--only",
      "audit.chain_head",
      "--no-network",
    );
    expect(stdout).toContain("accept-rollback");
  });

  test("`db accept-rollback` resumes with CRL numbers above every published one", async () => {
    const failed = listJobs("job_failed");
    expect(failed).toContain("crl.delta");
    expect(failed).toEqual([...new Set(failed)]);
    const accepted = await command(instance, ["db", "accept-rollback"]);
    expect(accepted).toMatchObject({ accepted: true, reason: expect.stringContaining("missing") });
    // Readiness is cached for a second.
    await until(async () => (await instance.fetch("/readyz")).ok);
    expect(await crlNumber()).toBeGreaterThan(published + 999_000);
    // The revocation is lost, as the operator has accepted; it is repeated.
    expect(await checkOcsp()).toContain("good");
    await command(instance, ["revoke", "cert", ...ca, serial]);
    expect(await checkOcsp()).toContain("revoked");
    await issue();
    await until(() => listJobs("job_recovered").includes("crl.delta"));
    const { items } = await instance.admin<{ items: { action: string }[] }>(
      "GET",
      "/api/events?limit=100",
    );
    const actions = new Set(items.map(({ action }) => action));
    for (const action of ["system.accept_rollback", "auth.login", "auth.login_failed"]) {
      expect(actions.has(action)).toBe(true);
    }
    expect(await instance.cli("db", "accept-rollback")).toMatchObject({ code: 0 });
    await instance.stop();
    expect((await runCli(instance.home, ["verify"])).code).toBe(0);
    await start();
    expect((await instance.fetch("/readyz")).status).toBe(200);
  }, 60_000);

  test("`db accept-rollback` works without a server", async () => {
    const before = await crlNumber();
    await instance.stop();
    putBack();
    const preflight = ["preflight", "--only", "audit.chain_head", "--no-network"];
    const inspected = await runCli(instance.home, preflight);
    expect(inspected.stdout).toContain("accept-rollback");
    const accepted = await runCli(instance.home, ["db", "accept-rollback", "--json"]);
    expect([accepted.code, accepted.stderr]).toEqual([0, expect.stringContaining("rolled back")]);
    expect(JSON.parse(accepted.stdout)).toMatchObject({ accepted: true });
    await start();
    expect((await instance.fetch("/readyz")).status).toBe(200);
    expect(await crlNumber()).toBeGreaterThan(before);
  }, 60_000);
});
