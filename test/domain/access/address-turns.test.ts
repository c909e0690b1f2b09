/** Whose turn it is among addresses: nobody waits for another one, and failing often is slow. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { Problem } from "#core/problems.ts";
import { AddressTurns, laneOf, type AddressTurnLimits } from "#domain/access/address-turns.ts";

/** A queue under a clock of its own, with every look it has begun. */
function world(wanted: Partial<AddressTurnLimits> = {}) {
  const time = { ms: 0 };
  const sleeping: { until: number; wake: () => void }[] = [];
  const limits = {
    atOnce: 2,
    atOncePerLane: 2,
    waitingPerLane: 100,
    waitingMax: 1000,
    failures: { rate: 1, burst: 1000 },
    ...wanted,
  };
  const turns = new AddressTurns({
    limits,
    elapsedMs: () => time.ms,
    sleep: (ms) => new Promise((wake) => sleeping.push({ until: time.ms + ms, wake })),
  });
  const begun: string[] = [];
  const looks: { lane: string; end: (right: boolean) => void }[] = [];
  const ask = (lane: string) =>
    turns.run(
      lane,
      () =>
        new Promise<boolean>((end) => {
          begun.push(lane);
          looks.push({ lane, end });
        }),
      (right) => !right,
    );
  /** Ends the oldest look. */
  const end = async (right = false) => {
    looks.shift()?.end(right);
    await Bun.sleep(0);
  };
  const pass = async (ms: number) => {
    time.ms += ms;
    for (const one of sleeping.splice(0)) {
      if (one.until <= time.ms) one.wake();
      else sleeping.push(one);
    }
    await Bun.sleep(0);
  };
  return { turns, ask, begun, looks, end, pass };
}

const refusal = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => "seen",
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  );

describe("a turn", () => {
  test("comes to another address after one look, however many of the first one wait", async () => {
    const { ask, begun, end } = world();
    const guesses = Array.from({ length: 60 }, () => refusal(ask("guesser")));
    const right = refusal(ask("root"));
    await Bun.sleep(0);
    expect(begun).toEqual(["guesser", "guesser"]);
    await end();
    expect(begun).toEqual(["guesser", "guesser", "root"]);
    await end();
    await end(true);
    expect(await right).toBe("seen");
    for (let left = 0; left < 60; left++) await end();
    expect(new Set(await Promise.all(guesses))).toEqual(new Set(["seen"]));
  });

  test("that was given up while its address was slowed down leaves nothing behind", async () => {
    const failures = { rate: 1, burst: 1 };
    const { turns, ask, begun, end, pass } = world({ atOnce: 1, waitingMax: 1, failures });
    const first = refusal(ask("guesser"));
    await Bun.sleep(0);
    await end();
    expect(await first).toBe("seen");
    const slowed = refusal(ask("guesser"));
    const right = refusal(ask("root"));
    expect(await slowed).toBe("rate_limited");
    await end(true);
    expect(await right).toBe("seen");
    expect(begun).toEqual(["guesser", "root"]);
    expect(turns.lanes).toBe(1);
    await pass(1000);
    expect(turns.lanes).toBe(0);
  });

  test("comes to nobody more than as many at once as one address may have", async () => {
    const { ask, begun } = world({ atOnce: 4, atOncePerLane: 2 });
    for (let n = 0; n < 4; n++) void refusal(ask("slow"));
    void refusal(ask("other"));
    await Bun.sleep(0);
    expect(begun).toEqual(["slow", "slow", "other"]);
  });

  test("is refused to whoever has too many waiting, and to nobody else", async () => {
    const { turns, ask, begun, end } = world({ waitingPerLane: 3 });
    const asked = Array.from({ length: 8 }, () => refusal(ask("guesser")));
    expect((await Promise.all(asked.slice(5))).every((one) => one === "rate_limited")).toBe(true);
    expect(() => turns.refuseWhenFull("guesser")).toThrow("Too many requests.");
    expect(() => turns.refuseWhenFull("root")).not.toThrow();
    void refusal(ask("root"));
    await end();
    expect(begun.at(-1)).toBe("root");
  });

  test("is taken from the longest line when there is no more room", async () => {
    const { ask, begun, end } = world({ waitingMax: 4 });
    const asked = Array.from({ length: 6 }, () => refusal(ask("guesser")));
    const other = refusal(ask("other"));
    expect(await asked[5]).toBe("rate_limited");
    await end();
    expect(begun.at(-1)).toBe("other");
    await end(true);
    await end(true);
    expect(await other).toBe("seen");
  });
});

describe("failing", () => {
  test("is slowed down after a few times, for that address alone", async () => {
    const { ask, begun, end, pass } = world({ failures: { rate: 1, burst: 3 } });
    for (let n = 0; n < 10; n++) void refusal(ask("guesser"));
    for (let n = 0; n < 10; n++) {
      await Bun.sleep(0);
      await end();
    }
    expect(begun).toHaveLength(3);
    void refusal(ask("root"));
    await Bun.sleep(0);
    expect(begun.at(-1)).toBe("root");
    await end(true);
    await pass(999);
    expect(begun).toHaveLength(4);
    await pass(1);
    expect(begun.at(-1)).toBe("guesser");
    expect(begun).toHaveLength(5);
  });

  test("is not what is right, and not what nobody could look at", async () => {
    const { turns, ask, begun, end } = world({ failures: { rate: 1, burst: 2 } });
    for (let n = 0; n < 9; n++) {
      void refusal(ask("root"));
      await Bun.sleep(0);
      await end(true);
      const away = async () => {
        throw new Error("away");
      };
      expect(await refusal(turns.run("root", away, () => true))).toBe("Error: away");
    }
    expect(begun).toHaveLength(9);
  });
});

test("every look that waits is served in the end, whatever comes in which order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 60 }),
      fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
      async (lanes, rights) => {
        const { ask, looks, end, pass } = world({ failures: { rate: 1, burst: 2 } });
        const asked = lanes.map((lane) => refusal(ask(lane)));
        for (const right of rights) {
          if (looks.length === 0) await pass(1000);
          await end(right);
          await pass(1000);
        }
        while (looks.length > 0) await end(true);
        expect(await Promise.all(asked)).toEqual(lanes.map(() => "seen"));
      },
    ),
    { numRuns: 30 },
  );
});

test("what is exempt is a line of its own, and one network of IPv6 is one address", () => {
  expect(laneOf({ ip: "2001:db8:0:1::1" })).toBe(laneOf({ ip: "2001:db8:0:1:ffff::" }));
  expect(laneOf({ ip: "192.0.2.1", exempt: true })).not.toBe(laneOf({ ip: "192.0.2.1" }));
});
