/** When a process that nobody asks for anything gives back what it holds. */

import { expect, test } from "bun:test";

import { RestWatch } from "#app/rest.ts";

/** How often a process rests that uses so many milliseconds between one look and the next. */
function restsOf(...used: readonly number[]): number {
  let cpuMs = 0;
  let rests = 0;
  const rest = () => {
    rests += 1;
  };
  const watch = new RestWatch({ cpuMs: () => cpuMs, rest });
  for (const more of used) {
    cpuMs += more;
    watch.look();
  }
  return rests;
}

test("a process that was busy and then quiet for three looks rests, once", () => {
  expect(restsOf(4000, 10, 10)).toBe(0);
  expect(restsOf(4000, 10, 10, 10)).toBe(1);
  expect(restsOf(4000, 10, 10, 10, 10, 10, 10, 10)).toBe(1);
});

test("one that is asked something again and again does not, and each load is followed by a rest", () => {
  expect(restsOf(4000, 10, 10, 900, 10, 10, 900)).toBe(0);
  expect(restsOf(4000, 10, 10, 10, 4000, 10, 10, 10)).toBe(2);
});

test("what a start needed is given back too", () => {
  expect(restsOf(10, 10, 10)).toBe(1);
});
