/** What clients sign, and all that is refused of it before anything is done (AC-1, AC-2, AC-4). */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";

import {
  type AcmeClient,
  type Answer,
  refusalOf,
  type Sending,
} from "#test/support/acme/client.ts";
import { algorithms, authenticated, encoded, keyOf, newKey } from "#test/support/acme/keys.ts";
import { closePrimesKey } from "#test/support/acme/weak-keys.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";

let world: AcmeWorld;
let client: AcmeClient;
beforeAll(async () => {
  world = await AcmeWorld.start();
  client = await world.client();
}, 30_000);
afterAll(() => world.stop());

/** Reads the account, in an unusual way. */
const read = (sending: Sending = {}) => client.post(client.kid ?? "", undefined, sending);

/** What every answer to a POST has (RFC 8555 §6.5, §7.1). */
function expectUsualHeaders({ headers }: Answer): void {
  expect(headers.get("replay-nonce")).toMatch(/^[A-Za-z0-9_-]{20,}$/);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("link")).toContain(`<${world.directoryUrl}>;rel="index"`);
}

test.each([...algorithms])("AC-2: a key for %s makes an account and signs for it", async (name) => {
  const one = await world.client(newKey(name));
  const answer = await one.post(one.kid ?? "", undefined);
  expect(answer.status).toBe(200);
  expectUsualHeaders(answer);
});

describe("AC-2: refuses", () => {
  const otherKey = newKey();
  const without = (name: string) => (header: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(header).filter(([member]) => member !== name));
  const changed = (members: object) => (header: object) => ({ ...header, ...members });
  // Columns: what, how, the refusal.
  // biome-ignore format: the table is read by column.
  const refusals: readonly (readonly [what: string, how: Sending, refusal: string])[] = [
    ["jwk and kid together",              { header: changed({ jwk: otherKey.jwk }) },                             "400 malformed"],
    ["neither of them",                   { header: without("kid") },                                             "400 malformed"],
    ["a kid that is no text",             { header: changed({ kid: 7 }) },                                        "400 malformed"],
    ["a kid that is no account",          { header: changed({ kid: "https://elsewhere.test/acme/acct/1" }) },     "400 malformed"],
    ["an algorithm that is none",         { header: changed({ alg: "none" }) },                                   "400 badSignatureAlgorithm"],
    ["a MAC",                             { header: changed({ alg: "HS256" }) },                                  "400 badSignatureAlgorithm"],
    ["the algorithm of another curve",    { header: changed({ alg: "ES384" }) },                                  "403 unauthorized"],
    ["no algorithm",                      { header: without("alg") },                                             "400 malformed"],
    ["no url",                            { header: without("url") },                                             "400 malformed"],
    ["what must be understood",           { header: changed({ crit: ["b64"], b64: true }) },                      "400 malformed"],
    ["an unencoded payload",              { header: changed({ b64: false }) },                                    "400 malformed"],
    ["an unprotected header",             { message: changed({ header: { kid: "x" } }) },                         "400 malformed"],
    ["several signatures",                { message: (message) => ({ ...message, signatures: [message] }) },      "400 malformed"],
    ["the compact form",                  { message: (one) => `${one.protected}.${one.payload}.${one.signature}` }, "400 malformed"],
    ["a member twice",                    { message: (one) => `{"payload":"",${JSON.stringify(one).slice(1)}` },  "400 malformed"],
    ["no signature",                      { message: ({ signature: _, ...rest }) => rest },                              "400 malformed"],
    ["an empty signature",                { message: changed({ signature: "" }) },                                "400 malformed"],
    ["base64 with padding",               { message: (one) => ({ ...one, protected: `${one.protected}=` }) },     "400 malformed"],
    ["another signature",                 { message: changed({ signature: "A".repeat(86) }) },                    "403 unauthorized"],
    ["another payload",                   { message: changed({ payload: encoded({ status: "deactivated" }) }) },  "403 unauthorized"],
    ["the signature of another key",      { key: otherKey },                                                      "403 unauthorized"],
    ["what is no JSON",                   { message: () => "{" },                                                 "400 malformed"],
    ["an empty body",                     { message: () => "" },                                                  "400 malformed"],
    ["another media type",                { headers: { "content-type": "application/json" } },                    "415 malformed"],
    ["more than 256 KiB",                 { message: changed({ payload: "A".repeat(262_145) }) },                 "413 malformed"],
  ];
  test.each(refusals)("%s", async (_what, how, refusal) => {
    const answer = await read(how);
    expect(refusalOf(answer)).toBe(refusal);
    expectUsualHeaders(answer);
    expect((await read()).status).toBe(200);
  });

  test("a MAC with the public key, which somebody took for a secret", async () => {
    const url = client.kid ?? "";
    const header = { alg: "HS256", kid: client.kid, nonce: await client.nonce(), url };
    const { x = "" } = client.key.jwk;
    const answer = await read({ message: () => authenticated("sha256", x, header, {}) });
    expect(refusalOf(answer)).toBe("400 badSignatureAlgorithm");
    expect(JSON.parse(answer.text).algorithms).toEqual(expect.arrayContaining([...algorithms]));
  });

  test("a private key in the header", async () => {
    const stranger = await world.stranger();
    const jwk = stranger.key.pair.privateKey.export({ format: "jwk" });
    const answer = await stranger.post(
      stranger.directory.newAccount,
      {},
      {
        header: (header) => ({ ...header, jwk }),
      },
    );
    expect(refusalOf(answer)).toBe("400 malformed");
  });

  test("jwk where an account signs, and kid where a key does", async () => {
    expect(refusalOf(await read({ by: "jwk" }))).toBe("400 malformed");
    const made = await client.post(client.directory.newAccount, {}, { by: "kid" });
    expect(refusalOf(made)).toBe("400 malformed");
  });

  test("an account that is not there", async () => {
    const kid = (client.kid ?? "").replace(/[^/]*$/, crypto.randomUUID());
    const answer = await read({ header: (header) => ({ ...header, kid }) });
    expect(refusalOf(answer)).toBe("400 accountDoesNotExist");
  });
});

describe("AC-3: refuses as account key", () => {
  const make = async (key: ReturnType<typeof newKey>, jwk: object = key.jwk) => {
    const stranger = await world.stranger(key);
    const header = (known: object) => ({ ...known, jwk });
    return refusalOf(await stranger.post(stranger.directory.newAccount, {}, { header }));
  };

  test("RSA of 1024 bits", async () => {
    const pair = generateKeyPairSync("rsa", { modulusLength: 1024 });
    expect(await make(keyOf("RS256", pair))).toBe("400 badPublicKey");
  });

  test("a point that is not on its curve", async () => {
    const key = newKey();
    const x = Buffer.alloc(32, 1).toString("base64url");
    expect(await make(key, { ...key.jwk, x })).toBe("400 badPublicKey");
  });

  test("AC-8: primes that are close together, after its signature was verified", async () => {
    const key = closePrimesKey();
    expect(await make(key)).toBe("400 badPublicKey");
    expect(refusalOf(await (await world.client()).changeKey(key))).toBe("400 badPublicKey");
    const unsigned = await world.stranger(key);
    const message = (one: object) => ({ ...one, signature: "A".repeat(342) });
    const response = await unsigned.post(unsigned.directory.newAccount, {}, { message });
    expect(refusalOf(response)).toBe("403 unauthorized");
  });

  test("a shared key", async () => {
    expect(await make(newKey(), { kty: "oct", k: "AAAA" })).toBe("400 malformed");
  });
});

describe("AC-1: the url", () => {
  test.each([
    ["of another resource", (url: string) => `${url}/orders`],
    ["with another host", (url: string) => url.replace("localhost", "127.0.0.1")],
    ["with a query", (url: string) => `${url}?a=b`],
    ["in other letters", (url: string) => url.replace("/acme/", "/ACME/")],
  ])("%s is not where the request came", async (_what, change) => {
    const answer = await read({
      header: (known) => ({ ...known, url: change(String(known.url)) }),
    });
    expect(refusalOf(answer)).toBe("403 unauthorized");
  });

  test("with a query that was asked for is taken, and without it is not", async () => {
    const url = `${client.kid}?a=b`;
    const header = (known: object) => ({ ...known, url: client.kid });
    expect(refusalOf(await client.post(url, undefined, { header }))).toBe("403 unauthorized");
    expect((await client.post(url, undefined)).status).toBe(200);
  });

  test("is never built from what a request says of its host", async () => {
    const headers = { host: "evil.test", "x-forwarded-host": "evil.test", forwarded: "host=evil" };
    const answer = await client.raw(world.directoryUrl, { headers });
    expect(JSON.parse(answer.text).newNonce).toBe(`${world.base}/acme/new-nonce`);
    expect(answer.text).not.toContain("evil");
  });
});

describe("AC-4: a nonce", () => {
  const refused = async (nonce: unknown) =>
    refusalOf(await read({ header: (header) => ({ ...header, nonce }) }));

  test("is wanted, made here, and whole", async () => {
    expect(await refused(undefined)).toBe("400 badNonce");
    expect(await refused("")).toBe("400 badNonce");
    expect(await refused("A".repeat(52))).toBe("400 badNonce");
    const nonce = await client.nonce();
    expect(await refused(nonce.slice(1))).toBe("400 badNonce");
    expect(await refused(`${nonce}=`)).toBe("400 badNonce");
    expect(await refused(nonce.startsWith("B") ? `A${nonce.slice(1)}` : `B${nonce.slice(1)}`)).toBe(
      "400 badNonce",
    );
    expect(await refused(7)).toBe("400 malformed");
  });

  test("works once, and what it was refused with brings another", async () => {
    const nonce = await client.nonce();
    expect((await read({ nonce })).status).toBe(200);
    const again = await read({ nonce });
    expect(refusalOf(again)).toBe("400 badNonce");
    const fresh = again.headers.get("replay-nonce") ?? "";
    expect((await read({ nonce: fresh })).status).toBe(200);
  });

  test("works once for a message that is sent again as it was", async () => {
    const message = await client.message(client.kid ?? "", undefined);
    const sending = { message: () => message };
    const answers = await Promise.all([1, 2, 3, 4].map(() => read(sending)));
    const refusals = answers.map((one) => (one.status === 200 ? "200" : refusalOf(one)));
    expect(refusals.sort()).toEqual(["200", "400 badNonce", "400 badNonce", "400 badNonce"]);
  });

  test("makes one order of a message that is sent many times", async () => {
    const name = world.name();
    const identifiers = [{ type: "dns", value: name }];
    const message = await client.message(client.directory.newOrder, { identifiers });
    const sending = { message: () => message };
    const sent = [1, 2, 3, 4].map(() => client.post(client.directory.newOrder, {}, sending));
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([201, 400, 400, 400]);
    const again = await client.post(client.directory.newOrder, {}, sending);
    expect(refusalOf(again)).toBe("400 badNonce");
    const { orders } = JSON.parse((await client.post(`${client.kid}/orders`, undefined)).text);
    expect(orders).toHaveLength(1);
  });

  test("is used up by an order that is refused", async () => {
    const nonce = await client.nonce();
    const refused = await client.newOrder(["not a name"], {}, { nonce });
    expect(refusalOf(refused)).toBe("400 rejectedIdentifier");
    expect(refusalOf(await read({ nonce }))).toBe("400 badNonce");
  });

  test("AC-8: a nonce is used up by every message that is refused", async () => {
    const url = (header: object) => ({ ...header, url: `${world.base}/elsewhere` });
    for (const [wrong, refusal] of [
      [{ key: newKey() }, "403 unauthorized"],
      [{ message: (one: object) => ({ ...one, signature: "A".repeat(86) }) }, "403 unauthorized"],
      [{ header: url }, "403 unauthorized"],
    ] as const) {
      const nonce = await client.nonce();
      expect(refusalOf(await read({ ...wrong, nonce }))).toBe(refusal);
      expect(refusalOf(await read({ nonce }))).toBe("400 badNonce");
    }
  });

  test("comes with HEAD and GET, without content", async () => {
    for (const [method, status] of [
      ["HEAD", 200],
      ["GET", 204],
    ] as const) {
      const answer = await client.raw(client.directory.newNonce, { method });
      expect(answer).toMatchObject({ status, text: "" });
      expectUsualHeaders(answer);
    }
  });

  test("has no letters outside base64url, and no two are the same", async () => {
    const nonces = await Promise.all(Array.from({ length: 20 }, () => client.nonce()));
    expect(new Set(nonces).size).toBe(20);
    expect(nonces.every((one) => /^[A-Za-z0-9_-]+$/.test(one))).toBe(true);
  });
});

test("a message for one directory's account is none for another request's", async () => {
  const order = await client.message(client.directory.newOrder, { identifiers: [] });
  const answer = await client.post(client.directory.keyChange, {}, { message: () => order });
  expect(refusalOf(answer)).toBe("403 unauthorized");
});

test("a payload where only reading is possible is refused", async () => {
  const order = await client.order([world.name()]);
  expect(refusalOf(await client.post(order.url, {}))).toBe("400 malformed");
});
