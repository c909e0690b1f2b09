/** Finalizing: the names that were proved and no others, one certificate (FIN-1 to FIN-4). */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";

import { type AcmeClient, bodyOf, type Order, refusalOf } from "#test/support/acme/client.ts";
import { type CsrOptions, newCsr, subscriberKeys } from "#test/support/acme/csr.ts";
import { newKey } from "#test/support/acme/keys.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";

let world: AcmeWorld;
let client: AcmeClient;
beforeAll(async () => {
  world = await AcmeWorld.start({
    acme: {
      allow_ip_identifiers: true,
      profiles: { post: { description: "Of another algorithm.", profile: "pqc-server" } },
    },
  });
  client = await world.client();
}, 30_000);
afterAll(() => world.stop());

/** An order that is ready. */
async function ready(names: readonly string[] = [world.name()], more: object = {}): Promise<Order> {
  const order = await client.order(names, more);
  await client.prove(order, "dns-01", world.show);
  return order;
}

const namesOf = ({ identifiers }: Order) => identifiers.map(({ value }) => value);

async function finalized(order: Order, options: CsrOptions = {}, one = client) {
  const { der } = await newCsr({ names: namesOf(order), ...options });
  return await one.post(order.finalize, { csr: der.toString("base64url") });
}

describe("FIN-2: a request", () => {
  test.each(["P-256", "P-384", "RSA-2048", "Ed25519"] as const)(
    "with a %s key gets a certificate of just the names of the order",
    async (kind) => {
      const order = await ready([world.name(), `*.${world.name()}`]);
      const answer = await finalized(order, { kind });
      expect(answer.status).toBe(200);
      const done = bodyOf<Order>(answer);
      expect(done.status).toBe("valid");
      const { leaf, chain } = await client.download(done.certificate ?? "");
      expect([...leaf.names].sort()).toEqual(namesOf(order).sort());
      expect(chain).toHaveLength(2);
    },
  );

  test("may have its names in another order, other letters, or the common name", async () => {
    const order = await ready([world.name(), world.name()]);
    const [first = "", second = ""] = namesOf(order);
    const names = [second.toUpperCase()];
    const answer = await finalized(order, { names, commonName: first });
    const { certificate = "" } = bodyOf<Order>(answer);
    const { leaf } = await client.download(certificate);
    expect([...leaf.names].sort()).toEqual([first, second].sort());
    expect(leaf.subject).toBe(`CN=${first}`);
    const alone = await ready();
    const [name = ""] = namesOf(alone);
    const done = await finalized(alone, { names: [], commonName: name.toUpperCase() });
    const { leaf: only } = await client.download(bodyOf<Order>(done).certificate ?? "");
    expect(only.names).toEqual([name]);
  });

  test("has no say in what was not proved: organization, country and mail are left out", async () => {
    const order = await ready();
    const [name = ""] = namesOf(order);
    const subject = `CN=${name}, O=Example Bank, C=DE, E=root@example.test`;
    const { certificate = "" } = bodyOf<Order>(await finalized(order, { subject }));
    expect((await client.download(certificate)).leaf.subject).toBe(`CN=${name}`);
  });

  const good = (order: Order) => namesOf(order);
  type Asking = (order: Order) => CsrOptions;
  // biome-ignore format: the table is read by column.
  const refused: readonly (readonly [what: string, asking: Asking])[] = [
    ["another name",                    () => ({ names: ["other.example.test"] })],
    ["a name too many",                 (order) => ({ names: [...good(order), "other.example.test"] })],
    ["a wildcard too many",             (order) => ({ names: [...good(order), `*.${good(order)[0]}`] })],
    ["no name at all",                  () => ({ names: [] })],
    ["an address too many",             (order) => ({ names: good(order), ips: ["192.0.2.1"] })],
    ["a mail address",                  (order) => ({ names: good(order), others: [{ type: "email", value: "a@example.test" }] })],
    ["a URI",                           (order) => ({ names: good(order), others: [{ type: "url", value: "https://example.test/" }] })],
    ["another common name",             (order) => ({ names: good(order), commonName: "other.example.test" })],
    ["a common name that is no name",   (order) => ({ names: good(order), commonName: "A Person" })],
    ["an RSA key of 1024 bits",         (order) => ({ names: good(order), kind: "RSA-1024" })],
  ];
  test.each([...refused])(
    "is refused for %s, and the order is ready still",
    async (_what, asking) => {
      const order = await ready();
      expect(refusalOf(await finalized(order, asking(order)))).toBe("400 badCSR");
      expect(await client.refreshed(order)).toMatchObject({ status: "ready" });
      expect(bodyOf<Order>(await finalized(order)).status).toBe("valid");
    },
  );

  test("lacks no name", async () => {
    const order = await ready([world.name(), world.name()]);
    const names = namesOf(order).slice(1);
    expect(refusalOf(await finalized(order, { names }))).toBe("400 badCSR");
  });

  test("is signed by its own key, and can be read", async () => {
    const order = await ready();
    const { der } = await newCsr({ names: namesOf(order) });
    const last = der.length - 1;
    der[last] = (der[last] ?? 0) ^ 1;
    for (const csr of [der.toString("base64url"), "AAAA", "", "-----BEGIN", 7, undefined]) {
      expect(refusalOf(await client.post(order.finalize, { csr }))).toBe("400 badCSR");
    }
    expect((await client.refreshed(order)).status).toBe("ready");
  });

  test("is not for the key of an account, whoever's it is", async () => {
    for (const key of [client.key, (await world.client(newKey("RS256"))).key]) {
      const order = await ready();
      const { privateKey, publicKey } = key.pair;
      const algorithm =
        key.algorithm === "ES256"
          ? { name: "ECDSA", namedCurve: "P-256" }
          : { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
      const { subtle } = globalThis.crypto;
      const pkcs8 = privateKey.export({ format: "der", type: "pkcs8" });
      const spki = publicKey.export({ format: "der", type: "spki" });
      const keys = {
        privateKey: await subtle.importKey("pkcs8", pkcs8, algorithm, true, ["sign"]),
        publicKey: await subtle.importKey("spki", spki, algorithm, true, ["verify"]),
      };
      expect(refusalOf(await finalized(order, { keys }))).toBe("400 badCSR");
      expect((await client.refreshed(order)).status).toBe("ready");
    }
  });

  test("is not for a key that is blocked", async () => {
    const order = await ready();
    const keys = await subscriberKeys("P-256");
    const spki = await crypto.subtle.exportKey("spki", keys.publicKey);
    const public_key_sha256 = createHash("sha256").update(new Uint8Array(spki)).digest("hex");
    const body = { public_key_sha256, reason: "leaked" };
    await world.instance.admin("POST", "/api/blocked-keys", body);
    expect(refusalOf(await finalized(order, { keys }))).toBe("400 badCSR");
    expect((await client.refreshed(order)).status).toBe("ready");
  });

  test("names addresses as addresses", async () => {
    const order = await client.order([{ type: "ip", value: "127.0.0.1" }]);
    await client.prove(order, "http-01", world.show);
    const asName = await finalized(order, { names: ["127.0.0.1"] }).catch(() => undefined);
    if (asName !== undefined) expect(refusalOf(asName)).toBe("400 badCSR");
    const other = await finalized(order, { names: [], ips: ["127.0.0.2"] });
    expect(refusalOf(other)).toBe("400 badCSR");
    const answer = await finalized(order, { names: [], ips: ["127.0.0.1"] });
    expect(bodyOf<Order>(answer).status).toBe("valid");
  });
});

describe("FIN-1: an order", () => {
  test("that is not ready is not finalized", async () => {
    const order = await client.order([world.name()]);
    expect(refusalOf(await finalized(order))).toBe("403 orderNotReady");
    expect((await client.refreshed(order)).status).toBe("pending");
  });

  test("yields one certificate, however many ask at once", async () => {
    const order = await ready();
    const siblings = Array.from({ length: 8 }, () => client.with(client.key));
    for (const one of siblings) one.kid = client.kid;
    const answers = await Promise.all(siblings.map((one) => finalized(order, {}, one)));
    expect(answers.map(({ status }) => status)).toEqual(siblings.map(() => 200));
    const states = answers.map((answer) => bodyOf<Order>(answer).status);
    expect(states.every((state) => state === "valid" || state === "processing")).toBe(true);
    const name = namesOf(order)[0] ?? "";
    const path = `/api/ca/${world.chain.intermediateId}/certificates?q=${name}`;
    const { items } = await world.instance.admin<{ items: unknown[] }>("GET", path);
    expect(items).toHaveLength(1);
  });

  test("that is valid is given again, with the certificate it has", async () => {
    const order = await ready();
    const first = bodyOf<Order>(await finalized(order));
    const second = bodyOf<Order>(await finalized(order, { kind: "P-384" }));
    expect(second).toEqual(first);
    expect((await finalized(order, { names: ["other.example.test"] })).status).toBe(200);
    const events = await world.events("acme.order.finalize");
    expect(events.filter(({ target }) => order.url.endsWith(target ?? ""))).toHaveLength(1);
  });

  test("says with its certificate where that is, and nothing before", async () => {
    const order = await ready();
    expect(await client.refreshed(order)).not.toHaveProperty("certificate");
    const done = bodyOf<Order>(await finalized(order));
    expect(done.certificate).toStartWith(`${world.base}/acme/cert/`);
    const early = await client.order([world.name()]);
    const url = (done.certificate ?? "").replace(/[^/]*$/, early.url.split("/").at(-1) ?? "");
    expect(refusalOf(await client.post(url, undefined))).toBe("404 malformed");
  });
});

describe("RFC 8555 §7.4.2: a certificate", () => {
  test("comes as a chain in PEM, to who accepts that", async () => {
    const order = await ready();
    const { certificate = "" } = bodyOf<Order>(await finalized(order));
    const answer = await client.post(certificate, undefined);
    expect(answer.headers.get("content-type")).toBe("application/pem-certificate-chain");
    expect(answer.text.match(/-----BEGIN CERTIFICATE-----/g)).toHaveLength(2);
    for (const [accept, status] of [
      ["application/pem-certificate-chain", 200],
      ["application/*;q=0.5", 200],
      ["text/html, */*", 200],
      ["application/pkix-cert", 406],
      ["text/html", 406],
    ] as const) {
      const headers = { accept };
      expect((await client.post(certificate, undefined, { headers })).status).toBe(status);
    }
    expect(refusalOf(await client.post(`${certificate}/1`, undefined))).toBe("404 malformed");
    expect(refusalOf(await client.post(`${certificate}/0`, undefined))).toBe("404 malformed");
  });
});

describe("FIN-4: a gate that refuses", () => {
  test("for the key leaves the order ready for another one", async () => {
    const order = await ready([world.name()], { profile: "post" });
    expect(refusalOf(await finalized(order))).toBe("400 badCSR");
    expect((await client.refreshed(order)).status).toBe("ready");
  });
});
