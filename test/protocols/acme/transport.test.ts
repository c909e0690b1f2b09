/** What every answer of ACME has, whatever was asked, and where ACME is served (AC-5, AC-6). */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { type AcmeClient, refusalOf } from "#test/support/acme/client.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { command } from "#test/support/instances/first-certificate.ts";
import { newKey } from "#test/support/acme/keys.ts";

let world: AcmeWorld;
let client: AcmeClient;
beforeAll(async () => {
  world = await AcmeWorld.start({
    config: {
      server: { public_http: { enabled: true, address: "127.0.0.1:0" } },
      caa: { identifier: "ca.example.net" },
      tenants: [{ id: "acme-tenant", slug: "acme-tenant", name: "Another tenant" }],
    },
    acme: {
      terms_of_service: "https://ca.example.net/terms",
      pre_authorization: true,
      profiles: { short: { description: "For a day.", profile: "canary" } },
      directories: {
        second: { path: "/second", ca_label: "root-ecdsa-p256", profile: "client" },
        guarded: { path: "/guarded", ca_label: "issuing-ecdsa-p256", require_eab: true },
        absent: { path: "/absent", ca_label: "nobody" },
        foreign: { path: "/foreign", ca_label: "issuing-ecdsa-p256", tenant: "acme-tenant" },
      },
    },
  });
  client = await world.client();
}, 30_000);
afterAll(() => world.stop());

const indexOf = (path = "/acme") => `<${world.base}${path}/directory>;rel="index"`;

describe("AC-5: the directory", () => {
  test("names every resource by absolute URLs, and says what the server wants", async () => {
    const answer = await client.raw(world.directoryUrl, {});
    const at = (rest: string) => `${world.base}/acme/${rest}`;
    expect(JSON.parse(answer.text)).toEqual({
      newNonce: at("new-nonce"),
      newAccount: at("new-account"),
      newOrder: at("new-order"),
      newAuthz: at("new-authz"),
      revokeCert: at("revoke-cert"),
      keyChange: at("key-change"),
      renewalInfo: at("renewal-info"),
      meta: {
        termsOfService: "https://ca.example.net/terms",
        caaIdentities: ["ca.example.net"],
        externalAccountRequired: false,
        profiles: { short: "For a day." },
      },
    });
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.headers.get("link")).toBe(indexOf());
  });

  test("is not sent again to who has it", async () => {
    const first = await client.raw(world.directoryUrl, {});
    const etag = first.headers.get("etag") ?? "";
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const headers = { "if-none-match": known };
      const again = await client.raw(world.directoryUrl, { headers });
      expect(again).toMatchObject({ status: 304, text: "" });
      expect(again.headers.get("etag")).toBe(etag);
    }
    const headers = { "if-none-match": '"other"' };
    expect((await client.raw(world.directoryUrl, { headers })).status).toBe(200);
  });
});

describe("AC-6: what is read by POST only", () => {
  test.each([
    "new-account",
    "new-order",
    "new-authz",
    "acct/1",
    "acct/1/orders",
    "order/1",
    "order/1/finalize",
    "authz/1",
    "chall/1",
    "cert/1",
    "cert/1/1",
    "revoke-cert",
    "key-change",
  ])("refuses GET of %s and says what is allowed", async (rest) => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const answer = await client.raw(`${world.base}/acme/${rest}`, { method });
      expect(refusalOf(answer)).toBe("405 malformed");
      expect(answer.headers.get("allow")).toBe("POST");
      expect(answer.headers.get("link")).toBe(indexOf());
    }
  });

  test.each(["directory", "new-nonce", "renewal-info/a.b"])(
    "and POST of %s is refused the other way round",
    async (rest) => {
      const answer = await client.raw(`${world.base}/acme/${rest}`, { method: "POST", body: "{}" });
      expect(refusalOf(answer)).toBe("405 malformed");
      expect(answer.headers.get("allow")).toBe("GET, HEAD");
    },
  );
});

describe("P-6: before anything is read or verified", () => {
  const send = (init: RequestInit) =>
    client.raw(client.directory.newOrder, { method: "POST", ...init });
  const jose = { "content-type": "application/jose+json" };

  test("another method is 405, with what is allowed", async () => {
    const answer = await send({ method: "PATCH", body: "nonsense", headers: jose });
    expect(refusalOf(answer)).toBe("405 malformed");
    expect(answer.headers.get("allow")).toBe("POST");
  });

  test("a type that is another or missing is 415, also of what is too large", async () => {
    for (const headers of [{}, { "content-type": "application/json" }]) {
      for (const body of ["nonsense", "n".repeat(300_000)]) {
        const answer = await send({ body: new TextEncoder().encode(body), headers });
        expect(refusalOf(answer)).toBe("415 malformed");
      }
    }
  });

  test("what is too large is 413, whatever it would say", async () => {
    const large = await send({ body: "n".repeat(262_145), headers: jose });
    expect(refusalOf(large)).toBe("413 malformed");
    const fitting = await send({ body: "n".repeat(262_144), headers: jose });
    expect(refusalOf(fitting)).toBe("400 malformed");
  });
});

describe("AC-5: what is not there", () => {
  test.each(["", "nothing", "acct", "order/1/2/3", "directory/", "new-nonce/1"])(
    "/acme/%s is a problem document",
    async (rest) => {
      for (const method of ["GET", "POST"]) {
        const answer = await client.raw(`${world.base}/acme/${rest}`, { method });
        expect(refusalOf(answer)).toBe("404 malformed");
        expect(answer.headers.get("link")).toBe(indexOf());
        expect(JSON.parse(answer.text)).not.toHaveProperty("subproblems");
      }
    },
  );

  test("and neither is an order, authorization or challenge that nobody made", async () => {
    for (const rest of ["order/1", "authz/1", "chall/1", `cert/${crypto.randomUUID()}`]) {
      const answer = await client.post(`${world.base}/acme/${rest}`, undefined);
      expect(refusalOf(answer)).toBe("404 malformed");
    }
  });
});

describe("further directories", () => {
  const at = (path: string, key = client.key) =>
    world.stranger(key, `${world.base}${path}/directory`);

  test("have URLs, accounts, CA and profile of their own", async () => {
    const second = await at("/second");
    expect(second.directory.newOrder).toBe(`${world.base}/second/new-order`);
    const unknown = await second.post(second.directory.newAccount, { onlyReturnExisting: true });
    expect(refusalOf(unknown)).toBe("400 accountDoesNotExist");
    expect((await second.register({ termsOfServiceAgreed: true })).status).toBe(201);
    const { chain, leaf, order } = await second.obtain([world.name()], world.show);
    expect(order.profile).toBe("client");
    // The root issues here, and a chain is without the root.
    expect(chain).toHaveLength(1);
    const shown = await command(world.instance, [
      "cert",
      "show",
      "--ca",
      "root-ecdsa-p256",
      leaf.serial,
    ]);
    expect(shown).toMatchObject({ profile: "client" });
  });

  test("do not know each other's accounts, orders and certificates", async () => {
    const second = await at("/second", newKey());
    await second.register({ termsOfServiceAgreed: true });
    const { order, leaf } = await second.obtain([world.name()], world.show);
    const path = (url: string) => url.replace("/second/", "/acme/");
    const foreign = await client.post(path(second.kid ?? ""), undefined);
    expect(refusalOf(foreign)).toBe("403 unauthorized");
    expect(refusalOf(await client.post(path(order.url), undefined))).toBe("404 malformed");
    expect(refusalOf(await client.revoke(leaf.der))).toBe("404 malformed");
    const header = (known: object) => ({ ...known, kid: path(second.kid ?? "") });
    const other = client.with(second.key);
    other.kid = second.kid;
    const answer = await other.post(client.directory.newOrder, {}, { header });
    expect(refusalOf(answer)).toBe("400 accountDoesNotExist");
    expect((await client.renewalInfo(leaf)).status).toBe(404);
  });

  test("want bindings where theirs says so", async () => {
    const guarded = await at("/guarded");
    expect(guarded.directory.meta).toMatchObject({ externalAccountRequired: true });
    const answer = await guarded.register({ termsOfServiceAgreed: true });
    expect(refusalOf(answer)).toBe("403 externalAccountRequired");
    expect(answer.headers.get("link")).toBe(indexOf("/guarded"));
  });

  test.each(["/absent", "/foreign"])("of a CA that is not there: %s", async (path) => {
    const absent = await at(path);
    expect((await absent.raw(absent.directory.newNonce, { method: "HEAD" })).status).toBe(200);
    const answer = await absent.register({ termsOfServiceAgreed: true });
    expect(refusalOf(answer)).toBe("503 serverInternal");
    expect(answer.headers.get("link")).toBe(indexOf(path));
  });
});

describe("the cleartext listener", () => {
  const open = (rest: string, init: RequestInit = {}) =>
    client.raw(`${world.instance.publicUrl}/acme/${rest}`, init);

  test("serves what anybody may read, with the addresses of the other one", async () => {
    const directory = await open("directory");
    expect(JSON.parse(directory.text).newOrder).toBe(`${world.base}/acme/new-order`);
    const nonce = (await open("new-nonce", { method: "HEAD" })).headers.get("replay-nonce") ?? "";
    expect((await client.post(client.kid ?? "", undefined, { nonce })).status).toBe(200);
    const { leaf } = await client.obtain([world.name()], world.show);
    const told = await open(`renewal-info/${leaf.certId}`);
    expect(JSON.parse(told.text)).toHaveProperty("suggestedWindow");
  });

  test("takes no message", async () => {
    for (const rest of ["new-account", "new-order", "revoke-cert", "acct/1", "order/1/finalize"]) {
      const message = JSON.stringify(await client.message(`${world.base}/acme/${rest}`, {}));
      const headers = { "content-type": "application/jose+json" };
      const answer = await open(rest, { method: "POST", body: message, headers });
      expect([404, 405]).toContain(answer.status);
    }
  });
});

test("an address without ACME says so in the words of everything else", async () => {
  const answer = await client.raw(`${world.base}/api/acme/nothing`, {});
  expect(answer.status).toBe(404);
  expect(answer.headers.get("content-type")).not.toContain("problem");
});
