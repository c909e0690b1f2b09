/**
 * The passing of time, through the binary, whose clock the test sets: the end of a replacement
 * plan, of nonces, orders, authorizations and credentials.
 */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";

import {
  type AcmeClient,
  type AuthorizationObject,
  type Downloaded,
  type Order,
  refusalOf,
} from "#test/support/acme/client.ts";
import { newCsr } from "#test/support/acme/csr.ts";
import { binding } from "#test/support/acme/keys.ts";
import { AcmeWorld } from "#test/support/acme/world.ts";
import { canFakeTime, type FalseTime, falseTime } from "#test/support/instances/false-time.ts";
import { until } from "#test/support/until.ts";

interface Shown {
  readonly status: string;
  readonly reason?: string;
}

interface Plan {
  readonly id: string;
  readonly status: string;
  readonly total: number;
  readonly replaced: number;
  readonly revoked: number;
}

let time: FalseTime;
let world: AcmeWorld;
let client: AcmeClient;
/** Seconds the clock of the server is ahead; it only ever goes on. */
let ahead = 0;
beforeAll(async () => {
  if (!canFakeTime) return;
  time = falseTime();
  const acme = { order_validity_hours: 2, authz_validity_hours: 1 };
  world = await AcmeWorld.start({ acme, env: time.env });
  client = await world.client();
}, 30_000);
afterAll(async () => {
  if (!canFakeTime) return;
  await world.stop();
  time.remove();
});

function setClock(seconds: number): void {
  ahead = seconds;
  time.set(seconds);
}

describe.skipIf(!canFakeTime)("a plan that revokes", () => {
  let [prompt, late, never]: Downloaded[] = [];
  let plan: Plan;
  beforeAll(async () => {
    [prompt, late, never] = [await obtain(), await obtain(), await obtain()];
    plan = await world.instance.admin<Plan>(
      "POST",
      `/api/ca/${world.chain.intermediateId}/acme-replacements`,
      { all: true, revoke: "superseded", within_seconds: 3600 },
    );
  }, 60_000);

  const obtain = (names = [world.name()], more: object = {}) =>
    client.obtain(names, world.show, { more });
  const shown = (one: Downloaded | undefined) =>
    world.instance.admin<Shown>(
      "GET",
      `/api/ca/${world.chain.intermediateId}/certificates/${one?.leaf.serial}`,
    );
  const progress = () => world.instance.admin<Plan>("GET", `/api/acme/replacements/${plan.id}`);
  const replaced = (one: Downloaded | undefined) =>
    obtain([...(one?.leaf.names ?? [])], { replaces: one?.leaf.certId });
  const revoked = (one: Downloaded | undefined) =>
    until(async () => (await shown(one)).status === "revoked");

  test("revokes what its client has replaced, and nothing else before the time is over", async () => {
    expect(plan).toMatchObject({ status: "running", total: 3, replaced: 0, revoked: 0 });
    await replaced(prompt);
    await revoked(prompt);
    for (const other of [late, never]) expect((await shown(other)).status).toBe("good");
    // Two minutes before the end the schedule has looked again when the next one is revoked.
    setClock(3480);
    expect((await shown(never)).status).toBe("good");
    await replaced(late);
    await revoked(late);
    expect((await shown(never)).status).toBe("good");
    expect(await progress()).toMatchObject({ status: "running", replaced: 2, revoked: 2 });
  }, 60_000);

  test("revokes whoever has not come when it is over, says so, and is finished", async () => {
    setClock(3605);
    await revoked(never);
    expect((await shown(never)).reason).toBe("superseded");
    await until(async () => (await progress()).status === "finished");
    expect(await progress()).toMatchObject({ total: 3, replaced: 2, revoked: 3 });
    const [finish, ...more] = await world.events("acme.replace.finish");
    expect(more).toEqual([]);
    expect(finish?.detail).toContain("planned=3 replaced=2 revoked=3");
    const serial = never?.leaf.serial ?? "";
    const said = await world.instance.cli("ocsp", "check", "--ca", "issuing-ecdsa-p256", serial);
    expect(said.stdout).toContain("revoked");
  }, 60_000);

  test("leaves what has replaced them alone", async () => {
    const list = await world.inventory();
    const statuses = list.map(({ status }) => status).sort();
    expect(statuses).toEqual(["good", "good", "revoked", "revoked", "revoked"]);
  });
});

describe.skipIf(!canFakeTime)("after a while", () => {
  afterEach(() => {
    expect(world.instance.running).toBe(true);
  });
  const pass = (minutes: number) => setClock(ahead + minutes * 60);
  const finalized = async (order: Order) => {
    const { der } = await newCsr({ names: order.identifiers.map(({ value }) => value) });
    return await client.post(order.finalize, { csr: der.toString("base64url") });
  };
  const proved = async (name = world.name()) => {
    const order = await client.order([name]);
    await client.prove(order, "http-01", world.show);
    return order;
  };

  test("AC-4: a nonce is stale after half an hour", async () => {
    const [young, old] = [await client.nonce(), await client.nonce()];
    pass(29);
    expect((await client.post(client.kid ?? "", undefined, { nonce: young })).status).toBe(200);
    pass(2);
    const answer = await client.post(client.kid ?? "", undefined, { nonce: old });
    expect(refusalOf(answer)).toBe("400 badNonce");
  });

  test("ORD-6: an authorization that has expired says so, and takes its order along", async () => {
    const order = await proved();
    pass(61);
    const [url = ""] = order.authorizations;
    expect(await client.read<AuthorizationObject>(url)).toMatchObject({ status: "expired" });
    expect((await client.refreshed(order)).status).toBe("invalid");
    expect(refusalOf(await finalized(order))).toBe("403 orderNotReady");
  });

  test("ORD-5: what was proved too long ago is to be proved again", async () => {
    const name = world.name();
    const first = await proved(name);
    pass(30);
    expect((await client.order([name])).authorizations).toEqual(first.authorizations);
    pass(31);
    const order = await client.order([name]);
    expect(order.status).toBe("pending");
    expect(order.authorizations).not.toEqual(first.authorizations);
  });

  test("ORD-6: an order that nobody proved is invalid, and takes no proof", async () => {
    const order = await client.order([world.name()]);
    const [url = ""] = order.authorizations;
    const { challenges } = await client.read<AuthorizationObject>(url);
    pass(121);
    expect(await client.refreshed(order)).toMatchObject({ status: "invalid" });
    expect(await client.read<AuthorizationObject>(url)).toMatchObject({ status: "expired" });
    expect(refusalOf(await client.post(challenges[0]?.url ?? "", {}))).toBe("400 malformed");
    expect(refusalOf(await finalized(order))).toBe("403 orderNotReady");
    const { items } = await world.instance.admin<{ items: { id: string; status: string }[] }>(
      "GET",
      "/api/acme/orders?status=invalid",
    );
    expect(items.some(({ id }) => order.url.endsWith(id))).toBe(true);
  });

  test("a certificate is there still, and its order valid", async () => {
    const name = world.name();
    const { order, leaf } = await client.obtain([name], world.show);
    pass(300);
    expect((await client.refreshed(order)).status).toBe("valid");
    expect((await client.download(order.certificate ?? "")).leaf.serial).toBe(leaf.serial);
  });

  test("EAB-2: a credential that has expired binds nobody", async () => {
    const expires_at = new Date(Date.now() + ahead * 1000 + 600_000).toISOString();
    const made = await world.instance.admin<{ id: string; hmac_key: string }>(
      "POST",
      "/api/acme/eab",
      { name: "short", any_identifier: true, max_uses: 0, expires_at },
    );
    const bound = async () => {
      const one = await world.stranger();
      const using = { kid: made.id, hmacKey: made.hmac_key };
      const externalAccountBinding = binding(using, one.directory.newAccount, one.key.jwk);
      return await one.register({ externalAccountBinding });
    };
    expect((await bound()).status).toBe(201);
    pass(11);
    expect(refusalOf(await bound())).toBe("403 unauthorized");
  });
});
