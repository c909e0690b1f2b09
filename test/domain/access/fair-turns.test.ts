/**
 * Whose turn it is among those who present passwords: who guesses waits for himself, and nobody
 * waits for him.
 */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { turnWorld } from "#test/support/worlds/turns.ts";

/** What has come of it by now. */
async function state(asked: Promise<string>): Promise<string> {
  await Bun.sleep(0);
  return Promise.race([asked, Promise.resolve("waits")]);
}

const guesser = { from: "203.0.113.1" };
const other = { from: "203.0.113.2" };
const home = { from: "192.0.2.1" };

describe("a turn", () => {
  test("comes to another address after one look, however many of the first one wait", async () => {
    const { ask, begun, end, endAll } = turnWorld();
    const guesses = Array.from({ length: 60 }, (_, n) => ask(guesser, `guess ${n}`));
    const right = ask(other, "right");
    await Bun.sleep(0);
    expect(begun).toHaveLength(2);
    await end();
    expect(begun[2]).toBe("root@203.0.113.2 right");
    await endAll();
    expect(await right).toBe("right");
    expect(new Set(await Promise.all(guesses))).toEqual(new Set(["wrong"]));
  });

  test("comes to another account of the same address before more guesses at the first", async () => {
    const { ask, begun, end } = turnWorld();
    for (let n = 0; n < 60; n++) void ask(guesser, `guess ${n}`);
    void ask({ ...guesser, as: "alice" }, "right");
    await end();
    expect(begun[2]).toBe("alice@203.0.113.1 right");
  });

  test("that was given up while its address was slowed down leaves nothing behind", async () => {
    const failures = { address: { rate: 1, burst: 1 } };
    const { turns, ask, begun, endAll, pass } = turnWorld({ waitingPerAddress: 1, failures });
    const first = ask(guesser, "guess");
    await endAll();
    expect(await first).toBe("wrong");
    const slowed = ask(guesser, "another");
    const right = ask({ ...guesser, as: "alice" }, "right");
    expect(await slowed).toBe("rate_limited");
    expect(turns.lanes).toBe(1);
    await pass(1000);
    await endAll();
    expect(await right).toBe("right");
    expect(begun).toHaveLength(2);
    expect(turns.lanes).toBe(0);
  });

  test("comes to nobody more than as many at once as one address may have", async () => {
    const { ask, begun } = turnWorld({ atOnce: 4, atOnceStrangers: 4 });
    for (let n = 0; n < 4; n++) void ask(guesser, `slow ${n}`);
    void ask(other, "one");
    await Bun.sleep(0);
    expect(begun.map((one) => one.split(" ")[0])).toEqual([
      "root@203.0.113.1",
      "root@203.0.113.1",
      "root@203.0.113.2",
    ]);
  });

  test("is kept free for who is known while strangers hold theirs", async () => {
    const { ask, begun, makeKnown } = turnWorld({ atOnceStrangers: 1 });
    await makeKnown(home);
    for (let n = 1; n < 9; n++) void ask({ from: `203.0.113.${n}` }, `slow ${n}`);
    void ask(home, "changed");
    await Bun.sleep(0);
    expect(begun.slice(1)).toEqual(["root@203.0.113.1 slow 1", "root@192.0.2.1 changed"]);
  });

  test("of the newest of a lane is not shut out by a flood before it", async () => {
    const { ask, end, endAll } = turnWorld({ waitingPerAddress: 3 });
    const guesses = Array.from({ length: 9 }, (_, n) => ask(guesser, `guess ${n}`));
    const right = ask(guesser, "right");
    expect(await state(guesses[2] as Promise<string>)).toBe("rate_limited");
    await end();
    await endAll();
    expect(await right).toBe("right");
    const came = await Promise.all(guesses);
    expect(came.filter((one) => one === "rate_limited")).toHaveLength(5);
    expect(came.filter((one) => one === "wrong")).toHaveLength(4);
  });

  test("is taken from the longest line when there is no more room", async () => {
    const { ask, endAll } = turnWorld({ waitingMax: 4 });
    const asked = Array.from({ length: 6 }, (_, n) => ask(guesser, `guess ${n}`));
    const one = ask(other, "right");
    expect(await state(asked[2] as Promise<string>)).toBe("rate_limited");
    await endAll();
    expect(await one).toBe("right");
  });

  test("of an account that everybody asks for gives way to that of another", async () => {
    const { ask, endAll } = turnWorld({ waitingMax: 4 });
    const asked = Array.from({ length: 6 }, (_, n) => ask({ from: `203.0.113.${n}` }, `g ${n}`));
    const alice = ask({ from: "198.51.100.1", as: "alice" }, "right");
    expect(await state(asked[5] as Promise<string>)).toBe("rate_limited");
    await endAll();
    expect(await alice).toBe("right");
  });

  test("is refused to whoever has waited too long", async () => {
    const account = { rate: 0.001, burst: 1 };
    const { ask, endAll, pass } = turnWorld({ longestMs: 30_000, failures: { account } });
    void ask(guesser, "guess");
    await endAll();
    const late = ask(other, "right");
    await pass(29_999);
    expect(await state(late)).toBe("waits");
    await pass(1);
    expect(await state(late)).toBe("rate_limited");
  });
});

test("within a lane the newest and the oldest have turns alternately, so that nobody is shut out", async () => {
  const { ask, begun, endAll, pass } = turnWorld({ failures: { address: { rate: 1, burst: 1 } } });
  void ask(guesser, "guess");
  await endAll();
  for (const password of ["one", "two", "three", "four"]) void ask(guesser, password);
  for (let second = 0; second < 4; second++) {
    await pass(1000);
    await endAll();
  }
  const looked = begun.map((one) => one.split(" ")[1]);
  expect(looked).toEqual(["guess", "four", "one", "three", "two"]);
});

describe("the same wrong password", () => {
  test("takes one look for all who wait with it, from wherever they come", async () => {
    const { ask, begun, endAll } = turnWorld();
    const stale = Array.from({ length: 60 }, (_, n) => ask({ from: `192.0.2.${n % 3}` }, "stale"));
    await endAll();
    expect(new Set(await Promise.all(stale))).toEqual(new Set(["wrong"]));
    expect(begun).toHaveLength(1);
  });

  test("is another one under another name", async () => {
    const { ask, begun, endAll } = turnWorld();
    const asked = ["root", "alice", "bob", "carol"].map((as) => ask({ ...home, as }, "stale"));
    await endAll();
    await Promise.all(asked);
    expect(begun).toHaveLength(4);
  });
});

describe("failing", () => {
  const slow = { rate: 1, burst: 3 };

  test("of an address at accounts that do not know it is slowed down, for that address alone", async () => {
    const { ask, begun, endAll, pass } = turnWorld({ failures: { address: slow } });
    for (let n = 0; n < 10; n++) void ask({ ...guesser, as: `name ${n}` }, "guess");
    await endAll();
    expect(begun).toHaveLength(3);
    void ask(other, "guess");
    await Bun.sleep(0);
    expect(begun.at(-1)).toBe("root@203.0.113.2 guess");
    await endAll();
    await pass(999);
    expect(begun).toHaveLength(4);
    await pass(1);
    expect(begun).toHaveLength(5);
  });

  test("at one account is bounded by the minute, whatever the number of addresses and the spelling of its name", async () => {
    const account = { rate: 1, burst: 5 };
    const { ask, begun, endAll, pass } = turnWorld({ failures: { account } });
    const names = ["alice", "ALICE", "alice ", "Álice", "ａlice", "al\u00adice"];
    for (let second = 0; second < 60; second++) {
      for (let n = 0; n < 5; n++) {
        const as = names[(second + n) % names.length] ?? "";
        void ask({ from: `10.${second}.${n}.1`, as }, `guess ${second} ${n}`);
      }
      await endAll();
      await pass(1000);
    }
    await endAll();
    expect(begun.length).toBeLessThanOrEqual(65);
    expect(begun.length).toBeGreaterThanOrEqual(60);
  });

  test("to revoke has a ration of its own, which ordinary guesses do not use up", async () => {
    const failures = { account: slow, accountToRevoke: { rate: 1, burst: 4 } };
    const { ask, begun, endAll } = turnWorld({ failures });
    for (let n = 0; n < 9; n++) void ask({ from: `203.0.113.${n}` }, `guess ${n}`);
    await endAll();
    expect(begun).toHaveLength(3);
    const right = ask({ from: "198.51.100.1", exempt: true }, "right");
    await endAll();
    expect(await right).toBe("right");
    for (let n = 0; n < 9; n++) void ask({ from: `203.0.113.${n}`, exempt: true }, `guess x${n}`);
    await endAll();
    expect(begun).toHaveLength(3 + 1 + 4);
  });

  test("by others never keeps out who is known at the account, and who is not in the end neither", async () => {
    const { ask, begun, endAll, makeKnown, pass } = turnWorld({ failures: { account: slow } });
    await makeKnown(home);
    for (let n = 0; n < 50; n++) void ask({ from: `203.0.113.${n}` }, `guess ${n}`);
    await endAll();
    const looked = begun.length;
    // With another password than the one remembered, so that it takes a look.
    const known = ask(home, "right after a change");
    const fresh = ask({ from: "198.51.100.1" }, "right as ever");
    await endAll();
    expect(await known).toBe("right");
    expect(begun).toHaveLength(looked + 1);
    // Those who came before have one turn each.
    for (let n = 0; n < 60 && (await state(fresh)) === "waits"; n++) {
      await pass(1000);
      await endAll();
    }
    expect(await fresh).toBe("right");
    expect(begun.length).toBeLessThanOrEqual(looked + 1 + 50);
  });

  test("a thousand times gives an address no more chances than another has by asking once", async () => {
    const { ask, begun, endAll, pass } = turnWorld({ failures: { account: slow } });
    for (let n = 0; n < 3; n++) void ask(guesser, `first ${n}`);
    await endAll();
    for (let n = 0; n < 1000; n++) void ask(guesser, `guess ${n}`);
    void ask(other, "right");
    for (let second = 0; second < 2; second++) {
      await pass(1000);
      await endAll();
    }
    expect(begun.slice(3).map((one) => one.split(" ")[0])).toEqual([
      "root@203.0.113.1",
      "root@203.0.113.2",
    ]);
  });

  test("is not what is right, and not what nobody could look at", async () => {
    const { turns, keys, ask, endAll } = turnWorld({ failures: { address: slow, account: slow } });
    for (let n = 0; n < 9; n++) {
      const right = ask({ from: `192.0.2.${n}` }, `right ${n}`);
      await endAll();
      expect(await state(right)).toBe("right");
      const away = turns.run<boolean>({
        attempt: keys.of("root", `away ${n}`, { ip: guesser.from }),
        look: () => Promise.reject(new Error("away")),
        verdict: () => "wrong",
        wrong: false,
      });
      expect(await away.catch(String)).toBe("Error: away");
    }
  });

  test("is what a right guess costs too: nobody is told of it at once whose ration and room are used up", async () => {
    const requests = { waitingPerAddress: 3, failures: { known: slow, account: slow } };
    const { ask, endAll, makeKnown, pass } = turnWorld(requests);
    await makeKnown(home);
    for (const from of ["203.0.113.1", home.from]) {
      for (let n = 0; n < 6; n++) {
        void ask({ from }, `guess ${from} ${n}`);
        await endAll();
      }
      const guessed = ask({ from }, "right root");
      expect(await state(guessed)).toBe("waits");
      for (let second = 0; second < 2; second++) {
        await pass(1000);
        await endAll();
      }
      expect(await guessed).toBe("right");
    }
  });

  test("at the same account from the same address does not delay what is known to be right while there is room", async () => {
    const requests = { waitingPerAddress: 64, failures: { known: slow } };
    const { ask, makeKnown, endAll } = turnWorld(requests);
    await makeKnown(home);
    for (let n = 0; n < 60; n++) {
      void ask(home, `guess ${n}`);
      if (n % 3 === 0) await endAll();
      expect(await state(ask(home, "right root"))).toBe("right");
    }
  });
});

test("what is known to be right is never delayed by any flood from elsewhere, or at other accounts", async () => {
  const flooder = fc.record({
    from: fc.oneof(fc.constant(home.from), fc.ipV4(), fc.ipV6()),
    as: fc.constantFrom("root", "alice", "bob"),
    exempt: fc.boolean(),
    password: fc.string(),
    seconds: fc.nat({ max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(flooder, { maxLength: 120 }), async (flood) => {
      const few = { rate: 1, burst: 2 };
      const failures = { known: few, address: few, account: few, accountToRevoke: few };
      const { ask, makeKnown, pass, end } = turnWorld({ waitingMax: 20, failures });
      await makeKnown(home);
      for (const { from, as, exempt, password, seconds } of flood) {
        if (from === home.from && as === "root") continue;
        void ask({ from, as, exempt }, `wrong ${password}`);
        if (seconds > 2) await end();
        if (seconds > 1) await pass(1000);
        expect(await state(ask(home, "right root"))).toBe("right");
      }
    }),
    { numRuns: 40 },
  );
});

test("every look that waits is served in the end, whatever comes in which order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 2 }), fc.boolean()), { maxLength: 60 }),
      async (asks) => {
        const few = { rate: 1, burst: 2 };
        const failures = { known: few, address: few, account: few, accountToRevoke: few };
        const { turns, ask, endAll, pass } = turnWorld({ failures });
        const asked = asks.map(([address, account, right], n) =>
          ask(
            { from: `192.0.2.${address}`, as: `name ${account}` },
            `${right ? "right" : "no"} ${n}`,
          ),
        );
        for (let second = 0; second < 130; second++) {
          await endAll();
          await pass(1000);
        }
        await endAll();
        expect(await Promise.all(asked.map(state))).toEqual(
          asks.map(([, , right]) => (right ? "right" : "wrong")),
        );
        expect(turns.lanes).toBe(0);
      },
    ),
    { numRuns: 10 },
  );
});

test("one network of IPv6 is one address", async () => {
  const { ask, makeKnown, begun, endAll } = turnWorld({
    failures: { account: { rate: 0.001, burst: 1 } },
  });
  await makeKnown({ from: "2001:db8:0:1::1" });
  void ask(guesser, "guess");
  await endAll();
  const near = ask({ from: "2001:db8:0:1:ffff::" }, "right now");
  const far = ask({ from: "2001:db8:0:2::1" }, "right now");
  await endAll();
  expect([await state(near), await state(far)]).toEqual(["right", "waits"]);
  expect(begun).toHaveLength(3);
});
