/** Who is needed for what: thresholds, operators, and what may be tried again. */

import { describe, expect, test } from "bun:test";

import {
  type ApprovalsSection,
  approvalClasses,
  isOperator,
  isRetryable,
  thresholdOf,
} from "#core/approvals/classes.ts";
import { problems } from "#core/problems.ts";
import { personNamed } from "#test/support/worlds/people.ts";

const settings = (given: Partial<ApprovalsSection> = {}): ApprovalsSection => ({
  enabled: true,
  default_threshold: undefined,
  thresholds: {},
  operators: {},
  request_ttl_hours: 72,
  ...given,
});

describe("a threshold", () => {
  test("is one everywhere when nothing is given, and none while switched off", () => {
    expect(approvalClasses.map((name) => thresholdOf(settings(), name))).toEqual(
      approvalClasses.map(() => 1),
    );
    expect(thresholdOf(settings({ enabled: false, default_threshold: 3 }), "ca.create")).toBe(0);
  });

  test("of a class goes before the default, and thresholds alone leave other classes unguarded", () => {
    const given = settings({ thresholds: { "ca.rotate": 3, "cert.issue": 0 } });
    expect(thresholdOf(given, "ca.rotate")).toBe(3);
    expect(thresholdOf(given, "ca.create")).toBe(0);
    const both = { ...given, default_threshold: 2 };
    expect([thresholdOf(both, "ca.create"), thresholdOf(both, "cert.issue")]).toEqual([2, 0]);
  });
});

describe("an operator", () => {
  const given = settings({ operators: { "ca.rotate": ["alice", "bob@x.test"] } });

  test("is whoever is listed, by subject or verified address", () => {
    expect(isOperator(given, "ca.rotate", personNamed("alice"))).toBe(true);
    expect(isOperator(given, "ca.rotate", personNamed("alice", "a@x.test"))).toBe(true);
    expect(isOperator(given, "ca.rotate", personNamed("u-17", "bob@x.test"))).toBe(true);
    expect(isOperator(given, "ca.rotate", personNamed("bob"))).toBe(false);
    expect(isOperator(given, "ca.create", personNamed("bob"))).toBe(true);
  });

  test("is not who chose an address for a subject, or a name inside an address", () => {
    expect(isOperator(given, "ca.rotate", personNamed("bob@x.test"))).toBe(false);
    expect(isOperator(given, "ca.rotate", personNamed("mallory", "alice@x.test"))).toBe(false);
    expect(isOperator(given, "ca.rotate", personNamed("constructor"))).toBe(false);
    expect(isOperator(given, "ca.rotate", personNamed("eve <bob@x.test>"))).toBe(false);
  });
});

test("what may be tried again is what comes back by itself, and only codes of the closed list", () => {
  const again = Object.keys(problems).filter(isRetryable);
  expect(again.sort()).toEqual(
    [
      "bulk_partial",
      "crl_unavailable",
      "ct_policy_unmet",
      "key_unavailable",
      "operation_running",
      "overloaded",
      "quota_exceeded",
      "rate_limited",
      "shutting_down",
      "storage_unavailable",
    ].sort(),
  );
});
