/**
 * A wrong clock issues nothing wrong: the binary under a clock that is set back and ahead while it
 * runs and while it is down.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { type Chain, command, createChain } from "#test/support/instances/first-certificate.ts";
import { canFakeTime, type FalseTime, falseTime } from "#test/support/instances/false-time.ts";
import { Instance } from "#test/support/instances/instance.ts";
import { newCsr } from "#test/support/instances/relying-party.ts";

const server = { public_http: { enabled: true, address: "127.0.0.1:0" } };

describe.skipIf(!canFakeTime)("a clock that is set", () => {
  let time: FalseTime;
  let instance: Instance;
  let chain: Chain;
  let csr: string;

  beforeAll(async () => {
    time = falseTime();
    instance = await Instance.start({ config: { server }, env: time.env });
    chain = await createChain(instance, "ecdsa-p256");
    csr = await newCsr(chain.folder, "a.example.test");
  }, 60_000);

  afterAll(async () => {
    await instance.dispose();
    time.remove();
  });

  const issue = () =>
    instance.admin<{ serial: string }>("POST", `/api/ca/${chain.intermediateId}/issue`, { csr });

  async function refusedForTheClock() {
    const path = `/api/ca/${chain.intermediateId}/issue`;
    const token = await instance.token(["issuer"]);
    const headers = { authorization: `Token ${token}`, "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify({ csr }) };
    const response = await instance.fetch(path, init);
    expect([response.status, Number(response.headers.get("retry-after")) > 0]).toEqual([503, true]);
    expect(await response.json()).toMatchObject({
      code: "storage_unavailable",
      error: expect.stringContaining("clock"),
    });
  }

  async function restart(seconds: number) {
    const { home } = instance;
    await instance.stop();
    time.set(seconds);
    instance = await Instance.start({ home, config: { server }, env: time.env });
  }

  test("back under it: certificates are refused, revocation, CRL and OCSP go on, until it is right again", async () => {
    const { serial } = await issue();
    const ca = ["--ca", "issuing-ecdsa-p256"];
    await command(instance, ["ocsp", "check", ...ca, serial]);
    time.set(-200);
    await refusedForTheClock();
    const ready = await (await instance.fetch("/readyz")).json();
    expect(ready).toMatchObject({
      status: "ready",
      components: { database: { status: "up", detail: expect.stringContaining("clock") } },
    });
    await command(instance, ["revoke", "cert", ...ca, serial]);
    await command(instance, ["crl", "publish", ...ca]);
    const crl = await command(instance, ["crl", "status", ...ca]);
    expect(JSON.stringify(crl)).toContain('"revoked_count":1');
    const answer = await command(instance, ["ocsp", "check", ...ca, serial]);
    expect(answer).toMatchObject({ status: "revoked" });
    time.set(0);
    // The last event before the step may lie in this very second.
    await Bun.sleep(20);
    await issue();
  }, 30_000);

  test("back while it was down: the same, and a confirmation is needed only when it stays", async () => {
    await restart(-40 * 86_400);
    expect(instance.logs.join("\n")).toContain('"clock_stepped"');
    await refusedForTheClock();
    const { stdout } = await instance.cli("monitor", "clock-accept", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ resumed: ["issuance"] });
    await restart(-40 * 86_400);
    await refusedOnlyByValidity();
    await restart(0);
  }, 30_000);

  /** Forty days ago the CA was not valid yet, which is another matter. */
  async function refusedOnlyByValidity() {
    await expect(issue()).rejects.toThrow(/^(?!.*storage_unavailable)/s);
  }

  test("a year ahead under it: what deletes by age waits, also after a restart, until it is confirmed", async () => {
    await instance.cli("monitor", "clock-accept");
    time.set(365 * 86_400);
    await instance.logged("clock_stepped", (line) => line.includes('"from"'));
    await restart(365 * 86_400);
    expect(instance.logs.join("\n")).toContain('"clock_stepped"');
    const { code, stdout } = await instance.cli("monitor", "clock-accept");
    expect([code, stdout]).toEqual([0, expect.stringContaining("mass_actions")]);
    const again = await instance.cli("monitor", "clock-accept");
    expect(again.stderr).toContain("Nothing was paused.");
    const events = await instance.admin<{ items: readonly object[] }>(
      "GET",
      "/api/events?action=monitor.clock_accept",
    );
    expect(events.items[0]).toMatchObject({
      result: "success",
      detail: expect.stringContaining("resumed=mass_actions from="),
    });
  }, 30_000);

  test("put right after a year ahead: OCSP answers and the serving certificate are of today again", async () => {
    const ca = ["--ca", "issuing-ecdsa-p256"];
    const { items } = await instance.admin<{ items: readonly { serial: string }[] }>(
      "GET",
      `/api/ca/${chain.intermediateId}/certificates`,
    );
    const serial = items[0]?.serial ?? "";
    // Responder, answer and serving certificate are made a year ahead; this shell would not believe
    // them.
    expect((await instance.cli("ocsp", "check", ...ca, serial)).code).toBe(1);
    await expect(instance.fetch("/healthz")).rejects.toThrow();
    time.set(0);
    await command(instance, ["ocsp", "check", ...ca, serial]);
    await restart(0);
    expect((await instance.fetch("/healthz")).status).toBe(200);
    await command(instance, ["ocsp", "check", ...ca, serial]);
    await refusedForTheClock();
    await instance.cli("monitor", "clock-accept");
    await issue();
  }, 30_000);
});
