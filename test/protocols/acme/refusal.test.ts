/** Refusals before anybody has read a request: a problem document, and a nonce to go on with. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { type ProblemCode, refuse } from "#core/problems.ts";
import { acmeRefusal } from "#protocols/acme/refusal.ts";
import { type AcmeClient, type Answer, refusalOf } from "#test/support/acme/client.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { bindingWorld } from "#test/support/worlds/binding.ts";

describe("AC-4: a refusal of the front door", () => {
  const refused = async (
    code: ProblemCode,
    { method = "POST", path = "/acme/new-order", nonce }: Partial<Record<string, string>>,
  ) => {
    const { directories } = await bindingWorld();
    const tell = acmeRefusal({ directories, freshNonce: () => nonce });
    return tell(refuse(code), { method, path });
  };

  test.each([
    ["not_found", 404],
    ["method_not_allowed", 405],
    ["body_too_large", 413],
    ["unsupported_media_type", 415],
    ["rate_limited", 429],
    ["internal", 500],
    ["overloaded", 503],
    ["shutting_down", 503],
  ] as const)("has a nonce where it answers a POST: %s", async (code, status) => {
    const posted = await refused(code, { nonce: "fresh" });
    expect(posted.status).toBe(status);
    expect(posted.headers.get("content-type")).toBe("application/problem+json");
    expect(posted.headers.get("cache-control")).toBe("no-store");
    expect(posted.headers.get("replay-nonce")).toBe("fresh");
    expect(posted.headers.get("link")).toBe('<https://pki.test/acme/directory>;rel="index"');
    const read = await refused(code, { nonce: "fresh", method: "GET" });
    expect(read.headers.get("replay-nonce")).toBeNull();
  });

  test("has one in each directory, and outside of all none", async () => {
    const lab = await refused("not_found", { nonce: "fresh", path: "/acme-lab/nothing" });
    expect(lab.headers.get("replay-nonce")).toBe("fresh");
    const elsewhere = await refused("not_found", { nonce: "fresh", path: "/acmes/new-order" });
    expect(elsewhere.headers.get("replay-nonce")).toBeNull();
  });

  test("is told without one while the key of nonces cannot be opened", async () => {
    const response = await refused("not_found", {});
    expect(response.status).toBe(404);
    expect(response.headers.get("replay-nonce")).toBeNull();
  });
});

describe("AC-4: of a running server", () => {
  let world: AcmeWorld;
  let client: AcmeClient;
  beforeAll(async () => {
    world = await AcmeWorld.start({
      config: {
        rate_limit: {
          enabled: true,
          global: { rate: 0 },
          per_ip: { rate: 0.01, burst: 12 },
          per_account: { rate: 0 },
          concurrency: { enabled: false },
        },
      },
    });
    client = await world.stranger();
  }, 30_000);
  afterAll(() => world.stop());

  /** The nonce of an answer is good for one request. */
  async function expectNonce(answer: Answer): Promise<void> {
    const nonce = answer.headers.get("replay-nonce") ?? "";
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const members = { onlyReturnExisting: true };
    const next = await client.post(client.directory.newAccount, members, { nonce, by: "jwk" });
    expect(refusalOf(next)).toBe("400 accountDoesNotExist");
  }

  test("the first request is turned away, and the next is made with what it brought", async () => {
    // Nobody has asked this process for a nonce so far.
    const answer = await client.raw(`${world.base}/acme/nothing`, { method: "POST", body: "{}" });
    expect(refusalOf(answer)).toBe("404 malformed");
    await expectNonce(answer);
  });

  test.each([
    ["a method that is not for the path", "directory", {}, "405 malformed"],
    ["a body that is not taken", "new-order", { "content-type": "text/plain" }, "415 malformed"],
  ] as const)("%s", async (_what, rest, headers, expected) => {
    const init = { method: "POST", body: "{}", headers };
    const answer = await client.raw(`${world.base}/acme/${rest}`, init);
    expect(refusalOf(answer)).toBe(expected);
    await expectNonce(answer);
  });

  test("a body that is announced too long", async () => {
    const body = "x".repeat(2 * 1024 * 1024);
    const headers = { "content-type": "application/jose+json" };
    const answer = await client.raw(client.directory.newOrder, { method: "POST", body, headers });
    expect(refusalOf(answer)).toBe("413 malformed");
    await expectNonce(answer);
  });

  test("too many requests of an address", async () => {
    const asked = () => client.raw(client.directory.newOrder, { method: "POST", body: "{}" });
    let answer = await asked();
    while (answer.status !== 429) answer = await asked();
    expect(refusalOf(answer)).toBe("429 rateLimited");
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(answer.headers.get("replay-nonce")).toMatch(/^[A-Za-z0-9_-]{20,}$/);
    const read = await client.raw(`${world.base}/acme/nothing`, {});
    expect(read.headers.get("replay-nonce")).toBeNull();
  });
});
