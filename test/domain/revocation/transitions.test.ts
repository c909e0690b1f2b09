/** Every cell of the transition table, with its refusal, against the table of TRN-1 written out. */

import { expect, test } from "bun:test";

import { instant } from "#core/time.ts";
import {
  decide,
  type RevocationAction,
  type RevocationState,
  stateOf,
} from "#domain/revocation/transitions.ts";

// Written out a second time on purpose: a change of the table has to be made twice.
const cells: readonly [RevocationState, RevocationAction, object, object][] = [
  // state, action, outcome when it may be held, outcome when it may not
  ["good", "revoke", { change: "revoked" }, { change: "revoked" }],
  ["good", "suspend", { change: "held" }, { refused: "hold_not_permitted" }],
  ["good", "release", { refused: "not_held" }, { refused: "not_held" }],
  ["held", "revoke", { change: "revoked" }, { change: "revoked" }],
  ["held", "suspend", { unchanged: "already-held" }, { unchanged: "already-held" }],
  ["held", "release", { change: "good" }, { change: "good" }],
  ["revoked", "revoke", { unchanged: "already-revoked" }, { unchanged: "already-revoked" }],
  ["revoked", "suspend", { refused: "already_revoked" }, { refused: "hold_not_permitted" }],
  ["revoked", "release", { refused: "not_held" }, { refused: "not_held" }],
  ["expired", "revoke", { change: "revoked" }, { change: "revoked" }],
  ["expired", "suspend", { refused: "certificate_expired" }, { refused: "hold_not_permitted" }],
  ["expired", "release", { refused: "not_held" }, { refused: "not_held" }],
  ["unknown", "revoke", { change: "revoked" }, { change: "revoked" }],
  ["unknown", "suspend", { refused: "not_found" }, { refused: "hold_not_permitted" }],
  ["unknown", "release", { refused: "not_held" }, { refused: "not_held" }],
];

test("the cells are all there are", () => {
  expect(new Set(cells.map(([state, action]) => `${state} ${action}`)).size).toBe(15);
});

for (const [state, action, holdable, fixed] of cells) {
  test(`${action} on ${state} is ${JSON.stringify(holdable)}, unless it may not be held`, () => {
    expect(decide(state, action, true)).toEqual(holdable as never);
    expect(decide(state, action, false)).toEqual(fixed as never);
  });
}

test("a certificate is good through its last second and expired after it", () => {
  const certificate = { status: "good", notAfter: instant(10_000) } as const;
  expect(stateOf(certificate, undefined, instant(10_000))).toBe("good");
  expect(stateOf(certificate, undefined, instant(10_001))).toBe("expired");
});

test("revoked and held stay so after notAfter", () => {
  const past = instant(99_000);
  expect(stateOf({ status: "held", notAfter: instant(1) }, undefined, past)).toBe("held");
  expect(stateOf({ status: "revoked", notAfter: instant(1) }, undefined, past)).toBe("revoked");
});

test("a bare entry makes an unknown serial revoked", () => {
  expect(stateOf(undefined, undefined, instant(1))).toBe("unknown");
  expect(stateOf(undefined, { reason: "superseded" }, instant(1))).toBe("revoked");
});
