/** What every store must do about the orders of ACME, and what they leave behind. */

import { expect, test } from "bun:test";

import { type CaId, caId, tenantId } from "#core/ids.ts";
import { type Instant, instant } from "#core/time.ts";
import {
  type AuthorizationFacts,
  type AuthorizationRecord,
  type OrderRecord,
  orderStates,
} from "#domain/acme/store.ts";
import type { PageKey } from "#domain/page.ts";
import type { Store } from "#domain/store.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { only } from "#test/support/stores/reach.ts";
import { certificate, issue, newSerial, noon } from "#test/support/stores/records.ts";

type Given = () => { readonly store: Store; readonly home: CaId };

const { later, problem } = make;

/** Declares the tests on the store that `given` gives when they run. */
export function acmeOrderContract(given: Given): void {
  orders(given);
  lists(given);
  finalization(given);
  certificates(given);
  pruning(given);
  describeDiscards(given);
}

function orders(given: Given): void {
  test("an order is found with every field as it was stored, and so are its proofs", async () => {
    const { store } = given();
    const ip = { identifier: { type: "ip", value: "192.0.2.1" } } as const;
    const { order, proofs } = await make.ordered(store, [{}, { wildcard: true }, ip]);
    const replaces = { caId: caId("old"), serial: newSerial() };
    const other = make.order(proofs, { error: problem, replaces, status: "invalid" });
    await store.atomically((tx) => tx.acme.addOrder(other, []));
    for (const one of [order, other]) expect(await store.read.acme.order(one.id)).toEqual(one);
    expect(await store.read.acme.order("none")).toBeUndefined();
    for (const one of proofs) expect(await store.read.acme.authorization(one.id)).toEqual(one);
    expect(await store.read.acme.authorization("none")).toBeUndefined();
    const ids = [...proofs].reverse().map(({ id }) => id);
    expect(await store.read.acme.authorizations(ids)).toEqual(proofs.map(factsOf).reverse());
    const [proof] = proofs;
    for (const challenge of proof?.challenges ?? []) {
      const found = await store.read.acme.challenge(challenge.id);
      expect(found as object).toEqual({ challenge, authorization: proof });
    }
    expect(await store.read.acme.challenge("none")).toBeUndefined();
  });

  test("a unit that fails leaves no order and no proof", async () => {
    const { store } = given();
    const proof = make.authorization();
    const order = make.order([proof]);
    const failing = store.atomically(async (tx) => {
      await tx.acme.addOrder(order, [proof]);
      expect(await tx.acme.lockOrder(order.id)).toEqual(order);
      throw new Error("undone");
    });
    await expect(failing).rejects.toThrow("undone");
    expect(await store.read.acme.order(order.id)).toBeUndefined();
    expect(await store.read.acme.authorization(proof.id)).toBeUndefined();
    expect(await store.read.acme.challenge(proof.challenges[0]?.id ?? "")).toBeUndefined();
  });

  test("an order of a hundred names is stored as it was asked for", async () => {
    const { store } = given();
    const names = Array.from({ length: 100 }, (_, n) => ({
      identifier: { type: "dns", value: `${n}.example.com` } as const,
    }));
    const { order, proofs } = await make.ordered(store, names);
    expect(await store.read.acme.order(order.id)).toEqual(order);
    const facts = await store.read.acme.authorizations(order.authorizations);
    expect(facts).toEqual(proofs.map(factsOf));
  });
}

function lists(given: Given): void {
  test("orders are paged newest first, of an account and within reach", async () => {
    const { store, home } = given();
    const tenant = tenantId(`tenant ${home}`);
    const proof = make.authorization({ account: `account ${home}` });
    const made = [0, 1, 1, 2, 3].map((seconds) =>
      make.order([proof], { tenant, caId: home, createdAt: later(seconds) }),
    );
    const other = make.order([proof], { tenant, account: `other ${home}` });
    for (const one of [...made, other]) {
      await store.atomically((tx) => tx.acme.addOrder(one, []));
    }
    const newest = made.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
    const walked = async (filter: object) => {
      const seen: string[] = [];
      let after: PageKey | undefined;
      do {
        const asked = { reach: "platform", now: noon, ...filter } as const;
        const page = await store.read.acme.orders(asked, 2, after);
        seen.push(...page.items.map(({ id }) => id));
        after = page.next;
        if (after === undefined) expect(page.total).toBe(seen.length);
      } while (after !== undefined);
      return seen;
    };
    const ids = newest.map(({ id }) => id);
    const { account } = proof;
    expect(await walked({ account })).toEqual(ids);
    expect(await walked({ reach: only([tenant]), account })).toEqual(ids);
    expect(await walked({ reach: only([], [home]) })).toEqual(ids);
    const both = await walked({ reach: only([tenant]) });
    expect(both.toSorted()).toEqual([...ids, other.id].toSorted());
    expect(await walked({ reach: only([]) })).toEqual([]);
    expect(await walked({ reach: only([tenantId("elsewhere")]), account })).toEqual([]);
  });

  test("orders are listed by what they are at that moment", async () => {
    const { store, home } = given();
    const reach = only([tenantId(`tenant ${home}`)]);
    const made = new Map<string, OrderRecord>();
    for (const [at, status] of orderStates.entries()) {
      const facts = { tenant: reach.tenants[0], status, createdAt: later(at) };
      const order = make.order([make.authorization()], {
        ...facts,
        expiresAt: later(100),
      } as object);
      made.set(status, order);
      await store.atomically((tx) => tx.acme.addOrder(order, []));
    }
    const idOf = (status: string) => made.get(status)?.id;
    const ids = async (status: OrderRecord["status"], now: Instant) => {
      const page = await store.read.acme.orders({ reach, status, now }, 10);
      expect(page.total).toBe(page.items.length);
      return page.items.map(({ id }) => id);
    };
    for (const status of orderStates) {
      expect(await ids(status, later(99))).toEqual([String(idOf(status))]);
    }
    expect(await ids("pending", later(100))).toEqual([]);
    expect(await ids("ready", later(100))).toEqual([]);
    const over = ["invalid", "ready", "pending"].map((status) => String(idOf(status)));
    expect(await ids("invalid", later(100))).toEqual(over);
    for (const status of ["valid", "processing"] as const) {
      expect(await ids(status, later(100))).toEqual([String(idOf(status))]);
    }
  });

  test("open authorizations of an account are paged in the order of their names", async () => {
    const { store, home } = given();
    const account = `account ${home}`;
    const named = (value: string, facts: Partial<AuthorizationRecord> = {}) =>
      make.authorization({ account, identifier: { type: "dns", value }, ...facts });
    const twice = [named("bb.example"), named("bb.example", { status: "valid" })];
    const made = [
      named("aa.example", { expiresAt: later(-1) }),
      ...twice.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      named("cc.example", { status: "valid" }),
      named("dd.example"),
    ];
    const over = (["invalid", "deactivated", "revoked"] as const).map((status) =>
      named("bb.example", { status }),
    );
    for (const one of [...made, ...over, make.authorization()].reverse()) {
      await store.atomically((tx) => tx.acme.addAuthorization(one));
    }
    const first = await store.read.acme.openAuthorizations(account, 2);
    expect(first.items).toEqual(made.slice(0, 2));
    expect(first.next).toEqual({ name: "bb.example", id: String(made[1]?.id) });
    const rest = await store.read.acme.openAuthorizations(account, 3, first.next);
    expect(rest.items).toEqual(made.slice(2));
    expect([first.total, rest.total, rest.next]).toEqual([5, 5, undefined]);
    expect((await store.read.acme.openAuthorizations("nobody", 3)).items).toEqual([]);
  });
}

function finalization(given: Given): void {
  const claim = (id: string, at = noon) =>
    given().store.atomically((tx) => tx.acme.claimOrder(id, at));

  test("FIN-1: of units that claim one order one does", async () => {
    const { store } = given();
    const { order } = await make.ordered(store, [{}], { status: "ready" });
    const claims = await Promise.all(Array.from({ length: 8 }, () => claim(order.id)));
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect((await store.read.acme.order(order.id))?.status).toBe("processing");
  });

  test("only an order that is pending or ready is ended, once, and keeps why", async () => {
    const { store } = given();
    for (const status of orderStates) {
      const { order } = await make.ordered(store, [{}], { status });
      const end = () => store.atomically((tx) => tx.acme.endOrder(order.id, problem));
      const open = status === "pending" || status === "ready";
      expect([status, await end(), await end()]).toEqual([status, open, false]);
      const ended = { ...order, status: "invalid", error: problem } as const;
      expect(await store.read.acme.order(order.id)).toEqual(open ? ended : order);
    }
    expect(await store.atomically((tx) => tx.acme.endOrder("none", problem))).toBe(false);
  });

  test("only an order that is ready, and not past its end, is claimed", async () => {
    const { store } = given();
    for (const status of orderStates.filter((one) => one !== "ready")) {
      const { order } = await make.ordered(store, [{}], { status });
      expect(await claim(order.id)).toBe(false);
      expect(await store.read.acme.order(order.id)).toEqual(order);
    }
    const { order } = await make.ordered(store, [{}], { status: "ready", expiresAt: later(5) });
    expect(await claim(order.id, later(5))).toBe(false);
    expect(await claim(order.id, later(4))).toBe(true);
    expect(await claim("none")).toBe(false);
  });

  test("what is being finalized is settled once, to each end", async () => {
    const { store } = given();
    const settle = (id: string, to: Parameters<typeof settled>[2]) => settled(store, id, to);
    const ends = [
      { status: "ready" },
      { status: "invalid", error: problem },
      { status: "valid", certificate: { ...nameIn(given().home), notAfter: later(9) } },
    ] as const;
    for (const to of ends) {
      const { order } = await make.ordered(store, [{}], { status: "ready" });
      expect(await settle(order.id, to)).toBe(false);
      await claim(order.id);
      expect(await settle(order.id, to)).toBe(true);
      expect(await settle(order.id, to)).toBe(false);
      const stored = await store.read.acme.order(order.id);
      const { status } = to;
      const error = to.status === "invalid" ? to.error : undefined;
      const name = to.status === "valid" ? to.certificate : undefined;
      const its = name && { caId: name.caId, serial: name.serial };
      expect(stored).toEqual({ ...order, status, error, certificate: its });
    }
  });

  test("what this store is finalizing it is told of, oldest first, and nobody else's", async () => {
    const { store } = given();
    const made: string[] = [];
    for (const seconds of [2, 1]) {
      const { order } = await make.ordered(store, [{}], {
        status: "ready",
        createdAt: later(-seconds * 1000),
      });
      await claim(order.id, later(seconds));
      made.push(order.id);
    }
    const own = await store.read.acme.processing(true, 1000);
    const mine = own.filter(({ id }) => made.includes(id));
    expect(mine.map(({ id, claimedAt }) => [id, claimedAt])).toEqual([
      [made[0], later(2)],
      [made[1], later(1)],
    ] as [string, Instant][]);
    expect(await store.read.acme.processing(true, 1)).toHaveLength(1);
    const others = await store.read.acme.processing(false, 1000);
    expect(others.filter(({ id }) => made.includes(id))).toEqual([]);
    for (const id of made) await settled(store, id, { status: "ready" });
    const left = await store.read.acme.processing(true, 1000);
    expect(left.filter(({ id }) => made.includes(id))).toEqual([]);
  });
}

const nameIn = (ca: CaId) => ({ caId: ca, serial: newSerial() });

type Settled = Parameters<Parameters<Parameters<Store["atomically"]>[0]>[0]["acme"]["settleOrder"]>;

const settled = (store: Store, id: string, to: Settled[1]) =>
  store.atomically((tx) => tx.acme.settleOrder(id, to));

/** An order that has got a certificate. */
async function obtained(given: Given, facts: Partial<OrderRecord> = {}, notAfter = later(7200)) {
  const { store, home } = given();
  const made = await make.ordered(store, [{ status: "valid", method: "dns-01" }], {
    status: "ready",
    ...facts,
  });
  await store.atomically((tx) => tx.acme.claimOrder(made.order.id, made.order.createdAt));
  const row = certificate({ caId: home, notAfter });
  await issue(store, row);
  expect(await settled(store, made.order.id, { status: "valid", certificate: row })).toBe(true);
  return { ...made, name: { caId: row.caId, serial: row.serial } };
}

function certificates(given: Given): void {
  test("a certificate names its account and order, also beside others that end with it", async () => {
    const { store } = given();
    const all = [await obtained(given), await obtained(given), await obtained(given)];
    for (const { name, account, order } of all) {
      const expected = { account: account.id, order: order.id, replacedBy: undefined };
      expect(await store.read.acme.obtained(name)).toEqual(expected);
    }
    const row = certificate({ caId: given().home });
    await issue(store, row);
    expect(await store.read.acme.obtained(row)).toBeUndefined();
    const [first] = all;
    const elsewhere = { caId: caId("elsewhere"), serial: first?.name.serial ?? newSerial() };
    expect(await store.read.acme.obtained(elsewhere)).toBeUndefined();
  });

  test("a certificate is replaced by one order, which may say so again", async () => {
    const { store } = given();
    const { name, order, account } = await obtained(given);
    const mark = (by: string) => store.atomically((tx) => tx.acme.markReplaced(name, by));
    const marks = await Promise.all([mark("one"), mark("other")]);
    expect(marks).toEqual([true, false]);
    expect(await mark("one")).toBe(true);
    const expected = { account: account.id, order: order.id, replacedBy: "one" };
    expect(await store.read.acme.obtained(name)).toEqual(expected);
  });
}

function pruning(given: Given): void {
  // Long before what other tests store.
  const then = (seconds: number) => instant(1_000_000 + seconds * 1000);
  const prune = (seconds: number, limit = 1000) =>
    given().store.atomically((tx) => tx.acme.prune(then(seconds), limit));
  const past = { createdAt: then(0), expiresAt: then(10) };

  test("an order goes after its end, with its proofs and their challenges", async () => {
    const { store } = given();
    const { order, proofs } = await make.ordered(store, [past, past], past);
    expect(await prune(10)).toBe(0);
    expect(await store.read.acme.order(order.id)).toEqual(order);
    // The order, two authorizations, and two challenges of each.
    expect(await prune(11)).toBe(7);
    expect(await store.read.acme.order(order.id)).toBeUndefined();
    expect(await store.read.acme.authorizations(order.authorizations)).toEqual([]);
    for (const { challenges } of proofs) {
      for (const { id } of challenges) expect(await store.read.acme.challenge(id)).toBeUndefined();
    }
    expect(await prune(11)).toBe(0);
  });

  test("an order stays while its certificate lives, and after a short one until its own end", async () => {
    const { store } = given();
    const long = await obtained(given, past, then(20));
    const short = await obtained(given, past, then(5));
    expect(await prune(10)).toBe(0);
    expect(await prune(11)).toBe(1);
    expect(await store.read.acme.order(short.order.id)).toBeUndefined();
    expect(await prune(20)).toBe(0);
    expect(await store.read.acme.obtained(long.name)).toBeDefined();
    expect(await prune(21)).toBe(1);
    expect(await store.read.acme.obtained(long.name)).toBeUndefined();
  });

  test("a proof stays while an order names it, and until its own end", async () => {
    const { store } = given();
    const proof = { ...past, status: "valid", expiresAt: then(30) } as const;
    const { proofs, order } = await make.ordered(store, [proof], past);
    const second = make.order(proofs, { ...past, expiresAt: then(40) });
    const third = make.order(proofs, past);
    for (const one of [second, third]) {
      await store.atomically((tx) => tx.acme.addOrder(one, []));
    }
    const [own] = proofs;
    const still = async () => (await store.read.acme.authorization(own?.id ?? "")) !== undefined;
    expect(await prune(11)).toBe(2);
    expect(await store.read.acme.order(order.id)).toBeUndefined();
    expect([await prune(31), await still()]).toEqual([0, true]);
    expect([await prune(41), await still()]).toEqual([4, false]);
  });

  test("a proof that outlives its orders may be taken up by another one", async () => {
    const { store } = given();
    const proof = { ...past, status: "valid", expiresAt: then(30) } as const;
    const { proofs } = await make.ordered(store, [proof], past);
    expect(await prune(11)).toBe(1);
    const next = make.order(proofs, { ...past, expiresAt: then(50) });
    await store.atomically((tx) => tx.acme.addOrder(next, []));
    expect(await prune(31)).toBe(0);
    expect(await store.read.acme.authorization(proofs[0]?.id ?? "")).toEqual(proofs[0]);
    expect(await prune(51)).toBe(4);
  });

  test("what was proved before any order goes at its end", async () => {
    const { store } = given();
    const proof = make.authorization(past);
    await store.atomically((tx) => tx.acme.addAuthorization(proof));
    expect(await prune(10)).toBe(0);
    expect(await prune(11)).toBe(3);
    expect(await store.read.acme.authorization(proof.id)).toBeUndefined();
  });

  test("no more orders go at once than were asked for, those that ended first", async () => {
    const { store } = given();
    const made: OrderRecord[] = [];
    for (const seconds of [3, 1, 2]) {
      const proof = make.authorization({ ...past, expiresAt: then(100) });
      const order = make.order([proof], { ...past, expiresAt: then(seconds) });
      await store.atomically((tx) => tx.acme.addOrder(order, [proof]));
      made.push(order);
    }
    expect(await prune(50, 2)).toBe(2);
    const left = await Promise.all(made.map(({ id }) => store.read.acme.order(id)));
    expect(left).toEqual([made[0], undefined, undefined]);
    expect(await prune(50, 2)).toBe(1);
    expect(await prune(101)).toBe(9);
  });
}

function describeDiscards(fixture: Given): void {
  const discard = (ids: readonly string[]) =>
    fixture().store.atomically((tx) => tx.acme.discardExpired(ids, later(0)));
  const findOrder = (id: string) => fixture().store.read.acme.order(id);
  const findAuthorization = (id: string) => fixture().store.read.acme.authorization(id);

  test("an order that ended without a certificate is discarded with its proofs, others stay", async () => {
    const { store } = fixture();
    const open = { expiresAt: later(60) };
    const [pending, invalid, expired, processing] = [
      await make.ordered(store, [open], open),
      await make.ordered(store, [open, open], { ...open, status: "invalid" }),
      await make.ordered(store, [open], { expiresAt: later(0), status: "ready" }),
      await make.ordered(store, [open], { expiresAt: later(-9), status: "processing" }),
    ];
    const { order: valid } = await obtained(fixture);
    const all = [pending.order, invalid.order, expired.order, processing.order, valid];
    const ids = all.map(({ id }) => id);
    const states = await store.read.acme.orderStates([...ids, "none"]);
    expect(states.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual(
      all
        .map(({ id, status, expiresAt }) => ({
          id,
          status: id === valid.id ? ("valid" as const) : status,
          expiresAt,
        }))
        .toSorted((a, b) => a.id.localeCompare(b.id)),
    );
    // Two orders, three authorizations and two challenges of each.
    expect(await discard(ids)).toBe(2 + 3 + 6);
    const left = await Promise.all(ids.map(async (id) => (await findOrder(id)) !== undefined));
    expect(left).toEqual([true, false, false, true, true]);
    for (const { id } of invalid.proofs) expect(await findAuthorization(id)).toBeUndefined();
    expect(await findAuthorization(pending.proofs[0]?.id ?? "")).toBeDefined();
    expect(await discard(ids)).toBe(0);
    expect(await store.read.acme.orderStates([])).toEqual([]);
  });

  test("a valid proof of a discarded order stays, and so does one that another order names", async () => {
    const { store } = fixture();
    const proof = { status: "valid", method: "http-01", expiresAt: later(60) } as const;
    const { order, proofs } = await make.ordered(store, [proof, {}], { status: "invalid" });
    const other = make.order(proofs.slice(1), {});
    await store.atomically((tx) => tx.acme.addOrder(other, []));
    expect(await discard([order.id])).toBe(1);
    for (const { id } of proofs) expect(await findAuthorization(id)).toBeDefined();
  });

  test("a proof without an order is discarded once it has ended", async () => {
    const { store } = fixture();
    const [over, open] = [
      make.authorization({ status: "deactivated", expiresAt: later(60) }),
      make.authorization({ expiresAt: later(60) }),
    ];
    for (const one of [over, open]) {
      await store.atomically((tx) => tx.acme.addAuthorization(one));
    }
    expect(await discard([over.id, open.id])).toBe(3);
    expect([await findAuthorization(over.id), await findAuthorization(open.id)]).toEqual([
      undefined,
      open,
    ]);
  });

  test("orders of a status are deleted beyond a number, oldest first", async () => {
    const { store } = fixture();
    const orders: OrderRecord[] = [];
    for (const seconds of [1, 2, 3]) {
      // Later than the orders of other tests.
      const createdAt = later(1_000_000 + seconds);
      const attributes = { createdAt, expiresAt: later(2_000_000), status: "ready" } as const;
      orders.push((await make.ordered(store, [{}], attributes)).order);
    }
    const discardOldest = () => store.atomically((tx) => tx.acme.discardBeyond("ready", 1, 2));
    expect(await discardOldest()).toBe(8);
    const left = await Promise.all(orders.map(({ id }) => findOrder(id)));
    expect(left).toEqual([undefined, undefined, orders[2]]);
  });
}

/** What is told of an authorization that is looked up among others. */
function factsOf({ challenges: _c, ...facts }: AuthorizationRecord): AuthorizationFacts {
  return facts;
}
