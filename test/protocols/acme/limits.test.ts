/** Tenants, quotas and rates in the words of ACME (P-7, P-8). */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { type AcmeClient, type Order, refusalOf } from "#test/support/acme/client.ts";
import { newCsr } from "#test/support/acme/csr.ts";
import { newKey } from "#test/support/acme/keys.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";

describe("P-8: a tenant", () => {
  let world: AcmeWorld;
  let client: AcmeClient;
  beforeAll(async () => {
    world = await AcmeWorld.start({
      config: { tenants: [{ slug: "web", name: "Web", quotas: { max_certs_per_day: 2 } }] },
      acme: { directories: { web: { path: "/web", ca_label: "web-root", tenant: "web" } } },
    });
    await world.instance.admin("POST", "/api/ca/init-root", {
      label: "web-root",
      subject: { cn: "Web Root" },
      key_type: "ecdsa-p256",
      tenant_id: "web",
    });
    client = await world.stranger(newKey(), `${world.base}/web/directory`);
    await client.register();
  }, 30_000);
  afterAll(() => world.stop());

  const ready = async (): Promise<Order> => {
    const order = await client.order([world.name()]);
    await client.prove(order, "http-01", world.show);
    return order;
  };
  const finalized = async (order: Order) => {
    const { der } = await newCsr({ names: order.identifiers.map(({ value }) => value) });
    return await client.post(order.finalize, { csr: der.toString("base64url") });
  };
  const setStatus = (verb: string) => world.instance.cli("tenant", verb, "web");

  test("that is suspended gets nothing, and what it has goes on afterwards", async () => {
    const [order, open] = [await ready(), await client.order([world.name()])];
    const { leaf } = await client.download(
      JSON.parse((await finalized(await ready())).text).certificate,
    );
    expect((await setStatus("suspend")).code).toBe(0);
    expect(refusalOf(await client.newOrder([world.name()]))).toBe("403 unauthorized");
    expect(refusalOf(await finalized(order))).toBe("403 unauthorized");
    const [url = ""] = open.authorizations;
    const { challenges } = await client.read<{ challenges: { url: string }[] }>(url);
    const proof = await client.post(challenges[0]?.url ?? "", {});
    expect(refusalOf(proof)).toBe("403 unauthorized");
    const newcomer = await world.stranger(newKey(), `${world.base}/web/directory`);
    expect(refusalOf(await newcomer.register())).toBe("403 unauthorized");
    // Nobody is kept from revoking.
    expect((await client.revoke(leaf.der)).status).toBe(200);
    expect((await setStatus("activate")).code).toBe(0);
    expect(await client.refreshed(order)).toMatchObject({ status: "ready" });
    expect((await finalized(order)).status).toBe(200);
  });

  test("that has used up its quota is told when to come again, and keeps its order", async () => {
    const order = await ready();
    const answer = await finalized(order);
    expect(refusalOf(answer)).toBe("429 rateLimited");
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await client.refreshed(order)).toMatchObject({ status: "ready" });
  });

  test("has accounts of its own, which others do not see", async () => {
    const secret = await world.instance.token(["auditor"], { tenant_id: "web" });
    const asked = { headers: { authorization: `Token ${secret}` } };
    const one = await world.client();
    for (const path of ["/api/acme/accounts", "/api/acme/orders"]) {
      const text = await (await world.instance.fetch(path, asked)).text();
      expect(text).toContain(client.kid?.split("/").at(-1) ?? "none");
      expect(text).not.toContain(one.kid?.split("/").at(-1) ?? "none");
    }
  });
});

describe("P-7: a rate", () => {
  let world: AcmeWorld;
  beforeAll(async () => {
    world = await AcmeWorld.start({
      config: {
        rate_limit: {
          enabled: true,
          global: { rate: 0 },
          per_ip: { rate: 0 },
          per_account: { rate: 0.01, burst: 5 },
          concurrency: { enabled: false },
        },
      },
    });
  }, 30_000);
  afterAll(() => world.stop());

  test("holds for each account by itself, in a problem document, and not for revocation", async () => {
    const [client, other] = [await world.client(), await world.client()];
    const statuses: number[] = [];
    for (let time = 0; time < 7; time++) {
      statuses.push((await client.post(client.kid ?? "", undefined)).status);
    }
    expect(statuses.slice(0, 5)).toEqual([200, 200, 200, 200, 200]);
    const answer = await client.newOrder([world.name()]);
    expect(refusalOf(answer)).toBe("429 rateLimited");
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(answer.headers.get("replay-nonce")).not.toBeNull();
    expect(answer.headers.get("link")).toContain('rel="index"');
    expect((await other.post(other.kid ?? "", undefined)).status).toBe(200);
    const revoking = await client.revoke(Buffer.from("no certificate"));
    expect(refusalOf(revoking)).toBe("400 malformed");
  });

  test("a revocation counts for its address until the right to revoke has been verified", async () => {
    const strict = await AcmeWorld.start({
      config: {
        rate_limit: {
          enabled: true,
          global: { rate: 0 },
          per_ip: { rate: 0.01, burst: revocationsMax },
          per_account: { rate: 0 },
          concurrency: { enabled: false },
        },
      },
    });
    try {
      const client = await strict.client();
      const { leaf } = await client.obtain([strict.name()], strict.show);
      expect((await client.revoke(leaf.der)).status).toBe(200);
      for (let time = 0; time < revocationsMax + 1; time++) {
        expect(refusalOf(await client.revoke(leaf.der))).toBe("400 alreadyRevoked");
      }
      const refusals: string[] = [];
      for (let time = 0; time < revocationsMax + 1; time++) {
        refusals.push(refusalOf(await client.revoke(Buffer.from("no certificate"))));
      }
      expect(refusals[0]).toBe("400 malformed");
      expect(refusals.at(-1)).toBe("429 rateLimited");
    } finally {
      await strict.stop();
    }
  }, 30_000);

  test("of an account is not used up by who cannot sign for it", async () => {
    const victim = await world.client();
    const attacker = victim.with(newKey());
    attacker.kid = victim.kid;
    for (let time = 0; time < 8; time++) {
      const answer = await attacker.post(victim.kid ?? "", undefined);
      expect(refusalOf(answer)).toBe("403 unauthorized");
    }
    expect((await victim.post(victim.kid ?? "", undefined)).status).toBe(200);
  });
});

/** More requests than an account and one certificate take. */
const revocationsMax = 40;
