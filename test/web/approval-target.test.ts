/** What tells two requests apart that read the same. */

import { expect, test } from "bun:test";

import { targetOf } from "#web/pages/approvals/target.ts";

test("an issue is told from another by the names asked for, a few of them", () => {
  const summary = "Issue a certificate of issuing, profile strict.";
  const csr = (...sans: readonly string[]) => ({ details: { csr: { subject: "CN=a", sans } } });
  expect(targetOf({ summary, ...csr("dns:a.example", "dns:b.example") })).toBe(
    "dns:a.example, dns:b.example",
  );
  expect(targetOf({ summary, ...csr("dns:a", "dns:b", "dns:c", "dns:d") })).toBe(
    "dns:a, dns:b, dns:c, and 1 more",
  );
  expect(targetOf({ summary, ...csr() })).toBe("CN=a");
});

test("a bulk revocation is told from another by what it selects", () => {
  const details = { filter: { profile: "server", issued_after: "2026-01-01T00:00:00Z" } };
  const summary = "Revoke many certificates of issuing: 4, reason superseded.";
  expect(targetOf({ summary, details })).toBe(
    'profile "server", issued_after "2026-01-01T00:00:00Z"',
  );
});

test("what the summary says is not said again, and details that are too long say nothing", () => {
  const summary = "Make the root CA first (ecdsa-p256).";
  const details = { label: "first", key_type: "ecdsa-p256", subject: { cn: "Example" } };
  expect(targetOf({ summary, details })).toBe("Example");
  expect(targetOf({ summary, details: { too_long: true } })).toBeUndefined();
});
