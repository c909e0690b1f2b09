/** Planned replacements: what a plan finds, how it is spread, what is revoked, and how it ends. */

import { beforeEach, describe, expect, test } from "bun:test";

import type { CaId, Serial } from "#core/ids.ts";
import type { Selection } from "#core/policy/selection.ts";
import { refuse } from "#core/problems.ts";
import { addSeconds, type Instant, wholeSecond } from "#core/time.ts";
import type { RevocationReason } from "#core/x509/reasons.ts";
import type { StillMay } from "#domain/access/principal-now.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { IssuanceRate, RememberedRate } from "#domain/acme/issuance-rate.ts";
import { ReplacementWork } from "#domain/acme/replacement-work.ts";
import {
  outstandingReplacements,
  type ReplacementOrder,
  Replacements,
} from "#domain/acme/replacements.ts";
import { expectRefusal } from "#test/support/expect-refusal.ts";
import { seededRandom } from "#test/support/ports.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { tenant } from "#test/support/stores/records.ts";
import { rootOrigin, type SmallCa, smallCa } from "#test/support/worlds/small-ca.ts";

const everything: Selection = { includeExpired: false };

let world: SmallCa;
let rate: IssuanceRate;
/** Whoever finalizes orders here. */
const plans = { lookAgain: async () => {} };
let replacements: Replacements;
let work: ReplacementWork;
/** Rights of the planner before each revocation. */
let stillMay: StillMay;
const rights = { stillMay: (...call: Parameters<StillMay>) => stillMay(...call) };

beforeEach(async () => {
  world = await smallCa();
  rate = new IssuanceRate();
  const { store, clock } = world;
  const known = new RememberedRate({ store, clock, rate });
  replacements = new Replacements({ store, clock, random: seededRandom(), rate: known, plans });
  stillMay = async () => {};
  work = new ReplacementWork({ store, clock, revoker: world.revoker, rate: known, ...rights });
});

/** A certificate that an account has got, or with `by: "hand"` one that nobody comes for. */
async function issued(
  facts: { readonly ca?: CaRecord; readonly by?: "hand"; readonly profile?: string } = {},
): Promise<Serial> {
  const { ca = world.ca, by, profile = "server" } = facts;
  const { serial, caId, notAfter } = await world.issue({ ca, profile });
  if (by === "hand") return serial;
  const ready = { status: "ready", expiresAt: addSeconds(world.clock.now(), 60) } as const;
  const { order } = await make.ordered(world.store, [{ status: "valid" }], ready);
  await world.store.atomically(async (tx) => {
    await tx.acme.claimOrder(order.id, world.clock.now());
    const certificate = { caId, serial, notAfter };
    await tx.acme.settleOrder(order.id, { status: "valid", certificate });
  });
  return serial;
}

const many = (count: number) => Promise.all(Array.from({ length: count }, () => issued()));

const orderOf = (facts: Partial<ReplacementOrder> = {}): ReplacementOrder => ({
  selection: everything,
  operation: undefined,
  all: true,
  start: undefined,
  end: addSeconds(world.clock.now(), 3600),
  revoke: undefined,
  perSecond: undefined,
  ...facts,
});

const planned = (facts: Partial<ReplacementOrder> = {}, ca = world.ca) =>
  replacements.plan(rootOrigin, ca, orderOf(facts));

const itemsOf = ({ id }: { readonly id: string }) => world.store.read.replacements.items(id, 1000);

const comes = (serial: Serial, ca: CaId = world.ca.id) =>
  world.store.atomically((tx) =>
    tx.replacements.noteReplaced({ caId: ca, serial }, world.clock.now()),
  );

const statusOf = async (serial: Serial, ca: CaId = world.ca.id) =>
  (await world.store.read.certificates.bySerial(ca, serial))?.status;

const eventsOf = (action: string) =>
  world.store.listEvents().filter((event) => event.action === action);

describe("what a plan has", () => {
  test("the good certificates that accounts have got; the others are counted", async () => {
    const meant = await many(3);
    await issued({ by: "hand" });
    const revoked = await issued();
    await world.revoker.revoke(
      { ca: world.ca, serial: revoked, origin: rootOrigin, mayManageCa: true },
      "superseded",
    );
    const plan = await planned();
    expect(plan).toMatchObject({ state: "running", total: 3, replaced: 0, notByAcme: 1 });
    expect((await itemsOf(plan)).map(({ serial }) => serial)).toEqual([...meant].sort());
  });

  test("no more than its selection means", async () => {
    const wanted = await issued({ profile: "mail" });
    const [named] = await many(2);
    const byProfile = await planned({ selection: { ...everything, profile: "mail" } });
    expect((await itemsOf(byProfile)).map(({ serial }) => serial)).toEqual([wanted]);
    const serials = [named ?? wanted];
    const byName = await planned({ selection: { ...everything, serials } });
    expect((await itemsOf(byName)).map(({ serial }) => serial)).toEqual(serials);
  });

  test("nothing that has expired", async () => {
    await many(2);
    world.clock.step(100 * 86_400);
    await issued();
    expect((await planned()).total).toBe(1);
  });

  test("of a lineage what the CA and those before it have signed, never what came after", async () => {
    const first = await issued();
    world.clock.advance(1);
    const successor = await world.addCa({ lineage: world.ca });
    const second = await issued({ ca: successor });
    const ofOld = await planned({}, world.ca);
    expect((await itemsOf(ofOld)).map(({ serial }) => serial)).toEqual([first]);
    const ofNew = await planned({}, successor);
    expect((await itemsOf(ofNew)).map(({ serial }) => serial)).toEqual([first, second].sort());
  });

  test("a plan has the serials that it names, under every key of the lineage", async () => {
    const first = await issued();
    world.clock.advance(1);
    const successor = await world.addCa({ lineage: world.ca });
    const second = await issued({ ca: successor });
    const selection = { ...everything, serials: [first, second] };
    for (const named of [world.ca, successor]) {
      const plan = await planned({ selection }, named);
      expect((await itemsOf(plan)).map(({ serial }) => serial)).toEqual([first, second].sort());
    }
  });

  test("those whose client had come before it, which count as replaced", async () => {
    const [old] = await many(2);
    await world.store.atomically((tx) =>
      tx.acme.markReplaced({ caId: world.ca.id, serial: old ?? ("1" as Serial) }, "order"),
    );
    expect(await planned()).toMatchObject({ total: 2, replaced: 1 });
  });
});

describe("of a bulk revocation", () => {
  const revokedInBulk = async (
    serials: readonly Serial[],
    reason: RevocationReason = "superseded",
  ) => {
    const selection = { ...everything, serials };
    const order = { selection, reason, all: false, batchSize: 500, confirmed: serials.length };
    const done = await world.bulk.execute(rootOrigin, world.ca, {
      ...order,
      operationId: undefined,
    });
    return done.operationId;
  };

  test("a plan has what was revoked, and tells who has come for it", async () => {
    const [one, other, third] = await many(3);
    const byHand = await issued({ by: "hand" });
    if (one === undefined || other === undefined || third === undefined) throw new Error("three");
    await world.revoker.revoke(
      { ca: world.ca, serial: third, origin: rootOrigin, mayManageCa: true },
      "superseded",
    );
    world.clock.advance(1);
    const operation = await revokedInBulk([one, other, byHand]);
    const plan = await planned({ operation, all: false });
    expect(plan).toMatchObject({ total: 2, replaced: 0, revoked: 2, notByAcme: 1 });
    expect(plan.selection).toBe(`operation_id=${operation}`);
    expect((await itemsOf(plan)).map(({ serial }) => serial)).toEqual([one, other].sort());
    await work.run();
    expect((await replacements.progress(plan)).state).toBe("running");
    await comes(one);
    expect(await replacements.progress(plan)).toMatchObject({ replaced: 1, revoked: 2 });
    await comes(other);
    await work.run();
    expect((await replacements.progress(plan)).state).toBe("finished");
  });

  test("those that were held are revoked once they are replaced, where that is said", async () => {
    const [came, left] = await many(2);
    if (came === undefined || left === undefined) throw new Error("two were issued");
    const operation = await revokedInBulk([came, left], "certificateHold");
    const plan = await planned({ operation, all: false, revoke: "superseded" });
    expect(plan).toMatchObject({ total: 2, revoked: 0 });
    await comes(came);
    await work.run();
    expect([await statusOf(came), await statusOf(left)]).toEqual(["revoked", "held"]);
    world.clock.step(3601);
    await work.run();
    expect(await statusOf(left)).toBe("revoked");
    expect((await replacements.progress(plan)).state).toBe("finished");
  });

  test("what has expired, was released, or another filter passes over is not in it", async () => {
    const [released, mail] = [await issued(), await issued({ profile: "mail" })];
    const operation = await revokedInBulk([released, mail], "certificateHold");
    const by = { ca: world.ca, serial: released, origin: rootOrigin, mayManageCa: true };
    await world.revoker.release(by);
    const filter = { ...everything, profile: "server" };
    const found = async (facts: Partial<ReplacementOrder>) =>
      (await replacements.look(world.ca, orderOf({ operation, ...facts }))).total;
    expect([await found({}), await found({ selection: filter })]).toEqual([1, 0]);
    world.clock.step(100 * 86_400);
    expect(await found({})).toBe(0);
  });

  test("that is not of this CA, or is not over, there is no plan", async () => {
    const [serial = "1" as Serial] = await many(1);
    const operation = await revokedInBulk([serial]);
    const elsewhere = await world.addCa();
    for (const [ca, id] of [
      [elsewhere, operation],
      [world.ca, "none"],
    ] as const) {
      const look = replacements.look(ca, orderOf({ operation: id }));
      await expectRefusal(look, "invalid_field", { field: "operation_id" });
    }
    const key = { lineage: world.ca.lineage, id: operation };
    const run = await world.store.read.bulkRevocations.run(key);
    if (run === undefined) throw new Error("the run is stored");
    await world.store.atomically((tx) => tx.bulkRevocations.start(run, 1));
    const early = replacements.look(world.ca, orderOf({ operation }));
    await expectRefusal(early, "operation_running", { operation_id: operation });
  });
});

test("what running plans wait for is counted, until clients come or a plan is over", async () => {
  const outstanding = () => outstandingReplacements(world.store);
  expect(await outstanding()).toBe(0);
  const [first = "1" as Serial] = await many(3);
  const plan = await planned();
  expect(await outstanding()).toBe(3);
  await comes(first);
  expect(await outstanding()).toBe(2);
  await replacements.cancel(rootOrigin, plan);
  expect(await outstanding()).toBe(0);
});

describe("how it is spread", () => {
  test("each certificate has a window of its own in the time, so many a second at most", async () => {
    await many(40);
    const plan = await planned({ end: addSeconds(world.clock.now(), 60), perSecond: 2 });
    const items = await itemsOf(plan);
    const begun = new Map<Instant, number>();
    for (const { start, end } of items) {
      expect(start >= plan.start && end <= plan.end && end > start).toBe(true);
      begun.set(start, (begun.get(start) ?? 0) + 1);
    }
    expect(Math.max(...begun.values())).toBeLessThanOrEqual(2);
    expect(items).toHaveLength(40);
  });

  test("too short a time is refused with the least, which then suffices", async () => {
    await many(100);
    const start = world.clock.now();
    const short = orderOf({ end: addSeconds(start, 40), perSecond: 2 });
    const facts = { least_seconds: 66, per_second: 2 };
    await expectRefusal(replacements.look(world.ca, short), "replacement_too_fast", facts);
    const refused = replacements.plan(rootOrigin, world.ca, short);
    await expectRefusal(refused, "replacement_too_fast", facts);
    expect((await world.store.read.replacements.running()).length).toBe(0);
    const enough = { end: addSeconds(wholeSecond(start), 66), perSecond: 2 };
    expect((await planned(enough)).total).toBe(100);
  });

  test("the bound is half of what was seen, a careful one while nothing was, or what is asked", async () => {
    expect((await planned()).perSecond).toBe(5);
    for (let at = 0; at < 10; at++) rate.made(at * 1000, at * 1000 + 20);
    expect((await planned()).perSecond).toBe(6);
    for (let at = 0; at < 80; at++) rate.made(20_000, 20_100);
    expect((await planned()).perSecond).toBe(40);
    expect((await planned({ perSecond: 700 })).perSecond).toBe(700);
  });

  test("after a restart the bound is half of what was seen before, until more is seen", async () => {
    for (let at = 0; at < 80; at++) rate.made(20_000, 20_100);
    await work.run();
    const { store, clock } = world;
    const next = new IssuanceRate();
    const known = new RememberedRate({ store, clock, rate: next });
    replacements = new Replacements({
      store,
      clock,
      random: seededRandom("next"),
      rate: known,
      plans,
    });
    expect((await planned()).perSecond).toBe(40);
    for (let at = 0; at < 10; at++) next.made(at * 1000, at * 1000 + 20);
    expect((await planned()).perSecond).toBe(6);
    const keeping = new ReplacementWork({
      store,
      clock,
      revoker: world.revoker,
      rate: known,
      ...rights,
    });
    await keeping.run();
    expect(await store.read.instance.value("acme.issuance_rate")).toBe("12.500");
  });

  test("what was seen is kept when it is news, and not all the time", async () => {
    const kept = () => world.store.read.instance.value("acme.issuance_rate");
    await work.run();
    expect(await kept()).toBeUndefined();
    for (let at = 0; at < 80; at++) rate.made(20_000, 20_100);
    await work.run();
    expect(await kept()).toBe("80.000");
    for (let at = 0; at < 200; at++) rate.made(30_000, 30_100);
    await work.run();
    expect(await kept()).toBe("80.000");
    world.clock.step(600);
    await work.run();
    expect(await kept()).toBe("200.000");
    for (let at = 0; at < 210; at++) rate.made(40_000, 40_100);
    world.clock.step(600);
    await work.run();
    expect(await kept()).toBe("200.000");
  });

  test("a look changes nothing and says what a plan would find", async () => {
    await many(3);
    const found = await replacements.look(world.ca, orderOf());
    expect(found).toMatchObject({ total: 3, replaced: 0, notByAcme: 0, leastSeconds: 30 });
    expect(world.store.countRows("replacements")).toBe(0);
  });

  test("everything is revoked only where that is said", async () => {
    const order = orderOf({ all: false, revoke: "superseded" });
    await expectRefusal(replacements.look(world.ca, order), "empty_selection", {});
    expect((await planned({ all: false })).total).toBe(0);
  });
});

describe("what the schedule does", () => {
  test("what was replaced is revoked, for the plan and its maker, and what was not stays", async () => {
    const [came, other] = await many(2);
    if (came === undefined || other === undefined) throw new Error("two were issued");
    const plan = await planned({ revoke: "superseded" });
    await work.run();
    expect([await statusOf(came), await statusOf(other)]).toEqual(["good", "good"]);
    await comes(came);
    await work.run();
    await work.run();
    expect([await statusOf(came), await statusOf(other)]).toEqual(["revoked", "good"]);
    const [event, ...more] = eventsOf("cert.revoke");
    expect(more).toEqual([]);
    expect(event).toMatchObject({ actor: "system:acme.replace", actorName: "root" });
    expect(event?.detail).toContain(`reason=superseded bulk_op=${plan.id}`);
    expect(await replacements.progress(plan)).toMatchObject({ replaced: 1, revoked: 1 });
  });

  test("at the end the rest is revoked too, and the plan is finished, once", async () => {
    const serials = await many(5);
    const plan = await planned({ revoke: "cessationOfOperation" });
    world.clock.step(3601);
    await Promise.all([work.run(), work.run()]);
    await work.run();
    for (const serial of serials) expect(await statusOf(serial)).toBe("revoked");
    const counts = { state: "finished", total: 5, replaced: 0, revoked: 5 };
    expect(await replacements.progress(plan)).toMatchObject(counts);
    expect(eventsOf("cert.revoke")).toHaveLength(5);
    const [event, ...more] = eventsOf("acme.replace.finish");
    expect(more).toEqual([]);
    expect(event?.detail).toContain("planned=5 replaced=0 revoked=5");
  });

  test("without a reason nothing is revoked, and the end tells how many have not come", async () => {
    const [came, other] = await many(2);
    if (came === undefined || other === undefined) throw new Error("two were issued");
    const plan = await planned();
    await comes(came);
    await work.run();
    expect((await replacements.progress(plan)).state).toBe("running");
    world.clock.step(3601);
    await work.run();
    expect(await replacements.progress(plan)).toMatchObject({ state: "finished", replaced: 1 });
    expect([await statusOf(came), await statusOf(other)]).toEqual(["good", "good"]);
  });

  test("a plan is finished as soon as everybody has come", async () => {
    const serials = await many(2);
    const [told, revoking] = [await planned(), await planned({ revoke: "superseded" })];
    for (const serial of serials) await comes(serial);
    await work.run();
    for (const plan of [told, revoking]) {
      expect((await replacements.progress(plan)).state).toBe("finished");
    }
  });

  test("what somebody else has revoked keeps its reason, and the plan ends all the same", async () => {
    const [serial = "1" as Serial] = await many(1);
    const plan = await planned({ revoke: "superseded" });
    const by = { ca: world.ca, serial, origin: rootOrigin, mayManageCa: true };
    await world.revoker.revoke(by, "keyCompromise");
    world.clock.step(3601);
    await work.run();
    expect((await replacements.progress(plan)).state).toBe("finished");
    const { reason } = (await world.store.read.certificates.bySerial(world.ca.id, serial)) ?? {};
    expect(reason).toBe("keyCompromise");
  });

  test("what has expired is not revoked any more", async () => {
    const [serial = "1" as Serial] = await many(1);
    const plan = await planned({ revoke: "superseded" });
    world.clock.step(100 * 86_400);
    await work.run();
    expect((await replacements.progress(plan)).state).toBe("finished");
    expect(eventsOf("cert.revoke")).toEqual([]);
    expect(await statusOf(serial)).toBe("good");
  });

  test("a plan whose making a crash has cut short is called off, when nobody makes it any more", async () => {
    const plan = make.replacement({ state: "planning", createdAt: world.clock.now() });
    await world.store.atomically((tx) => tx.replacements.addReplacement(plan));
    await work.run();
    expect((await replacements.progress(plan)).state).toBe("planning");
    world.clock.step(3601);
    await work.run();
    expect((await replacements.progress(plan)).state).toBe("canceled");
  });

  test("halted, it begins nothing", async () => {
    const [serial = "1" as Serial] = await many(1);
    await planned({ revoke: "superseded" });
    await comes(serial);
    work.halt();
    await work.run();
    expect(await statusOf(serial)).toBe("good");
  });
});

describe("a plan whose planner has lost the right to revoke", () => {
  const stops = async (cause: string) => {
    const serials = await many(2);
    const plan = await planned({ revoke: "superseded" });
    await comes(serials[0] ?? ("1" as Serial));
    return { serials, plan, cause };
  };
  const isStopped = async ({ serials, plan, cause }: Awaited<ReturnType<typeof stops>>) => {
    world.clock.step(3601);
    await work.run();
    await work.run();
    for (const serial of serials) expect(await statusOf(serial)).toBe("good");
    expect((await replacements.progress(plan)).state).toBe("stopped");
    const [event, ...more] = eventsOf("acme.replace.cancel");
    expect(more).toEqual([]);
    expect(event).toMatchObject({ result: "denied", actorName: "root" });
    expect(event?.detail).toContain(`revoked=0 cause=${cause}`);
    expect(eventsOf("acme.replace.finish")).toEqual([]);
  };

  test.each(["forbidden", "invalid_token"] as const)("the plan stops with %s", async (code) => {
    const plan = await stops(code);
    stillMay = async (then, capability, ca) => {
      expect([then.subject, capability, ca.id]).toEqual(["root", "ca:manage", world.ca.id]);
      throw refuse(code);
    };
    await isStopped(plan);
  });

  test("the plan stops while its tenant is suspended", async () => {
    const plan = await stops("tenant_suspended");
    const suspended = { ...tenant(world.ca.tenant), status: "suspended" } as const;
    await world.store.atomically((tx) => tx.tenants.update(suspended));
    await isStopped(plan);
  });

  test("the plan continues after a temporary failure", async () => {
    const { serials, plan } = await stops("");
    stillMay = async () => {
      throw refuse("storage_unavailable", { retry_after: 1 });
    };
    await expectRefusal(work.run(), "storage_unavailable", { retry_after: 1 });
    expect((await replacements.progress(plan)).state).toBe("running");
    stillMay = async () => {};
    await work.run();
    expect(await statusOf(serials[0] ?? ("1" as Serial))).toBe("revoked");
  });
});

test("a plan that is called off revokes nothing more, and is over once", async () => {
  const [serial = "1" as Serial] = await many(1);
  const plan = await planned({ revoke: "superseded" });
  expect(await replacements.cancel(rootOrigin, plan)).toBe(true);
  expect(await replacements.cancel(rootOrigin, plan)).toBe(false);
  world.clock.step(3601);
  await work.run();
  expect(await statusOf(serial)).toBe("good");
  expect(await world.store.read.replacements.plannedFor({ caId: world.ca.id, serial })).toBe(
    undefined,
  );
  expect(eventsOf("acme.replace.cancel")).toHaveLength(1);
  expect(eventsOf("acme.replace.finish")).toHaveLength(0);
});

test("a plan is told of with what it was asked and what it found", async () => {
  await many(2);
  await issued({ by: "hand" });
  await planned({ revoke: "superseded", selection: { ...everything, profile: "server" } });
  const [event] = eventsOf("acme.replace.plan");
  expect(event?.detail).toBe(
    'filter="profile=server" from=2026-06-01T12:00:00.000000Z to=2026-06-01T13:00:00.000000Z per_second=5 reason=superseded planned=2 not_by_acme=1 replaced=0 revoked=0',
  );
});
