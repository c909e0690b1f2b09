/** What every store guarantees about requests for approval. */

import { expect, test } from "bun:test";

import { approvalClasses } from "#core/approvals/classes.ts";
import { tenantId } from "#core/ids.ts";
import { addSeconds, instant } from "#core/time.ts";
import { isDecidable } from "#domain/approvals/deciding.ts";
import type { ApprovalRecord, Decider, Decision } from "#domain/approvals/store.ts";
import type { Store } from "#domain/store.ts";
import { somebody } from "#test/support/worlds/governed-world.ts";
import { only } from "#test/support/stores/reach.ts";
import { noon } from "#test/support/stores/records.ts";
import { personNamed } from "#test/support/worlds/people.ts";
import type { Person } from "#core/access/person.ts";

/**
 * Registers the suite; stores may be shared, so every test has a tenant and fingerprints of its
 * own.
 */
export function approvalContract(given: () => { store: Store; home: string }): void {
  const maker = (home: string) =>
    somebody(`maker-${home}`, ["admin"], {
      person: personNamed(`maker-${home}`, `${home}@x.test`),
      name: "M",
    });
  const request = (facts: Partial<ApprovalRecord> = {}): ApprovalRecord => {
    const { home } = given();
    return {
      id: `apr_${crypto.randomUUID()}`,
      tenant: tenantId(home),
      operationClass: "ca.create",
      operation: "ca.init_root",
      resourceKey: "ca:new:a",
      resourceName: "a",
      secret: "none",
      fingerprint: crypto.randomUUID(),
      summary: "Make a.",
      details: { label: "ä", n: [1] },
      input: { path: {}, body: { label: "ä" } },
      maker: maker(home),
      ip: "192.0.2.1",
      requestId: "r",
      required: 2,
      status: "pending",
      attempts: 0,
      createdAt: noon,
      expiresAt: addSeconds(noon, 3600),
      decidedAt: undefined,
      executedAt: undefined,
      collectedAt: undefined,
      failure: undefined,
      effect: undefined,
      answer: undefined,
      decisions: [],
      ...facts,
    };
  };
  const insert = (one: ApprovalRecord) =>
    given().store.atomically((tx) => tx.approvals.insert(one));
  const save = (one: ApprovalRecord) => given().store.atomically((tx) => tx.approvals.save(one));
  const byId = (id: string) => given().store.read.approvals.byId(id);

  test("a request is read as it was stored and changed, with its decisions in their order", async () => {
    const { store } = given();
    const one = request({ tenant: undefined });
    expect(await insert(one)).toBe(true);
    expect(await byId(one.id)).toEqual(one);
    const said = (approver: string, seconds: number) => ({
      id: crypto.randomUUID(),
      approver,
      approverName: "",
      person: personNamed(approver, "a@b.test"),
      decision: "approve" as const,
      comment: "ok",
      createdAt: addSeconds(noon, seconds),
    });
    const decisions = [said("b", 1), said("a", 2)];
    for (const decision of decisions.toReversed()) {
      await store.atomically((tx) => tx.approvals.decide(one.id, decision));
    }
    const changed: ApprovalRecord = {
      ...one,
      status: "executed",
      attempts: 2,
      decidedAt: noon,
      executedAt: noon,
      collectedAt: noon,
      secret: "shown",
      failure: { code: "overloaded", error: "x", retryable: true, facts: { retry_after: 1 } },
      effect: { action: "ca.init_root", target: "t", caId: undefined, serial: undefined },
      answer: { made: true, output: { label: "ä" }, location: "/x" },
    };
    await save(changed);
    const found = await byId(one.id);
    expect(found?.decisions.toSorted((a, b) => a.createdAt - b.createdAt)).toEqual(decisions);
    expect(found).toEqual({ ...changed, decisions: found?.decisions ?? [] });
  });

  test("while a request of a person is open the same call makes no second one", async () => {
    const { store, home } = given();
    const one = request();
    const again = { ...one, id: `apr_${crypto.randomUUID()}` };
    expect(await insert(one)).toBe(true);
    expect(await insert(again)).toBe(false);
    expect(await byId(again.id)).toBeUndefined();
    const other = { ...again, maker: somebody(`other-${home}`) };
    expect(await insert(other)).toBe(true);
    const open = await store.atomically((tx) => tx.approvals.open(one.fingerprint));
    expect(open.map(({ id }) => id).sort()).toEqual([one.id, other.id].sort());
    await save({ ...one, status: "rejected" });
    expect(await insert({ ...one, id: `apr_${crypto.randomUUID()}` })).toBe(true);
  });

  test("open ends with rejection, expiry, a final failure, or the collected result", async () => {
    const { store } = given();
    const failure = { code: "x", error: "x", facts: {} };
    const cases: readonly (readonly [Partial<ApprovalRecord>, boolean])[] = [
      [{ status: "approved" }, true],
      [{ status: "executing" }, true],
      [{ status: "executed" }, true],
      [{ status: "executed", collectedAt: noon }, false],
      [{ status: "failed", failure: { ...failure, retryable: true } }, true],
      [{ status: "failed", failure: { ...failure, retryable: false } }, false],
      [{ status: "expired" }, false],
      [{ status: "rejected" }, false],
    ];
    for (const [facts, open] of cases) {
      const one = request();
      await insert(one);
      await save({ ...one, ...facts });
      const found = await store.atomically((tx) => tx.approvals.open(one.fingerprint));
      expect([facts.status, found.length]).toEqual([facts.status, open ? 1 : 0]);
    }
  });

  test("an id is taken once, for good, and not by a unit that came to nothing", async () => {
    const { store } = given();
    const { id } = request();
    const lost = store.atomically(async (tx) => {
      expect(await tx.approvals.take(id)).toBe(true);
      throw new Error("lost");
    });
    await expect(lost).rejects.toThrow("lost");
    const taken = await Promise.all(
      Array.from({ length: 5 }, () => store.atomically((tx) => tx.approvals.take(id))),
    );
    expect(taken.filter((first) => first)).toHaveLength(1);
  });

  test("lists hold what lies in reach and what the person made, by subject or address, newest first", async () => {
    const { store, home } = given();
    const stranger = somebody(`stranger-${home}`);
    const [first, second, third] = [
      request({ createdAt: noon }),
      request({ createdAt: addSeconds(noon, 1), status: "rejected", operationClass: "ca.rotate" }),
      request({ createdAt: addSeconds(noon, 2), tenant: undefined, maker: stranger }),
    ];
    for (const one of [first, second, third]) await insert(one);
    const page = async (filter: object, limit = 500) => {
      const nowhere = { reach: { tenants: [], cas: [] }, person: personNamed("nobody") };
      return await store.read.approvals.page({ ...nowhere, ...filter }, limit);
    };
    const ids = async (filter: object) => (await page(filter)).items.map(({ id }) => id);
    const within = { reach: only([tenantId(home)]) };
    expect(await ids(within)).toEqual([second.id, first.id]);
    expect(await ids({ ...within, status: "pending" })).toEqual([first.id]);
    expect(await ids({ ...within, operationClass: "ca.rotate" })).toEqual([second.id]);
    expect(await ids({ person: stranger.person })).toEqual([third.id]);
    expect(await ids({ person: personNamed("else", `${home}@x.test`) })).toEqual([
      second.id,
      first.id,
    ]);
    expect(await ids({})).toEqual([]);
    const mine = { reach: "platform", mine: true };
    expect(await ids({ ...mine, person: stranger.person })).toEqual([third.id]);
    expect(await ids({ ...mine, status: "pending" })).toEqual([]);
    const lookalikes: readonly Person[] = [
      personNamed(`maker-${home} <${home}@x.test>`),
      personNamed(`${home}@x.test`),
      { ...maker(home).person, address: "", issuer: "https://other.x.test" },
      { ...maker(home).person, address: "", voucher: "ldap" },
      { ...maker(home).person, address: "", voucher: "unknown" },
    ];
    for (const person of lookalikes) expect(await ids({ person })).toEqual([]);
    expect(await ids({ reach: "platform", tenant: tenantId(home) })).toEqual([second.id, first.id]);
    const top = await page(within, 1);
    expect(top).toMatchObject({ items: [{ id: second.id }], total: 2 });
    const rest = await store.read.approvals.page(
      { ...within, person: personNamed("nobody") },
      1,
      top.next ?? undefined,
    );
    expect(rest.items.map(({ id }) => id)).toEqual([first.id]);
  });

  /** Requests of every state and maker, some of them decided, in the order they were made. */
  const insertDecided = async (deciders: readonly Person[]): Promise<readonly ApprovalRecord[]> => {
    const { store, home } = given();
    const stored: ApprovalRecord[] = [];
    for (const [at, [facts, decided]] of decidedCases(home, deciders).entries()) {
      const one = request({ createdAt: addSeconds(noon, at), ...facts });
      await insert(one);
      const decisions = decided.map(approvalOf);
      for (const decision of decisions) {
        await store.atomically((tx) => tx.approvals.decide(one.id, decision));
      }
      stored.push({ ...one, decisions });
    }
    return stored;
  };

  test("lists for who decides hold what the rule of decisions allows", async () => {
    const { store, home } = given();
    const deciders = [...decidersIn(home), maker(home).person];
    const stored = await insertDecided(deciders);
    const ids = new Set(stored.map(({ id }) => id));
    for (const person of deciders) {
      for (const reach of ["platform", only([tenantId(home)]), only([])] as const) {
        for (const classes of [["ca.create"], approvalClasses, []] as const) {
          const decidableBy: Decider = { person, reach, classes, now: noon };
          const filter = { reach: "platform", person, decidableBy } as const;
          const { items } = await store.read.approvals.page(filter, 500);
          const expected = stored.filter((one) => isDecidable(one, decidableBy)).toReversed();
          // Stores may be shared: what others have put there is left out.
          const found = items.map(({ id }) => id).filter((id) => ids.has(id));
          expect(found).toEqual(expected.map(({ id }) => id));
        }
      }
    }
  });

  test("lists for who decides count beyond a page", async () => {
    const { store, home } = given();
    const [person = maker(home).person, ...others] = decidersIn(home);
    const reach = only([tenantId(home)]);
    const decidableBy: Decider = { person, reach, classes: approvalClasses, now: noon };
    const stored = await insertDecided([person, ...others]);
    const expected = stored.filter((one) => isDecidable(one, decidableBy)).toReversed();
    expect(expected.length).toBeGreaterThan(5);
    const filter = { reach: "platform", person, decidableBy } as const;
    const top = await store.read.approvals.page(filter, 1);
    expect(top).toMatchObject({ items: [{ id: expected[0]?.id }], total: expected.length });
    const rest = await store.read.approvals.page(filter, 500, top.next);
    expect(rest.total).toBe(expected.length);
    expect(rest.items.map(({ id }) => id)).toEqual(expected.slice(1).map(({ id }) => id));
  });

  test("lists do not carry what is executed, nor endless details", async () => {
    const { store, home } = given();
    const serials = Array.from({ length: 5000 }, (_, at) => `1234567890${at}`);
    const one = request({ details: { serials }, input: { path: {}, body: { serials } } });
    await insert(one);
    const filter = { reach: only([tenantId(home)]), person: personNamed("nobody") };
    const { items } = await store.read.approvals.page(filter, 10);
    expect(items[0]).toMatchObject({ id: one.id, details: { too_long: true } });
    expect(JSON.stringify(items)).not.toContain("1234567890");
    expect(await byId(one.id)).toEqual(one);
  });

  test("what waits past its time is found, and so is what its own store left executing", async () => {
    const { store } = given();
    const due = request({ expiresAt: instant(1) });
    const later = request();
    const mine = request({ expiresAt: instant(2) });
    for (const one of [due, later, mine]) await insert(one);
    await save({ ...mine, status: "executing" });
    const overdue = await store.read.approvals.overdue(instant(5), 500);
    expect(overdue).toContain(due.id);
    expect(overdue).not.toContain(later.id);
    expect(overdue).not.toContain(mine.id);
    expect(await store.read.approvals.abandoned(500)).toContain(mine.id);
    expect(await store.atomically((tx) => tx.approvals.abandoned(mine.id))).toBe(true);
    expect(await store.atomically((tx) => tx.approvals.abandoned(later.id))).toBe(false);
  });
}

/** People with and without addresses; two share one, and two a subject. */
function decidersIn(home: string): readonly Person[] {
  const plain = personNamed(`plain-${home}`);
  const addressed = personNamed(`addressed-${home}`, `addressed-${home}@x.test`);
  return [
    plain,
    addressed,
    personNamed(`renamed-${home}`, addressed.address),
    { ...plain, voucher: "ldap", issuer: "" },
  ];
}

/** What is special about a request, and who has approved it. */
function decidedCases(
  home: string,
  deciders: readonly Person[],
): readonly (readonly [Partial<ApprovalRecord>, readonly Person[]])[] {
  return [
    [{}, []],
    [{ tenant: undefined }, []],
    [{ tenant: tenantId(`${home}-other`) }, []],
    [{ operationClass: "kek.rotate" }, []],
    [{ expiresAt: noon }, []],
    [{ expiresAt: instant(noon + 1) }, []],
    [{ status: "expired" }, []],
    [{ status: "executed" }, []],
    ...deciders.map((person) => [{ maker: somebody(person.subject, [], { person }) }, []] as const),
    ...deciders.map((person) => [{}, [person]] as const),
    [{}, [personNamed(`somebody-${home}`), ...deciders.slice(1, 2)]],
  ];
}

const approvalOf = (person: Person): Decision => ({
  id: crypto.randomUUID(),
  approver: person.subject,
  approverName: "",
  person,
  decision: "approve",
  comment: "",
  createdAt: noon,
});
