/** External account binding of the binary, from the shell that makes a credential to its orders. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import type { AcmeClient, ProblemObject } from "#test/support/acme/client.ts";
import { newKey } from "#test/support/acme/keys.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { command } from "#test/support/instances/first-certificate.ts";
import { said } from "#test/support/instances/preflight.ts";
import { bindingOf } from "#test/support/worlds/binding.ts";

const file = Buffer.alloc(32, 9).toString("base64url");

let world: AcmeWorld;
beforeAll(async () => {
  const acme = { require_eab: true, eab_hmac_keys: { "by-file": file } };
  world = await AcmeWorld.start({ acme });
}, 60_000);
afterAll(async () => await world.stop(), 30_000);

const pkid = async (...argv: string[]) => await command(world.instance, ["acme", ...argv]);
const credential = async (...flags: string[]) => {
  const { id, hmac_key } = await pkid("eab", "create", "--name", "web", ...flags);
  return { id: String(id), hmac_key: String(hmac_key) };
};

/** Asks for an account with a binding under that kid. */
async function bound(kid: string, hmacKey: string) {
  const key = newKey();
  const client = await world.stranger(key);
  const url = client.directory.newAccount;
  const externalAccountBinding = bindingOf(kid, hmacKey, { jwk: key.jwk, url });
  return { client, answer: await client.register({ externalAccountBinding }) };
}

const typeOf = ({ text }: { readonly text: string }) => {
  const { type }: ProblemObject = JSON.parse(text);
  return type.replace("urn:ietf:params:acme:error:", "");
};
const orderOf = async (client: AcmeClient, name: string) => await client.newOrder([name]);

describe("where accounts need a credential", () => {
  test("the directory says so, and none is made without", async () => {
    const client = await world.stranger();
    expect(client.directory.meta).toMatchObject({ externalAccountRequired: true });
    const answer = await client.register();
    expect([answer.status, typeOf(answer)]).toEqual([403, "externalAccountRequired"]);
  });

  test("EAB-3: its limits hold from the first order on, and its certificates are issued", async () => {
    const { id, hmac_key } = await credential("--dns-suffix", "example.test");
    const { client, answer } = await bound(id, hmac_key);
    expect(answer.status).toBe(201);
    const { leaf } = await client.obtain([world.name()], world.show);
    expect(leaf.names).toHaveLength(1);
    const outside = await orderOf(client, "www.example.org");
    expect([outside.status, typeOf(outside)]).toEqual([400, "rejectedIdentifier"]);
    expect(typeOf(await orderOf(client, "*.example.test"))).toBe("rejectedIdentifier");
    const { items } = await pkid("accounts");
    expect(items).toContainEqual(expect.objectContaining({ eab_id: id, status: "valid" }));
  });

  test("EAB-2: what does not hold is one answer, to the last octet", async () => {
    const [used, revoked] = [
      await credential("--any-identifier"),
      await credential("--any-identifier"),
    ];
    expect((await bound(used.id, used.hmac_key)).answer.status).toBe(201);
    await pkid("eab", "revoke", revoked.id);
    const refused = [
      await bound(`eab_${"A".repeat(22)}`, file),
      await bound(used.id, used.hmac_key),
      await bound(revoked.id, revoked.hmac_key),
      await bound("by-file", used.hmac_key),
    ];
    const told = new Set(refused.map(({ answer }) => `${answer.status} ${answer.text}`));
    expect([...told]).toHaveLength(1);
    const [first] = refused;
    expect(first && [first.answer.status, typeOf(first.answer)]).toEqual([403, "unauthorized"]);
  });

  test("keys of the configuration open the door as well", async () => {
    const { answer } = await bound("by-file", file);
    expect(answer.status).toBe(201);
    const { items } = await pkid("eab", "list");
    expect(items).toContainEqual(expect.objectContaining({ id: "by-file", source: "config" }));
    expect(JSON.stringify(items)).not.toContain(file);
  });

  test("revoking it ends new orders, and with the flag the accounts", async () => {
    const { id, hmac_key } = await credential("--any-identifier");
    const { client } = await bound(id, hmac_key);
    expect((await orderOf(client, world.name())).status).toBe(201);
    expect(await pkid("eab", "revoke", id)).toEqual({ status: "revoked", bound_accounts: 1 });
    expect(typeOf(await orderOf(client, world.name()))).toBe("unauthorized");
    const again = await pkid("eab", "revoke", id, "--deactivate-accounts");
    expect(again).toMatchObject({ status: "already_revoked", deactivated_accounts: 1 });
    const account = await client.post(client.kid ?? "", undefined);
    expect([account.status, typeOf(account)]).toEqual([403, "unauthorized"]);
    const [event] = await world.events("acme.account.deactivate");
    expect(event).toMatchObject({ detail: `eab=${id}`, actor: expect.stringMatching(/^local:/) });
  });

  test("no key of one is ever told again, by events, lists or the log", async () => {
    const { hmac_key } = await credential("--any-identifier");
    const seen = [
      world.instance.logs.join("\n"),
      JSON.stringify(await world.events("acme.eab.create")),
      JSON.stringify(await pkid("eab", "list", "--all")),
    ];
    for (const text of seen) expect(text).not.toContain(hmac_key);
  });
});

describe("whoever runs it", () => {
  test("finds its own directories by the address that clients have", async () => {
    const { home } = world.instance;
    expect(await said(home, "acme.external")).toMatchObject({ status: "pass" });
    expect(await said(home, "protocols.ready")).toEqual(
      expect.objectContaining({ status: "pass", detail: "ACME: default." }),
    );
    expect((await said(home, "config.default_secrets")).detail).not.toContain("octets");
  });

  test("shows people the page with these addresses, and the lines for a credential", async () => {
    const client = await world.stranger();
    const page = await client.raw(`${world.base}/docs/acme`, {});
    expect([page.status, page.text.includes(world.directoryUrl)]).toEqual([200, true]);
    expect(page.text).toContain("--eab-kid KID");
  });
});
