/** The bound of orders and authorizations that are stored without a certificate. */

import { beforeEach, describe, expect, test } from "bun:test";

import { UnfinishedOrders } from "#domain/acme/limits/unfinished-orders.ts";
import type { OrderState } from "#domain/acme/store.ts";
import type { Store } from "#domain/store.ts";
import type { TestClock } from "#test/support/ports.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { clockAtNoon } from "#test/support/worlds/seeking.ts";

let store: Store;
let clock: TestClock;
let unfinished: UnfinishedOrders;
beforeEach(() => {
  store = createMemoryStore();
  clock = clockAtNoon();
  unfinished = new UnfinishedOrders({ store, clock });
});

interface OrderInput {
  readonly account?: string;
  readonly ip?: string;
  readonly tenant?: string;
  readonly status?: OrderState;
  readonly authorizations?: number;
}

const writer = (id: string, ip: string, tenant = "web") => ({
  tenant,
  ip,
  account: { id, idleSince: undefined },
});

/** Adds an order and returns it. */
async function add({ account = "a", ip = "192.0.2.1", tenant = "web", ...of }: OrderInput = {}) {
  const { status = "pending", authorizations = 1 } = of;
  const order = make.order([], { account, status, expiresAt: make.later(3600) });
  const added = { id: order.id, kind: "order", authorizations } as const;
  await unfinished.add(writer(account, ip, tenant), added, () =>
    store.atomically((tx) => tx.acme.addOrder(order, [])),
  );
  return order;
}

/** Returns how many of `count` orders are admitted. */
async function countAdmissions(
  count: number,
  of: (n: number) => OrderInput = () => ({}),
): Promise<number> {
  let sum = 0;
  for (let n = 0; n < count; n++) {
    const refusal = await add(of(n)).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refusal === undefined) sum++;
    else expect(refusal).toMatchObject({ code: "rate_limited" });
  }
  return sum;
}

describe("an account", () => {
  test("an account may store 1,000 unfinished orders, and other accounts are independent", async () => {
    expect(await countAdmissions(1001)).toBe(1000);
    expect(await countAdmissions(1, () => ({ account: "b" }))).toBe(1);
  });

  test("an account may store 5,000 authorizations in its unfinished orders", async () => {
    expect(await countAdmissions(60, () => ({ authorizations: 100 }))).toBe(50);
  });

  test("an account may store more orders once its orders have led to certificates", async () => {
    expect(await countAdmissions(1000, () => ({ status: "valid" }))).toBe(1000);
    expect(await countAdmissions(1500, () => ({ status: "valid" }))).toBe(1500);
  });

  test("an account may store more orders after failed ones, which are deleted", async () => {
    const failed = await add({ status: "invalid" });
    expect(await countAdmissions(999, () => ({ status: "invalid" }))).toBe(999);
    expect(await store.read.acme.order(failed.id)).toBeDefined();
    expect(await countAdmissions(1)).toBe(1);
    expect(await store.read.acme.order(failed.id)).toBeUndefined();
  });

  test("an account may store more orders when its orders have expired", async () => {
    expect(await countAdmissions(1001)).toBe(1000);
    clock.advance(3601);
    expect(await countAdmissions(1)).toBe(1);
  });

  test("an account that remains full is compared with the store every five seconds", async () => {
    let reads = 0;
    const { acme } = store.read;
    const counting = {
      ...acme,
      orderStates: (ids: readonly string[]) => {
        reads++;
        return acme.orderStates(ids);
      },
    };
    const counted = { ...store, read: { ...store.read, acme: counting } };
    unfinished = new UnfinishedOrders({ store: counted, clock });
    expect(await countAdmissions(1000)).toBe(1000);
    expect(await countAdmissions(50)).toBe(0);
    expect(reads).toBe(10);
    clock.advance(5);
    expect(await countAdmissions(1)).toBe(0);
    expect(reads).toBe(20);
  });
});

describe("an address", () => {
  test("an address may store 5,000 unfinished orders, for any number of accounts", async () => {
    expect(await countAdmissions(5010, (n) => ({ account: `a${n % 100}` }))).toBe(5000);
    expect(await countAdmissions(1, () => ({ account: "b", ip: "192.0.2.2" }))).toBe(1);
    expect(await countAdmissions(1, () => ({ account: "b", tenant: "lab" }))).toBe(1);
  });
});

test("all addresses have 200,000 authorizations, and clients with few have more", async () => {
  const fromAddress = (n: number) => ({
    account: `a${n}`,
    ip: `10.0.0.${n}`,
    authorizations: 1000,
  });
  const crowd = await countAdmissions(230, (n) => fromAddress(n % 50));
  expect(crowd).toBe(200);
  const late = { account: "late", ip: "192.0.2.9", authorizations: 60 };
  expect(await countAdmissions(5, () => late)).toBe(2);
  // Ended orders of the others are deleted, and then there is capacity again.
  clock.advance(3601);
  expect(await countAdmissions(5, () => late)).toBe(5);
});

test("an order is no longer counted once it is known to have a certificate", async () => {
  const { id } = await add();
  expect(unfinished.holders).toBe(2);
  unfinished.finish(id);
  unfinished.finish(id);
  expect(unfinished.holders).toBe(0);
});

test("parallel orders count each other", async () => {
  const all = await Promise.allSettled(Array.from({ length: 1100 }, () => add()));
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1000);
});

test("an order that could not be stored is not counted", async () => {
  const broken = new Error("no transaction");
  const one = { id: "o", kind: "order", authorizations: 1 } as const;
  const added = unfinished.add(writer("a", ""), one, () => Promise.reject(broken));
  await expect(added).rejects.toBe(broken);
  expect(unfinished.holders).toBe(0);
});

test("an authorization without an order counts until it has ended", async () => {
  const addProof = async (status: "pending" | "deactivated") => {
    const proof = make.authorization({ account: "a", status, expiresAt: make.later(3600) });
    const { id } = proof;
    const added = { id, kind: "authorization", authorizations: 1 } as const;
    await unfinished.add(writer("a", ""), added, () =>
      store.atomically((tx) => tx.acme.addAuthorization(proof)),
    );
    return id;
  };
  const ended = await addProof("deactivated");
  for (let n = 1; n < 1000; n++) await addProof("pending");
  await addProof("pending");
  expect(await store.read.acme.authorization(ended)).toBeUndefined();
  await expect(addProof("pending")).rejects.toMatchObject({ code: "rate_limited" });
});
