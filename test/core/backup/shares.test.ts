/** A secret in shares: any that are enough give it back, fewer say nothing, others are refused. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { isSharing, join, SharesUnfit, split } from "#core/backup/shares.ts";

const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));

const sharing = fc
  .integer({ min: 2, max: 12 })
  .chain((shares) =>
    fc.record({ shares: fc.constant(shares), threshold: fc.integer({ min: 2, max: shares }) }),
  );
const secret = fc.uint8Array({ minLength: 1, maxLength: 80 });

const refusal = (texts: readonly string[]): string => {
  try {
    join(texts);
    return "joined";
  } catch (error) {
    if (error instanceof SharesUnfit) return error.message;
    throw error;
  }
};

test("any shares that are enough, in any order, give the secret back", () => {
  fc.assert(
    fc.property(secret, sharing, fc.infiniteStream(fc.nat()), (octets, of, dice) => {
      const texts = [...split(octets, of, random)];
      const chosen = shuffled(texts, dice).slice(0, of.threshold);
      expect(join(chosen)).toEqual(octets);
      expect(join(texts)).toEqual(octets);
    }),
  );
});

test("one share too few is refused, however often it is given", () => {
  fc.assert(
    fc.property(secret, sharing, (octets, of) => {
      const few = split(octets, of, random).slice(0, of.threshold - 1);
      expect(refusal([...few, ...few])).toBe(
        `${of.threshold} different shares are needed; there are ${of.threshold - 1}.`,
      );
    }),
  );
});

test("with one share missing every secret of that length is as likely", () => {
  // Two shares of three: for each value of the missing octet there is a polynomial through both.
  const of = { shares: 3, threshold: 3 };
  const seen = new Set<number>();
  for (let round = 0; round < 4000; round++) {
    const [first = ""] = split(Uint8Array.of(7), of, random);
    seen.add(Number.parseInt(first.split("-")[5]?.slice(0, 2) ?? "", 16));
  }
  expect(seen.size).toBeGreaterThan(250);
});

test("a share with one character altered is refused", () => {
  fc.assert(
    fc.property(secret, fc.nat(), fc.constantFrom(..."0123456789abcdef-x"), (octets, at, by) => {
      const texts = [...split(octets, { shares: 3, threshold: 2 }, random)];
      const [first = "", second = ""] = texts;
      const place = at % first.length;
      fc.pre(first[place] !== by);
      const altered = first.slice(0, place) + by + first.slice(place + 1);
      expect(refusal([altered, second])).not.toBe("joined");
    }),
  );
});

test("shares of two secrets do not mix", () => {
  const of = { shares: 3, threshold: 2 };
  const [one = ""] = split(Uint8Array.of(1, 2, 3), of, random);
  const [, other = ""] = split(Uint8Array.of(1, 2, 3), of, random);
  expect(refusal([one, other])).toBe("The shares are of different secrets.");
  expect(refusal([])).toBe("There is no share.");
  expect(refusal(["pkid-share"])).toBe("This is no share of a secret.");
});

test("two of at least as many, and of 255 at most, are a sharing", () => {
  const bad = [
    [1, 1],
    [3, 1],
    [2, 3],
    [256, 3],
    [2.5, 2],
  ] as const;
  for (const [shares, threshold] of bad) {
    expect(isSharing({ shares, threshold })).toBe(false);
    expect(() => split(Uint8Array.of(1), { shares, threshold }, random)).toThrow(SharesUnfit);
  }
  expect(isSharing({ shares: 255, threshold: 255 })).toBe(true);
});

function shuffled<T>(all: readonly T[], dice: Iterator<number>): T[] {
  const left = [...all];
  return all.flatMap(() => left.splice(dice.next().value % left.length, 1));
}
