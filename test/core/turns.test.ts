/** Work in turns gives what work at once gives, and others are served in between. */

import { expect, test } from "bun:test";

import fc from "fast-check";

import type { Problem } from "#core/problems.ts";
import { mapInTurns, sortedInTurns, StepQueue, Turns, TurnShare } from "#core/turns.ts";

test("texts are sorted as at once, however many there are", async () => {
  const texts = fc.array(fc.string({ maxLength: 3 }), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(texts, async (given) => {
      expect(await sortedInTurns(given)).toEqual(given.toSorted());
    }),
  );
  const many = Array.from({ length: 45_000 }, (_, at) => String((at * 7919) % 40_000));
  expect(await sortedInTurns(many)).toEqual(many.toSorted());
});

test("entries are mapped in their order, so many in a turn", async () => {
  const mapped = await countingTurns((turn) =>
    mapInTurns([5, 6, 7, 8, 9], 2, (_, index) => [index, turn()] as const),
  );
  expect(mapped.map(([index]) => index)).toEqual([0, 1, 2, 3, 4]);
  expect(new Set(mapped.map(([, turn]) => turn)).size).toBe(3);
});

test("of several that ask at once each goes on in a turn of its own", async () => {
  const turns = new Turns();
  const order: [string, number][] = [];
  await countingTurns(async (turn) => {
    const worker = async (name: string) => {
      for (let round = 0; round < 2; round++) {
        await turns.next();
        order.push([name, turn()]);
      }
    };
    await Promise.all([worker("a"), worker("b")]);
  });
  expect(order.map(([name]) => name)).toEqual(["a", "b", "a", "b"]);
  expect(new Set(order.map(([, turn]) => turn)).size).toBe(4);
});

test("steps that wait for nothing end their turn when its share is spent", async () => {
  let now = 0;
  const share = new TurnShare(() => now, 10);
  const turns = await countingTurns(async (turn) => {
    const begunIn: number[] = [];
    for (let step = 0; step < 30; step++) {
      if (share.spent) await share.mine();
      begunIn.push(turn());
      now += 3;
    }
    return begunIn;
  });
  for (const turn of new Set(turns)) {
    expect(turns.filter((of) => of === turn).length).toBeLessThanOrEqual(4);
  }
});

test("those who wait for a share go on in the order of asking, as many in a turn as it lasts for", async () => {
  let now = 0;
  const share = new TurnShare(() => now, 10);
  const order: [number, number][] = [];
  await countingTurns(async (turn) => {
    spend(share, () => (now += 11));
    const worker = async (name: number) => {
      await share.mine();
      order.push([name, turn()]);
      now += 3;
    };
    await Promise.all(Array.from({ length: 50 }, (_, name) => worker(name)));
  });
  expect(order.map(([name]) => name)).toEqual(Array.from({ length: 50 }, (_, name) => name));
  const inTurn = Map.groupBy(order, ([, turn]) => turn);
  // A step may begin at 0, 3, 6 and 9 milliseconds, not at 12.
  expect([...inTurn.values()].map((steps) => steps.length)).toEqual([...Array(12).fill(4), 2]);
});

test("whoever comes in a fresh turn goes on behind those who wait already", async () => {
  let now = 0;
  const share = new TurnShare(() => now, 10);
  const order: string[] = [];
  const step = async (name: string) => {
    if (share.spent) await share.mine();
    order.push(name);
    now += 11;
  };
  await step("first");
  const { promise: done, resolve } = Promise.withResolvers<void>();
  // It comes when the turn has ended, and before anybody who waits could go on.
  setImmediate(() => void step("newcomer").then(resolve));
  await Promise.all([step("second"), step("third"), done]);
  expect(order).toEqual(["first", "second", "third", "newcomer"]);
});

test("all that one does without waiting counts before the next goes on", async () => {
  let now = 0;
  const share = new TurnShare(() => now, 10);
  const order: [string, number][] = [];
  await countingTurns(async (turn) => {
    spend(share, () => (now += 11));
    const worker = async (name: string) => {
      await share.mine();
      // The step is short; what is made of its answer is not.
      for (let after = 0; after < 20; after++) await Promise.resolve();
      now += 11;
      order.push([name, turn()]);
    };
    await Promise.all([worker("a"), worker("b"), worker("c")]);
  });
  expect(order.map(([name]) => name)).toEqual(["a", "b", "c"]);
  expect(new Set(order.map(([, turn]) => turn)).size).toBe(3);
});

test("who goes on keeps the turn for its next steps, and a long loop waits behind the others for more", async () => {
  let now = 0;
  const share = new TurnShare(() => now, 10);
  const order: string[] = [];
  const worker = async (name: string, steps: number) => {
    for (let step = 0; step < steps; step++) {
      if (share.spent) await share.mine();
      order.push(name);
      now += 6;
    }
  };
  await Promise.all([worker("long", 8), worker("b", 2), worker("c", 2)]);
  const two = (name: string) => [name, name];
  const long = two("long");
  expect(order).toEqual([...long, ...long, ...two("b"), ...two("c"), ...long, ...long]);
});

test("nobody who asks for a share in a quiet moment is forgotten", async () => {
  await new TurnShare(() => 0).mine();
});

/** One step that takes all there is of this turn. */
function spend(share: TurnShare, take: () => void): void {
  expect(share.spent).toBe(false);
  take();
  expect(share.spent).toBe(true);
}

/** Runs the work while every turn of the event loop is counted. */
async function countingTurns<T>(work: (turn: () => number) => Promise<T>): Promise<T> {
  let [turns, over] = [0, false];
  const count = () => {
    turns++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const result = await work(() => turns);
  over = true;
  return result;
}

test("a bounded queue of steps runs one step in each tick, and refuses work beyond its bound", async () => {
  const queue = new StepQueue(2);
  const done: string[] = [];
  function* steps(name: string): Generator<void, string> {
    for (let step = 0; step < 2; step++) {
      done.push(name);
      yield;
    }
    return name;
  }
  const both = [queue.run(steps("a")), queue.run(steps("b"))];
  const refused = await queue.run(steps("c")).catch((error: Problem) => error.code);
  expect(refused).toBe("overloaded");
  expect(done.length).toBeLessThan(3);
  expect(await Promise.all(both)).toEqual(["a", "b"]);
  expect(done.toSorted()).toEqual(["a", "a", "b", "b"]);
  expect(await queue.run(steps("c"))).toBe("c");
});
