/** Orders and authorizations: what may be asked for, and what becomes of it (ORD-1 to ORD-6). */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import {
  type AcmeClient,
  type AuthorizationObject,
  bodyOf,
  type Order,
  type ProblemObject,
  refusalOf,
} from "#test/support/acme/client.ts";
import { newCsr } from "#test/support/acme/csr.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";

let world: AcmeWorld;
let client: AcmeClient;
beforeAll(async () => {
  world = await AcmeWorld.start({
    acme: {
      pre_authorization: true,
      max_identifiers: 5,
      profiles: {
        clients: { description: "For clients.", profile: "client" },
        intern: { description: "For the inside.", profile: "inside" },
      },
    },
    config: {
      profiles: [
        {
          name: "inside",
          key_usages: ["digitalSignature"],
          ext_key_usages: ["serverAuth"],
          names: { permitted_dns: ["inside.test"] },
        },
      ],
    },
  });
  client = await world.client();
}, 30_000);
afterAll(() => world.stop());

const authorizationsOf = (one: AcmeClient, order: Order) =>
  Promise.all(order.authorizations.map((url) => one.read<AuthorizationObject>(url)));

describe("ORD-1: the identifiers of an order", () => {
  test("are lower-cased, and asked for once each", async () => {
    const name = world.name();
    const order = await client.order([name.toUpperCase(), name]);
    expect(order.identifiers).toEqual([{ type: "dns", value: name }]);
    expect(order).toMatchObject({ status: "pending", profile: "server" });
    expect(order).not.toHaveProperty("certificate");
    expect(order).not.toHaveProperty("error");
    expect(new Date(order.expires).getTime()).toBeGreaterThan(Date.now());
    expect(order.url).toStartWith(`${world.base}/acme/order/`);
  });

  const over = Array.from({ length: 6 }, (_, at) => `a${at}.example.test`);
  // biome-ignore format: the table is read by column.
  test.each([
    ["none",                        [],                                            "400 malformed"],
    ["more than are allowed",       over,                                          "400 malformed"],
    ["an address as a name",        ["192.0.2.1"],                                 "400 rejectedIdentifier"],
    ["an address of version 6",     ["::1"],                                       "400 rejectedIdentifier"],
    ["a wildcard in the middle",    ["a.*.example.test"],                          "400 rejectedIdentifier"],
    ["two wildcards",               ["*.*.example.test"],                          "400 rejectedIdentifier"],
    ["an empty label",              ["a..example.test"],                           "400 rejectedIdentifier"],
    ["a final dot",                 ["example.test."],                             "400 rejectedIdentifier"],
    ["a blank",                     ["exa mple.test"],                             "400 rejectedIdentifier"],
    ["an underscore",               ["_a.example.test"],                           "400 rejectedIdentifier"],
    ["a label that is too long",    [`${"a".repeat(64)}.test`],                    "400 rejectedIdentifier"],
    ["a name that is too long",     [`${"a.".repeat(126)}example.test`],           "400 rejectedIdentifier"],
    ["letters of another alphabet", ["bücher.example.test"],                       "400 rejectedIdentifier"],
    ["an A-label that is none",     ["xn--a.example.test"],                        "400 rejectedIdentifier"],
    ["an address, which is off",    [{ type: "ip", value: "192.0.2.1" }],          "400 unsupportedIdentifier"],
    ["another type",                [{ type: "email", value: "a@example.test" }],  "400 unsupportedIdentifier"],
    ["a value that is no text",     [{ type: "dns", value: 7 as unknown as string }], "400 malformed"],
  ])("cannot be %s", async (_what, names, refusal) => {
    expect(refusalOf(await client.newOrder(names))).toBe(refusal);
  });

  test("that are refused are all named", async () => {
    const answer = await client.newOrder(["a..test", "good.example.test", "192.0.2.1"]);
    const problem: ProblemObject = JSON.parse(answer.text);
    const named = problem.subproblems?.map(({ identifier }) => identifier.value);
    expect(named).toEqual(["a..test", "192.0.2.1"]);
  });

  test("are within what the profile permits", async () => {
    const more = { profile: "intern" };
    expect((await client.order(["www.inside.test"], more)).profile).toBe("intern");
    const outside = await client.newOrder(["www.inside.test", "www.outside.test"], more);
    expect(refusalOf(outside)).toBe("400 rejectedIdentifier");
    const { subproblems } = JSON.parse(outside.text) as ProblemObject;
    expect(subproblems?.map(({ identifier }) => identifier.value)).toEqual(["www.outside.test"]);
  });

  test("are wanted as a list", async () => {
    for (const identifiers of [undefined, "a", {}, [7], [null]]) {
      const answer = await client.newOrder([], { identifiers });
      expect(refusalOf(answer)).toBe("400 malformed");
    }
  });
});

describe("ORD-2, ORD-3: an order", () => {
  test("shows the profile it asked for, and its certificate is of it", async () => {
    const name = world.name();
    const { order, leaf } = await client.obtain([name], world.show, {
      more: { profile: "clients" },
    });
    expect(order.profile).toBe("clients");
    const found = (await world.inventory()).find(({ serial }) => serial === leaf.serial);
    expect(found).toMatchObject({ profile: "client" });
  });

  test.each(["client", "nothing", "", "constructor", "__proto__", 7])(
    "refuses the profile %j, which is not offered",
    async (profile) => {
      const answer = await client.newOrder([world.name()], { profile });
      expect(refusalOf(answer)).toBe("400 invalidProfile");
    },
  );

  test("refuses times, instead of ignoring them", async () => {
    const now = new Date().toISOString();
    for (const times of [{ notBefore: now }, { notAfter: now }, { notBefore: null }]) {
      const answer = await client.newOrder([world.name()], times);
      expect(refusalOf(answer)).toBe("400 malformed");
    }
  });

  test("ignores what it does not know", async () => {
    expect((await client.order([world.name()], { colour: "red" })).status).toBe("pending");
  });
});

describe("ORD-5: authorizations", () => {
  test("of a wildcard are proved by the DNS alone, and only they say wildcard", async () => {
    const name = world.name();
    const order = await client.order([`*.${name}`, name]);
    expect(order.identifiers.map(({ value }) => value)).toEqual([`*.${name}`, name]);
    const [wild, plain] = await authorizationsOf(client, order);
    expect(wild).toMatchObject({ wildcard: true, identifier: { type: "dns", value: name } });
    expect(wild?.challenges.map(({ type }) => type)).toEqual(["dns-01"]);
    expect(plain).not.toHaveProperty("wildcard");
    expect(plain?.identifier.value).toBe(name);
    const types = plain?.challenges.map(({ type }) => type).sort();
    expect(types).toEqual(["dns-01", "http-01", "tls-alpn-01"]);
    const tokens = [wild, plain].flatMap((one) => one?.challenges.map(({ token }) => token));
    expect(new Set(tokens).size).toBe(4);
    expect(tokens.every((token) => /^[A-Za-z0-9_-]{43}$/.test(token ?? ""))).toBe(true);
  });

  test("that are valid serve the next order of the account, and of no other", async () => {
    const name = world.name();
    const first = await client.order([name]);
    await client.prove(first, "http-01", world.show);
    const second = await client.order([name, world.name()]);
    expect(second.status).toBe("pending");
    expect(second.authorizations).toContain(first.authorizations[0] ?? "");
    expect((await client.order([name])).status).toBe("ready");
    expect((await client.order([`*.${name}`])).status).toBe("pending");
    const other = await world.client();
    expect((await other.order([name])).status).toBe("pending");
  });

  test("that were given up end their order, and serve none", async () => {
    const name = world.name();
    const order = await client.order([name]);
    await client.prove(order, "http-01", world.show);
    const [url = ""] = order.authorizations;
    const ended = await client.read(url, { status: "deactivated" });
    expect(ended).toMatchObject({ status: "deactivated" });
    expect(await client.read(url, { status: "deactivated" })).toMatchObject(ended as object);
    expect((await client.order([name])).authorizations).not.toContain(url);
    expect(await client.refreshed(order)).toMatchObject({
      status: "invalid",
      error: { type: "urn:ietf:params:acme:error:unauthorized" },
    });
    const { der } = await newCsr({ names: [name] });
    const answer = await client.post(order.finalize, { csr: der.toString("base64url") });
    expect(refusalOf(answer)).toBe("403 orderNotReady");
    expect((await world.events("acme.authz.deactivate"))[0]).toMatchObject({
      target: client.kid?.split("/").at(-1),
      target_name: url.split("/").at(-1),
      detail: `identifiers=dns:${name}`,
    });
  });

  test("that are pending can be given up, and not be proved any more", async () => {
    const order = await client.order([world.name()]);
    const [url = ""] = order.authorizations;
    const before = await client.read<AuthorizationObject>(url, { status: "deactivated" });
    const [challenge] = before.challenges;
    const answer = await client.post(challenge?.url ?? "", {});
    expect(answer.status).toBe(200);
    expect(bodyOf<{ status: string }>(answer).status).toBe("pending");
    expect(await client.read(url)).toMatchObject({ status: "deactivated" });
    expect((await client.refreshed(order)).status).toBe("invalid");
  });
});

describe("what operators end", () => {
  const idOf = (url: string) => url.split("/").at(-1) ?? "";

  test("ORD-6: an authorization is revoked, takes its order along, and serves none", async () => {
    const name = world.name();
    const order = await client.order([name]);
    await client.prove(order, "http-01", world.show);
    const [url = ""] = order.authorizations;
    const done = await world.instance.cli("acme", "authorization", "deactivate", idOf(url));
    expect([done.code, done.stdout]).toEqual([0, "deactivated\n"]);
    expect(await client.read(url)).toMatchObject({ status: "revoked" });
    expect(await client.refreshed(order)).toMatchObject({
      status: "invalid",
      error: { detail: "An authorization of the order is revoked." },
    });
    expect((await client.order([name])).authorizations).not.toContain(url);
  });

  test("an order says so to its client, and gets no certificate any more", async () => {
    const name = world.name();
    const order = await client.order([name]);
    await client.prove(order, "http-01", world.show);
    const end = async () =>
      (await world.instance.cli("acme", "order", "deactivate", idOf(order.url))).stdout;
    expect([await end(), await end()]).toEqual(["deactivated\n", "already_over\n"]);
    expect(await client.refreshed(order)).toMatchObject({
      status: "invalid",
      error: {
        type: "urn:ietf:params:acme:error:unauthorized",
        detail: "Whoever runs the server has ended the order.",
      },
    });
    const { der } = await newCsr({ names: [name] });
    const answer = await client.post(order.finalize, { csr: der.toString("base64url") });
    expect(refusalOf(answer)).toBe("403 orderNotReady");
    // What was proved is proved still.
    expect((await client.order([name])).status).toBe("ready");
  });
});

describe("RFC 8555 §7.4.1: a name can be proved before it is ordered", () => {
  const authorize = (identifier: unknown, one = client) =>
    one.post(one.directory.newAuthz ?? "", { identifier });

  test("and the order that comes is ready", async () => {
    const name = world.name();
    const made = await authorize({ type: "dns", value: name });
    expect(made.status).toBe(201);
    const url = made.headers.get("location") ?? "";
    const order = { authorizations: [url] } as unknown as Order; // As far as proving looks.
    await client.prove(order, "dns-01", world.show);
    expect(await client.order([name])).toMatchObject({ status: "ready", authorizations: [url] });
    expect((await authorize({ type: "dns", value: name })).headers.get("location")).toBe(url);
  });

  test.each([
    [{ type: "dns", value: "*.example.test" }, "400 malformed"],
    [{ type: "dns", value: "192.0.2.1" }, "400 rejectedIdentifier"],
    [{ type: "ip", value: "192.0.2.1" }, "400 unsupportedIdentifier"],
    [undefined, "400 malformed"],
  ])("but not %j", async (identifier, refusal) => {
    expect(refusalOf(await authorize(identifier))).toBe(refusal);
  });
});

describe("what belongs to one account", () => {
  test("is not there for another", async () => {
    const other = await world.client();
    const { order } = await other.obtain([world.name()], world.show);
    const open = await other.order([world.name()]);
    const [authorization = ""] = open.authorizations;
    const { challenges } = await other.read<AuthorizationObject>(authorization);
    const { der } = await newCsr({ names: open.identifiers.map(({ value }) => value) });
    for (const [url, payload] of [
      [open.url, undefined],
      [open.finalize, { csr: der.toString("base64url") }],
      [authorization, undefined],
      [authorization, { status: "deactivated" }],
      [challenges[0]?.url ?? "", undefined],
      [challenges[0]?.url ?? "", {}],
    ] as const) {
      expect(refusalOf(await client.post(url, payload))).toBe("404 malformed");
    }
    const certificate = await client.post(order.certificate ?? "", undefined);
    expect(refusalOf(certificate)).toBe("403 unauthorized");
    expect((await other.refreshed(open)).status).toBe("pending");
  });

  test("is listed for it, newest first, a page at a time", async () => {
    const other = await world.client();
    const names = Array.from({ length: 10 }, () => world.name());
    const made: string[] = [];
    for (const name of names) made.push((await other.order([name])).url);
    const page = await other.post(`${other.kid}/orders`, undefined);
    expect(JSON.parse(page.text)).toEqual({ orders: made.toReversed() });
    expect(page.headers.get("link")).not.toContain("next");
    expect(refusalOf(await other.post(`${other.kid}/orders?after=x`, undefined))).toBe(
      "400 malformed",
    );
  });

  test("has pages of 500", async () => {
    const other = await world.client();
    const name = world.name();
    await other.prove(await other.order([name]), "http-01", world.show);
    for (let at = 0; at < 10; at++) {
      const siblings = Array.from({ length: 51 }, () => other.with(other.key));
      for (const one of siblings) one.kid = other.kid;
      await Promise.all(siblings.map((one) => one.order([name])));
    }
    const seen = new Set<string>();
    const pages: number[] = [];
    for (let url: string | undefined = `${other.kid}/orders`; url !== undefined; ) {
      const page = await other.post(url, undefined);
      const { orders } = bodyOf<{ orders: string[] }>(page);
      pages.push(orders.length);
      for (const one of orders) seen.add(one);
      url = /<([^>]*)>;rel="next"/.exec(page.headers.get("link") ?? "")?.[1];
    }
    expect(pages).toEqual([500, 11]);
    expect(seen.size).toBe(511);
  });

  test("an order beyond 1,000 unfinished ones of an account is refused", async () => {
    const busy = await world.client();
    const name = world.name();
    const first = await busy.order([name]);
    await busy.prove(first, "http-01", world.show);
    const siblings = Array.from({ length: 50 }, () => {
      const one = busy.with(busy.key);
      one.kid = busy.kid;
      return one;
    });
    for (let at = 0; at < 20; at++) {
      await Promise.all(siblings.map((one, n) => at + n > 0 && one.order([name])));
    }
    const refused = await busy.newOrder([name]);
    expect(refusalOf(refused)).toBe("429 rateLimited");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await (await world.client()).order([world.name()])).status).toBe("pending");
    expect((await busy.refreshed(first)).status).toBe("ready");
  }, 60_000);
});
