/**
 * The key inventory: every key with its owner, and a count of those that could leave or belong to
 * nothing.
 */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { expect, test } from "bun:test";

import { keyHandlers } from "#api/keys.ts";
import type { Keys } from "#domain/keys.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";
import { smallCa } from "#test/support/worlds/small-ca.ts";
import { shell } from "#test/support/instances/shell.ts";

test("keys of CAs, responders and the ledger have their owner; what nothing refers to is unbound", async () => {
  const world = await smallCa();
  await world.keys.generate({
    provider: "software",
    label: "kek-1",
    keyType: "ecdsa-p256",
    role: "kek",
  });
  const { ca } = world;
  const wanted = { provider: "software", label: "ledger-1", keyType: "ed25519" } as const;
  const { ref } = await world.keys.generate({ ...wanted, role: "ledger" });
  await world.store.atomically(async (tx) => {
    await tx.instance.setValue("ledger_id", "1");
    await tx.instance.setValue("ledger_key_id", ref.id);
  });
  const answer = await inventory(world, world.keys);
  expect(answer).toMatchObject({ provider: "software", extractable_count: 0, unbound_count: 1 });
  const byLabel = answer.items.map(({ label, role, ca_id }: Item) => [label, role, ca_id]);
  expect(byLabel).toEqual(
    [
      [ca.key.label, "ca", ca.id] as const,
      ["kek-1", "kek", undefined] as const,
      ["ledger-1", "ledger", undefined] as const,
    ].sort(),
  );
});

test("a key that could leave or whose value is shown counts as extractable", async () => {
  const world = await smallCa();
  const list: Keys["list"] = async () => [
    {
      provider: "software",
      label: "a",
      id: "1",
      keyType: "rsa-2048",
      extractable: true,
      sensitive: true,
    },
    {
      provider: "software",
      label: "b",
      id: "2",
      keyType: "other",
      extractable: false,
      sensitive: false,
    },
    {
      provider: "software",
      label: "c",
      id: "3",
      keyType: "aes-256",
      extractable: false,
      sensitive: true,
    },
  ];
  const answer = await inventory(world, { ...world.keys, list }, "limit=2");
  expect(answer).toMatchObject({
    extractable_count: 2,
    unbound_count: 3,
    total: 3,
    has_more: true,
  });
  const rest = await inventory(
    world,
    { ...world.keys, list },
    `limit=2&cursor=${answer.next_cursor}`,
  );
  expect(rest.items.map(({ label }: Item) => label)).toEqual(["c"]);
});

test("--strict fails on a key that could leave or belongs to nothing, and only then", async () => {
  const run = async (counts: object, ...flags: string[]) =>
    (await shell(["keys", "inventory", ...flags], { answers: () => ({ items: [], ...counts }) }))
      .code;
  const [clean, leaky, lost] = [
    { extractable_count: 0, unbound_count: 0 },
    { extractable_count: 1, unbound_count: 0 },
    { extractable_count: 0, unbound_count: 2 },
  ];
  expect(await run(leaky)).toBe(0);
  expect(await run(clean, "--strict")).toBe(0);
  expect(await run(leaky, "--strict")).toBe(1);
  expect(await run(lost, "--strict")).toBe(1);
});

const noPool = () => ({ size: 1, inUse: 0, waiting: 0 });

interface Item {
  readonly label: string;
  readonly role: string;
  readonly ca_id?: string;
}

async function inventory(world: Awaited<ReturnType<typeof smallCa>>, keys: Keys, query = "") {
  const roles = { ca: "software", responder: "software" } as const;
  const handlers = keyHandlers({ ...world, keys, roles, pool: noPool });
  const perform = openPipeline({ ...world });
  const answer = await askJson(
    perform,
    {
      operation: "inventory.keys",
      origin: rootOrigin,
      path: {},
      query: new URLSearchParams(query),
      body: async () => undefined,
    },
    handlers["inventory.keys"],
  );
  return JSON.parse(JSON.stringify(answer.body));
}
