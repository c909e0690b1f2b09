/** The detail of an event is read back as it was written, whatever strangers put into it. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { detailText } from "#core/audit/actions.ts";
import { detailValues } from "#core/audit/detail.ts";

test("what was written is what is read, and no text passes for another pair", () => {
  const value = fc.oneof(
    fc.string({ maxLength: 40, unit: "grapheme" }),
    fc.constantFrom(
      'a" sequence=1',
      "x validity_clamped=ca",
      '\\"',
      "",
      "\u0000 reason=superseded",
    ),
  );
  fc.assert(
    fc.property(value, value, value, (reason, protocol, revoked_at) => {
      const draft = { action: "cert.revoke", detail: { reason, protocol, revoked_at } } as const;
      expect(Object.fromEntries(detailValues(detailText(draft)))).toEqual(draft.detail);
    }),
  );
});

test("what is no pair ends the reading", () => {
  expect(Object.fromEntries(detailValues('a=1 b="open c=2'))).toEqual({ a: "1" });
  expect(detailValues("nothing of the kind").size).toBe(0);
  expect(detailValues(`a="${"\\".repeat(100_000)}`).size).toBe(0);
});
