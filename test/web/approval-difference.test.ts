/** What a request changes, why, and what became of it, in the words of its page. */

import { describe, expect, test } from "bun:test";

import { approvalStatuses } from "#core/approvals/classes.ts";
import type { JsonObject } from "#core/shape.ts";
import { type Operation, operations } from "#operations";
import { cameOf } from "#web/pages/approvals/came.ts";
import { changesOf, type Now } from "#web/pages/approvals/difference.ts";
import { whyOf } from "#web/pages/approvals/why.ts";

/** As lines: what, before → afterwards. */
const lines = (operation: string, details: JsonObject, now: Now = {}) =>
  changesOf({ operation, details, resource_name: "it" }, now).map(
    ({ what, before, after }) => `${what}: ${before} → ${after}`,
  );

describe("the difference a request makes", () => {
  test("is told of every operation that takes two, and of nothing unknown", () => {
    const takesTwo = Object.entries<Operation>(operations).filter(([, row]) => row.takesTwo);
    const untold = takesTwo.filter(([name]) => lines(name, {}).length === 0);
    expect(untold).toEqual([]);
    expect(lines("ca.unheard_of", { label: "x" })).toEqual([]);
    // Of a list, where long details are left out.
    expect(() => lines("cert.issue", { too_long: true })).not.toThrow();
  });

  test("of a bulk revocation is how many of how many, and whether there is a way back", () => {
    const details = { ca_label: "issuing", confirm_count: 1200, reason: "superseded" };
    expect(lines("cert.revoke_bulk", details, { valid: 5000 })).toEqual([
      "Certificates of issuing: 5,000 valid → 1,200 revoked for good, reason superseded",
    ]);
    const held = { ca_label: "issuing", reason: "certificateHold" };
    expect(lines("cert.revoke_bulk", held)).toEqual([
      "Certificates of issuing: as they are → all that fit suspended, until they are released, reason certificateHold",
    ]);
  });

  test("of a retirement is the key it meets, and what chains to it", () => {
    const now = { oldest: "issuing", outstanding: 12 };
    const details = { ca_label: "issuing-r3", reason: "cessationOfOperation" };
    expect(lines("ca.retire", { ...details, force: false }, now)).toEqual([
      "issuing: superseded → revoked for good, reason cessationOfOperation",
      "Certificates that chain to it: 12 valid → none may be left, else it is refused",
    ]);
    expect(lines("ca.retire", { ...details, force: true }, now)[1]).toContain(
      "→ no longer accepted",
    );
  });

  test("of an API token is what whoever holds it may do, where and until when", () => {
    const details = { roles: ["issuer"], scope: "tenant", tenant_id: "shop", expires_in_days: 90 };
    expect(lines("token.create", details)).toEqual([
      "Whoever holds its secret: may do nothing with it → may as issuer: read, audit:read, issue",
      "Where: none → in the tenant shop",
      "Ends: none → 90 days after it is made",
    ]);
    expect(lines("token.create", details, { tenant: "the-shop" })[1]).toBe(
      "Where: none → in the tenant the-shop",
    );
    const everywhere = { roles: ["admin"], scope: "platform" };
    const [may, where, end] = lines("token.create", everywhere);
    expect(may).toContain("may as admin: everything");
    expect(lines("token.create", { ...everywhere, scope: "tenant" })[0]).toContain("token:manage");
    expect(where).toBe("Where: none → in every tenant");
    expect(end).toBe("Ends: none → never, or as configured");
  });

  test("of a renewal is what it keeps and what it changes", () => {
    const renews = { subject: "CN=a", sans: ["dns:a.example"], profile: "server" };
    const csr = { sans: ["dns:b.example"], public_key_fingerprint: "SHA256:x" };
    const [subject, names, , key] = lines("cert.renew", { renews, csr });
    expect(subject).toBe("Subject: CN=a → none");
    expect(names).toBe("Names: dns:a.example → dns:b.example");
    expect(key).toBe("Key: the one it has → SHA256:x");
    const [name, kept, profile, same] = lines("cert.renew", { renews });
    expect(name).toBe("Subject: CN=a → CN=a");
    expect(kept).toBe("Names: dns:a.example → dns:a.example");
    expect(profile).toBe("Profile: server → server");
    expect(same).toBe("Key: the one it has → the same");
  });

  test("of an issue is its subject beside its names, whichever of them there are", () => {
    const csr = { subject: "CN=Chief, O=Bank", sans: ["dns:www.example"] };
    const [subject, names] = lines("cert.issue", { csr, profile: "server" });
    expect(subject).toBe("Subject: none → CN=Chief, O=Bank");
    expect(names).toBe("Names: no certificate by this request → dns:www.example");
    const nameless = lines("cert.issue", { csr: { ...csr, sans: [] } });
    expect(nameless[0]).toBe("Subject: none → CN=Chief, O=Bank");
    expect(nameless[1]).toBe("Names: no certificate by this request → none");
    const [first] = lines("cert.issue", { csr: { ...csr, subject: "" } });
    expect(first).toBe("Names: no certificate by this request → dns:www.example");
  });

  test("hides nothing that a name may hide", () => {
    const [row] = lines("ca.init_root", { label: "a\u202eb", key_type: "ecdsa-p256" });
    expect(row).toContain("a[U+202E]b (ecdsa-p256), a root of its own");
  });
});

describe("why somebody asks", () => {
  test("is what they have said of it, else the reason that would be told of it", () => {
    expect(whyOf({ details: { description: "for the lift", reason: "superseded" } })).toBe(
      "for the lift",
    );
    expect(whyOf({ details: { description: "", reason: "superseded" } })).toBe("reason superseded");
    expect(whyOf({ details: { revoke: "keyCompromise" } })).toBe("reason keyCompromise");
    expect(whyOf({ details: { label: "x" } })).toBeUndefined();
  });
});

describe("what became of a request", () => {
  const times = { expires_at: "e", decided_at: "d", executed_at: "x" };
  const request = { ...times, requested_by: "maker", decisions: [], failure: undefined };
  const rejection = (approver: string) =>
    ({ id: "1", approver, decision: "reject", created_at: "d" }) as const;

  test("is one word and one time for every state, and never a guess", () => {
    const told = approvalStatuses.map((status) => {
      const { name, at } = cameOf({ ...request, status });
      return `${status}: ${name} ${at}`;
    });
    expect(told).toEqual([
      "pending: Lapses e",
      "approved: Approved d",
      "executing: Approved d",
      "executed: Executed x",
      "failed: Failed for good; approved d",
      "rejected: Rejected d",
      "expired: Lapsed e",
    ]);
  });

  test("tells a withdrawal from a rejection, and a failure that passes from one that stays", () => {
    const rejected = { ...request, status: "rejected" as const };
    expect(cameOf({ ...rejected, decisions: [rejection("maker")] }).name).toBe("Withdrawn");
    expect(cameOf({ ...rejected, decisions: [rejection("other")] }).name).toBe("Rejected");
    const failure = { code: "overloaded", error: "Busy.", retryable: true };
    expect(cameOf({ ...request, status: "failed", failure })).toEqual({
      name: "Failed; can be executed again until",
      at: "e",
    });
  });
});
