/** What is there already is gone on with at once, and what is thrown at once is a rejection too. */

import { expect, test } from "bun:test";

import { following, promised } from "#core/at-once.ts";

test("a value that is there is followed in the same turn", () => {
  expect(following(2, (value) => value + 1)).toBe(3);
  expect(() =>
    following(2, () => {
      throw new Error("refused");
    }),
  ).toThrow("refused");
});

test("a value that will be there is followed when it is, and its rejection passes by", async () => {
  const later = following(Promise.resolve(2), (value) => value + 1);
  expect(later).toBeInstanceOf(Promise);
  expect(await later).toBe(3);
  const never = following(Promise.reject<number>(new Error("lost")), (value) => value + 1);
  await expect(Promise.resolve(never)).rejects.toThrow("lost");
});

test("what is thrown at once is rejected, and what is given at once is promised", async () => {
  const thrown = promised<number>(() => {
    throw new Error("refused");
  });
  await expect(thrown).rejects.toThrow("refused");
  expect(await promised(() => 4)).toBe(4);
  const made = Promise.resolve(5);
  expect(promised(() => made)).toBe(made);
});
