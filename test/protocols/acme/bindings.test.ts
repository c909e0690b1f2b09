/** External account binding: who gets an account, and for which names (EAB-1 to EAB-3). */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { type AcmeClient, refusalOf } from "#test/support/acme/client.ts";
import { newCsr } from "#test/support/acme/csr.ts";
import { authenticated, binding, type Message, newKey } from "#test/support/acme/keys.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";

const configured = { kid: "from-the-file", hmacKey: "c2VjcmV0LW9mLTMyLW9jdGV0cy1mb3ItdGhlLXRlc3Q" };
let world: AcmeWorld;
beforeAll(async () => {
  world = await AcmeWorld.start({
    acme: {
      require_eab: true,
      allow_ip_identifiers: true,
      eab_hmac_keys: { [configured.kid]: configured.hmacKey },
      profiles: {
        clients: { description: "For clients.", profile: "client" },
        servers: { description: "For servers.", profile: "server" },
      },
    },
  });
}, 30_000);
afterAll(() => world.stop());

interface Credential {
  readonly kid: string;
  readonly hmacKey: string;
}

async function credential(more: object = { any_identifier: true }): Promise<Credential> {
  const made = await world.instance.admin<{ id: string; hmac_key: string }>(
    "POST",
    "/api/acme/eab",
    { name: "test", ...more },
  );
  return { kid: made.id, hmacKey: made.hmac_key };
}

const state = async (kid: string) => {
  const { items } = await world.instance.admin<{ items: { id: string; uses: number }[] }>(
    "GET",
    "/api/acme/eab",
  );
  return items.find(({ id }) => id === kid);
};

/** Asks for an account with a binding; by default a sound one. */
async function bound(
  using: Credential,
  made: (client: AcmeClient) => Message | unknown = (client) =>
    binding(using, client.directory.newAccount, client.key.jwk),
) {
  const client = await world.stranger();
  const answer = await client.register({ externalAccountBinding: made(client) });
  return { client, answer };
}

describe("EAB-1: an account", () => {
  test("is not made without a binding", async () => {
    const client = await world.stranger();
    expect(refusalOf(await client.register({}))).toBe("403 externalAccountRequired");
  });

  test("is made with one, once, and shows which", async () => {
    const using = await credential();
    const { client, answer } = await bound(using);
    expect(answer.status).toBe(201);
    expect(await state(using.kid)).toMatchObject({ uses: 1, status: "exhausted" });
    expect((await world.events("acme.account.new"))[0]?.detail).toContain(using.kid);
    expect(refusalOf((await bound(using)).answer)).toBe("403 unauthorized");
    expect((await client.register({ onlyReturnExisting: true })).status).toBe(200);
  });

  test("is made with a key of the configuration, as often as wanted", async () => {
    for (let time = 0; time < 3; time++) {
      expect((await bound(configured)).answer.status).toBe(201);
    }
  });

  test.each(["sha384", "sha512"] as const)("is made with a binding by %s too", async (hash) => {
    const using = await credential();
    const alg = hash === "sha384" ? "HS384" : "HS512";
    const { answer } = await bound(using, ({ directory, key }) => {
      const header = { alg, kid: using.kid, url: directory.newAccount };
      return authenticated(hash, using.hmacKey, header, key.jwk);
    });
    expect(answer.status).toBe(201);
  });

  test("is one for the last use, whoever is first of many", async () => {
    const using = await credential({ any_identifier: true, max_uses: 2 });
    const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => bound(using)));
    const statuses = answers.map(({ answer }) => answer.status).sort();
    expect(statuses).toEqual([201, 201, 403, 403, 403, 403]);
    expect(await state(using.kid)).toMatchObject({ uses: 2 });
  });
});

describe("EAB-2: a binding", () => {
  type Made = (using: Credential, client: AcmeClient) => unknown;
  const header = (using: Credential, { directory }: AcmeClient) => ({
    alg: "HS256",
    kid: using.kid,
    url: directory.newAccount,
  });
  const mac = (using: Credential, head: object, jwk: object) =>
    authenticated("sha256", using.hmacKey, head, jwk);
  // biome-ignore format: the table is read by column.
  const refused: readonly (readonly [what: string, made: Made, refusal: string])[] = [
    ["for another URL",          (using, one) => mac(using, { ...header(using, one), url: one.directory.newOrder }, one.key.jwk), "400 malformed"],
    ["of another key",           (using, one) => mac(using, header(using, one), newKey().jwk),                      "400 malformed"],
    ["with a nonce",             (using, one) => mac(using, { ...header(using, one), nonce: "AAAA" }, one.key.jwk), "400 malformed"],
    ["without a kid",            (using, one) => mac(using, { ...header(using, one), kid: undefined }, one.key.jwk), "400 malformed"],
    ["with a signature's name",  (using, one) => mac(using, { ...header(using, one), alg: "ES256" }, one.key.jwk),  "400 malformed"],
    ["without algorithm",        (using, one) => mac(using, { ...header(using, one), alg: "none" }, one.key.jwk),   "400 malformed"],
    ["that is a text",           () => "binding",                                                                   "400 malformed"],
    ["that is null",             () => null,                                                                        "400 malformed"],
    ["with another hash",        (using, one) => authenticated("sha512", using.hmacKey, header(using, one), one.key.jwk), "403 unauthorized"],
    ["with another secret",      (using, one) => mac({ ...using, hmacKey: "A".repeat(43) }, header(using, one), one.key.jwk), "403 unauthorized"],
    ["of a kid nobody made",     (using, one) => mac(using, { ...header(using, one), kid: "eab_AAAAAAAAAAAAAAAAAAAAAA" }, one.key.jwk), "403 unauthorized"],
  ];
  test.each([...refused])("%s is refused, and takes no use", async (_what, made, refusal) => {
    const using = await credential();
    const { answer } = await bound(using, (client) => made(using, client));
    expect(refusalOf(answer)).toBe(refusal);
    expect(await state(using.kid)).toMatchObject({ uses: 0 });
  });

  test("that is unknown, revoked, exhausted or forged is refused in the same words", async () => {
    const [revoked, exhausted, forged] = [
      await credential(),
      await credential(),
      await credential(),
    ];
    await world.instance.admin("DELETE", `/api/acme/eab/${revoked.kid}`);
    await bound(exhausted);
    const answers = await Promise.all([
      bound(revoked),
      bound(exhausted),
      bound({ ...forged, hmacKey: "A".repeat(43) }),
      bound({ ...forged, kid: "eab_AAAAAAAAAAAAAAAAAAAAAA" }),
      bound({ ...forged, kid: "nobody" }),
    ]);
    expect(new Set(answers.map(({ answer }) => answer.text)).size).toBe(1);
    expect(answers.every(({ answer }) => answer.status === 403)).toBe(true);
  });
});

describe("EAB-3: the limits of a credential", () => {
  const limits = { dns_suffixes: ["corp.test"], ip_ranges: ["10.0.0.0/8"], profile: "client" };

  test("hold for every order, also with another key", async () => {
    const { client } = await bound(await credential(limits));
    await client.changeKey(newKey());
    for (const name of ["corp.test", "a.corp.test", "b.a.corp.test"]) {
      expect(await client.order([name])).toMatchObject({ profile: "client" });
    }
    expect((await client.newOrder([{ type: "ip", value: "10.1.2.3" }])).status).toBe(201);
    for (const name of ["evilcorp.test", "corp.test.evil.test", "*.corp.test", "test"]) {
      expect(refusalOf(await client.newOrder([name]))).toBe("400 rejectedIdentifier");
    }
    const address = await client.newOrder([{ type: "ip", value: "11.0.0.1" }]);
    expect(refusalOf(address)).toBe("400 rejectedIdentifier");
    const mixed = await client.newOrder(["a.corp.test", "other.test"]);
    expect(refusalOf(mixed)).toBe("400 rejectedIdentifier");
  });

  test("name the profile", async () => {
    const { client } = await bound(await credential(limits));
    const other = await client.newOrder(["a.corp.test"], { profile: "servers" });
    expect(refusalOf(other)).toBe("400 invalidProfile");
    expect((await client.order(["a.corp.test"], { profile: "clients" })).profile).toBe("clients");
  });

  test("allow wildcards where they say so", async () => {
    const wild = await credential({ dns_suffixes: ["corp.test"], allow_wildcards: true });
    const { client } = await bound(wild);
    expect((await client.order(["*.corp.test"])).status).toBe("pending");
  });

  test("end new orders and open ones with the credential", async () => {
    const using = await credential();
    const { client } = await bound(using);
    const name = world.name();
    const open = await client.order([name]);
    await client.prove(open, "http-01", world.show);
    await world.instance.admin("DELETE", `/api/acme/eab/${using.kid}`);
    expect(refusalOf(await client.newOrder([name]))).toBe("403 unauthorized");
    const { der } = await newCsr({ names: [name] });
    const answer = await client.post(open.finalize, { csr: der.toString("base64url") });
    expect(refusalOf(answer)).toBe("403 unauthorized");
    expect(await client.read<object>(client.kid ?? "")).toMatchObject({ status: "valid" });
  });

  test("end the accounts only where that is asked for", async () => {
    const using = await credential({ any_identifier: true, max_uses: 2 });
    const [one, other] = [await bound(using), await bound(using)];
    const path = `/api/acme/eab/${using.kid}?accounts=deactivate`;
    await world.instance.admin("DELETE", path);
    for (const { client } of [one, other]) {
      expect(refusalOf(await client.post(client.kid ?? "", undefined))).toBe("403 unauthorized");
    }
  });
});

test("no secret of a binding is in the log, the events or the answers", async () => {
  const using = await credential();
  await bound(using);
  const events = JSON.stringify(await world.events("acme.eab.create"));
  const listed = JSON.stringify(await state(using.kid));
  for (const text of [world.instance.logs.join("\n"), events, listed]) {
    expect(text).not.toContain(using.hmacKey);
    expect(text).not.toContain(configured.hmacKey);
  }
});
