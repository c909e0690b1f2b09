/** What every store must do about the proofs of ACME and the work of looking for them. */

import { expect, test } from "bun:test";

import type { CaId } from "#core/ids.ts";
import { type Instant, instant } from "#core/time.ts";
import type {
  AttemptResult,
  AuthorizationRecord,
  DueChallenge,
  DueFilter,
} from "#domain/acme/store.ts";
import type { PageKey } from "#domain/page.ts";
import type { Store } from "#domain/store.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { noon } from "#test/support/stores/records.ts";

type Given = () => { readonly store: Store; readonly home: CaId };

const { later, problem } = make;

/** Declares the tests on the store that `given` gives when they run. */
export function acmeChallengeContract(given: Given): void {
  reuse(given);
  endings(given);
  work(given);
  leases(given);
  results(given);
}

const firstOf = (proofs: readonly AuthorizationRecord[]) => proofs[0]?.challenges[0]?.id ?? "";

const statesOf = async (store: Store, ids: readonly string[]) =>
  (await store.read.acme.authorizations(ids)).map(({ status }) => status);

function reuse(given: Given): void {
  test("ORD-5: what an account has proved is found by exactly its name, newest first", async () => {
    const { store, home } = given();
    const account = `account ${home}`;
    const dns = (value: string) => ({ type: "dns", value }) as const;
    const ip = { type: "ip", value: "a.example" } as const;
    const proved = { account, identifier: dns("a.example"), status: "valid" } as const;
    const older = make.authorization({ ...proved, createdAt: later(-2) });
    const newer = make.authorization({ ...proved, createdAt: later(-1) });
    const wild = make.authorization({ ...proved, wildcard: true });
    const address = make.authorization({ ...proved, identifier: ip });
    const second = make.authorization({ ...proved, identifier: dns("b.example") });
    const no = [
      make.authorization({ ...proved, account: `other ${home}` }),
      make.authorization({ ...proved, expiresAt: noon }),
      ...(["pending", "invalid", "deactivated", "revoked"] as const).map((status) =>
        make.authorization({ ...proved, status }),
      ),
    ];
    for (const one of [older, newer, wild, address, second, ...no]) {
      await store.atomically((tx) => tx.acme.addAuthorization(one));
    }
    const found = (...wanted: Parameters<typeof store.read.acme.validFor>[1]) =>
      store.read.acme.validFor(account, wanted, noon);
    const plain = { identifier: dns("a.example"), wildcard: false };
    expect(await found(plain)).toEqual([newer, older]);
    expect(await found({ ...plain, wildcard: true })).toEqual([wild]);
    expect(await found({ identifier: ip, wildcard: false })).toEqual([address]);
    const other = { identifier: dns("b.example"), wildcard: false };
    expect(await found(other, plain)).toEqual([second, newer, older]);
    expect(await found({ identifier: dns("A.example"), wildcard: false })).toEqual([]);
    expect(await found()).toEqual([]);
  });
}

function endings(given: Given): void {
  test("an authorization is given up while it is pending or valid, and revoked while valid", async () => {
    const { store } = given();
    const statuses = ["pending", "valid", "invalid", "deactivated", "revoked"] as const;
    const answers: Record<string, readonly boolean[]> = {};
    for (const status of statuses) {
      const [one, other] = [make.authorization({ status }), make.authorization({ status })];
      for (const proof of [one, other]) {
        await store.atomically((tx) => tx.acme.addAuthorization(proof));
      }
      const end = (id: string, to: "deactivated" | "revoked") =>
        store.atomically((tx) => tx.acme.endAuthorization(id, to));
      const ended = [await end(one.id, "deactivated"), await end(other.id, "revoked")];
      answers[status] = ended;
      const expected = [ended[0] ? "deactivated" : status, ended[1] ? "revoked" : status];
      expect(await statesOf(store, [one.id, other.id])).toEqual(expected);
      expect(await end(one.id, "deactivated")).toBe(false);
    }
    expect(answers).toEqual({
      pending: [true, false],
      valid: [true, true],
      invalid: [false, false],
      deactivated: [false, false],
      revoked: [false, false],
    });
  });

  test("CHA-2: a challenge is begun once, and only while its authorization is pending", async () => {
    const { store } = given();
    const { proofs } = await make.ordered(store);
    const begin = (id: string) => store.atomically((tx) => tx.acme.beginChallenge(id, noon));
    const begun = await Promise.all([1, 2, 3].map(() => begin(firstOf(proofs))));
    expect(begun.filter(Boolean)).toHaveLength(1);
    for (const status of ["valid", "invalid", "deactivated", "revoked"] as const) {
      const decided = await make.ordered(store, [{ status }]);
      expect(await begin(firstOf(decided.proofs))).toBe(false);
      const [proof] = decided.proofs;
      expect(await store.read.acme.authorization(proof?.id ?? "")).toEqual(proof);
    }
    expect(await begin("none")).toBe(false);
  });
}

// Long before what other tests begin, and apart from one another.
let day = 0;
const calendar = () => {
  day += 1;
  const start = day * 86_400_000;
  return (seconds: number): Instant => instant(start + seconds * 1000);
};

const claim = (store: Store, at: Instant, ids: readonly string[]) =>
  store.atomically((tx) => tx.acme.claimChallenges({ ids, at, leaseUntil: instant(at + 10_000) }));

const dueAt = (store: Store, at: Instant, filter: Partial<DueFilter> = {}, limit = 100) =>
  store.read.acme.dueChallenges({ at, exceptAccounts: [], exceptHosts: [], ...filter }, limit);

/** Takes what is due. */
async function claimed(store: Store, at: Instant) {
  const { items } = await dueAt(store, at);
  return await claim(
    store,
    at,
    items.map(({ id }) => id),
  );
}

/** A challenge of an account of its own that is due at that moment; ends itself after the test. */
async function begun(store: Store, at: Instant, { account, host }: Whose = {}) {
  const proof = host === undefined ? {} : { identifier: { type: "dns", value: host } as const };
  const made = await make.ordered(store, [proof], account === undefined ? {} : { account });
  const id = firstOf(made.proofs);
  expect(await store.atomically((tx) => tx.acme.beginChallenge(id, at))).toBe(true);
  return { ...made, id, proof: made.proofs[0]?.id ?? "" };
}

interface Whose {
  readonly account?: string;
  readonly host?: string;
}

/** So that no later test finds it due. */
const givenUp = (store: Store, proofs: readonly { readonly proof: string }[]) =>
  store.atomically(async (tx) => {
    for (const { proof } of proofs) await tx.acme.endAuthorization(proof, "deactivated");
  });

function work(given: Given): void {
  test("work is taken when it is due, oldest first, and says all that is needed for it", async () => {
    const { store } = given();
    const at = calendar();
    const [late, early, next] = [
      await begun(store, at(2)),
      await begun(store, at(1)),
      await begun(store, at(5)),
    ];
    expect(await claimed(store, at(0))).toEqual([]);
    const jobs = await claimed(store, at(4));
    expect(jobs.map(({ challenge }) => challenge.id)).toEqual([early.id, late.id]);
    const [first] = jobs;
    const [{ challenges = [], ...authorization } = { challenges: [] }] = early.proofs;
    expect(first?.account).toEqual(early.account);
    expect(first?.authorization as object).toEqual(authorization);
    const challenge = { ...challenges[0], status: "processing", attempts: 1 };
    expect(first?.challenge as object).toEqual(challenge);
    const stored = await store.read.acme.challenge(early.id);
    expect(stored?.challenge as object).toEqual(challenge);
    await givenUp(store, [late, early, next]);
    expect(await claimed(store, at(99))).toEqual([]);
  });

  test("of what is due those are taken that were named", async () => {
    const { store } = given();
    const at = calendar();
    const all: Awaited<ReturnType<typeof begun>>[] = [];
    for (const seconds of [1, 2, 3, 9]) all.push(await begun(store, at(seconds)));
    const [first, second, third, later] = all.map(({ id }) => id);
    const ids = async (...named: readonly (string | undefined)[]) => {
      const jobs = await claim(
        store,
        at(5),
        named.map((id) => id ?? ""),
      );
      return jobs.map(({ challenge }) => challenge.id);
    };
    expect(await ids(third)).toEqual([String(third)]);
    expect(await ids(third)).toEqual([]);
    expect(await ids("none")).toEqual([]);
    expect(await ids(later)).toEqual([]);
    expect(await ids()).toEqual([]);
    expect(await ids(third, second, later, "none", first)).toEqual([String(first), String(second)]);
    await givenUp(store, all);
  });

  test("what is due is read page by page, oldest first, until somebody takes it", async () => {
    const { store } = given();
    const at = calendar();
    const all: Awaited<ReturnType<typeof begun>>[] = [];
    for (const seconds of [3, 1, 2, 2]) all.push(await begun(store, at(seconds)));
    const late = await begun(store, at(9));
    const filter = { at: at(5), exceptAccounts: [], exceptHosts: [] };
    const read: DueChallenge[] = [];
    for (let after: PageKey | undefined, pages = 0; pages < 2; pages++) {
      const page = await store.read.acme.dueChallenges(filter, 2, after);
      read.push(...page.items);
      after = page.next;
      expect(after !== undefined).toBe(pages === 0);
    }
    const [third, first, ...seconds] = all.map(({ id, account }) => ({
      id,
      account: account.id,
      host: "www.example.com",
    }));
    seconds.sort((a, b) => (a.id < b.id ? -1 : 1));
    expect(read as object[]).toEqual([first, ...seconds, third] as object[]);
    await claim(store, at(5), [first?.id ?? "", third?.id ?? ""]);
    expect((await dueAt(store, at(5))).items).toEqual(seconds);
    await givenUp(store, [...all, late]);
  });

  test("what is of busy accounts and hosts is passed over, and not lost", async () => {
    const { store } = given();
    const at = calendar();
    const busy = await begun(store, at(1), { host: "a.example" });
    const same = await begun(store, at(2), { account: busy.account.id, host: "b.example" });
    const slow = await begun(store, at(3), { host: "slow.example" });
    const free = await begun(store, at(4), { host: "a.example" });
    const ids = async (filter: Partial<DueFilter>, limit?: number) =>
      (await dueAt(store, at(5), filter, limit)).items.map(({ id }) => id);
    const exceptAccounts = [busy.account.id];
    expect(await ids({ exceptAccounts })).toEqual([slow.id, free.id]);
    expect(await ids({ exceptAccounts, exceptHosts: ["slow.example"] }, 1)).toEqual([free.id]);
    expect(await ids({ exceptHosts: ["a.example"] })).toEqual([same.id, slow.id]);
    expect(await ids({})).toEqual([busy.id, same.id, slow.id, free.id]);
    await givenUp(store, [busy, same, slow, free]);
  });
}

function leases(given: Given): void {
  test("of units that claim one challenge one has it, until its lease ends", async () => {
    const { store } = given();
    const at = calendar();
    const own = await begun(store, at(1));
    const claims = await Promise.all(Array.from({ length: 4 }, () => claimed(store, at(2))));
    expect(claims.flat()).toHaveLength(1);
    expect(await claimed(store, at(11))).toEqual([]);
    const [again] = await claimed(store, at(12));
    expect(again?.challenge).toMatchObject({ id: own.id, attempts: 2 });
    await givenUp(store, [own]);
  });

  test("an attempt whose lease was lost changes nothing", async () => {
    const { store } = given();
    const at = calendar();
    const own = await begun(store, at(1));
    const settle = (attempt: number) =>
      store.atomically((tx) =>
        tx.acme.settleChallenge(own.id, attempt, {
          kind: "proved",
          at: at(13),
          validUntil: at(99),
        }),
      );
    expect(await settle(0)).toBe(false);
    await claimed(store, at(2));
    await claimed(store, at(12));
    expect(await settle(1)).toBe(false);
    expect(await statesOf(store, [own.proof])).toEqual(["pending"]);
    expect(await settle(2)).toBe(true);
    expect(await settle(2)).toBe(false);
    expect(await statesOf(store, [own.proof])).toEqual(["valid"]);
  });
}

function results(given: Given): void {
  const settle = (id: string, result: AttemptResult, attempt = 1) =>
    given().store.atomically((tx) => tx.acme.settleChallenge(id, attempt, result));
  const proved = { kind: "proved", at: later(3), validUntil: later(500) } as const;
  const failed = { kind: "failed", at: later(3), error: problem } as const;
  const again = (at: Instant) => ({ kind: "again", at, error: problem }) as const;
  const beginAll = async (at: Instant, proofs: readonly AuthorizationRecord[]) => {
    const { store } = given();
    for (const { challenges } of proofs) {
      const [first] = challenges;
      await store.atomically((tx) => tx.acme.beginChallenge(first?.id ?? "", at));
    }
    await claimed(store, at);
  };

  test("an order is ready when the last of its names is proved, and no other order is", async () => {
    const { store } = given();
    const at = calendar();
    const { order, proofs } = await make.ordered(store, [{}, {}]);
    const stranger = await make.ordered(store);
    const done = make.order(proofs, { status: "invalid" });
    await store.atomically((tx) => tx.acme.addOrder(done, []));
    await beginAll(at(1), proofs);
    const statusOf = async ({ id }: { readonly id: string }) =>
      (await store.read.acme.order(id))?.status;
    const [one, other] = proofs.map(({ challenges }) => challenges[0]?.id ?? "");
    expect(await settle(one ?? "", proved)).toBe(true);
    expect(await statusOf(order)).toBe("pending");
    expect(await settle(other ?? "", proved)).toBe(true);
    expect(await statusOf(order)).toBe("ready");
    expect(await statusOf(stranger.order)).toBe("pending");
    expect(await statusOf(done)).toBe("invalid");
    const found = await store.read.acme.challenge(one ?? "");
    expect(found?.challenge).toMatchObject({ status: "valid", validatedAt: later(3), attempts: 1 });
    expect(found?.challenge.error).toBeUndefined();
    const facts = { status: "valid", method: "http-01", expiresAt: later(500) } as const;
    expect(found?.authorization).toMatchObject(facts);
  });

  test("an order that waits for a name it shares with another is ready with that one", async () => {
    const { store } = given();
    const at = calendar();
    const { order, proofs } = await make.ordered(store);
    const known = make.authorization({ account: order.account, status: "valid" });
    await store.atomically((tx) => tx.acme.addAuthorization(known));
    const sharing = make.order([...proofs, known]);
    const more = make.authorization({ account: order.account });
    const waiting = make.order([...proofs, more]);
    await store.atomically(async (tx) => {
      await tx.acme.addOrder(sharing, []);
      await tx.acme.addOrder(waiting, [more]);
    });
    await beginAll(at(1), proofs);
    await settle(firstOf(proofs), proved);
    const statuses = [order, sharing, waiting].map(
      async ({ id }) => (await store.read.acme.order(id))?.status,
    );
    expect(await Promise.all(statuses)).toEqual(["ready", "ready", "pending"]);
  });

  test("CHA-1: what failed ends its authorization and the orders that wait for it", async () => {
    const { store } = given();
    const at = calendar();
    const { order, proofs } = await make.ordered(store, [{}, {}]);
    const ready = make.order(proofs, { status: "ready" });
    await store.atomically((tx) => tx.acme.addOrder(ready, []));
    await beginAll(at(1), proofs);
    expect(await settle(firstOf(proofs), failed)).toBe(true);
    const stored = await store.read.acme.order(order.id);
    expect(stored).toEqual({ ...order, status: "invalid", error: problem });
    expect(await store.read.acme.order(ready.id)).toEqual(ready);
    expect(await statesOf(store, order.authorizations)).toEqual(["invalid", "pending"]);
    const found = await store.read.acme.challenge(firstOf(proofs));
    expect(found?.challenge).toMatchObject({ status: "invalid", error: problem });
    expect(found?.challenge.validatedAt).toBeUndefined();
    const second = proofs[1]?.id ?? "";
    await givenUp(store, [{ proof: second }]);
  });

  test("what is tried again is due then and not before, and keeps why it failed", async () => {
    const { store } = given();
    const at = calendar();
    const own = await begun(store, at(1));
    await claimed(store, at(2));
    expect(await settle(own.id, again(at(5)))).toBe(true);
    const found = await store.read.acme.challenge(own.id);
    expect(found?.challenge).toMatchObject({ status: "processing", error: problem, attempts: 1 });
    expect(await statesOf(store, [own.proof])).toEqual(["pending"]);
    expect(await settle(own.id, again(at(5)))).toBe(false);
    expect(await claimed(store, at(4))).toEqual([]);
    const [job] = await claimed(store, at(5));
    expect(job?.challenge).toMatchObject({ id: own.id, attempts: 2 });
    expect(await settle(own.id, proved, 2)).toBe(true);
    expect((await store.read.acme.challenge(own.id))?.challenge.error).toBeUndefined();
  });

  test("an authorization that is decided is left alone, and its other challenges rest", async () => {
    const { store } = given();
    const at = calendar();
    const { proofs } = await make.ordered(store);
    const [one, other] = proofs[0]?.challenges.map(({ id }) => id) ?? [];
    const begin = (id = "") => store.atomically((tx) => tx.acme.beginChallenge(id, at(1)));
    expect([await begin(one), await begin(other)]).toEqual([true, true]);
    expect(await claimed(store, at(1))).toHaveLength(2);
    expect(await settle(one ?? "", proved)).toBe(true);
    for (const result of [failed, again(at(2)), proved]) {
      expect(await settle(other ?? "", result)).toBe(false);
    }
    expect(await statesOf(store, [proofs[0]?.id ?? ""])).toEqual(["valid"]);
    expect(await claimed(store, at(99))).toEqual([]);
    expect(await begin(other)).toBe(false);
    const found = await store.read.acme.challenge(other ?? "");
    expect(found?.challenge).toMatchObject({ status: "pending", attempts: 1 });
  });
}
