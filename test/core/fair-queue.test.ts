/** Turns: nobody waits for more than one of each other home, and who has most gives way. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { FairQueue } from "#core/fair-queue.ts";

const askers = fc.record({ home: fc.constantFrom("a", "b", "c"), name: fc.constantFrom("x", "y") });

test("everything that waits comes out once, and each asker's in the order it came in", () => {
  fc.assert(
    fc.property(fc.array(askers, { maxLength: 40 }), (asked) => {
      const queue = new FairQueue<readonly [string, number]>();
      for (const [at, asker] of asked.entries()) queue.add(asker, [JSON.stringify(asker), at]);
      expect(queue.size).toBe(asked.length);
      const taken: (readonly [string, number])[] = [];
      for (let item = queue.next(); item !== undefined; item = queue.next()) taken.push(item);
      expect(queue.size).toBe(0);
      expect(taken.map(([, at]) => at).sort((a, b) => a - b)).toEqual([...asked.keys()]);
      for (const one of new Set(taken.map(([name]) => name))) {
        const own = taken.filter(([name]) => name === one).map(([, at]) => at);
        expect(own).toEqual(own.toSorted((a, b) => a - b));
      }
    }),
  );
});

test("a newcomer waits for at most one of each home, and one of each of its own", () => {
  const queue = new FairQueue<string>();
  for (let n = 0; n < 100; n++) {
    for (const name of ["x", "y"]) queue.add({ home: "a", name }, `a${name}`);
    queue.add({ home: "b", name: "z" }, "bz");
  }
  queue.add({ home: "c", name: "new" }, "c");
  expect([queue.next(), queue.next(), queue.next()]).toEqual(["ax", "bz", "c"]);
  expect([queue.next(), queue.next(), queue.next()]).toEqual(["ay", "bz", "ax"]);
});

test("the newest of who has most in the home that has most gives way", () => {
  const queue = new FairQueue<string>();
  expect(queue.giveWay()).toBeUndefined();
  for (const item of ["1", "2", "3"]) queue.add({ home: "a", name: "x" }, item);
  queue.add({ home: "a", name: "y" }, "4");
  for (const item of ["5", "6", "7"]) queue.add({ home: "b", name: "x" }, item);
  expect([queue.giveWay(), queue.size]).toEqual(["3", 6]);
  const rest = Array.from({ length: 6 }, () => queue.giveWay());
  expect(rest.toSorted()).toEqual(["1", "2", "4", "5", "6", "7"]);
  expect([queue.size, queue.next(), queue.giveWay()]).toEqual([0, undefined, undefined]);
});
