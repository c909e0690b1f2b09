/** What every store must do about the accounts, credentials and nonces of ACME. */

import { describe, expect, test } from "bun:test";

import { type CaId, caId, tenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { EabRecord } from "#domain/acme/store.ts";
import type { PageKey } from "#domain/page.ts";
import type { Store } from "#domain/store.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { only } from "#test/support/stores/reach.ts";
import { noon } from "#test/support/stores/records.ts";
import { acmeChallengeContract } from "./store-acme-challenges.suite.ts";
import { acmeOrderContract } from "./store-acme-orders.suite.ts";

type Given = () => { readonly store: Store; readonly home: CaId };

const { later } = make;

/** Declares the tests on the store that `given` gives when they run. */
export function acmeContract(given: Given): void {
  describe("ACME", () => {
    nonces(given);
    accounts(given);
    keys(given);
    endings(given);
    credentials(given);
    acmeOrderContract(given);
    acmeChallengeContract(given);
  });
}

function nonces(given: Given): void {
  test("a nonce is used once, and what it keeps goes when its time is over", async () => {
    const { store, home } = given();
    const use = (id: string, at: number) =>
      store.atomically((tx) => tx.acme.useNonce(id, later(at)));
    const prune = (at: number, limit = 100) =>
      store.atomically((tx) => tx.acme.pruneNonces(later(at), limit));
    // In the order of time, and before those of any other test.
    const ids = [1, 2, 3].map((n) => `00000${n} ${home}`);
    for (const [at, id] of ids.entries()) expect(await use(id, at)).toBe(true);
    expect(await use(ids[1] ?? "", 1)).toBe(false);
    expect(await prune(0)).toBe(0);
    expect(await prune(2, 1)).toBe(1);
    expect(await prune(2)).toBe(1);
    expect(await use(ids[2] ?? "", 2)).toBe(false);
    expect(await prune(3)).toBe(1);
    expect(await prune(3)).toBe(0);
  });

  test("of units that use one nonce at the same time one does", async () => {
    const { store, home } = given();
    const uses = await Promise.all(
      Array.from({ length: 8 }, () =>
        store.atomically((tx) => tx.acme.useNonce(`same ${home}`, later(1))),
      ),
    );
    expect(uses.filter(Boolean)).toHaveLength(1);
  });

  test("a nonce that a unit used is free again when the unit fails", async () => {
    const { store, home } = given();
    const id = `undone ${home}`;
    const failing = store.atomically(async (tx) => {
      await tx.acme.useNonce(id, later(1));
      throw new Error("undone");
    });
    await expect(failing).rejects.toThrow("undone");
    expect(await store.atomically((tx) => tx.acme.useNonce(id, later(1)))).toBe(true);
  });
}

function accounts(given: Given): void {
  test("an account is found by id and by key, with every field as it was stored", async () => {
    const { store } = given();
    const bare = make.account({ contacts: [], termsAgreedAt: undefined });
    const full = make.account({ eabId: "eab_1", contacts: ['mailto:"ä"@example.com', "tel:1"] });
    for (const one of [bare, full]) {
      expect(await store.atomically((tx) => tx.acme.addAccount(one))).toBeUndefined();
      expect(await store.read.acme.account(one.id)).toEqual(one);
      const { directory, thumbprint } = one;
      expect(await store.read.acme.accountByKey(directory, thumbprint)).toEqual(one);
      expect(await store.read.acme.accountByKey("other", thumbprint)).toBeUndefined();
    }
    expect(await store.read.acme.account("nobody")).toBeUndefined();
  });

  test("a key has one account of a directory: the first one is given, and stays", async () => {
    const { store } = given();
    const first = make.account();
    const { thumbprint } = first;
    const [again, elsewhere] = [
      make.account({ thumbprint, contacts: [] }),
      make.account({ thumbprint, directory: "other" }),
    ];
    const add = (one: typeof first) => store.atomically((tx) => tx.acme.addAccount(one));
    const answers = await Promise.all([add(first), add(again), add(elsewhere)]);
    expect(answers).toEqual([undefined, first, undefined]);
    expect(await store.read.acme.account(again.id)).toBeUndefined();
    // That one has ended changes nothing about whose key it is.
    await store.atomically((tx) => tx.acme.endAccount(first.id, "deactivated", later(1)));
    expect(await add(again)).toEqual({ ...first, status: "deactivated", idleSince: later(1) });
  });

  test("contacts are replaced, and a unit sees its own change", async () => {
    const { store } = given();
    const own = make.account();
    await store.atomically((tx) => tx.acme.addAccount(own));
    const changed = { ...own, contacts: ["mailto:new@example.com"] };
    const within = await store.atomically(async (tx) => {
      await tx.acme.setContacts(own.id, changed.contacts);
      return await tx.acme.lockAccount(own.id);
    });
    expect(within).toEqual(changed);
    expect(await store.read.acme.account(own.id)).toEqual(changed);
  });

  test("accounts are paged newest first, within reach and by status", async () => {
    const { store, home } = given();
    const tenant = tenantId(`tenant ${home}`);
    const made = [0, 1, 1, 2, 3].map((seconds) =>
      make.account({ tenant, createdAt: later(seconds) }),
    );
    const foreign = make.account();
    for (const one of [...made, foreign]) await store.atomically((tx) => tx.acme.addAccount(one));
    const [oldest] = made;
    await store.atomically((tx) => tx.acme.endAccount(oldest?.id ?? "", "revoked", later(1)));
    const reach = only([tenant]);
    const seen: string[] = [];
    let after: PageKey | undefined;
    do {
      const page = await store.read.acme.accounts({ reach }, 2, after);
      expect(page.total).toBe(5);
      seen.push(...page.items.map(({ id }) => id));
      after = page.next;
    } while (after !== undefined);
    const newest = made.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
    expect(seen).toEqual(newest.map(({ id }) => id));
    const ended = await store.read.acme.accounts({ reach, status: "revoked" }, 5);
    expect(ended.items).toMatchObject([{ id: oldest?.id }]);
    expect(ended.total).toBe(1);
    expect((await store.read.acme.accounts({ reach: only([]) }, 5)).items).toEqual([]);
    const all = await store.read.acme.accounts({ reach: "platform" }, 500);
    expect(all.items.map(({ id }) => id)).toContain(foreign.id);
  });
}

function keys(given: Given): void {
  const key = (name: string) => ({ thumbprint: name, jwk: `"${name}"`, spkiSha256: `of ${name}` });

  test("a key that was changed stays the account's own, though nobody is found by it", async () => {
    const { store, home } = given();
    const own = make.account();
    await store.atomically((tx) => tx.acme.addAccount(own));
    const [second, third] = [key(`2 ${home}`), key(`3 ${home}`)];
    const change = (to: typeof second) => store.atomically((tx) => tx.acme.changeKey(own.id, to));
    for (const one of [second, third]) expect(await change(one)).toBeUndefined();
    expect(await store.read.acme.account(own.id)).toEqual({ ...own, ...third });
    const earlier = await store.read.acme.accountByKey(own.directory, own.thumbprint);
    expect(earlier).toBeUndefined();
    for (const { spkiSha256 } of [own, second, third]) {
      expect(await store.read.acme.isAccountKey(spkiSha256)).toBe(true);
    }
    expect(await store.read.acme.isAccountKey(`of nobody ${home}`)).toBe(false);
    const names = [third.thumbprint, second.thumbprint, own.thumbprint];
    expect(await store.read.acme.thumbprints(own.id, "a.test")).toEqual(names);
    // One that comes back is named once, as its own.
    await change(second);
    const back = [second.thumbprint, third.thumbprint, own.thumbprint];
    expect(await store.read.acme.thumbprints(own.id, "a.test")).toEqual(back);
    expect(await store.read.acme.thumbprints("nobody", "a.test")).toEqual([]);
  });

  test("all keys that an account has had are known, the newest first", async () => {
    const { store, home } = given();
    const own = make.account();
    await store.atomically(async (tx) => {
      await tx.acme.addAccount(own);
      for (let n = 0; n < 60; n++) await tx.acme.changeKey(own.id, key(`${n} ${home}`));
    });
    const changed = Array.from({ length: 60 }, (_, n) => `${59 - n} ${home}`);
    const expected = [...changed, own.thumbprint];
    expect(await store.read.acme.thumbprints(own.id, "a.test")).toEqual(expected);
  });

  test("records of a name end for the keys an account has had until then, and for no others", async () => {
    const { store, home } = given();
    const [own, other] = [make.account(), make.account()];
    for (const one of [own, other]) await store.atomically((tx) => tx.acme.addAccount(one));
    const change = (name: string, of = own) =>
      store.atomically((tx) => tx.acme.changeKey(of.id, key(`${name} ${home}`)));
    const end = (...names: readonly string[]) =>
      store.atomically((tx) => tx.acme.endRecords(own.id, names));
    const known = async (name: string, of = own) =>
      (await store.read.acme.thumbprints(of.id, name)).map((one) => one.replace(` ${home}`, ""));
    // There is none yet.
    await end("a.test");
    await change("2");
    await change("other 2", other);
    expect(await known("a.test")).toEqual(["2", own.thumbprint]);
    await end("a.test", "b.test");
    for (const name of ["a.test", "b.test"]) expect(await known(name)).toEqual(["2"]);
    expect(await known("c.test")).toEqual(["2", own.thumbprint]);
    expect(await known("a.test", other)).toEqual(["other 2", other.thumbprint]);
    await change("3");
    expect(await known("a.test")).toEqual(["3", "2"]);
    await end("a.test");
    expect(await known("a.test")).toEqual(["3"]);
    expect(await known("b.test")).toEqual(["3", "2"]);
    expect(await known("c.test")).toEqual(["3", "2", own.thumbprint]);
  });

  test("the key of another account is not taken, and one that another gave up is", async () => {
    const { store, home } = given();
    const [one, other] = [make.account(), make.account()];
    for (const own of [one, other]) await store.atomically((tx) => tx.acme.addAccount(own));
    const change = (id: string, to: ReturnType<typeof key>) =>
      store.atomically((tx) => tx.acme.changeKey(id, to));
    const { thumbprint, jwk, spkiSha256 } = other;
    expect(await change(one.id, { thumbprint, jwk, spkiSha256 })).toBe(other.id);
    expect(await store.read.acme.account(one.id)).toEqual(one);
    expect(await store.read.acme.thumbprints(one.id, "a.test")).toEqual([one.thumbprint]);
    await change(other.id, key(`next ${home}`));
    expect(await change(one.id, { thumbprint, jwk, spkiSha256 })).toBeUndefined();
    // Of two that take the same new key one is told of the other.
    const wanted = key(`wanted ${home}`);
    const answers = await Promise.all([change(one.id, wanted), change(other.id, wanted)]);
    expect(answers).toEqual([undefined, one.id]);
  });
}

function endings(given: Given): void {
  test("an account ends once, with its proofs and its open orders, and no other does", async () => {
    const { store } = given();
    const ended = await make.ordered(store, [{}, { status: "valid", method: "dns-01" }]);
    const kept = await make.ordered(store);
    const { account: own, proofs } = ended;
    const refused = make.authorization({ account: own.id, status: "invalid" });
    const ready = make.order([refused], { status: "ready" });
    const done = make.order([refused], { status: "processing" });
    const [first] = proofs[0]?.challenges ?? [];
    await store.atomically(async (tx) => {
      await tx.acme.addOrder(ready, [refused]);
      await tx.acme.addOrder(done, []);
      await tx.acme.beginChallenge(first?.id ?? "", later(0));
    });
    const end = () => store.atomically((tx) => tx.acme.endAccount(own.id, "deactivated", later(1)));
    expect([await end(), await end()]).toEqual([true, false]);
    expect(await store.read.acme.account(own.id)).toEqual({
      ...own,
      status: "deactivated",
      idleSince: later(1),
    });
    const statusOf = async (id: string) => (await store.read.acme.order(id))?.status;
    expect(await statusOf(ended.order.id)).toBe("invalid");
    expect(await statusOf(ready.id)).toBe("invalid");
    expect(await statusOf(done.id)).toBe("processing");
    expect(await statusOf(kept.order.id)).toBe("pending");
    const ids = [...proofs, refused, ...kept.proofs].map(({ id }) => id);
    const states = (await store.read.acme.authorizations(ids)).map(({ status }) => status);
    expect(states).toEqual(["deactivated", "deactivated", "invalid", "pending"]);
    const claim = { ids: [first?.id ?? ""], at: later(9), leaseUntil: later(10) };
    const jobs = await store.atomically((tx) => tx.acme.claimChallenges(claim));
    expect(jobs).toEqual([]);
    expect(await store.atomically((tx) => tx.acme.endAccount("nobody", "revoked", later(1)))).toBe(
      false,
    );
  });

  test("an account is idle until it is said not to be, for as long as it is valid", async () => {
    const { store } = given();
    const [idle, kept] = [make.account({ idleSince: noon }), make.account()];
    for (const one of [idle, kept]) await store.atomically((tx) => tx.acme.addAccount(one));
    const since = async (id: string) => (await store.read.acme.account(id))?.idleSince;
    const setIdle = (id: string, at: Instant | undefined) =>
      store.atomically((tx) => tx.acme.setIdle(id, at));
    await setIdle(idle.id, later(5));
    expect(await since(idle.id)).toBe(later(5));
    await setIdle(kept.id, later(5));
    expect(await since(kept.id)).toBeUndefined();
    await setIdle(idle.id, undefined);
    expect(await since(idle.id)).toBeUndefined();
    // Its end is what counts then, whatever was under way.
    await store.atomically((tx) => tx.acme.endAccount(idle.id, "deactivated", later(9)));
    await setIdle(idle.id, undefined);
    expect(await since(idle.id)).toBe(later(9));
  });

  test("idle accounts go with the keys they had, oldest first, and none that an order or a proof names", async () => {
    const { store } = given();
    const idle = (seconds: number) => make.account({ idleSince: later(seconds) });
    const [old, older, young, named] = [idle(-2000), idle(-3000), idle(10), idle(-2500)];
    const [kept, proving] = [make.account(), idle(-4000)];
    for (const one of [old, older, young, named, kept, proving]) {
      await store.atomically((tx) => tx.acme.addAccount(one));
    }
    const proof = make.authorization({ account: named.id });
    const order = make.order([proof], { account: named.id });
    await store.atomically((tx) => tx.acme.addOrder(order, [proof]));
    const alone = make.authorization({ account: proving.id, status: "invalid" });
    await store.atomically((tx) => tx.acme.addAuthorization(alone));
    const key = { thumbprint: `new ${older.id}`, jwk: "{}", spkiSha256: `new ${older.id}` };
    await store.atomically((tx) => tx.acme.changeKey(older.id, key));
    const there = async () => {
      const found = [old, older, young, named, kept, proving].map(({ id }) =>
        store.read.acme.account(id),
      );
      return (await Promise.all(found)).map((one) => one !== undefined);
    };
    const prune = () => store.atomically((tx) => tx.acme.pruneAccounts(noon, 1));
    expect(await prune()).toBe(1);
    expect(await there()).toEqual([true, false, true, true, true, true]);
    expect(await store.read.acme.isAccountKey(older.spkiSha256)).toBe(false);
    expect(await store.read.acme.thumbprints(older.id, "a.test")).toEqual([]);
    expect([await prune(), await prune()]).toEqual([1, 0]);
    expect(await there()).toEqual([false, false, true, true, true, true]);
    // Whose key it was may begin anew.
    const again = make.account({ thumbprint: old.thumbprint });
    expect(await store.atomically((tx) => tx.acme.addAccount(again))).toBeUndefined();
  });

  test("the time since when the newest idle accounts are idle is found by their number", async () => {
    const { store } = given();
    const beyond = (count: number) => store.read.acme.idleSinceBeyond(count);
    // Later than the accounts of other tests.
    for (const seconds of [7_000_003, 7_000_001, 7_000_002]) {
      const account = make.account({ idleSince: later(seconds) });
      await store.atomically((tx) => tx.acme.addAccount(account));
    }
    expect(await Promise.all([beyond(0), beyond(2)])).toEqual([later(7_000_003), later(7_000_001)]);
    expect(await beyond(1_000_000)).toBeUndefined();
  });

  test("the accounts of a credential are ended some at a time", async () => {
    const { store, home } = given();
    const eabId = `eab_${home}`;
    const made = [1, 2, 3].map(() => make.account({ eabId }));
    const other = make.account({ eabId: "eab_other" });
    for (const one of [...made, other]) await store.atomically((tx) => tx.acme.addAccount(one));
    await store.atomically((tx) => tx.acme.endAccount(made[0]?.id ?? "", "deactivated", later(1)));
    expect(await store.read.acme.boundAccounts(eabId)).toBe(2);
    const end = () => store.atomically((tx) => tx.acme.endAccountsOf(eabId, 1, later(1)));
    const rounds = [await end(), await end(), await end()];
    expect(rounds.map(({ length }) => length)).toEqual([1, 1, 0]);
    const ended = made.slice(1).map(({ id }) => id);
    expect(rounds.flat().toSorted()).toEqual(ended.toSorted());
    expect(await store.read.acme.boundAccounts(eabId)).toBe(0);
    expect((await store.read.acme.account(ended[0] ?? ""))?.status).toBe("revoked");
    expect((await store.read.acme.account(other.id))?.status).toBe("valid");
  });
}

function credentials(given: Given): void {
  const add = async (facts: Partial<EabRecord>) => {
    const row = make.eab(facts);
    await given().store.atomically((tx) => tx.acme.addEab(row));
    return row;
  };
  const use = (id: string, at = noon) => given().store.atomically((tx) => tx.acme.useEab(id, at));

  test("a credential is found with every field as it was stored", async () => {
    const bare = await add({ dnsSuffixes: [], ipRanges: [], anyIdentifier: true });
    const full = await add({
      profile: "tls",
      allowWildcards: true,
      expiresAt: later(9),
      maxUses: 0,
    });
    for (const row of [bare, full]) {
      expect(await given().store.read.acme.eab(row.id)).toEqual(row);
    }
    expect(await given().store.read.acme.eab("eab_none")).toBeUndefined();
  });

  test("of many who take the last uses of a credential at the same time, so many do", async () => {
    const { id } = await add({ maxUses: 3 });
    const taken = await Promise.all(Array.from({ length: 8 }, (_, n) => use(id, later(n))));
    expect(taken.filter(Boolean)).toHaveLength(3);
    const row = await given().store.read.acme.eab(id);
    expect(row?.uses).toBe(3);
    expect(row?.lastUsedAt).toBeDefined();
  });

  test("a credential that is unknown, revoked or at its end is not used; one without end is", async () => {
    const [endless, ending, revoked] = [
      await add({ maxUses: 0 }),
      await add({ expiresAt: later(10) }),
      await add({}),
    ];
    const { store } = given();
    const revoke = (by: string) =>
      store.atomically((tx) => tx.acme.revokeEab(revoked.id, later(1), by));
    expect([await revoke("root"), await revoke("other")]).toEqual([true, false]);
    const row = await store.read.acme.eab(revoked.id);
    expect(row).toEqual({ ...revoked, revokedAt: later(1), revokedBy: "root" });
    expect(await use(revoked.id)).toBe(false);
    expect(await use("eab_none")).toBe(false);
    expect(await use(ending.id, later(10))).toBe(false);
    expect(await use(ending.id, later(9))).toBe(true);
    for (const _ of [1, 2, 3]) expect(await use(endless.id)).toBe(true);
  });

  test("credentials are listed newest first, by reach, and by what they are at that moment", async () => {
    const { store, home } = given();
    const tenant = tenantId(`tenant ${home}`);
    const facts = { tenant, caId: home };
    const active = await add({ ...facts, createdAt: later(4) });
    const endless = await add({ ...facts, createdAt: later(3), maxUses: 0, uses: 9 });
    const exhausted = await add({ ...facts, createdAt: later(2), uses: 1 });
    const expired = await add({ ...facts, createdAt: later(1), uses: 1, expiresAt: later(5) });
    const end = { expiresAt: later(5), revokedAt: later(4), revokedBy: "root" };
    const revoked = await add({ ...facts, ...end });
    await add({ tenant: tenantId("elsewhere"), caId: caId("elsewhere") });
    const ids = async (filter: object) => {
      const asked = { reach: only([tenant]), now: later(5), ...filter };
      const page = await store.read.acme.eabs(asked, 10);
      expect(page.total).toBe(page.items.length);
      return page.items.map(({ id }) => id);
    };
    const all = [active, endless, exhausted, expired, revoked].map(({ id }) => id);
    expect(await ids({})).toEqual(all);
    expect(await ids({ reach: only([], [home]) })).toEqual(all);
    expect(await ids({ status: "active" })).toEqual([active.id, endless.id]);
    expect(await ids({ status: "exhausted" })).toEqual([exhausted.id]);
    expect(await ids({ status: "expired" })).toEqual([expired.id]);
    expect(await ids({ status: "revoked" })).toEqual([revoked.id]);
    expect(await ids({ status: "exhausted", now: later(4) })).toEqual([exhausted.id, expired.id]);
    const page = await store.read.acme.eabs({ reach: only([tenant]), now: noon }, 2);
    expect(page.total).toBe(5);
    const rest = await store.read.acme.eabs({ reach: only([tenant]), now: noon }, 9, page.next);
    expect([...page.items, ...rest.items].map(({ id }) => id)).toEqual(all);
  });
}
