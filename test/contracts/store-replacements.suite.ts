/** What every store must do about planned replacements. */

import { describe, expect, test } from "bun:test";

import { type CaId, caId, type Serial, tenantId } from "#core/ids.ts";
import type { ReplacementItem, ReplacementRecord } from "#domain/acme/replacement-store.ts";
import type { OrderRecord } from "#domain/acme/store.ts";
import type { Store } from "#domain/store.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { only } from "#test/support/stores/reach.ts";
import { certificate, issue, newSerial } from "#test/support/stores/records.ts";

type Given = () => { readonly store: Store; readonly home: CaId };

const { later } = make;

/** Declares the tests on the store that `given` gives when they run. */
export function replacementContract(given: Given): void {
  describe("planned replacements", () => {
    plans(given);
    items(given);
    progress(given);
    making(given);
    coming(given);
    clearing(given);
  });
}

async function planned(
  { store }: ReturnType<Given>,
  certificates: readonly Partial<ReplacementItem>[],
  facts: Partial<ReplacementRecord> = {},
) {
  const plan = make.replacement(facts);
  const its = certificates.map((one) => make.item(plan.id, one));
  await store.atomically(async (tx) => {
    await tx.replacements.addReplacement(plan);
    await tx.replacements.addItems(its);
  });
  return { plan, items: its.toSorted((a, b) => (a.serial < b.serial ? -1 : 1)) };
}

function plans(given: Given): void {
  test("a plan is found with every field as it was stored, and ends once", async () => {
    const { store } = given();
    const bare = make.replacement();
    const full = make.replacement({ revoke: "superseded", perSecond: 1e-7 });
    for (const plan of [bare, full]) {
      await store.atomically((tx) => tx.replacements.addReplacement(plan));
      expect(await store.read.replacements.replacement(plan.id)).toEqual(plan);
    }
    expect(await store.read.replacements.replacement("none")).toBeUndefined();
    const end = (state: "finished" | "canceled") =>
      store.atomically((tx) => tx.replacements.endReplacement(full.id, state));
    const running = async () =>
      (await store.read.replacements.running()).map(({ id }) => id).includes(full.id);
    expect(await running()).toBe(true);
    expect(await Promise.all([end("canceled"), end("finished")])).toEqual([true, false]);
    expect(await running()).toBe(false);
    const ended = await store.read.replacements.replacement(full.id);
    expect(ended).toEqual({ ...full, state: "canceled" });
  });

  test("plans are paged newest first, within reach", async () => {
    const { store, home } = given();
    const tenant = tenantId(`tenant ${home}`);
    const made = [1, 2, 3].map((seconds) =>
      make.replacement({ tenant, caId: home, createdAt: later(seconds) }),
    );
    const foreign = make.replacement();
    for (const plan of [...made, foreign]) {
      await store.atomically((tx) => tx.replacements.addReplacement(plan));
    }
    const newest = [...made].reverse();
    for (const reach of [only([tenant]), only([], [home])]) {
      const first = await store.read.replacements.replacements(reach, 2);
      const rest = await store.read.replacements.replacements(reach, 2, first.next);
      expect([...first.items, ...rest.items]).toEqual(newest);
      expect([first.total, rest.total, rest.next]).toEqual([3, 3, undefined]);
    }
    expect((await store.read.replacements.replacements(only([]), 2)).items).toEqual([]);
  });
}

function items(given: Given): void {
  test("items are walked in the order of their serials, some at a time", async () => {
    const { store, home } = given();
    const { plan, items: its } = await planned(
      given(),
      Array.from({ length: 150 }, () => ({ caId: home })),
    );
    await planned(given(), [{}, {}]);
    const walked: ReplacementItem[] = [];
    for (let after: string | undefined; ; after = walked.at(-1)?.serial) {
      const page = await store.read.replacements.items(plan.id, 40, after);
      if (page.length === 0) break;
      walked.push(...page);
    }
    expect(walked).toEqual(its);
    const counts = { total: 150, replaced: 0, revoked: 0 };
    expect(await store.read.replacements.counts(plan.id)).toEqual(counts);
    const nothing = { total: 0, replaced: 0, revoked: 0 };
    expect(await store.read.replacements.counts("none")).toEqual(nothing);
  });

  test("a certificate is planned for by the newest plan that is running", async () => {
    const { store, home } = given();
    const name = { caId: home, serial: newSerial() };
    const add = async (seconds: number) => {
      const facts = { createdAt: later(seconds) };
      return await planned(given(), [{ ...name, start: later(seconds) }], facts);
    };
    const [first, third, second] = [await add(1), await add(3), await add(2)];
    const of = () => store.read.replacements.plannedFor(name);
    for (const { plan, items: own } of [third, second, first]) {
      expect(await of()).toEqual(own[0]);
      await store.atomically((tx) => tx.replacements.endReplacement(plan.id, "finished"));
    }
    expect(await of()).toBeUndefined();
    const elsewhere = { caId: caId("elsewhere"), serial: name.serial };
    expect(await store.read.replacements.plannedFor(elsewhere)).toBeUndefined();
  });
}

function progress(given: Given): void {
  test("what has been replaced is noted once, in every plan that is running and has it", async () => {
    const { store, home } = given();
    const name = { caId: home, serial: newSerial() };
    const [one, other] = [await planned(given(), [name, {}]), await planned(given(), [name])];
    const ended = await planned(given(), [name]);
    await store.atomically((tx) => tx.replacements.endReplacement(ended.plan.id, "canceled"));
    const note = (seconds: number) =>
      store.atomically((tx) => tx.replacements.noteReplaced(name, later(seconds)));
    await note(1);
    await note(2);
    await store.atomically((tx) =>
      tx.replacements.noteReplaced({ caId: home, serial: newSerial() }, later(3)),
    );
    for (const { plan, items: its } of [one, other]) {
      const counts = { total: its.length, replaced: 1, revoked: 0 };
      expect(await store.read.replacements.counts(plan.id)).toEqual(counts);
      const stored = await store.read.replacements.items(plan.id, 5);
      const expected = its.map((own) =>
        own.serial === name.serial ? { ...own, replacedAt: later(1) } : own,
      );
      expect(stored).toEqual(expected);
    }
    expect((await store.read.replacements.counts(ended.plan.id)).replaced).toBe(0);
  });

  test("what is left to revoke is what was replaced, or all of it, in the order of serials", async () => {
    const { store, home } = given();
    const { plan, items: its } = await planned(
      given(),
      Array.from({ length: 5 }, () => ({ caId: home })),
    );
    const serials = its.map(({ serial }) => serial);
    const left = async (all: boolean, limit = 10) =>
      (await store.read.replacements.unrevoked(plan.id, all, limit)).map(({ serial }) => serial);
    const revoke = (...gone: readonly Serial[]) =>
      store.atomically((tx) =>
        tx.replacements.noteRevoked(
          plan.id,
          gone.map((serial) => ({ caId: home, serial })),
          later(2),
        ),
      );
    const [first, second, third, fourth] = its;
    for (const item of [fourth, second]) {
      if (item === undefined) continue;
      await store.atomically((tx) => tx.replacements.noteReplaced(item, later(1)));
    }
    expect(await left(true)).toEqual(serials);
    expect(await left(true, 2)).toEqual(serials.slice(0, 2));
    expect(await left(false)).toEqual([serials[1], serials[3]] as Serial[]);
    await revoke(second?.serial ?? newSerial(), first?.serial ?? newSerial(), newSerial());
    await revoke(second?.serial ?? newSerial());
    expect(await left(false)).toEqual([serials[3]] as Serial[]);
    expect(await left(true)).toEqual(serials.slice(2));
    const counts = { total: 5, replaced: 2, revoked: 2 };
    expect(await store.read.replacements.counts(plan.id)).toEqual(counts);
    const [stored] = await store.read.replacements.items(plan.id, 1);
    expect(stored).toEqual({ ...first, revokedAt: later(2) } as ReplacementItem);
    expect(third?.revokedAt).toBeUndefined();
  });

  test("a thousand are noted as revoked at once", async () => {
    const { store, home } = given();
    const { plan, items: its } = await planned(
      given(),
      Array.from({ length: 1000 }, () => ({ caId: home })),
    );
    await store.atomically((tx) => tx.replacements.noteRevoked(plan.id, its, later(1)));
    const counts = { total: 1000, replaced: 0, revoked: 1000 };
    expect(await store.read.replacements.counts(plan.id)).toEqual(counts);
    expect(await store.read.replacements.unrevoked(plan.id, true, 1)).toEqual([]);
  });
}

/** A certificate that an account has got for these names. */
async function got(
  { store, home }: ReturnType<Given>,
  names: readonly string[],
  account?: string,
): Promise<{ readonly caId: CaId; readonly serial: Serial; readonly order: OrderRecord }> {
  const proofs = names.map((value) => ({
    identifier: { type: "dns" as const, value },
    status: "valid" as const,
  }));
  const own = account === undefined ? {} : { account };
  const { order } = await make.ordered(store, proofs, { status: "ready", ...own });
  const row = certificate({ caId: home, notAfter: later(1000) });
  await issue(store, row);
  await store.atomically(async (tx) => {
    await tx.acme.claimOrder(order.id, later(1));
    await tx.acme.settleOrder(order.id, { status: "valid", certificate: row });
  });
  return { caId: home, serial: row.serial, order };
}

function making(given: Given): void {
  test("a plan that is being made means nothing to clients until it runs, and runs once", async () => {
    const { store, home } = given();
    const name = { caId: home, serial: newSerial() };
    const { plan, items: own } = await planned(given(), [name], { state: "planning" });
    const reads = store.read.replacements;
    const known = async () => (await reads.running()).some(({ id }) => id === plan.id);
    const old = async (seconds: number) =>
      (await reads.abandoned(later(seconds))).some(({ id }) => id === plan.id);
    expect([await known(), await reads.plannedFor(name)]).toEqual([false, undefined]);
    expect([await old(0), await old(1), await reads.any()]).toEqual([false, true, true]);
    const start = () => store.atomically((tx) => tx.replacements.startReplacement(plan.id));
    expect([await start(), await start()]).toEqual([true, false]);
    expect([await known(), await old(1)]).toEqual([true, false]);
    expect(await reads.plannedFor(name)).toEqual(own[0]);
  });

  test("who comes while a plan is being made has come", async () => {
    const { store, home } = given();
    const name = { caId: home, serial: newSerial() };
    const { plan } = await planned(given(), [name], { state: "planning" });
    await store.atomically((tx) => tx.replacements.noteReplaced(name, later(1)));
    expect((await store.read.replacements.counts(plan.id)).replaced).toBe(1);
  });

  test("a plan that was called off while it was made never runs", async () => {
    const { store } = given();
    const { plan } = await planned(given(), [{}], { state: "planning" });
    await store.atomically((tx) => tx.replacements.endReplacement(plan.id, "canceled"));
    const started = store.atomically((tx) => tx.replacements.startReplacement(plan.id));
    expect(await started).toBe(false);
  });

  test("what came to a plan replaced or revoked already is counted so", async () => {
    const { store, home } = given();
    const { plan } = await planned(given(), [
      { caId: home, replacedAt: later(1) },
      { caId: home },
      { caId: home, replacedAt: later(2), revokedAt: later(1) },
    ]);
    const counts = { total: 3, replaced: 2, revoked: 1 };
    expect(await store.read.replacements.counts(plan.id)).toEqual(counts);
  });
}

function coming(given: Given): void {
  test("of many certificates those are known that accounts have got, and which of them are replaced", async () => {
    const { store, home } = given();
    const [kept, replaced] = [await got(given(), ["a.test"]), await got(given(), ["b.test"])];
    await store.atomically((tx) => tx.acme.markReplaced(replaced, kept.order.id));
    const asked = [kept.serial, replaced.serial, newSerial()].map((serial) => ({
      serial,
      notAfter: later(1000),
    }));
    const expected = new Map([
      [kept.serial, false],
      [replaced.serial, true],
    ]);
    const { read } = store;
    expect(await read.replacements.obtained(home, asked)).toEqual(expected);
    const within = store.atomically((tx) => tx.replacements.obtained(home, asked));
    expect(await within).toEqual(expected);
    expect((await read.replacements.obtained(caId("elsewhere"), asked)).size).toBe(0);
    expect((await read.replacements.obtained(home, [])).size).toBe(0);
  });

  test("a new order covers the certificates of its account whose names it has, in plans that are open", async () => {
    const { store } = given();
    const of = crypto.randomUUID();
    const name = (value: string) => ({ type: "dns" as const, value: `${value}.${of}.test` });
    const text = (value: string) => name(value).value;
    const small = await got(given(), [text("a")], of);
    const same = await got(given(), [text("a"), text("b")], of);
    const wider = await got(given(), [text("a"), text("c")], of);
    const foreign = await got(given(), [text("a")]);
    const unplanned = await got(given(), [text("b")], of);
    const { plan } = await planned(given(), [small, same, wider, foreign].map(nameOf));
    const covered = async (...values: readonly string[]) => {
      const names = { account: of, identifiers: values.map(name) };
      const found = await store.read.replacements.covered(names);
      return found.map(({ serial }) => serial).sort();
    };
    expect(await covered("b", "a")).toEqual([small.serial, same.serial].sort());
    expect(await covered("b")).toEqual([]);
    expect(await covered("a")).not.toContain(unplanned.serial);
    await store.atomically((tx) => tx.replacements.noteReplaced(nameOf(small), later(1)));
    expect(await covered("a", "b")).toEqual([same.serial]);
    await store.atomically((tx) => tx.replacements.endReplacement(plan.id, "finished"));
    expect(await covered("a", "b")).toEqual([]);
  });
}

const nameOf = ({ caId: ca, serial }: Awaited<ReturnType<typeof got>>) => ({ caId: ca, serial });

function clearing(given: Given): void {
  test("items of plans that are long over go, some at a time; the plans stay", async () => {
    const { store, home } = given();
    const ends = { end: later(-1000) };
    const [over, running] = [
      await planned(
        given(),
        Array.from({ length: 5 }, () => ({ caId: home })),
        ends,
      ),
      await planned(given(), [{ caId: home }], ends),
    ];
    const late = await planned(given(), [{ caId: home }]);
    for (const { plan } of [over, late]) {
      await store.atomically((tx) => tx.replacements.endReplacement(plan.id, "finished"));
    }
    const prune = () => store.atomically((tx) => tx.replacements.pruneItems(later(-999), 3));
    expect([await prune(), await prune(), await prune()]).toEqual([3, 2, 0]);
    const left = async (id: string) => (await store.read.replacements.items(id, 9)).length;
    expect([await left(over.plan.id), await left(running.plan.id)]).toEqual([0, 1]);
    expect(await left(late.plan.id)).toBe(1);
    const kept = await store.read.replacements.replacement(over.plan.id);
    expect(kept).toEqual({ ...over.plan, state: "finished" });
  });
}
