/** Accounts: made, found, changed, given another key, ended (RFC 8555 §7.3). */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";

import { newCsr } from "#test/support/acme/csr.ts";
import {
  type AcmeClient,
  type AuthorizationObject,
  bodyOf,
  refusalOf,
} from "#test/support/acme/client.ts";
import { algorithms, newKey } from "#test/support/acme/keys.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";

const terms = "https://ca.example.net/terms";
let world: AcmeWorld;
let client: AcmeClient;
beforeAll(async () => {
  world = await AcmeWorld.start({ acme: { terms_of_service: terms } });
  client = await world.client();
}, 30_000);
afterAll(() => world.stop());

const agreed = { termsOfServiceAgreed: true };

describe("RFC 8555 §7.3: a new account", () => {
  test("has an address, and its members as they were asked for", async () => {
    const one = await world.stranger();
    const contact = ["mailto:admin@example.test"];
    const answer = await one.register({ ...agreed, contact });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("location")).toStartWith(`${world.base}/acme/acct/`);
    expect(JSON.parse(answer.text)).toEqual({
      status: "valid",
      contact,
      termsOfServiceAgreed: true,
      orders: `${one.kid}/orders`,
    });
    expect((await world.events("acme.account.new"))[0]).toMatchObject({
      result: "success",
      target: one.kid?.split("/").at(-1),
    });
  });

  test("is the one there is already where the key has one, and its contacts stay", async () => {
    const contact = ["mailto:first@example.test"];
    const one = await world.client(newKey(), { contact });
    const again = await one.register({ ...agreed, contact: ["mailto:second@example.test"] });
    expect(again.status).toBe(200);
    expect(again.headers.get("location")).toBe(one.kid ?? "");
    expect(JSON.parse(again.text)).toMatchObject({ contact });
    const found = await one.register({ onlyReturnExisting: true });
    expect(found).toMatchObject({ status: 200, text: again.text });
  });

  test("is one, also when its key asks many times at once", async () => {
    const key = newKey();
    const clients = await Promise.all([1, 2, 3, 4, 5].map(() => world.stranger(key)));
    const answers = await Promise.all(clients.map((one) => one.register(agreed)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 201]);
    expect(new Set(clients.map(({ kid }) => kid)).size).toBe(1);
  });

  test("is not made when only an existing one is wanted", async () => {
    const one = await world.stranger();
    const answer = await one.register({ ...agreed, onlyReturnExisting: true });
    expect(refusalOf(answer)).toBe("400 accountDoesNotExist");
    expect((await one.register(agreed)).status).toBe(201);
  });

  test("agrees to the terms", async () => {
    const one = await world.stranger();
    for (const members of [{}, { termsOfServiceAgreed: false }, { termsOfServiceAgreed: "true" }]) {
      const answer = await one.register(members);
      expect(refusalOf(answer)).toBe("403 userActionRequired");
      expect(answer.headers.get("link")).toContain(`<${terms}>;rel="terms-of-service"`);
    }
  });

  test.each([
    [["tel:+12025551212"], "400 unsupportedContact"],
    [["https://example.test/"], "400 unsupportedContact"],
    [["mailto:a@example.test,b@example.test"], "400 invalidContact"],
    [["mailto:a@example.test?subject=x"], "400 invalidContact"],
    [["mailto:"], "400 invalidContact"],
    [["mailto:nobody"], "400 invalidContact"],
    [["mailto:a@example.test", 7], "400 malformed"],
    ["mailto:a@example.test", "400 malformed"],
    [Array.from({ length: 11 }, (_, at) => `mailto:a${at}@example.test`), "400 invalidContact"],
  ])("refuses the contact %j", async (contact, refusal) => {
    const one = await world.stranger();
    expect(refusalOf(await one.register({ ...agreed, contact }))).toBe(refusal);
    const other = await client.post(client.kid ?? "", { contact });
    expect(refusalOf(other)).toBe(refusal);
  });
});

describe("RFC 8555 §7.3.2: an account", () => {
  test("takes other contacts, and no other key, status or orders", async () => {
    const one = await world.client();
    const contact = ["mailto:new@example.test"];
    const members = { contact, key: newKey().jwk, orders: "https://evil.test/", status: "valid" };
    const changed = bodyOf(await one.post(one.kid ?? "", members));
    expect(changed).toEqual({ ...agreed, status: "valid", contact, orders: `${one.kid}/orders` });
    expect(await one.read(one.kid ?? "")).toEqual(changed);
    expect(await one.read(one.kid ?? "", { contact: [] })).toMatchObject({ contact: [] });
  });

  test("is nobody else's to see, change, list or end", async () => {
    const other = await world.client();
    for (const payload of [undefined, {}, { contact: [] }, { status: "deactivated" }]) {
      const answer = await client.post(other.kid ?? "", payload);
      expect(refusalOf(answer)).toBe("403 unauthorized");
    }
    const nobody = `${world.base}/acme/acct/${crypto.randomUUID()}`;
    expect(refusalOf(await client.post(nobody, undefined))).toBe("403 unauthorized");
    const orders = await client.post(`${other.kid}/orders`, undefined);
    expect(refusalOf(orders)).toBe("403 unauthorized");
    expect(await other.read(other.kid ?? "")).toMatchObject({ status: "valid" });
  });
});

describe("RFC 8555 §7.3.6: an account that was ended", () => {
  test("signs nothing more, keeps its key, and takes its proofs and orders along", async () => {
    const one = await world.client();
    const { leaf } = await one.obtain([world.name()], world.show);
    const open = await one.order([world.name()]);
    const ended = await one.deactivate();
    expect(JSON.parse(ended.text)).toMatchObject({ status: "deactivated" });
    for (const url of [one.kid ?? "", open.url, open.finalize, one.directory.newOrder]) {
      expect(refusalOf(await one.post(url, {}))).toBe("403 unauthorized");
    }
    expect(refusalOf(await one.register(agreed))).toBe("403 unauthorized");
    const found = await one.register({ onlyReturnExisting: true });
    expect(refusalOf(found)).toBe("403 unauthorized");
    expect(refusalOf(await one.revoke(leaf.der))).toBe("403 unauthorized");
    const { items } = await world.instance.admin<{ items: { id: string; status: string }[] }>(
      "GET",
      "/api/acme/orders",
    );
    const shown = items.find(({ id }) => open.url.endsWith(id));
    expect(shown).toMatchObject({ status: "invalid" });
    expect(await world.inventory()).toContainEqual(
      expect.objectContaining({ serial: leaf.serial, status: "good" }),
    );
  });

  test("cannot be brought back, and nobody else may have its key", async () => {
    const one = await world.client();
    const { key } = one;
    await one.deactivate();
    expect(refusalOf(await one.post(one.kid ?? "", { status: "valid" }))).toBe("403 unauthorized");
    const other = await world.client();
    const answer = await other.changeKey(key);
    expect(refusalOf(answer)).toBe("409 malformed");
    expect(answer.headers.get("location")).toBe(one.kid ?? "");
  });
});

describe("RFC 8555 §7.3.5: a key change", () => {
  test.each([...algorithms])("to a key for %s lets the new one sign, and only it", async (name) => {
    const one = await world.client();
    const before = one.key;
    const order = await one.order([world.name()]);
    expect((await one.changeKey(newKey(name))).status).toBe(200);
    expect((await one.refreshed(order)).status).toBe("pending");
    await one.prove(order, "http-01", world.show);
    const old = await one.post(one.kid ?? "", undefined, { key: before });
    expect(refusalOf(old)).toBe("403 unauthorized");
    const found = await one.register({ onlyReturnExisting: true });
    expect(found.status).toBe(200);
    const gone = await world.stranger(before);
    const answer = await gone.register({ onlyReturnExisting: true });
    expect(refusalOf(answer)).toBe("400 accountDoesNotExist");
  });

  type Change = Parameters<AcmeClient["changeKey"]>[1];
  const others: readonly (readonly [what: string, Change, object, string])[] = [
    ["a kid inside", { header: ({ jwk: _jwk, ...rest }) => ({ ...rest, kid: "x" }) }, {}, "400"],
    ["another url inside", { header: (one) => ({ ...one, url: `${one.url}/` }) }, {}, "400"],
    ["a nonce inside", { header: (one) => ({ ...one, nonce: "AAAA" }) }, {}, "400"],
    ["another account", {}, { account: "https://localhost/acme/acct/1" }, "400"],
    ["no account", {}, { account: undefined }, "400"],
    ["another old key", {}, { oldKey: newKey().jwk }, "400"],
    ["no old key", {}, { oldKey: undefined }, "400"],
    ["the signature of another key", { key: newKey() }, {}, "403"],
    ["no message inside", { message: () => ({}) }, {}, "400"],
  ];
  test.each([...others])("is refused for %s", async (_what, inner, members, status) => {
    const one = await world.client();
    const before = one.key;
    const answer = await one.changeKey(newKey(), inner, members);
    expect(refusalOf(answer)).toBe(status === "403" ? "403 unauthorized" : "400 malformed");
    expect(one.key).toBe(before);
    expect((await one.post(one.kid ?? "", undefined)).status).toBe(200);
  });

  test("to a key in use says whose, also to the account itself", async () => {
    const one = await world.client();
    const other = await world.client();
    const answer = await one.changeKey(other.key);
    expect(refusalOf(answer)).toBe("409 malformed");
    expect(answer.headers.get("location")).toBe(other.kid ?? "");
    const itself = await one.changeKey(one.key);
    expect(refusalOf(itself)).toBe("409 malformed");
    expect(itself.headers.get("location")).toBe(one.kid ?? "");
  });

  test("to a key that leaked is refused", async () => {
    const one = await world.client();
    const key = newKey();
    const spki = key.pair.publicKey.export({ format: "der", type: "spki" });
    const public_key_sha256 = createHash("sha256").update(spki).digest("hex");
    const reason = "leaked";
    await world.instance.admin("POST", "/api/blocked-keys", { public_key_sha256, reason });
    expect(refusalOf(await one.changeKey(key))).toBe("400 badPublicKey");
    expect(refusalOf(await (await world.stranger(key)).register(agreed))).toBe("400 badPublicKey");
  });

  test("of two that replace the same key at once, one wins", async () => {
    const one = await world.client();
    const twin = one.with(one.key);
    twin.kid = one.kid;
    const answers = await Promise.all([one.changeKey(newKey()), twin.changeKey(newKey())]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403]);
    const winner = answers[0]?.status === 200 ? one : twin;
    expect((await winner.post(winner.kid ?? "", undefined)).status).toBe(200);
  });

  test("of two accounts that want the same key at once, one gets it", async () => {
    const [one, other] = [await world.client(), await world.client()];
    const key = newKey();
    const answers = await Promise.all([one.changeKey(key), other.changeKey(key)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  test("leaves a proof that is under way good", async () => {
    const one = await world.client();
    const order = await one.order([world.name()]);
    await one.prove(order, "http-01", world.show);
    await one.changeKey(newKey());
    const [url = ""] = order.authorizations;
    expect((await one.read<AuthorizationObject>(url)).status).toBe("valid");
    const { der } = await newCsr({ names: order.identifiers.map(({ value }) => value) });
    expect((await one.finalize(order, der)).status).toBe("valid");
  });
});
