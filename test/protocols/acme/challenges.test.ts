/** Proofs: looked for in the background, again and again, and counted once (CHA-1 to CHA-5). */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";

import {
  type AcmeClient,
  type AuthorizationObject,
  type ChallengeObject,
  type Order,
  refusalOf,
} from "#test/support/acme/client.ts";
import { newCsr } from "#test/support/acme/csr.ts";
import { AcmeWorld, asksForCaa } from "#test/support/acme/world.ts";
import {
  alpnCertificate,
  startAlpnResponder,
  wellKnown,
} from "#test/support/servers/acme-challenges.ts";
import { caa } from "#test/support/servers/dns-server.ts";
import { freePort } from "#test/support/servers/free-port.ts";
import { txt } from "#test/support/worlds/validation.ts";

const issuer = "ca.example.net";
let world: AcmeWorld;
let client: AcmeClient;
let alpnPort: number;
beforeAll(async () => {
  alpnPort = await freePort();
  world = await AcmeWorld.start({
    acme: {
      validation_attempts: 2,
      validation_timeout_seconds: 2,
      tls_alpn01_port: alpnPort,
      allow_ip_identifiers: true,
      challenge_types: ["http-01", "dns-01", "tls-alpn-01", "dns-account-01"],
      profiles: { careful: { description: "Asks for CAA.", profile: "careful" } },
    },
    config: { caa: { identifier: issuer, cache_ttl_seconds: 0 }, profiles: [asksForCaa] },
  });
  client = await world.client();
}, 30_000);
afterAll(() => world.stop());

/** An order for one name with its only authorization. */
async function ordered(name: string | { type: string; value: string }, more: object = {}) {
  const order = await client.order([name], more);
  const [url = ""] = order.authorizations;
  const authorization = await client.read<AuthorizationObject>(url);
  const of = (type: string) => {
    const found = authorization.challenges.find((one) => one.type === type);
    if (found === undefined) throw new Error(`no ${type}`);
    return { ...found, proof: client.proof(found, authorization.identifier) };
  };
  return { order, url, authorization, of };
}

/** The challenge as it is now. */
const shown = (challenge: ChallengeObject) => client.read<ChallengeObject>(challenge.url);

/** Resolves when the challenge has been looked at that often. */
async function heard(token: string, times: number): Promise<void> {
  const requests = () => world.web.heard.filter((head) => head.includes(token)).length;
  while (requests() < times) await Bun.sleep(20);
}

describe("CHA-1: a challenge", () => {
  test("is answered at once, and looked at in the background", async () => {
    const { order, url, of } = await ordered(world.name());
    const { proof, ...challenge } = of("http-01");
    world.show(proof);
    const answer = await client.post(challenge.url, {});
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toMatchObject({ type: "http-01", token: challenge.token });
    expect(answer.headers.get("link")).toContain(`<${url}>;rel="up"`);
    const done = await client.decided(url);
    expect(done).toMatchObject({ status: "valid" });
    expect(done.challenges).toHaveLength(1);
    expect(done.challenges[0]).toMatchObject({ type: "http-01", status: "valid" });
    expect(Date.parse(done.challenges[0]?.validated ?? "")).toBeGreaterThan(Date.now() - 60_000);
    expect((await client.refreshed(order)).status).toBe("ready");
  });

  test("that fails first is looked at again, shows why meanwhile, and is valid then", async () => {
    const { order, url, of } = await ordered(world.name());
    const { proof, ...challenge } = of("http-01");
    await client.post(challenge.url, {});
    await heard(challenge.token, 1);
    world.show(proof);
    let seen = await shown(challenge);
    while (seen.error === undefined && seen.status !== "valid") seen = await shown(challenge);
    expect(seen).toMatchObject({
      status: "processing",
      error: { type: "urn:ietf:params:acme:error:unauthorized" },
    });
    const busy = await client.post(challenge.url, undefined);
    expect(Number(busy.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await client.post(url, undefined)).headers.get("retry-after")).not.toBeNull();
    expect((await client.decided(url)).status).toBe("valid");
    expect(await shown(challenge)).not.toHaveProperty("error");
    expect((await client.refreshed(order)).status).toBe("ready");
  });

  test("that fails for good ends its authorization and the order, with the reason", async () => {
    const { order, url, of } = await ordered(world.name());
    const { proof, ...challenge } = of("http-01");
    world.deceive(proof);
    await client.post(challenge.url, {});
    const done = await client.decided(url);
    const error = { type: "urn:ietf:params:acme:error:incorrectResponse" };
    expect(done).toMatchObject({ status: "invalid", challenges: [{ status: "invalid", error }] });
    expect(await client.refreshed(order)).toMatchObject({ status: "invalid", error });
    const { der } = await newCsr({ names: order.identifiers.map(({ value }) => value) });
    const answer = await client.post(order.finalize, { csr: der.toString("base64url") });
    expect(refusalOf(answer)).toBe("403 orderNotReady");
    const requests = world.web.heard.filter((head) => head.includes(challenge.token));
    expect(requests).toHaveLength(2);
    world.show(proof);
    expect(await client.read<object>(challenge.url, {})).toMatchObject({ status: "invalid" });
  });
});

describe("CHA-2: an authorization", () => {
  test("takes one proof; the other challenges stay as they are and change nothing", async () => {
    const { url, of } = await ordered(world.name());
    const http = of("http-01");
    world.show(http.proof);
    await client.post(http.url, {});
    expect((await client.decided(url)).status).toBe("valid");
    const dns = of("dns-01");
    expect(await client.read<object>(dns.url, {})).toMatchObject({ status: "pending" });
    expect(await client.read<object>(url)).toMatchObject({ status: "valid" });
  });

  test("is asked for once, however often the client says so", async () => {
    const { url, of } = await ordered(world.name());
    const { proof, ...challenge } = of("http-01");
    world.show(proof);
    const siblings = Array.from({ length: 5 }, () => client.with(client.key));
    for (const one of siblings) one.kid = client.kid;
    await Promise.all(siblings.map((one) => one.post(challenge.url, {})));
    await client.decided(url);
    await client.post(challenge.url, {});
    const requests = world.web.heard.filter((head) => head.includes(challenge.token));
    expect(requests).toHaveLength(1);
  });

  test("is not proved by the key of another account", async () => {
    const { url, of } = await ordered(world.name());
    const { token, ...challenge } = of("http-01");
    const other = await world.client();
    world.web.show(token, `${token}.${other.key.thumbprint}`);
    await client.post(challenge.url, {});
    expect((await client.decided(url)).status).toBe("invalid");
  });
});

describe("the ways to prove a name", () => {
  test("dns-01 by any of several records, at a name that leads elsewhere", async () => {
    const { url, of } = await ordered(world.name());
    const { proof, ...challenge } = of("dns-01");
    const place = `_acme-challenge.${proof.identifier.value}`;
    world.dns.zone.set(place, [txt("something else"), txt(proof.digest)]);
    await client.post(challenge.url, {});
    expect((await client.decided(url)).status).toBe("valid");
  });

  test("tls-alpn-01 by a certificate for the name, and for an address", async () => {
    for (const [identifier, names] of [
      [{ type: "dns", value: world.name() }, "DNS"],
      [{ type: "ip", value: "127.0.0.1" }, "IP"],
    ] as const) {
      const { url, of } = await ordered(identifier);
      const { proof, ...challenge } = of("tls-alpn-01");
      const digest = createHash("sha256").update(proof.keyAuthorization).digest();
      const pair = alpnCertificate({ names: `${names}:${identifier.value}`, digest });
      const responder = await startAlpnResponder(pair, { port: alpnPort });
      await client.post(challenge.url, {});
      expect((await client.decided(url)).status).toBe("valid");
      await responder.stop();
    }
  });

  test("RFC 8738: http-01 for an address, whose certificate names it", async () => {
    const { order, of } = await ordered({ type: "ip", value: "::1" });
    expect(of("http-01").proof.identifier.value).toBe("::1");
    expect(() => of("dns-01")).toThrow();
    const second = await client.order([{ type: "ip", value: "127.0.0.1" }]);
    await client.prove(second, "http-01", world.show);
    const { der } = await newCsr({ ips: ["127.0.0.1"] });
    const done = await client.finalize(second, der);
    const { leaf } = await client.download(done.certificate ?? "");
    expect(leaf.names).toEqual(["127.0.0.1"]);
    expect(order.status).toBe("pending");
  });

  test("dns-account-01 at a label of the account's own", async () => {
    const { url, of } = await ordered(world.name());
    const { proof, ...challenge } = of("dns-account-01");
    const hash = createHash("sha256")
      .update(client.kid ?? "")
      .digest()
      .subarray(0, 10);
    const place = `_${base32(hash)}._acme-challenge.${proof.identifier.value}`;
    world.dns.zone.set(place, [txt(proof.digest)]);
    await client.post(challenge.url, {});
    expect((await client.decided(url)).status).toBe("valid");
  });
});

describe("CHA-4: what went wrong is told", () => {
  const failed = async (name: string) => {
    const { url, of } = await ordered(name);
    await client.post(of("http-01").url, {});
    const { challenges } = await client.decided(url);
    return challenges[0]?.error?.type.split(":").at(-1);
  };

  test("for a name that is not there, and for name servers that do not work", async () => {
    const broken = world.name();
    world.dns.tricks.set(broken, { kind: "code", code: 2 });
    const results = await Promise.all([failed("nobody.example.test"), failed(broken)]);
    expect(results).toEqual(["dns", "dns"]);
  });

  test("for a place that does not answer, and for a redirection to somewhere else", async () => {
    const { url, of } = await ordered(world.name());
    const { proof, ...challenge } = of("http-01");
    const elsewhere = `http://${proof.identifier.value}:1/`;
    world.web.answers.set(wellKnown(proof.token), (socket) =>
      socket.end(`HTTP/1.1 302 Found\r\nLocation: ${elsewhere}\r\nContent-Length: 0\r\n\r\n`),
    );
    await client.post(challenge.url, {});
    const { challenges } = await client.decided(url);
    expect(challenges[0]?.error?.type).toBe("urn:ietf:params:acme:error:incorrectResponse");
  });
});

describe("CAA-3, CHA-5: records that want an account or a method", () => {
  const careful = { profile: "careful" };
  const finalized = async (name: string, type: string): Promise<Order | string> => {
    const order = await client.order([name], careful);
    await client.prove(order, type, world.show);
    const { der } = await newCsr({ names: [name] });
    const answer = await client.post(order.finalize, { csr: der.toString("base64url") });
    return answer.status === 200 ? await client.refreshed(order) : refusalOf(answer);
  };
  const allowing = (value: string): string => {
    const name = world.name();
    world.dns.zone.set(name, [...(world.dns.zone.get(name) ?? []), caa("issue", value)]);
    return name;
  };

  test("let issue what they name", async () => {
    for (const value of [
      issuer,
      `${issuer}; accounturi=${client.kid}`,
      `${issuer}; validationmethods=http-01`,
      `${issuer}; validationmethods=dns-01,http-01; accounturi=${client.kid}`,
    ]) {
      expect(await finalized(allowing(value), "http-01")).toMatchObject({ status: "valid" });
    }
  });

  test("refuse everybody else, and end the order", async () => {
    const other = await world.client();
    for (const value of [
      ";",
      "other.example.net",
      `${issuer}; accounturi=${other.kid}`,
      `${issuer}; accounturi=${client.kid}x`,
      `${issuer}; validationmethods=dns-01`,
    ]) {
      const name = allowing(value);
      expect(await finalized(name, "http-01")).toBe("403 caa");
      const { items } = await world.instance.admin<{ items: { status: string }[] }>(
        "GET",
        "/api/acme/orders?limit=1",
      );
      expect(items[0]?.status).toBe("invalid");
    }
  });

  test("look at the method of each name", async () => {
    const name = allowing(`${issuer}; validationmethods=dns-01`);
    expect(await finalized(name, "dns-01")).toMatchObject({ status: "valid" });
  });
});

test("a challenge takes an object, and no other account's", async () => {
  const { of } = await ordered(world.name());
  const { url } = of("http-01");
  expect(refusalOf(await client.post(url, []))).toBe("400 malformed");
  expect(refusalOf(await client.post(url, "x"))).toBe("400 malformed");
  expect(await client.read<object>(url)).toMatchObject({ status: "pending" });
});

/** RFC 4648 §6, lower-cased; whole groups of five octets only. */
function base32(octets: Uint8Array): string {
  const bits = [...octets].map((octet) => octet.toString(2).padStart(8, "0")).join("");
  const groups = bits.match(/.{5}/g) ?? [];
  return groups
    .map((group) => "abcdefghijklmnopqrstuvwxyz234567"[Number.parseInt(group, 2)])
    .join("");
}
