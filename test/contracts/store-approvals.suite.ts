/** What every store guarantees about requests for approval. */

import { expect, test } from "bun:test";

import { tenantId } from "#core/ids.ts";
import { addSeconds, instant } from "#core/time.ts";
import type { ApprovalRecord } from "#domain/approvals/store.ts";
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
