/** Power cuts while orders are finalized and proofs looked for: nothing is lost or done twice. */

import { afterAll, beforeAll, expect, test } from "bun:test";

import { type AcmeClient, type Order, refusalOf } from "#test/support/acme/client.ts";
import { newCsr } from "#test/support/acme/csr.ts";
import { newKey } from "#test/support/acme/keys.ts";
import { AcmeWorld, asksForCaa } from "#test/support/acme/world.ts";
import { caa } from "#test/support/servers/dns-server.ts";

let world: AcmeWorld;
let client: AcmeClient;
beforeAll(async () => {
  world = await AcmeWorld.start({
    acme: { profile: "careful" },
    config: { caa: { identifier: "ca.example.net", cache_ttl_seconds: 0 }, profiles: [asksForCaa] },
  });
  client = await world.client();
}, 30_000);
afterAll(() => world.stop());

async function ready(): Promise<Order> {
  const name = world.name();
  const known = world.dns.zone.get(name) ?? [];
  world.dns.zone.set(name, [...known, caa("issue", "ca.example.net")]);
  const order = await client.order([name]);
  await client.prove(order, "http-01", world.show);
  return order;
}

const nameOf = ({ identifiers }: Order): string => identifiers[0]?.value ?? "";

/** Sends the request and looks no further; whatever comes of it, the server may be gone. */
async function sendFinalize(order: Order): Promise<void> {
  const { der } = await newCsr({ names: [nameOf(order)] });
  await client.post(order.finalize, { csr: der.toString("base64url") }).catch(() => undefined);
}

/** How many certificates there are for the name. */
async function certificatesFor(order: Order): Promise<number> {
  const path = `/api/ca/${world.chain.intermediateId}/certificates?q=${nameOf(order)}`;
  return (await world.instance.admin<{ items: unknown[] }>("GET", path)).items.length;
}

/** The order once nobody works on it; what a crash left is looked at some seconds after a start. */
async function settled(order: Order): Promise<Order> {
  for (;;) {
    const now = await client.refreshed(order);
    if (now.status !== "processing") return now;
    await Bun.sleep(100);
  }
}

test("FIN-5: an order that a crash left in work is ready again, and gets one certificate", async () => {
  const order = await ready();
  // Its CAA records are asked for in the middle of the work, and do not come.
  world.dns.tricks.set(nameOf(order), { kind: "silence" });
  const finalizing = sendFinalize(order);
  while ((await watcher(client).refreshed(order)).status !== "processing") await Bun.sleep(10);
  await world.instance.kill();
  await finalizing;
  world.dns.tricks.delete(nameOf(order));
  await world.startAgain();
  expect((await settled(order)).status).toBe("ready");
  const { der } = await newCsr({ names: [nameOf(order)] });
  expect((await client.finalize(order, der)).status).toBe("valid");
  expect(await certificatesFor(order)).toBe(1);
}, 60_000);

test("FIN-1: an order has at most one certificate, whenever the power is cut", async () => {
  for (const milliseconds of [1, 4, 8, 12, 18, 25, 40]) {
    const order = await ready();
    const finalizing = sendFinalize(order);
    await Bun.sleep(milliseconds);
    await world.instance.kill();
    await finalizing;
    await world.startAgain();
    const after = await settled(order);
    expect(["ready", "valid"]).toContain(after.status);
    expect(await certificatesFor(order)).toBe(after.status === "valid" ? 1 : 0);
    const { der } = await newCsr({ names: [nameOf(order)] });
    const done = await client.finalize(order, der);
    expect(done.status).toBe("valid");
    expect(await certificatesFor(order)).toBe(1);
    const { leaf } = await client.download(done.certificate ?? "");
    expect(leaf.names).toEqual([nameOf(order)]);
  }
}, 120_000);

test("CHA-3: a proof that was looked for when the power was cut is found after the start", async () => {
  const name = world.name();
  const order = await client.order([name]);
  const [url = ""] = order.authorizations;
  const { challenges } = await client.read<{ challenges: { type: string; url: string }[] }>(url);
  const challenge = challenges.find(({ type }) => type === "dns-01");
  world.dns.tricks.set(`_acme-challenge.${name}`, { kind: "silence" });
  await client.post(challenge?.url ?? "", {});
  await world.instance.kill();
  world.dns.tricks.delete(`_acme-challenge.${name}`);
  const { token } = await client.read<{ token: string }>(challenge?.url ?? "").catch(async () => {
    await world.startAgain();
    return await client.read<{ token: string }>(challenge?.url ?? "");
  });
  const shown = { type: "dns-01", url: "", status: "", token };
  world.show(client.proof(shown, { type: "dns", value: name }));
  expect((await client.decided(url)).status).toBe("valid");
  expect((await client.refreshed(order)).status).toBe("ready");
}, 60_000);

test("AC-4: a nonce works once, before a restart or after it", async () => {
  const [used, unused] = [await client.nonce(), await client.nonce()];
  const read = (nonce: string) => client.post(client.kid ?? "", undefined, { nonce });
  expect((await read(used)).status).toBe(200);
  await world.instance.kill();
  await world.startAgain();
  expect(refusalOf(await read(used))).toBe("400 badNonce");
  expect((await read(unused)).status).toBe(200);
  expect(refusalOf(await read(unused))).toBe("400 badNonce");
}, 60_000);

test("what clients were told is what the audit chain and the inventory say", async () => {
  const verified = await world.instance.cli("verify");
  expect(verified).toMatchObject({ code: 0 });
});

/** The same account, asking beside a request that is not answered yet. */
function watcher(one: AcmeClient): AcmeClient {
  const other = one.with(one.key);
  other.kid = one.kid;
  return other;
}

test("an account that was made is there after a crash", async () => {
  const key = newKey();
  const one = await world.client(key);
  await world.instance.kill();
  await world.startAgain();
  const found = await world.stranger(key);
  await found.register({ onlyReturnExisting: true });
  expect(found.kid).toBe(one.kid ?? "");
}, 60_000);
