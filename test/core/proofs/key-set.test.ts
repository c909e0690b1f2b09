/** Two sides of a proof, and what they have in common. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { AwaitedSet } from "#core/proofs/awaited-set.ts";
import { KeySet } from "#core/proofs/key-set.ts";
import { Proof } from "#core/proofs/proofs.ts";

const newSet = (texts: readonly string[], salt = 1) => {
  const set = new KeySet(new Uint8Array(16).fill(salt));
  for (const text of texts) set.add(text);
  return set;
};

describe("a set of keys", () => {
  test("ticks off what both sides have, as often as both have it, like a list would", () => {
    const texts = fc.array(fc.constantFrom("a", "b", "c", "", "ä", "a|b"));
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        const set = newSet(one);
        const left = [...one];
        for (const text of other) {
          const at = left.indexOf(text);
          if (at >= 0) left.splice(at, 1);
          const due = at >= 0 ? "first" : one.includes(text) ? "again" : "absent";
          expect(set.mark(text)).toBe(due);
        }
        expect(set.unmarked).toBe(left.length);
        for (const text of new Set(one)) {
          expect(set.has(text)).toBe(true);
          if (!other.includes(text)) expect(set.isUnmarked(text)).toBe(true);
        }
      }),
    );
  });

  test("knows which texts were added more than once", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "b", "c")), (texts) => {
        const set = newSet(texts);
        expect(set.repeated).toBe(texts.length - new Set(texts).size);
        for (const text of texts) {
          expect(set.isRepeated(text)).toBe(texts.filter((one) => one === text).length > 1);
        }
      }),
    );
  });

  test("holds many more than it began with", () => {
    const texts = Array.from({ length: 5000 }, (_, at) => `text ${at}`);
    const set = newSet(texts);
    for (const text of texts) expect(set.mark(text)).toBe("first");
    expect([set.size, set.unmarked, set.mark("another")]).toEqual([5000, 0, "absent"]);
  });
});

test("a proof names the first twenty violations and counts the others", () => {
  const proof = new Proof("schema");
  for (let at = 1; at <= 25; at++) proof.violated(`Row ${at} is wrong.`);
  proof.alsoViolated(5);
  proof.noted("left open");
  proof.noted("left open", 2);
  const { violations, first, notes } = proof.result;
  expect([violations, first.length, first.at(-1), notes]).toEqual([
    30,
    20,
    "Row 20 is wrong.",
    ["3 left open"],
  ]);
});

test("a set goes to another thread with what it has, and is joined with others there", () => {
  const there = KeySet.of(newSet(["a", "b"]).parts);
  expect([there.mark("a"), there.mark("a"), there.mark("c")]).toEqual(["first", "again", "absent"]);
  there.take(newSet(["c", "a"]).parts);
  expect(there.unmarked).toBe(4);
  expect(["a", "a", "a", "c", "d"].map((text) => there.mark(text))).toEqual([
    "first",
    "first",
    "again",
    "first",
    "absent",
  ]);
  there.forget();
  expect([there.unmarked, there.mark("c")]).toEqual([4, "first"]);
  expect(() => there.take(newSet([], 2).parts)).toThrow("one salt");
});

test("what may come is taken to be there, and what came otherwise voids what was said", () => {
  const isMore = (text: string) => text.startsWith("more");
  const said = (texts: readonly string[], came: readonly string[]) => {
    const set = newSet(["a"]);
    const awaited = new AwaitedSet(set, isMore);
    const marks = texts.map((text) => awaited.mark(text));
    set.take(newSet(came).parts);
    return { marks, settled: awaited.settle(set), left: set.unmarked };
  };
  const all = said(["a", "a", "b", "more"], ["more"]);
  expect(all).toEqual({ marks: ["first", "again", "absent", "first"], settled: true, left: 0 });
  expect(said(["more", "a"], ["more", "more 2"])).toMatchObject({ settled: true, left: 1 });
  expect(said(["more", "more"], ["more"]).settled).toBe(false);
  expect(said(["more"], []).settled).toBe(false);
});
