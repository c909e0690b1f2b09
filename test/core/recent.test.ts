/** A bounded memory of what was used lately. */

import { expect, test } from "bun:test";

import fc from "fast-check";

import { Recent } from "#core/recent.ts";

test("what was not used leaves first", () => {
  const recent = new Recent<string, number>(2);
  recent.set("a", 1);
  recent.set("b", 2);
  recent.get("a");
  recent.set("c", 3);
  expect([recent.get("a"), recent.get("b"), recent.get("c")]).toEqual([1, undefined, 3]);
});

test("when everything was used, the oldest leaves, and the newest stays", () => {
  const recent = new Recent<string, number>(2);
  recent.set("a", 1);
  recent.set("b", 2);
  for (const key of ["a", "b"]) recent.get(key);
  recent.set("c", 3);
  expect(recent.values()).toContain(3);
  expect(recent.size).toBe(2);
});

test("after any history it holds no more than its bound, and what it gives was the last value set", () => {
  const step = fc.tuple(fc.constantFrom("get", "set", "delete"), fc.nat(12));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.array(step), (max, steps) => {
      const recent = new Recent<number, number>(max);
      const last = new Map<number, number>();
      for (const [index, [verb, key]] of steps.entries()) {
        if (verb === "set") {
          recent.set(key, index);
          last.set(key, index);
          expect(recent.get(key)).toBe(index);
        } else if (verb === "delete") {
          recent.delete(key);
          last.delete(key);
        }
        const found = recent.get(key);
        if (found !== undefined) expect(found).toBe(last.get(key) ?? -1);
        expect(recent.size).toBeLessThanOrEqual(max);
      }
    }),
  );
});

test("values take at most the bytes of their bound", () => {
  const measure = (key: string, value: string) => key.length + value.length;
  const recent = new Recent<string, string>(100, { max: 30, measure });
  recent.set("a", "x".repeat(9));
  recent.set("b", "x".repeat(9));
  recent.get("a");
  recent.set("c", "x".repeat(15));
  expect([recent.get("a"), recent.get("b"), recent.size]).toEqual(["x".repeat(9), undefined, 2]);
  recent.set("a", "");
  recent.delete("c");
  recent.set("d", "x".repeat(28));
  expect([recent.get("a"), recent.size]).toEqual(["", 2]);
  // One that is larger than the bound is alone.
  recent.set("e", "x".repeat(50));
  expect([recent.size, recent.get("e")?.length]).toEqual([1, 50]);
});
