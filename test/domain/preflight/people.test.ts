/** Preflight counts the approvers that the configuration names. */

import { expect, test } from "bun:test";

import { quorumReached } from "#domain/preflight/people.ts";
import { configOf } from "#test/support/config.ts";

test("root and the shells of the host are one person, who cannot approve without another one (APR-5)", () => {
  const evaluate = (...subjects: readonly string[]) => {
    const bindings = subjects.map((subject) => ({ subject_cn: "x", subject, roles: ["admin"] }));
    const mtls = { enabled: subjects.length > 0, ca_file: "/srv/ca.pem", bindings };
    const approvals = { enabled: true, thresholds: { "ca.create": 1 } };
    return quorumReached(configOf(JSON.stringify({ approvals, auth: { mtls } })));
  };
  expect(evaluate()).toMatchObject({
    status: "fail",
    detail: expect.stringContaining("ca.create"),
  });
  expect(evaluate("carol").status).toBe("warn");
  expect(evaluate("carol", "carol").status).toBe("warn");
  expect(evaluate("carol", "dave").status).toBe("pass");
});
