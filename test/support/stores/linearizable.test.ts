/** The checker of histories finds the order there is, and says so when there is none. */

import { expect, test } from "bun:test";

import fc from "fast-check";

import { linearization, type Recorded, type Sequential } from "./linearizable.ts";
import { type SerialCall, serialObject } from "./serial-model.ts";

type Register = { readonly write: number } | { readonly read: number };
const register: Sequential<number, Register> = {
  initial: 0,
  key: String,
  apply: (state, call) => {
    if ("write" in call) return call.write;
    return call.read === state ? state : undefined;
  },
};
const at = <O>(begun: number, ended: number, call: O): Recorded<O> => ({ begun, ended, call });

test("calls that overlap may have happened in either order", () => {
  const both = [at(0, 9, { write: 1 }), at(1, 8, { write: 2 })];
  expect(linearization([...both, at(10, 11, { read: 1 })], register)).toBeDefined();
  expect(linearization([...both, at(10, 11, { read: 2 })], register)).toBeDefined();
});

test("a read that began after a write had ended must see it", () => {
  const stale = [at(0, 1, { write: 1 }), at(2, 3, { read: 0 })];
  expect(linearization(stale, register)).toBeUndefined();
  expect(linearization([at(0, 1, { write: 1 }), at(1, 3, { read: 0 })], register)).toBeDefined();
});

test("two readers may not see two writes in different orders", () => {
  const writes = [at(0, 100, { write: 1 }), at(0, 100, { write: 2 })];
  const reads = [at(1, 2, { read: 1 }), at(3, 4, { read: 2 }), at(5, 6, { read: 1 })];
  expect(linearization([...writes, ...reads], register)).toBeUndefined();
});

test("every history that one object produced has an order, wherever its calls began and ended", () => {
  const calls = fc.array(
    fc.record({ write: fc.boolean(), value: fc.nat(3), before: fc.nat(20), after: fc.nat(20) }),
    { maxLength: 14 },
  );
  fc.assert(
    fc.property(calls, (given) => {
      let state = 0;
      const history = given.map(({ write, value, before, after }, place) => {
        if (write) state = value;
        const call: Register = write ? { write: value } : { read: state };
        return at(place * 10 - before, place * 10 + after, call);
      });
      expect(linearization(history, register)).toBeDefined();
    }),
  );
});

test("a serial that comes back from revoked, or forgets its first time, has no order", () => {
  const revoke = (told: string, time: string): SerialCall => ({
    ask: "revoke",
    reason: "superseded",
    told,
    at: time,
    because: "superseded",
  });
  const good: SerialCall = { ask: "read", told: "good" };
  const ended = (...calls: SerialCall[]) =>
    linearization(
      calls.map((call, place) => at(place, place + 0.5, call)),
      serialObject,
    );
  expect(ended(revoke("revoked", "a"), revoke("already-revoked", "a"))).toBeDefined();
  expect(ended(revoke("revoked", "a"), revoke("already-revoked", "b"))).toBeUndefined();
  expect(ended(revoke("revoked", "a"), revoke("revoked", "b"))).toBeUndefined();
  expect(ended(revoke("revoked", "a"), good)).toBeUndefined();
  expect(ended({ ask: "bulk", reason: "superseded" }, good)).toBeUndefined();
  expect(ended({ ask: "release", told: "released", found: undefined })).toBeUndefined();
});
