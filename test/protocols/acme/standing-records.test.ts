/**
 * Standing proofs in the DNS (dns-persist-01 of draft-ietf-acme-dns-persist-02): what clients are
 * told, which records count, and for how long.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash, KeyObject } from "node:crypto";

import type { AcmeClient, AuthorizationObject } from "#test/support/acme/client.ts";
import { newCsr } from "#test/support/acme/csr.ts";
import { keyOf, newKey } from "#test/support/acme/keys.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { txt } from "#test/support/worlds/validation.ts";

const issuer = "ca.example.net";
let world: AcmeWorld;
let client: AcmeClient;
beforeAll(async () => {
  world = await AcmeWorld.start({
    acme: {
      challenge_types: ["dns-persist-01", "http-01"],
      validation_attempts: 1,
      validation_timeout_seconds: 5,
      // So that each order looks at the record again.
      authz_validity_hours: 1,
    },
    config: { caa: { identifier: issuer } },
  });
  client = await world.client();
}, 30_000);
afterAll(() => world.stop());

/** The value by which a record speaks of an account, worked out as the draft says (§4.1). */
function accountUri(
  domain: string,
  { thumbprint = client.key.thumbprint, url = client.kid ?? "" } = {},
): string {
  const digest = createHash("sha256")
    .update(Buffer.of(domain.length))
    .update(domain + thumbprint + url, "latin1")
    .digest("base64url");
  return `${world.base}/acme/account-hash/sha-256/${digest}`;
}

const publish = (name: string, value: string): void => {
  world.dns.zone.set(`_validation-persist.${name}`, [txt(value)]);
};

/** Has a name proved by its record; a name that was proved before is given up first. */
async function proved(name: string, of = client): Promise<string> {
  const order = await of.order([name]);
  const [url = ""] = order.authorizations;
  const authorization = await of.read<AuthorizationObject>(url);
  if (authorization.status === "valid") {
    await of.read(url, { status: "deactivated" });
    return await proved(name, of);
  }
  const challenge = authorization.challenges.find(({ type }) => type === "dns-persist-01");
  await of.post(challenge?.url ?? "", {});
  return (await of.decided(url)).status;
}

describe("a client is told", () => {
  test("by the directory which issuer and which prefix its records have", async () => {
    const { meta } = client.directory;
    expect(meta).toMatchObject({
      issuerDomainNames: [issuer],
      accountHashPrefix: `${world.base}/acme/account-hash/`,
      caaIdentities: [issuer],
    });
  });

  test("by the challenge which issuer, and no token", async () => {
    const order = await client.order([world.name()]);
    const { challenges } = await client.read<AuthorizationObject>(order.authorizations[0] ?? "");
    const [challenge] = challenges;
    expect(challenge as object).toEqual({
      type: "dns-persist-01",
      url: expect.any(String),
      status: "pending",
      issuerDomainNames: [issuer],
    } as object);
  });

  test("nothing of it where it is not offered", async () => {
    const plain = await AcmeWorld.start({ config: { caa: { identifier: issuer } } });
    const { meta } = (await plain.client()).directory;
    expect(Object.keys(meta ?? {}).sort()).toEqual(["caaIdentities", "externalAccountRequired"]);
    await plain.stop();
  }, 30_000);
});

describe("a name is proved", () => {
  test("by a record that was there before the order, again and again, and certified", async () => {
    const name = world.name();
    publish(name, `${issuer}; accounturi=${accountUri(name)}`);
    expect(await proved(name)).toBe("valid");
    expect(await proved(name)).toBe("valid");
    const order = await client.order([name]);
    const { der } = await newCsr({ names: [name] });
    expect((await client.finalize(order, der)).status).toBe("valid");
  });

  test("by one for all names, and by none of another account, name or issuer", async () => {
    const name = world.name();
    const other = await world.client();
    const value = (uri: string, of = issuer) => `${of}; accounturi=${uri}`;
    const wrong = [
      value(accountUri("other.example.test")),
      value(accountUri(name, { url: other.kid ?? "" })),
      value(accountUri(name, { thumbprint: other.key.thumbprint })),
      value(accountUri(name), "other.example.net"),
      value(client.kid ?? ""),
      `${value(accountUri(name))}; persistUntil=${Math.floor(Date.now() / 1000) - 1}`,
    ];
    for (const one of wrong) {
      publish(name, one);
      expect(await proved(name)).toBe("invalid");
    }
    publish(name, value(accountUri("*")));
    expect(await proved(name)).toBe("valid");
  });

  test("no longer than its record says", async () => {
    const name = world.name();
    const until = Math.floor(Date.now() / 1000) + 600;
    publish(name, `${issuer}; accounturi=${accountUri(name)}; persistUntil=${until}`);
    expect(await proved(name)).toBe("valid");
    const order = await client.order([name]);
    const shown = await client.read<{ expires: string }>(order.authorizations[0] ?? "");
    expect(Date.parse(shown.expires)).toBeLessThanOrEqual(until * 1000 + 999);
  });

  test("with its wildcard where the policy of the record says so", async () => {
    const name = world.name();
    const value = `${issuer}; accounturi=${accountUri(name)}`;
    publish(name, value);
    expect(await proved(`*.${name}`)).toBe("invalid");
    expect(await proved(name)).toBe("valid");
    publish(name, `${value}; policy=wildcard`);
    expect(await proved(`*.${name}`)).toBe("valid");
    const order = await client.order([`*.${name}`]);
    const { der } = await newCsr({ names: [`*.${name}`] });
    expect((await client.finalize(order, der)).status).toBe("valid");
  });
});

describe("the value of a record", () => {
  /** A certificate of an account, with its key as one that signs requests. */
  async function certified(of: AcmeClient, names: readonly string[]) {
    const order = await of.order(names);
    const { der, keys } = await newCsr({ names });
    const done = await of.finalize(order, der);
    const { leaf } = await of.download(done.certificate ?? "");
    const key = keyOf("ES256", {
      privateKey: KeyObject.from(keys.privateKey),
      publicKey: KeyObject.from(keys.publicKey),
    });
    return { leaf, key };
  }

  test("stays good through key changes, until a revocation by certificate key", async () => {
    const of = await world.client();
    const url = of.kid ?? "";
    const [name, other] = [world.name(), world.name()];
    const first = of.key.thumbprint;
    for (const one of [name, other]) {
      publish(one, `${issuer}; accounturi=${accountUri(one, { thumbprint: first, url })}`);
      expect(await proved(one, of)).toBe("valid");
    }
    // Two, so that one of them is neither the first nor the last.
    for (const next of [newKey(), newKey()]) {
      expect((await of.changeKey(next)).status).toBe(200);
      expect(await proved(name, of)).toBe("valid");
    }
    // By the account nothing ends but the certificate.
    const own = await certified(of, [name]);
    expect((await of.revoke(own.leaf.der)).status).toBe(200);
    expect(await proved(name, of)).toBe("valid");
    const { leaf, key } = await certified(of, [name]);
    const stranger = await world.stranger(key);
    expect((await stranger.revoke(leaf.der)).status).toBe(200);
    expect(await proved(name, of)).toBe("invalid");
    // Names that the certificate did not have go on.
    expect(await proved(other, of)).toBe("valid");
    // The key that the account has now makes a record that counts, and stays good in its turn.
    const now = { thumbprint: of.key.thumbprint, url };
    publish(name, `${issuer}; accounturi=${accountUri(name, now)}`);
    expect(await proved(name, of)).toBe("valid");
    expect((await of.changeKey(newKey())).status).toBe(200);
    expect(await proved(name, of)).toBe("valid");
  });

  test("is good for nobody once its account is deactivated", async () => {
    const of = await world.client();
    const name = world.name();
    publish(
      name,
      `${issuer}; accounturi=${accountUri(name, { thumbprint: of.key.thumbprint, url: of.kid ?? "" })}`,
    );
    expect(await proved(name, of)).toBe("valid");
    expect((await of.deactivate()).status).toBe(200);
    expect((await of.newOrder([name])).status).toBe(403);
  });
});
