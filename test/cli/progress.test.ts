/** How far long work has come: what is told of it, when, and what its end leaves (OUT-3). */

import { afterEach, beforeEach, expect, jest, test } from "bun:test";

import { bar, watched } from "#cli/progress.ts";

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

test("on a terminal it is one line, drawn again, and left at the end", async () => {
  const { written, pass, end } = begin(true);
  await pass(499);
  expect(written).toEqual([]);
  await pass(1);
  await pass(500);
  expect(written).toEqual([`\r${bar(1, 4)}`, `\r${bar(2, 4)}`]);
  expect(await end()).toBe("done");
  expect(written.at(-1)).toBe("\n");
});

test("elsewhere it is a line every ten seconds", async () => {
  const { written, pass, end } = begin(false);
  await pass(9999);
  expect(written).toEqual([]);
  await pass(1);
  await pass(10_000);
  expect(written).toEqual([`${bar(1, 4)}\n`, `${bar(2, 4)}\n`]);
  expect(await end()).toBe("done");
  expect(written).toHaveLength(2);
});

test("work that fails fails, and progress that cannot be had is not told", async () => {
  const { written, pass, fail } = begin(true, () => Promise.reject(new Error("away")));
  await pass(500);
  expect(await fail(new Error("refused"))).toBe("refused");
  expect(written).toEqual([]);
});

/** Work under way, on a clock that moves only when it is told to. */
function begin(isTerminal: boolean, line?: () => Promise<string>) {
  const written: string[] = [];
  const stderr = {
    isTerminal,
    write: (content: string | Uint8Array) => written.push(`${content}`),
  };
  const work = Promise.withResolvers<string>();
  let done = 0;
  const result = watched({ stderr }, work.promise, line ?? (async () => bar(++done, 4)));
  const told = result.catch((error: unknown) => (error instanceof Error ? error.message : "odd"));
  return {
    written,
    pass: async (ms: number) => {
      jest.advanceTimersByTime(ms);
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    },
    end: () => {
      work.resolve("done");
      return told;
    },
    fail: (error: Error) => {
      work.reject(error);
      return told;
    },
  };
}
