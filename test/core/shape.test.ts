/**
 * A long body is read in turns into what it is read into at once, and is refused for the same
 * reason.
 */

import { expect, test } from "bun:test";

import fc from "fast-check";

import {
  flag,
  integer,
  list,
  object,
  optional,
  otherwise,
  readBody,
  readBodyInTurns,
  text,
} from "#core/shape.ts";

const fields = {
  items: list(object({ ref: optional(text({ max: 2 })), days: integer(1, 5) }), 1, 4),
  filter: otherwise(object({ serials: optional(list(text({ max: 3 }), 0, 3)) }), {
    serials: undefined,
  }),
  force: otherwise(flag(), false),
};

const said = (error: { code?: string; facts?: object }) => ({
  code: error.code,
  facts: error.facts,
});

test("a body in turns is the body at once, right or wrong", async () => {
  const item = fc.record(
    { ref: fc.string({ maxLength: 3 }), days: fc.nat(6) },
    { requiredKeys: ["days"] },
  );
  const body = fc.record(
    {
      items: fc.oneof(fc.array(item, { maxLength: 5 }), fc.constant(null)),
      filter: fc.record({ serials: fc.array(fc.string({ maxLength: 4 }), { maxLength: 4 }) }),
      force: fc.oneof(fc.boolean(), fc.constant(1)),
      more: fc.constant(0),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(body, async (given) => {
      const inTurns = await readBodyInTurns(fields, given).catch(said);
      let atOnce: unknown;
      try {
        atOnce = readBody(fields, given);
      } catch (error) {
        atOnce = said(error as object); // A refusal, or the comparison fails.
      }
      expect(inTurns).toEqual(atOnce as never);
    }),
    { numRuns: 300 },
  );
});

test("a member nobody knows is named as far as a reader can use it", () => {
  const given = { ["x".repeat(100_000)]: 1 };
  expect(() => readBody(fields, given)).toThrow();
  try {
    readBody(fields, given);
  } catch (error) {
    expect(JSON.stringify(said(error as object)).length).toBeLessThan(300);
  }
});
