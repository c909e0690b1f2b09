/** Health: readiness follows database and keys, within 3 s, in closed sentences. */

import { describe, expect, jest, spyOn, test } from "bun:test";

import { gzippedFast } from "#adapters/gzip.ts";
import { type HealthDeps, healthHandlers, type ProbeDeps, Probes } from "#api/health.ts";
import { Outcome } from "#domain/access/outcome.ts";
import { behindSentence } from "#domain/clock-watch.ts";
import type { ProviderFacts } from "#domain/keys.ts";
import { jsonOf } from "#test/support/worlds/asking.ts";

const softKeys: ProviderFacts = {
  provider: "software",
  available: true,
  deviceSerial: "1",
  keyTypes: [],
};

const isCurrent = () => undefined;

function opened(parts: Partial<HealthDeps & Pick<ProbeDeps, "issuancePause">> = {}) {
  const deps: HealthDeps = {
    store: { ping: async () => undefined, rollback: isCurrent },
    keys: { facts: async () => [softKeys] },
    build: { version: "1", runtime: "bun" },
    draining: () => false,
    gzipped: gzippedFast,
    exposition: async () => ({ type: "text/plain", text: "pki 1\n" }),
    ...parts,
  };
  const issuancePause = parts.issuancePause ?? (() => undefined);
  const probes = new Probes({ ...deps, hasRoom: () => true, issuancePause });
  const ready = healthHandlers(deps, probes)["health.ready"];
  if (typeof ready === "function") throw new Error("readiness answers JSON");
  // Readiness reads nothing of its call.
  return async () => {
    const told = await ready.run({} as Parameters<typeof ready.run>[0]);
    const { status, body } = jsonOf(told instanceof Outcome ? told : new Outcome("done", told));
    return { status, body };
  };
}

describe("readiness", () => {
  test("is 200 while database and keys answer", async () => {
    expect(await opened()()).toEqual({
      status: 200,
      body: {
        status: "ready",
        components: {
          database: { status: "up" },
          hsm: { status: "up", detail: "software" },
          leadership: { status: "leader", detail: "single process" },
        },
      },
    });
  });

  test("is 503 with a closed sentence when the database throws", async () => {
    const ping = () => Promise.reject(new Error("connect 10.0.0.7:5432"));
    const answer = await opened({ store: { ping, rollback: isCurrent } })();
    expect(answer).toMatchObject({
      status: 503,
      body: { status: "not_ready", components: { hsm: { status: "up" } } },
    });
    expect(JSON.stringify(answer)).toContain("The database does not answer.");
    expect(JSON.stringify(answer)).not.toContain("10.0.0.7");
  });

  test("readiness is 503 with the reason and the remedy if the database lacks acknowledged changes", async () => {
    const found = { event: 41, ledger: 9 };
    const rollback = {
      reason: "event 57 is missing",
      found,
      acknowledged: { event: 57, ledger: 12 },
    };
    const store = { ping: async () => undefined, rollback: () => rollback };
    const response = await opened({ store })();
    expect(response).toMatchObject({
      status: 503,
      body: { components: { database: { status: "down" } } },
    });
    const text = JSON.stringify(response);
    for (const part of ["event 57 is missing", "event is 41", "pkid db accept-rollback"]) {
      expect(text).toContain(part);
    }
  });

  test("is 200 and says so while the clock stands before the last event", async () => {
    expect(await opened({ issuancePause: () => behindSentence })()).toMatchObject({
      status: 200,
      body: { components: { database: { status: "up", detail: behindSentence } } },
    });
  });

  test("is 503 when one provider of two is away, 200 when there is none", async () => {
    const away = { ...softKeys, provider: "pkcs11" as const, available: false };
    expect(await opened({ keys: { facts: async () => [softKeys, away] } })()).toMatchObject({
      status: 503,
      body: { components: { hsm: { status: "down" } } },
    });
    expect(await opened({ keys: { facts: async () => [] } })()).toMatchObject({
      status: 200,
      body: { components: { hsm: { status: "skipped" } } },
    });
  });

  test("says not_ready from the start of the drain", async () => {
    expect(await opened({ draining: () => true })()).toMatchObject({
      status: 503,
      body: { status: "not_ready" },
    });
  });

  test("a probe that hangs is down after 3 s", async () => {
    jest.useFakeTimers();
    const pending = opened({ keys: { facts: () => new Promise(() => {}) } })();
    jest.advanceTimersByTime(3_000);
    jest.useRealTimers();
    expect(await pending).toMatchObject({
      status: 503,
      body: { components: { hsm: { status: "down" } } },
    });
  });

  test("many askers share one round of probes", async () => {
    let rounds = 0;
    const ready = opened({ store: { ping: async () => void rounds++, rollback: isCurrent } });
    await Promise.all([ready(), ready(), ready()]);
    expect(rounds).toBe(1);
  });
});

describe("what is counted", () => {
  const text = "pki_things_total 1\n".repeat(1000);
  const reader = (parts: Partial<HealthDeps> = {}) => {
    const deps: HealthDeps = {
      store: { ping: async () => undefined, rollback: isCurrent },
      keys: { facts: async () => [softKeys] },
      build: { version: "1", runtime: "bun" },
      draining: () => false,
      gzipped: gzippedFast,
      exposition: async () => ({ type: "text/plain", text }),
      ...parts,
    };
    const probes = new Probes({ ...deps, hasRoom: () => true, issuancePause: () => undefined });
    const read = healthHandlers(deps, probes)["metrics.read"];
    return async (accepted?: string) => {
      const headers: Record<string, string> =
        accepted === undefined ? {} : { "accept-encoding": accepted };
      const request = new Request("https://localhost/metrics", { headers });
      return await read({ request } as Parameters<typeof read>[0]);
    };
  };
  const asked = (accepted?: string) => reader()(accepted);

  test("the metrics are computed once for all requests of a second, and again after it", async () => {
    let [computed, compressed] = [0, 0];
    const read = reader({
      exposition: async () => ({ type: "text/plain", text: `pki ${++computed}\n` }),
      gzipped: async (text) => {
        compressed += 1;
        return await gzippedFast(text);
      },
    });
    const now = spyOn(performance, "now").mockReturnValue(10_000);
    try {
      await Promise.all([read(), read("gzip"), read("gzip")]);
      now.mockReturnValue(11_000);
      expect(await (await read()).text()).toBe("pki 1\n");
      expect([computed, compressed]).toEqual([1, 1]);
      now.mockReturnValue(11_001);
      expect(await (await read()).text()).toBe("pki 2\n");
    } finally {
      now.mockRestore();
    }
  });

  test("metrics that could not be computed are computed again by the next request", async () => {
    let computed = 0;
    const read = reader({
      exposition: async () => {
        computed += 1;
        if (computed === 1) throw new Error("no");
        return { type: "text/plain", text };
      },
    });
    expect(read()).rejects.toThrow("no");
    await Bun.sleep(0);
    expect(await (await read()).text()).toBe(text);
  });

  test("comes as it is, and smaller to whoever takes that", async () => {
    const plain = await asked();
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(await plain.text()).toBe(text);
    const packed = await asked("br, gzip;q=0.5");
    expect(packed.headers.get("content-encoding")).toBe("gzip");
    expect(packed.headers.get("vary")).toBe("accept-encoding");
    const octets = new Uint8Array(await packed.arrayBuffer());
    expect(packed.headers.get("content-length")).toBe(String(octets.length));
    expect(octets.length).toBeLessThan(text.length / 10);
    expect(new TextDecoder().decode(Bun.gunzipSync(octets))).toBe(text);
  });

  test.each(["gzip;q=0", "br", "identity"])(
    "is not packed for who accepts %s",
    async (accepted) => {
      expect((await asked(accepted)).headers.get("content-encoding")).toBeNull();
    },
  );
});
