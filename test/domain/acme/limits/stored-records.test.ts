/** Records of ACME clients without a certificate are deleted when there are too many of them. */

import { beforeEach, expect, test } from "bun:test";

import { IdleAccounts } from "#domain/acme/idle-accounts.ts";
import type { OrderState } from "#domain/acme/store.ts";
import type { Store } from "#domain/store.ts";
import type { TestClock } from "#test/support/ports.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { clockAtNoon } from "#test/support/worlds/seeking.ts";

let store: Store;
let clock: TestClock;
beforeEach(() => {
  store = createMemoryStore();
  clock = clockAtNoon();
});

/** Runs the job with these bounds. */
async function limit(most: { readonly accounts: number; readonly orders: number }): Promise<void> {
  const config = () => ({ acme: { idle_account_days: 365 } });
  await new IdleAccounts({ store, clock, config, most }).run();
}

test("unfinished orders of each status are deleted beyond a number, oldest first, valid orders are not", async () => {
  const ids: Record<string, string[]> = {};
  for (const status of ["pending", "ready", "invalid", "valid"] as const satisfies OrderState[]) {
    ids[status] = [];
    for (let n = 0; n < 30; n++) {
      const attributes = { createdAt: make.later(n), expiresAt: make.later(3600), status } as const;
      ids[status].push((await make.ordered(store, [{}], attributes)).order.id);
    }
  }
  await limit({ accounts: 1000, orders: 5 });
  for (const [status, all] of Object.entries(ids)) {
    const left = (await store.read.acme.orderStates(all)).map(({ id }) => id);
    const newest = status === "valid" ? all : all.slice(-5);
    expect(left.toSorted()).toEqual(newest.toSorted());
  }
});

test("idle accounts are deleted beyond a number, oldest first, accounts with a certificate are not", async () => {
  const idle = Array.from({ length: 20 }, (_, n) => make.account({ idleSince: make.later(n) }));
  const certified = Array.from({ length: 5 }, () => make.account());
  for (const one of [...idle, ...certified]) {
    await store.atomically((tx) => tx.acme.addAccount(one));
  }
  await limit({ accounts: 7, orders: 1000 });
  const isStored = async ({ id }: { readonly id: string }) =>
    (await store.read.acme.account(id)) !== undefined;
  const left = await Promise.all([...idle, ...certified].map(isStored));
  // The account at the bound stays.
  expect(left).toEqual([...idle.map((_, n) => n >= 12), ...certified.map(() => true)]);
});
