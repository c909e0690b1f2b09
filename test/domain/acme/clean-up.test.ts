/** The clean-up of ACME on a real database: what is old enough goes, part by part, and no more. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";

import { secondsPerDay } from "#core/time.ts";
import { CleanUp } from "#domain/acme/clean-up.ts";
import type { Store } from "#domain/store.ts";
import type { TestClock } from "#test/support/ports.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { type DatabaseUnderTest, sqliteDatabase } from "#test/support/stores/stores.ts";
import { clockAtNoon } from "#test/support/worlds/seeking.ts";

let database: DatabaseUnderTest;
let store: Store;
let clock: TestClock;
/** Units that were committed since the test began to count. */
let parts: number;
beforeEach(async () => {
  database = sqliteDatabase();
  store = await database.open();
  clock = clockAtNoon();
  parts = 0;
});
afterEach(() => store.close());

/** The same store, whose units are counted; `each` is told of every one. */
const counted = (each: () => void = () => {}): Store => ({
  ...store,
  atomically: (work, foreseen) => {
    parts++;
    each();
    return store.atomically(work, foreseen);
  },
});

const cleaned = () => new CleanUp({ store, clock }).run();

const days = (count: number) => count * secondsPerDay;

async function rows(table: string): Promise<number> {
  const [row] = await database.query(`select count(*) as n from ${table}`);
  return Number((row as { n: number }).n); // As the query says.
}

/** Rows of each table of ACME that there are any of. */
async function kept(): Promise<Readonly<Record<string, number>>> {
  const tables = ["nonces", "orders", "authorizations", "challenges", "order_authorizations"];
  const counts = await Promise.all(tables.map(async (name) => [name, await rows(`acme_${name}`)]));
  return Object.fromEntries(counts.filter(([, count]) => count !== 0));
}

describe("what goes", () => {
  test("a used nonce once its time is over, and not before", async () => {
    await store.atomically(async (tx) => {
      await tx.acme.useNonce("1 over", make.later(-1));
      await tx.acme.useNonce("2 now", make.later(0));
      await tx.acme.useNonce("3 good", make.later(60));
    });
    await cleaned();
    expect(await rows("acme_nonces")).toBe(2);
    expect(await store.atomically((tx) => tx.acme.useNonce("2 now", make.later(0)))).toBe(false);
    clock.advance(61);
    await cleaned();
    expect(await kept()).toEqual({});
  });

  test("an order seven days behind its end, with its proofs, and not before", async () => {
    await make.ordered(store, [{}, {}], { expiresAt: make.later(0), status: "invalid" });
    await make.ordered(store, [{}], { expiresAt: make.later(days(30)) });
    // Proofs end in an hour.
    const all = { orders: 2, authorizations: 3, challenges: 6, order_authorizations: 3 };
    clock.advance(days(7));
    await cleaned();
    expect(await kept()).toEqual(all);
    clock.advance(1);
    await cleaned();
    const proofs = { authorizations: 3, challenges: 6 };
    // What an order leaves goes by its own end.
    expect(await kept()).toEqual({ ...proofs, orders: 1, order_authorizations: 1 });
    clock.advance(3600);
    await cleaned();
    const left = { authorizations: 1, challenges: 2 };
    expect(await kept()).toEqual({ ...left, orders: 1, order_authorizations: 1 });
    clock.advance(days(30));
    await cleaned();
    expect(await kept()).toEqual({});
  });

  test("an order that has a certificate stays until that is over", async () => {
    const { order } = await make.ordered(store, [{ status: "valid" }], { status: "ready" });
    const certificate = { caId: order.caId, serial: make.item("none").serial };
    await store.atomically(async (tx) => {
      await tx.acme.claimOrder(order.id, clock.now());
      const notAfter = make.later(days(90));
      await tx.acme.settleOrder(order.id, {
        status: "valid",
        certificate: { ...certificate, notAfter },
      });
    });
    clock.advance(days(97));
    await cleaned();
    expect(await rows("acme_orders")).toBe(1);
    clock.advance(1);
    await cleaned();
    expect(await kept()).toEqual({});
  });

  test("an authorization that no order names, by its own end", async () => {
    const proof = make.authorization({ expiresAt: make.later(0) });
    await store.atomically((tx) => tx.acme.addAuthorization(proof));
    clock.advance(days(7) + 1);
    await cleaned();
    expect(await kept()).toEqual({});
  });

  test("what a plan was about, 90 days behind its end, and never of one that is running", async () => {
    const [over, running] = [
      make.replacement({ state: "finished", end: make.later(0) }),
      make.replacement({ end: make.later(0) }),
    ];
    await store.atomically(async (tx) => {
      for (const plan of [over, running]) {
        await tx.replacements.addReplacement(plan);
        await tx.replacements.addItems([make.item(plan.id), make.item(plan.id)]);
      }
    });
    clock.advance(days(90));
    await cleaned();
    expect(await rows("acme_replacement_items")).toBe(4);
    clock.advance(1);
    await cleaned();
    expect(await rows("acme_replacement_items")).toBe(2);
    expect(await store.read.replacements.items(running.id, 10)).toHaveLength(2);
  });
});

describe("how it goes", () => {
  /** Orders that are over, of one account. */
  async function manyOrders(count: number): Promise<void> {
    const account = make.account();
    await store.atomically(async (tx) => {
      await tx.acme.addAccount(account);
      for (let n = 0; n < count; n++) {
        const proof = make.authorization({ account: account.id, expiresAt: make.later(0) });
        const ended = { expiresAt: make.later(0), status: "invalid" } as const;
        await tx.acme.addOrder(make.order([proof], ended), [proof]);
      }
    });
    clock.advance(days(8));
  }

  test("a bounded part in each unit, and others have their turn in between", async () => {
    await manyOrders(250);
    const account = make.account();
    let between = 0;
    const timer = setInterval(() => between++, 0);
    const left: number[] = [];
    const job = new CleanUp({ store: counted(), clock });
    const run = job.run();
    // Somebody else's unit is not kept waiting until all is gone.
    await store.atomically((tx) => tx.acme.addAccount(account));
    left.push(await rows("acme_orders"));
    await run;
    clearInterval(timer);
    expect(left[0]).toBeGreaterThan(0);
    expect(between).toBeGreaterThan(0);
    expect(await kept()).toEqual({});
    // One for no nonces, three for orders and one that finds none, one for no items.
    expect(parts).toBe(6);
  });

  test("no more parts than ten thousand in a run, whatever there is", async () => {
    const endless: Store = {
      ...store,
      atomically: async <T>() => {
        parts++;
        return 1 as T; // Each part finds something.
      },
    };
    await new CleanUp({ store: endless, clock }).run();
    expect(parts).toBe(30_000);
  }, 30_000);

  test("not on, once it is told to stop: what is left goes with the next run", async () => {
    await manyOrders(250);
    const job: CleanUp = new CleanUp({
      store: counted(() => {
        if (parts === 2) job.halt();
      }),
      clock,
    });
    await job.run();
    expect(parts).toBe(2);
    expect(await rows("acme_orders")).toBe(150);
    await cleaned();
    expect(await kept()).toEqual({});
  });

  test("by one replica at a time: every part of it under one lease", async () => {
    const leases: string[] = [];
    const held = new Set<string>();
    const exclusive: Store = {
      ...store,
      exclusively: (name, work) => {
        leases.push(name);
        return store.exclusively(name, async () => {
          held.add(name);
          try {
            return await work();
          } finally {
            held.delete(name);
          }
        });
      },
      atomically: (work, foreseen) => {
        expect([...held]).toEqual(["acme-clean-up"]);
        parts++;
        return store.atomically(work, foreseen);
      },
    };
    await manyOrders(10);
    await new CleanUp({ store: exclusive, clock }).run();
    expect(leases).toEqual(["acme-clean-up"]);
    expect(parts).toBe(4);
    expect(await kept()).toEqual({});
  });
});
