/** Seeded ports of tests repeat themselves. */

import { expect, test } from "bun:test";

import { seededRandom } from "./ports.ts";

test("seeded randomness repeats itself and has the form of its kind", () => {
  expect(seededRandom("a").uuid()).toBe(seededRandom("a").uuid());
  expect(seededRandom("a").uuid()).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});
