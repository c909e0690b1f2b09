/** What a bulk revocation means: predicates, states, and the line that tells of them. */

import { expect, test } from "bun:test";

import {
  isEmpty,
  predicateOf,
  type Selectable,
  type SelectableState,
  type Selection,
  selectionText,
  verdictOf,
} from "#core/policy/selection.ts";
import { parseSerial } from "#core/ids.ts";
import { instant } from "#core/time.ts";

const day = instant(Date.parse("2026-06-01T00:00:00Z"));
const certificate: Selectable = {
  commonName: "Web 1",
  sans: ["dns:www.example.com", "uri:https://a.example/x", "ip:::1"],
  profile: "server",
  createdAt: day,
  spkiSha256: "ab".repeat(32),
};
const nothing: Selection = { includeExpired: false };
const selects = (selection: Partial<Selection>) =>
  predicateOf({ ...nothing, ...selection })(certificate);

test("without a predicate everything is selected, and that is known to be so", () => {
  expect(selects({})).toBe(true);
  expect(isEmpty({ includeExpired: true })).toBe(true);
  expect(isEmpty({ ...nothing, serials: [parseSerial("1")] })).toBe(false);
});

test("BLK-1: predicates combine with AND", () => {
  expect(selects({ profile: "server", pattern: "www.*" })).toBe(true);
  expect(selects({ profile: "client", pattern: "www.*" })).toBe(false);
  expect(selects({ profile: "server", pattern: "mail.*" })).toBe(false);
  expect(selects({ spkiSha256: "ab".repeat(32) })).toBe(true);
  expect(selects({ spkiSha256: "cd".repeat(32) })).toBe(false);
});

test("BLK-1: the times of issuance are inclusive", () => {
  expect(selects({ issuedAfter: day, issuedBefore: day })).toBe(true);
  expect(selects({ issuedAfter: instant(day + 1) })).toBe(false);
  expect(selects({ issuedBefore: instant(day - 1) })).toBe(false);
});

test("BLK-2: a pattern looks at the common name and at each name without its kind", () => {
  for (const pattern of ["web ?", "WWW.EXAMPLE.*", "https://*", "::1"]) {
    expect(selects({ pattern })).toBe(true);
  }
  for (const pattern of ["dns:*", "example", "d*www.example.com", "["]) {
    expect(selects({ pattern })).toBe(false);
  }
});

test("a revocation upgrades held ones, and takes expired ones only when asked to", () => {
  const asked = { hold: false, includeExpired: false, matched: true, holdable: false };
  const verdicts = (state: SelectableState) => [
    verdictOf(state, asked),
    verdictOf(state, { ...asked, includeExpired: true }),
  ];
  expect(verdicts("good")).toEqual(["change", "change"]);
  expect(verdicts("held")).toEqual(["upgrade", "upgrade"]);
  expect(verdicts("revoked")).toEqual(["already_revoked", "already_revoked"]);
  expect(verdicts("expired")).toEqual(["expired_excluded", "change"]);
});

test("a hold takes neither held nor expired ones, nor what cannot be held", () => {
  const asked = { hold: true, includeExpired: true, matched: true, holdable: true };
  expect(verdictOf("good", asked)).toBe("change");
  expect(verdictOf("held", asked)).toBe("already_held");
  expect(verdictOf("revoked", asked)).toBe("already_revoked");
  expect(verdictOf("expired", asked)).toBe("expired_excluded");
  expect(verdictOf("good", { ...asked, holdable: false })).toBe("filtered_out");
  expect(verdictOf("good", { ...asked, matched: false })).toBe("filtered_out");
});

test("the line of a selection names its predicates and counts its serials", () => {
  expect(selectionText(nothing)).toBe("all");
  const serials = [parseSerial("1"), parseSerial("2")];
  expect(selectionText({ profile: "server", pattern: "a*", serials, includeExpired: true })).toBe(
    "profile=server pattern=a* serials=2 include_expired",
  );
  expect(selectionText({ ...nothing, issuedAfter: day })).toBe(
    "issued_after=2026-06-01T00:00:00.000000Z",
  );
});
