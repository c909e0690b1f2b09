/**
 * The rate tiers: their order, what is given back, who shares a bucket, and how each protocol is
 * told.
 */

import { afterEach, describe, expect, test } from "bun:test";

import { addressKey } from "#core/address-key.ts";
import { Problem } from "#core/problems.ts";
import { type Asker, RateLimits, type RateSection } from "#http/rate-limits.ts";
import { ocspRefusal } from "#protocols/ocsp-refusal.ts";
import { startStub, type StubServer } from "#test/support/worlds/stub-server.ts";

const plenty = { rate: 1000, burst: 1000 };
const settings: RateSection = {
  enabled: true,
  global: plenty,
  per_ip: plenty,
  per_account: plenty,
  max_keys: 1000,
  idle_ttl_seconds: 600,
};

function limiter(wanted: Partial<RateSection> = {}) {
  let inForce = { ...settings, ...wanted };
  const time = { ms: 0 };
  const limits = new RateLimits({ settings: () => inForce, elapsedMs: () => time.ms });
  const tierOf = (asker: Asker): unknown => {
    try {
      limits.admit(asker);
      return undefined;
    } catch (error) {
      if (error instanceof Problem) return error.facts.tier;
      throw error;
    }
  };
  const reload = (next: Partial<RateSection>) => {
    inForce = { ...inForce, ...next };
  };
  return { limits, time, tierOf, reload };
}

describe("the tiers", () => {
  const tight = { rate: 1, burst: 2 };
  const tenant = { id: "t1", filling: tight };

  test("each refuses on its own, under its name", () => {
    const ip = "192.0.2.1";
    const asked = (wanted: Partial<RateSection>, asker: Asker) => {
      const { tierOf } = limiter(wanted);
      return [tierOf(asker), tierOf(asker), tierOf(asker)];
    };
    expect(asked({ global: tight }, { ip })).toEqual([undefined, undefined, "global"]);
    expect(asked({ per_ip: tight }, { ip })).toEqual([undefined, undefined, "per_ip"]);
    expect(asked({}, { ip, tenant })).toEqual([undefined, undefined, "per_tenant"]);
    expect(asked({ per_account: tight }, { ip, account: "a" })).toEqual([
      undefined,
      undefined,
      "per_account",
    ]);
    expect(asked({ per_account: tight }, { ip })).toEqual([undefined, undefined, undefined]);
  });

  test("a refusal gives the tokens of earlier tiers back", () => {
    const { tierOf } = limiter({ global: { rate: 1, burst: 3 }, per_ip: { rate: 1, burst: 1 } });
    expect(tierOf({ ip: "192.0.2.1" })).toBeUndefined();
    for (let n = 0; n < 20; n += 1) expect(tierOf({ ip: "192.0.2.1" })).toBe("per_ip");
    expect(tierOf({ ip: "192.0.2.2" })).toBeUndefined();
    expect(tierOf({ ip: "192.0.2.3" })).toBeUndefined();
    expect(tierOf({ ip: "192.0.2.4" })).toBe("global");
  });

  test("a tier with rate 0 is off, and so is everything while not enabled", () => {
    const off = limiter({ per_ip: { rate: 0, burst: 1 } });
    for (let n = 0; n < 50; n += 1) expect(off.tierOf({ ip: "192.0.2.1" })).toBeUndefined();
    const disabled = limiter({ enabled: false, global: { rate: 1, burst: 1 } });
    for (let n = 0; n < 50; n += 1) expect(disabled.tierOf({ ip: "192.0.2.1" })).toBeUndefined();
  });

  test("a reload is in force with the next request", () => {
    const { tierOf, reload } = limiter({ per_ip: { rate: 1, burst: 1 } });
    tierOf({ ip: "192.0.2.1" });
    expect(tierOf({ ip: "192.0.2.1" })).toBe("per_ip");
    reload({ enabled: false });
    expect(tierOf({ ip: "192.0.2.1" })).toBeUndefined();
  });

  test("the refusal says in whole seconds when there will be room", () => {
    const { limits } = limiter({ per_ip: { rate: 0.1, burst: 1 } });
    limits.admit({ ip: "192.0.2.1" });
    expect(() => limits.admit({ ip: "192.0.2.1" })).toThrow(
      expect.objectContaining({ code: "rate_limited", facts: { tier: "per_ip", retry_after: 10 } }),
    );
  });
});

describe("one address", () => {
  test("is an IPv4 address or the /64 of an IPv6 one, however it is written", () => {
    expect(addressKey("192.0.2.1")).toBe("192.0.2.1");
    const same = ["2001:db8:0:1::1", "2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:0db8:0:1::"];
    expect(new Set(same.map(addressKey)).size).toBe(1);
    expect(addressKey("2001:db8:0:2::1")).not.toBe(addressKey("2001:db8:0:1::1"));
    expect(addressKey("::1")).toBe("0:0:0:0");
    expect(addressKey("fe80::1%eth0")).toBe("fe80:0:0:0");
  });

  test("that guesses passwords is refused before the next guess is looked at, others are not", () => {
    const { limits, time } = limiter({ per_ip: { rate: 1, burst: 2 } });
    for (let n = 0; n < 9; n += 1) limits.attempt("192.0.2.1")();
    for (let n = 0; n < 2; n += 1) limits.attempt("192.0.2.1");
    expect(() => limits.attempt("192.0.2.1")).toThrow("Too many requests.");
    limits.attempt("192.0.2.2");
    time.ms = 1000;
    limits.attempt("192.0.2.1");
  });
});

describe("through the front door", () => {
  let server: StubServer | undefined;
  afterEach(async () => {
    await server?.stop();
    server = undefined;
  });

  const start = async () => {
    const { limits } = limiter({ per_ip: { rate: 0.01, burst: 2 } });
    server = await startStub(
      {},
      { limits, speeches: { ocsp: ocspRefusal, acme: () => undefined } },
    );
    const { origin } = server;
    return (path: string, init: RequestInit = {}) => fetch(`${origin}${path}`, init);
  };

  test("the third public request is 429 with Retry-After, as JSON for a chain", async () => {
    const ask = await start();
    for (let n = 0; n < 2; n += 1) expect((await ask("/api/ca/1/chain")).status).toBe(200);
    const refused = await ask("/api/ca/1/chain");
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("100");
    expect(await refused.json()).toMatchObject({
      error: "Too many requests.",
      code: "rate_limited",
      tier: "per_ip",
      retry_after: 100,
    });
    expect(server?.rows.at(-1)).toMatchObject({ status: 429, route: "/api/ca/{id}/chain" });
  });

  test("as a tryLater answer for OCSP, by GET and by POST", async () => {
    const ask = await start();
    for (let n = 0; n < 2; n += 1) await ask("/api/ca/1/ocsp/MEQ");
    for (const init of [{}, { method: "POST", body: "x" }]) {
      const path = init.method === undefined ? "/api/ca/1/ocsp/MEQ" : "/api/ca/1/ocsp";
      const refused = await ask(path, init);
      expect(refused.status).toBe(429);
      expect(refused.headers.get("retry-after")).toBe("100");
      expect(refused.headers.get("content-type")).toBe("application/ocsp-response");
      expect(refused.headers.get("cache-control")).toBe("no-store");
      expect(Buffer.from(await refused.arrayBuffer()).toString("hex")).toBe("30030a0103");
    }
  });

  test("revocation, health, metrics and everything behind a credential go on", async () => {
    const ask = await start();
    for (let n = 0; n < 5; n += 1) await ask("/api/ca/1/crl");
    expect((await ask("/api/ca/1/crl")).status).toBe(429);
    const authorization = `Basic ${btoa("root:secret")}`;
    for (let n = 0; n < 5; n += 1) {
      for (const path of ["/healthz", "/readyz", "/metrics"]) {
        expect((await ask(path)).status).toBe(200);
      }
      const revoke = { method: "POST", headers: { authorization }, body: "{}" };
      expect((await ask("/api/ca/1/revoke", revoke)).status).not.toBe(429);
      expect((await ask("/api/ca", { headers: { authorization } })).status).not.toBe(429);
    }
  });

  test("one credential is one account, from wherever it comes", async () => {
    const { limits } = limiter({ per_account: { rate: 0.01, burst: 2 } });
    server = await startStub({}, { limits });
    const { origin } = server;
    const ask = async (credential: string) => {
      const headers = { authorization: `Token ${credential}` };
      return (await fetch(`${origin}/api/ca/1/chain`, { headers })).status;
    };
    expect([await ask("a"), await ask("a"), await ask("a")]).toEqual([200, 200, 429]);
    expect(await ask("b")).toBe(200);
  });

  test("the rate of a tenant counts for all its CAs, and for no other", async () => {
    const { limits } = limiter();
    const filling = { rate: 0.01, burst: 2 };
    const tenantRate = (ca: string) => (ca === "x" ? undefined : { id: "t1", filling });
    server = await startStub({}, { limits, tenantRate });
    const { origin } = server;
    const ask = async (ca: string) => (await fetch(`${origin}/api/ca/${ca}/chain`)).status;
    expect([await ask("1"), await ask("2"), await ask("1")]).toEqual([200, 200, 429]);
    expect([await ask("x"), await ask("x"), await ask("x")]).toEqual([200, 200, 200]);
  });

  test("a forged X-Forwarded-For buys nothing", async () => {
    const ask = await start();
    const statuses: number[] = [];
    for (let n = 0; n < 4; n += 1) {
      const headers = { "x-forwarded-for": `192.0.2.${n}` };
      statuses.push((await ask("/api/ca/1/chain", { headers })).status);
    }
    expect(statuses).toEqual([200, 200, 429, 429]);
  });
});
