/** The memory store behaves as a store with files, and its switches do what tests rely on. */

import { expect, test } from "bun:test";

import { genesis, violation } from "#core/audit/chain.ts";
import { caId } from "#core/ids.ts";
import { instant } from "#core/time.ts";

import { createMemoryStore } from "./memory-store.ts";
import { draft, revocation, tenant } from "./records.ts";

test("a memory store rolls back a transaction if a test makes a write fail", async () => {
  const store = createMemoryStore();
  store.checkWrite = (operation) => {
    if (operation === "audit.appendEvent") throw new Error("audit is down");
  };
  const failing = store.atomically(async (tx) => {
    await tx.instance.setValue("name", "value");
    await tx.audit.appendEvent(draft(), instant(1));
  });
  await expect(failing).rejects.toThrow("audit is down");
  expect(await store.read.instance.value("name")).toBeUndefined();
  store.checkWrite = () => {};
  await store.atomically((tx) => tx.audit.appendEvent(draft(), instant(2)));
  expect(store.listEvents().map(({ seq }) => seq)).toEqual([1]);
});

test("a memory store links its events and announces them", async () => {
  const store = createMemoryStore();
  const announced: number[] = [];
  store.onEvents((events) => announced.push(...events.map(({ seq }) => seq)));
  for (const second of [1, 2, 3]) {
    await store.atomically((tx) => tx.audit.appendEvent(draft(), instant(second)));
  }
  let head = genesis;
  for (const event of store.listEvents()) {
    expect(violation(head, event)).toBeUndefined();
    head = event;
  }
  expect(await store.read.audit.eventHead()).toEqual({ seq: 3, hash: head.hash });
  await store.close();
  expect(announced).toEqual([1, 2, 3]);
});

test("a memory store shows committed rows only to reads outside the transaction", async () => {
  const store = createMemoryStore();
  const { promise: written, resolve: writing } = Promise.withResolvers<void>();
  const transaction = store.atomically(async (tx) => {
    await tx.instance.setValue("name", "value");
    writing();
    await Bun.sleep(1);
    throw new Error("rolled back");
  });
  await written;
  expect(await store.read.instance.value("name")).toBeUndefined();
  await expect(transaction).rejects.toThrow("rolled back");
});

test("a view of a memory store stays the same while others write", async () => {
  const store = createMemoryStore();
  const ca = caId("ca");
  const listed = await store.read.revocations.view(async (view) => {
    await store.atomically((tx) => tx.revocations.put(revocation({ caId: ca })));
    return await view.listed(ca, undefined, 10, undefined);
  });
  expect(listed).toEqual([]);
  expect(store.countRows("revocations")).toBe(1);
});

test("two memory stores share no rows", async () => {
  const [one, other] = [createMemoryStore(), createMemoryStore()];
  await one.atomically((tx) => tx.tenants.insert(tenant("web")));
  expect(await one.read.tenants.named("web")).toBeDefined();
  expect(await other.read.tenants.named("web")).toBeUndefined();
});

test("a memory store reads rows again after they were tampered with", async () => {
  const store = createMemoryStore();
  expect((await store.read.tenants.named("default"))?.status).toBe("active");
  await store.tamper("update tenants set status = 'suspended' where id = ?", "default");
  expect((await store.read.tenants.named("default"))?.status).toBe("suspended");
});
