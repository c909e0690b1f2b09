/** What repeats is told together, and nothing that was counted is lost while it cannot be told. */

import { beforeEach, expect, test } from "bun:test";

import { Folding } from "#domain/audit/folding.ts";
import { testClock } from "#test/support/ports.ts";

let told: [one: string, count: number][];
let away: (one: string) => boolean;
let folding: Folding<string>;
let clock: ReturnType<typeof testClock>;
/** Called while one is being told. */
let during: () => Promise<void>;

beforeEach(() => {
  told = [];
  away = () => false;
  during = async () => {};
  clock = testClock();
  folding = new Folding<string>({
    clock,
    windowsMax: 3,
    kindOf: (one) => ({ coarse: ["any"], fine: [one] }),
    tell: async (one, count) => {
      await during();
      if (away(one)) throw new Error(`away: ${one}`);
      told.push([one, count]);
    },
  });
});

const minuteLater = () => clock.advance(61);
const total = () => told.reduce((sum, [, count]) => sum + count, 0);

test("what comes while nothing can be written is told once it can", async () => {
  away = () => true;
  await expect(folding.record("a")).rejects.toThrow("away");
  for (let n = 0; n < 4; n++) await folding.record("a");
  for (let minute = 0; minute < 3; minute++) {
    minuteLater();
    await expect(folding.fold()).rejects.toThrow("away");
    await folding.record("a");
  }
  away = () => false;
  minuteLater();
  await folding.fold();
  expect(told).toEqual([["a", 8]]);
  minuteLater();
  await folding.fold();
  expect(total()).toBe(8);
});

test("the next of its kind brings what an earlier one could not tell", async () => {
  await folding.record("a");
  await folding.record("a");
  minuteLater();
  away = () => true;
  await expect(folding.record("a")).rejects.toThrow("away");
  minuteLater();
  away = () => false;
  await folding.record("a");
  expect(told).toEqual([
    ["a", 1],
    ["a", 3],
  ]);
});

test("one kind that cannot be told keeps no other from being told", async () => {
  for (const one of ["a", "b", "a", "b"]) await folding.record(one);
  away = (one) => one === "a";
  minuteLater();
  await expect(folding.fold()).rejects.toThrow("away: a");
  expect(told.slice(2)).toEqual([["b", 1]]);
  away = () => false;
  await folding.fold(true);
  expect(total()).toBe(4);
});

test("what comes while others are told is counted too, whether that succeeds or not", async () => {
  for (const one of ["a", "b", "a", "b"]) await folding.record(one);
  minuteLater();
  let more = 2;
  during = async () => {
    if (more-- > 0) for (const one of ["a", "b"]) await folding.record(one);
  };
  away = (one) => one === "a";
  await folding.fold().catch(() => {});
  away = () => false;
  during = async () => {};
  minuteLater();
  await folding.fold();
  await folding.fold(true);
  const sums = ["a", "b"].map((one) =>
    told.reduce((sum, [name, count]) => sum + (name === one ? count : 0), 0),
  );
  expect(sums[0]).toBe(sums[1] ?? 0);
  expect(sums[0]).toBeGreaterThan(2);
});
