/**
 * How many proofs are looked for at once: bounded altogether, for an account and at a host, so that
 * nobody keeps others waiting and no wait is counted as an attempt (CHA-3).
 */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";

import type { DueChallenge } from "#domain/acme/store.ts";
import type { Validation } from "#domain/acme/validation.ts";
import type { ChallengeAttempt } from "#domain/acme/waiting-challenges.ts";
import type { Store } from "#domain/store.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import type { TestClock } from "#test/support/ports.ts";
import * as make from "#test/support/stores/acme-records.ts";
import { sqliteDatabase } from "#test/support/stores/stores.ts";
import {
  challenges,
  clockAtNoon,
  hosts,
  seeking,
  SilentNetwork,
} from "#test/support/worlds/seeking.ts";
import { until } from "#test/support/until.ts";

let store: Store;
let clock: TestClock;
let network: SilentNetwork;
let validation: Validation;

beforeEach(() => open(createMemoryStore()));

function open(on: Store): void {
  store = on;
  clock = clockAtNoon();
  network = new SilentNetwork();
  // One attempt each, unless a test is about more.
  const acme = { validation_attempts: 1 };
  validation = seeking({ store, clock, validators: network, acme });
}

/** So that nothing is left waiting for an answer. */
afterEach(async () => {
  const halted = validation.halt();
  await settle();
  network.endAll();
  await halted;
});

/** Lets everything come to rest that waits for nobody. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Bun.sleep(0);
}

async function begin(some: readonly ChallengeAttempt[], by = validation): Promise<void> {
  for (const one of some) expect(await by.begin(one, async () => {})).toBe(true);
  await settle();
}

/** Challenges of accounts of their own, one for each host. */
async function ofStrangers(names: readonly string[]): Promise<readonly DueChallenge[]> {
  const made: DueChallenge[] = [];
  for (const name of names) made.push(...(await challenges(store, [name])));
  return made;
}

const attemptsOf = async ({ id }: DueChallenge) =>
  (await store.read.acme.challenge(id))?.challenge.attempts;

describe("at once are looked for", () => {
  test("64 proofs altogether, and the next one when one of them is decided", async () => {
    const all = await ofStrangers(hosts(70));
    await begin(all);
    expect(network.running).toEqual(all.slice(0, 64).map(({ host }) => host));
    network.end(all[7]?.host ?? "");
    await settle();
    expect(network.running).toHaveLength(64);
    expect(network.asked.at(-1)).toBe(String(all[64]?.host));
    expect(network.most.altogether).toBe(64);
  });

  test("16 proofs of an account, whatever their hosts", async () => {
    const all = await challenges(store, hosts(20));
    await begin(all);
    expect(network.running).toEqual(all.slice(0, 16).map(({ host }) => host));
    network.end(all[3]?.host ?? "");
    await settle();
    expect(network.asked.at(-1)).toBe(String(all[16]?.host));
    expect(network.most.account).toBe(16);
  });

  test("4 proofs at a host, whosever they are", async () => {
    const all = await ofStrangers(Array.from({ length: 7 }, () => "slow.test"));
    await begin(all);
    expect(network.running).toHaveLength(4);
    network.end("slow.test");
    await settle();
    expect(network.asked).toHaveLength(5);
    expect(network.running).toHaveLength(4);
    expect(network.most.host).toBe(4);
  });
});

describe("nobody keeps others waiting", () => {
  test("who asks a host that never answers holds the places of that host and no other", async () => {
    const slow = Array.from({ length: 16 }, () => "hole.test");
    for (let account = 0; account < 4; account++) await begin(await challenges(store, slow));
    expect(network.running).toHaveLength(4);
    const others = await ofStrangers(hosts(60));
    await begin(others);
    expect(network.running).toHaveLength(64);
    expect(network.running).toEqual(expect.arrayContaining(others.map(({ host }) => host)));
  });

  test("an account whose one host never answers has its other hosts asked", async () => {
    const slow = Array.from({ length: 30 }, () => "hole.test");
    await begin(await challenges(store, [...slow, ...hosts(3, "quick.test")]));
    expect(network.running.slice(4)).toEqual([...hosts(3, "quick.test")]);
  });

  test("a few accounts with many hosts leave places to whoever comes later", async () => {
    for (let account = 0; account < 3; account++) await begin(await challenges(store, hosts(100)));
    expect(network.running).toHaveLength(48);
    const [late] = await challenges(store, ["late.test"]);
    await begin(late === undefined ? [] : [late]);
    expect(network.running.at(-1)).toBe("late.test");
  });

  test("where many have taken all places, the next is of whoever has none", async () => {
    for (let account = 0; account < 12; account++) await begin(await challenges(store, hosts(100)));
    expect(network.running).toHaveLength(64);
    await begin(await ofStrangers(["late.test", "later.test"]));
    expect(network.running).not.toContain("late.test");
    const freed = async () => {
      network.end(network.running[0] ?? "");
      await settle();
      return network.asked.at(-1);
    };
    // Four accounts that have none either are older.
    for (let older = 0; older < 4; older++) expect(await freed()).toStartWith("h0.");
    expect([await freed(), await freed()]).toEqual(["late.test", "later.test"]);
  });

  test("of one account those who have waited longest come first", async () => {
    const all = await challenges(store, hosts(18));
    await begin(all);
    clock.advance(1);
    const newer = await challenges(
      store,
      ["newer.test"],
      make.account({ id: all[0]?.account ?? "" }),
    );
    // The place that comes free is not of who comes by at that moment.
    network.end(all[0]?.host ?? "");
    await begin(newer);
    expect(network.asked.at(-1)).toBe(String(all[16]?.host));
    network.end(all[1]?.host ?? "");
    await settle();
    expect(network.asked.at(-1)).toBe(String(all[17]?.host));
    network.end(all[2]?.host ?? "");
    await settle();
    expect(network.asked.at(-1)).toBe("newer.test");
  });
});

describe("tenants and addresses share the proofs before accounts do", () => {
  /** Challenges of new accounts, `each` for one, as a client of this address begins them. */
  async function createAttempts(accounts: number, tenant: string, block: string, each = 1) {
    const all: ChallengeAttempt[] = [];
    for (let n = 0; n < accounts; n++) {
      const some = await challenges(store, hosts(each));
      all.push(...some.map((one) => ({ ...one, source: { tenant, block } })));
    }
    return all;
  }

  test("an address has 24 attempts, for any number of accounts", async () => {
    await begin(await createAttempts(100, "web", "192.0.2.1"));
    expect(network.running).toHaveLength(24);
    const others = await createAttempts(1, "web", "192.0.2.2");
    await begin(others);
    expect(network.running.at(-1)).toBe(String(others[0]?.host));
  });

  test("a tenant leaves a third of the attempts to other tenants", async () => {
    for (let n = 0; n < 100; n++) await begin(await createAttempts(1, "web", `192.0.2.${n}`));
    expect(network.running).toHaveLength(43);
    // An address in two tenants is not one address.
    const others = await createAttempts(1, "lab", "192.0.2.1");
    await begin(others);
    expect(network.running.at(-1)).toBe(String(others[0]?.host));
  });

  test("the address with the fewest attempts gets the next, though others wait longer", async () => {
    const crowd: ChallengeAttempt[] = [];
    for (const block of ["192.0.2.1", "192.0.2.2", "192.0.2.3"]) {
      crowd.push(...(await createAttempts(40, "web", block)));
    }
    await begin(crowd);
    expect(network.running).toHaveLength(43);
    const [late] = await createAttempts(1, "web", "192.0.2.9");
    await begin(late === undefined ? [] : [late]);
    while (!network.running.includes(String(late?.host))) {
      network.end(network.running[0] ?? "");
      await settle();
    }
    expect(network.asked.length).toBeLessThan(48);
  });

  test("waiting challenges of a full address are all attempted in the end", async () => {
    const all = await createAttempts(100, "web", "192.0.2.1", 3);
    await begin(all);
    while (network.running.length > 0) {
      network.endAll();
      await settle();
    }
    expect(new Set(network.asked).size).toBe(300);
  });
});

describe("CHA-3: an attempt", () => {
  test("is counted when it begins and not while it waits, however long that is", async () => {
    const all = await challenges(
      store,
      Array.from({ length: 12 }, () => "slow.test"),
    );
    await begin(all);
    // Three rounds, each of which takes as long as it can, and all of them longer than a lease.
    for (const round of [1, 2, 3]) {
      const counts = await Promise.all(all.map(attemptsOf));
      expect(counts).toEqual(all.map((_, at) => (at < round * 4 ? 1 : 0)));
      for (let second = 0; second < 40; second++) {
        clock.advance(1);
        await validation.run();
      }
      for (let one = 0; one < 4; one++) network.end("slow.test");
      await settle();
    }
    expect(network.asked).toHaveLength(12);
    expect(network.most).toEqual({ altogether: 4, account: 4, host: 4 });
    expect(await Promise.all(all.map(attemptsOf))).toEqual(all.map(() => 1));
  });

  test("that is under way is not made again, even when its lease is over", async () => {
    const all = await challenges(store, hosts(2));
    await begin(all);
    clock.advance(3600);
    await validation.run();
    await settle();
    expect(network.asked).toHaveLength(2);
    network.endAll();
    await settle();
    expect(await Promise.all(all.map(attemptsOf))).toEqual([1, 1]);
  });

  test("is of one replica, and its lease outlasts whatever it may take", async () => {
    const acme = { validation_attempts: 1, validation_timeout_seconds: 60 };
    validation = seeking({ store, clock, validators: network, acme });
    const other = seeking({ store, clock, validators: network, acme });
    const all = await challenges(store, hosts(20));
    await begin(all);
    // What one has no place for the other has.
    await other.run();
    await settle();
    expect(network.asked).toHaveLength(20);
    clock.advance(60 + 30);
    await Promise.all([validation.run(), other.run()]);
    await settle();
    expect(network.asked).toHaveLength(20);
    expect(await Promise.all(all.map(attemptsOf))).toEqual(all.map(() => 1));
    network.endAll();
    await other.halt();
  });

  test("that could not begin gives its place back", async () => {
    const all = await challenges(
      store,
      Array.from({ length: 9 }, () => "slow.test"),
    );
    const broken = new Error("no unit");
    for (const one of all.slice(0, 5)) {
      const begun = validation.begin(one, () => Promise.reject(broken));
      expect(begun).rejects.toBe(broken);
    }
    await settle();
    await begin(all.slice(5));
    expect(network.running).toHaveLength(4);
  });
});

test("SSRF: of 10,000 hosts a few are asked at a time, each once, and others need not wait", async () => {
  const database = sqliteDatabase();
  open(await database.open());
  const all = await challenges(store, hosts(10_000, "many.test"));
  await store.atomically(async (tx) => {
    for (const { id } of all) await tx.acme.beginChallenge(id, clock.now());
  });
  await validation.run();
  expect(network.running).toHaveLength(16);
  const started = performance.now();
  await begin(await ofStrangers(["late.test"]));
  await until(() => network.running.includes("late.test"));
  expect(performance.now() - started).toBeLessThan(2000);
  // The last of them wait behind more than are read at a time.
  const stranger = await challenges(store, ["last.test"]);
  await store.atomically((tx) => tx.acme.beginChallenge(stranger[0]?.id ?? "", clock.now()));
  clock.advance(20);
  await validation.run();
  expect(network.running).toContain("last.test");
  while (network.asked.length < 500) {
    network.endAll();
    await Bun.sleep(0);
  }
  expect(new Set(network.asked).size).toBe(network.asked.length);
  expect(network.most).toEqual({ altogether: 18, account: 16, host: 1 });
}, 60_000);
