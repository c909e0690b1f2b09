/** A refusal that names a member is said at its field, once and as a sentence. */

import { expect, test } from "bun:test";

import { noAnswer, type Reply } from "#web/api.ts";
import { faultOf, sentenceOf } from "#web/ui/faults.ts";

const refused = (facts: Readonly<Record<string, unknown>>): Reply<unknown> => ({
  kind: "refused",
  refusal: { ...noAnswer, sentence: "A member has a wrong type or value.", facts },
});

test("a field says the reason alone, and the sentence where there is none", () => {
  expect(faultOf(refused({ field: "name", reason: "must match ^a$" }), "name")).toBe(
    "Must match ^a$.",
  );
  expect(faultOf(refused({ field: "name" }), "name")).toBe("A member has a wrong type or value.");
  expect(faultOf(refused({ parameter: "names[2]", reason: "is no name." }), "names")).toBe(
    "Is no name.",
  );
});

test("a field says nothing about another one, nor of what was answered", () => {
  expect(faultOf(refused({ field: "names" }), "name")).toBeUndefined();
  expect(faultOf(refused({}), "name")).toBeUndefined();
  expect(faultOf({ kind: "answered", answer: {} }, "name")).toBeUndefined();
});

test("a reason becomes a sentence once", () => {
  expect(sentenceOf("must be one of a, b")).toBe("Must be one of a, b.");
  expect(sentenceOf("Set it!")).toBe("Set it!");
  expect(sentenceOf("")).toBe("");
});
