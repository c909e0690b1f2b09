/** When a process that nobody asks for anything gives back what it holds. */

import { expect, test } from "bun:test";

import { RestWatch } from "#app/rest.ts";

/**
 * The steps that a process takes which uses so many milliseconds between one look and the next; one
 * letter a look.
 */
function stepsOf(...used: readonly number[]): string {
  let cpuMs = 0;
  let taken = "";
  const step = (name: string) => () => {
    taken += name;
  };
  const steps = new Map([
    [3, step("a")],
    [4, step("b")],
    [6, step("c")],
  ]);
  const watch = new RestWatch({ cpuMs: () => cpuMs, steps });
  for (const [look, more] of used.entries()) {
    cpuMs += more;
    watch.look();
    taken = taken.padEnd(look + 1, ".");
  }
  return taken;
}

test("a process that was busy and then quiet rests, step by step, once", () => {
  expect(stepsOf(4000, 10, 10)).toBe("...");
  expect(stepsOf(4000, 10, 10, 10)).toBe("...a");
  expect(stepsOf(4000, 10, 10, 10, 10, 10, 10, 10)).toBe("...ab.c.");
});

test("one that is asked something again and again does not, and each load is followed by a rest", () => {
  expect(stepsOf(4000, 10, 10, 900, 10, 10, 900)).toBe(".......");
  expect(stepsOf(4000, 10, 10, 10, 4000, 10, 10, 10)).toBe("...a...a");
  expect(stepsOf(4000, 10, 10, 10, 10, 900, 10, 10, 10, 10, 10, 10)).toBe("...ab...ab.c");
});

test("what a start needed is given back too", () => {
  expect(stepsOf(10, 10, 10, 10, 10, 10, 10)).toBe("..ab.c.");
});
