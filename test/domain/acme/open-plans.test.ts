/** Which orders keep to the pace of a plan, and what each of several processes does of it. */

import { beforeEach, describe, expect, test } from "bun:test";

import { addSeconds } from "#core/time.ts";
import { nextTurn } from "#core/turns.ts";
import { OpenPlans } from "#domain/acme/open-plans.ts";
import type { ReplacementRecord } from "#domain/acme/replacement-store.ts";
import type { OrderRecord } from "#domain/acme/store.ts";
import type { Standing, Store } from "#domain/store.ts";
import { expectRefusal } from "#test/support/expect-refusal.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

let world: SmallCa;
let standing: Standing;
/** Places that are taken until the test says otherwise. */
let held: (() => void)[];
let plans: OpenPlans;

beforeEach(async () => {
  world = await smallCa();
  standing = { place: 0, count: 1 };
  held = [];
  plans = opened();
  // Every replica has been there for a while.
  world.clock.step(60);
});

function opened(): OpenPlans {
  const { store, clock } = world;
  const read = {
    ...store.read,
    instance: { ...store.read.instance, standing: async () => standing },
  };
  const later = (_: number, act: () => void) => {
    held.push(act);
    return () => {};
  };
  return new OpenPlans({ store: { ...store, read } as Pick<Store, "read">, clock, later });
}

/** An order that has got a certificate, in a plan. */
async function planned(perSecond = 1): Promise<{ plan: ReplacementRecord; had: OrderRecord }> {
  const { serial, caId, notAfter } = await world.issue();
  const ready = { status: "ready", expiresAt: addSeconds(world.clock.now(), 600) } as const;
  const { order } = await make.ordered(world.store, [{ status: "valid" }], ready);
  const plan = make.replacement({ perSecond });
  await world.store.atomically(async (tx) => {
    await tx.acme.claimOrder(order.id, world.clock.now());
    const certificate = { caId, serial, notAfter };
    await tx.acme.settleOrder(order.id, { status: "valid", certificate });
    await tx.replacements.addReplacement(plan);
    await tx.replacements.addItems([make.item(plan.id, { caId, serial })]);
  });
  const had = await world.store.read.acme.order(order.id);
  if (had === undefined) throw new Error("the order was stored");
  return { plan, had };
}

/** How many of so many orders go on at once; the others wait for a place. */
async function atOnce(count: number, order: Parameters<OpenPlans["paced"]>[0], of = plans) {
  let begun = 0;
  const all = Array.from({ length: count }, () => of.paced(order, async () => void begun++));
  for (const one of all) one.catch(() => {});
  await settle();
  return begun;
}

/** Waits for the reads of all orders, which may take several ticks of the event loop. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await nextTurn();
}

const coming = ({ account, identifiers }: OrderRecord, more: object = {}) => ({
  account,
  identifiers,
  replaces: undefined,
  ...more,
});

describe("an order keeps to the pace of a plan", () => {
  test("when it says that it replaces what the plan has", async () => {
    const { had } = await planned(2);
    expect(await atOnce(5, coming(had, { account: "other", replaces: had.certificate }))).toBe(2);
  });

  test("when it does, without saying so", async () => {
    const { had } = await planned(2);
    expect(await atOnce(5, coming(had))).toBe(2);
    const wider = [...had.identifiers, { type: "dns" as const, value: "b.example.com" }];
    expect(await atOnce(3, coming(had, { identifiers: wider }))).toBe(0);
  });

  test("and no other one does", async () => {
    const { had } = await planned();
    expect(await atOnce(5, coming(had, { account: "other" }))).toBe(5);
    const identifiers = [{ type: "dns" as const, value: "b.example.com" }];
    expect(await atOnce(5, coming(had, { identifiers }))).toBe(5);
  });

  test("that was made here, from the first one on, and of one made elsewhere after two seconds", async () => {
    await plans.alsoReplacedBy(make.order([]));
    const { had } = await planned(2);
    expect(await atOnce(5, coming(had))).toBe(5);
    await plans.lookAgain();
    expect(await atOnce(5, coming(had))).toBe(2);
    const other = opened();
    await world.store.atomically(async (tx) => {
      for (const { id } of await world.store.read.replacements.running()) {
        await tx.replacements.endReplacement(id, "canceled");
      }
    });
    await other.alsoReplacedBy(had);
    const later = await planned(2);
    world.clock.step(2);
    expect(await atOnce(5, coming(later.had), other)).toBe(2);
  });

  test("until the plan is over, or its client has come", async () => {
    const { had, plan } = await planned();
    await world.store.atomically((tx) => tx.replacements.endReplacement(plan.id, "finished"));
    expect(await atOnce(5, coming(had, { replaces: had.certificate }))).toBe(5);
  });
});

describe("of several processes", () => {
  test("each does its share, and what one cannot have more of the others do", async () => {
    const { had } = await planned(5);
    for (const [place, share] of [
      [0, 2],
      [1, 2],
      [2, 1],
    ] as const) {
      standing = { place, count: 3 };
      plans = opened();
      world.clock.step(60);
      expect([place, await atOnce(9, coming(had))]).toEqual([place, share]);
    }
  });

  test("one that has just begun lets nobody in until all others know of it", async () => {
    const { had } = await planned(5);
    standing = { place: 1, count: 2 };
    plans = opened();
    const early = plans.paced(coming(had), async () => {});
    await expectRefusal(early, "rate_limited", { retry_after: 6 });
    world.clock.step(6);
    expect(await atOnce(9, coming(had))).toBe(2);
  });

  test("alone it need not wait for anybody", async () => {
    const { had } = await planned(5);
    plans = opened();
    expect(await atOnce(9, coming(had))).toBe(5);
  });

  test("those who wait go on by the share as it is then", async () => {
    const { had } = await planned(6);
    let done = 0;
    const all = Array.from({ length: 12 }, () => plans.paced(coming(had), async () => void done++));
    await settle();
    expect(done).toBe(6);
    standing = { place: 0, count: 3 };
    // The first place that is free finds that it is time to look; the next ones know.
    world.clock.step(3);
    held.shift()?.();
    await settle();
    expect(done).toBe(7);
    for (const free of held.splice(0, 6)) free();
    await settle();
    expect(done).toBe(9);
    while (done < 12) {
      for (const free of held.splice(0)) free();
      await settle();
    }
    await Promise.all(all);
  });
});
