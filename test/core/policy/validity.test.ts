/** How long certificates live: PRO-1 and PRO-2 at every boundary. */

import { expect, test } from "bun:test";

import fc from "fast-check";

import { placeValidity, type ValidityRequest } from "#core/policy/validity.ts";
import { addSeconds, instant, secondsPerDay, timestamp } from "#core/time.ts";

const now = instant(Date.parse("2026-06-01T12:00:00.789Z"));
const issuer = {
  notBefore: instant(Date.parse("2026-01-01T00:00:00Z")),
  notAfter: instant(Date.parse("2026-12-31T23:59:59Z")),
};
const request = (given: Partial<ValidityRequest> = {}): ValidityRequest => ({
  requestedSeconds: undefined,
  defaultSeconds: 90 * secondsPerDay,
  issuer,
  profileMaxSeconds: 100 * secondsPerDay,
  policyMaxSeconds: 0,
  backdateSeconds: 300,
  shorten: false,
  ...given,
});
const days = (count: number) => count * secondsPerDay;

test("RFC 5280 §4.1.2.5: both ends are inclusive and the span is the validity exactly", () => {
  const { notBefore, notAfter } = placeValidity(request(), now);
  expect(timestamp(notBefore)).toBe("2026-06-01T11:55:00.000000Z");
  expect(timestamp(notAfter)).toBe("2026-08-30T11:54:59.000000Z");
  expect((notAfter - notBefore) / 1000 + 1).toBe(days(90));
});

test("backdating is limited to a twelfth of the validity", () => {
  const { notBefore } = placeValidity(request({ requestedSeconds: 1200 }), now);
  expect(timestamp(notBefore)).toBe("2026-06-01T11:58:20.000000Z");
});

test("backdating never reaches before the issuer", () => {
  const young = { ...issuer, notBefore: instant(now - 10_789) };
  expect(placeValidity(request({ issuer: young }), now).notBefore).toBe(young.notBefore);
});

test("a validity at the profile's limit is granted, one day more is refused to people", () => {
  expect(placeValidity(request({ requestedSeconds: days(100) }), now).objection).toBeUndefined();
  expect(placeValidity(request({ requestedSeconds: days(101) }), now).objection).toMatchObject({
    gate: "validity",
    code: "validity_exceeds_limit",
    facts: { requested_days: 101, limit_days: 100, limit: "profile" },
  });
});

test("the same validity is shortened for protocols, which is recorded", () => {
  const placed = placeValidity(request({ requestedSeconds: days(101), shorten: true }), now);
  expect(placed).toMatchObject({ clamped: "profile", objection: undefined });
  expect((placed.notAfter - placed.notBefore) / 1000 + 1).toBe(days(100));
});

test("the policy's limit goes before a looser one of the profile", () => {
  const asked = request({ requestedSeconds: days(101), policyMaxSeconds: days(30) });
  expect(placeValidity(asked, now).objection?.facts).toEqual({
    requested_days: 101,
    limit_days: 30,
    limit: "policy",
  });
});

test("a default above the CA's life ends with the CA, for everyone and without objection", () => {
  const placed = placeValidity(request({ defaultSeconds: days(365), profileMaxSeconds: 0 }), now);
  expect(placed).toMatchObject({ clamped: "ca", objection: undefined });
  expect(placed.notAfter).toBe(issuer.notAfter);
});

test("a validity that outlives the CA by a second is refused, and one that ends with it granted", () => {
  const exact = (issuer.notAfter - addSeconds(instant(now - 789), -300)) / 1000 + 1;
  const asked = (requestedSeconds: number) => request({ requestedSeconds, profileMaxSeconds: 0 });
  expect(placeValidity(asked(exact), now)).toMatchObject({ clamped: undefined });
  expect(placeValidity(asked(exact), now).notAfter).toBe(issuer.notAfter);
  expect(placeValidity(asked(exact + 1), now).objection?.facts?.limit).toBe("ca");
});

test("a root is bound by no issuer", () => {
  const placed = placeValidity(
    request({ issuer: undefined, requestedSeconds: days(3650), profileMaxSeconds: 0 }),
    now,
  );
  expect((placed.notAfter - placed.notBefore) / 1000 + 1).toBe(days(3650));
});

test("whatever is asked for, nothing lies outside the CA, the limits or a twelfth", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 60, max: days(1000) }),
      fc.integer({ min: 0, max: 3600 }),
      fc.integer({ min: 1, max: days(200) }),
      (requestedSeconds, backdateSeconds, left) => {
        const ca = { ...issuer, notAfter: addSeconds(instant(now - 789), left) };
        const asked = request({ requestedSeconds, backdateSeconds, issuer: ca, shorten: true });
        const { notBefore, notAfter } = placeValidity(asked, now);
        const span = (notAfter - notBefore) / 1000 + 1;
        expect(notBefore).toBeGreaterThanOrEqual(ca.notBefore);
        expect(notAfter).toBeLessThanOrEqual(ca.notAfter);
        expect(span).toBeLessThanOrEqual(Math.min(requestedSeconds, days(100)));
        expect((instant(now - 789) - notBefore) / 1000).toBeLessThanOrEqual(span / 12);
      },
    ),
  );
});
