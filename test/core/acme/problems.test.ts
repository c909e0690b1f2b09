/** How refusals read in ACME (RFC 8555 §6.7). */

import { describe, expect, test } from "bun:test";

import { acmeTypes, documentOf, problemDocument, storedProblem } from "#core/acme/problems.ts";
import { gateNames } from "#core/policy/gates.ts";
import { Problem, type ProblemCode, problems, refuse } from "#core/problems.ts";

const urn = "urn:ietf:params:acme:error:";
const told = (problem: Problem) => {
  const { type, status } = problemDocument(problem);
  return `${type.replace(urn, "")} ${status}`;
};
// The keys of the table, as `Object.keys` cannot say.
const codes = Object.keys(problems) as ProblemCode[];

test("every code of the table has a type of the list and a status of HTTP", () => {
  for (const code of codes) {
    const { type, status, detail } = problemDocument(new Problem(code, {}));
    expect([code, acmeTypes.map((one) => urn + one).includes(type)]).toEqual([code, true]);
    expect([code, status >= 400 && status !== 401]).toEqual([code, true]);
    expect(detail).not.toBe("");
  }
});

test("every type but those of validation is told by some code", () => {
  const used = new Set(codes.map((code) => storedProblem(new Problem(code, {})).type));
  const unused = acmeTypes.filter((type) => !used.has(type));
  expect(unused).toEqual(["connection", "dns", "incorrectResponse", "tls"]);
});

describe("P-8, P-9: trouble of the server", () => {
  test.each([
    [refuse("rate_limited", { retry_after: 1 }), "rateLimited 429"],
    [refuse("quota_exceeded", { quota: "certificates" }), "rateLimited 429"],
    [refuse("key_unavailable"), "serverInternal 503"],
    [refuse("overloaded"), "rateLimited 503"],
    [refuse("internal"), "serverInternal 500"],
    [refuse("exchange_failed"), "serverInternal 500"],
    [refuse("tenant_suspended"), "unauthorized 403"],
    [refuse("unauthenticated"), "unauthorized 403"],
    [refuse("method_not_allowed"), "malformed 405"],
    [refuse("body_too_large"), "malformed 413"],
    [refuse("unsupported_media_type"), "malformed 415"],
    [refuse("not_found"), "malformed 404"],
    [refuse("already_revoked"), "alreadyRevoked 400"],
  ])("%s", (problem, wanted) => {
    expect(told(problem)).toBe(wanted);
  });

  test("is told by the sentence of the table, whatever the refusal says", () => {
    const secret = "connection to 10.1.2.3 refused";
    for (const code of codes.filter((one) => !one.startsWith("acme_"))) {
      const problem = new Problem(code, { reason: secret, gates: [secret], quota: secret });
      problem.message = secret;
      expect(JSON.stringify(problemDocument(problem))).not.toContain(secret);
    }
    const own = refuse("storage_unavailable", {}, secret);
    expect(problemDocument(own).detail).toBe("The database does not accept writes.");
  });
});

describe("FIN-4: a refusal of gates", () => {
  test.each([
    [["caa"], "caa 403"],
    [["names"], "rejectedIdentifier 400"],
    [["name_constraints"], "rejectedIdentifier 400"],
    [["keycheck"], "badCSR 400"],
    [["certificate_policy"], "badCSR 400"],
    [["approval"], "unauthorized 403"],
    [["keycheck", "names"], "rejectedIdentifier 400"],
    [[], "badCSR 400"],
  ])("%p is %s", (names, wanted) => {
    expect(told(refuse("gate_refused", { gates: names.map((name) => ({ name })) }))).toBe(wanted);
  });

  test("of any gate has a type, and findings of none are told", () => {
    for (const name of gateNames) {
      const gates = [{ name, status: "fail", reason: "internal", findings: ["internal"] }];
      const document = JSON.stringify(problemDocument(refuse("gate_refused", { gates })));
      expect(document).not.toContain("internal");
    }
  });

  test("with facts that are not as they should be still has one", () => {
    for (const gates of [undefined, null, "caa", [null, "caa", {}, { name: 1 }]]) {
      expect(told(refuse("gate_refused", { gates }))).toBe("badCSR 400");
    }
  });
});

describe("a document", () => {
  const found = {
    type: "rejectedIdentifier",
    detail: "No.",
    identifier: { type: "dns", value: "a_b.example" },
  } as const;

  test("names every identifier that is refused, each with its own type", () => {
    const unsupported = { ...found, type: "unsupportedIdentifier" } as const;
    const subproblems = [found, unsupported];
    const { subproblems: sent } = problemDocument(
      refuse("acme_rejected_identifier", { subproblems }),
    );
    expect(sent).toEqual([
      { ...found, type: `${urn}rejectedIdentifier` },
      { ...found, type: `${urn}unsupportedIdentifier` },
    ]);
  });

  test("AC-5: has no subproblems where there are none, neither null nor empty", () => {
    for (const subproblems of [undefined, []]) {
      const document = problemDocument(refuse("acme_rejected_identifier", { subproblems }));
      expect("subproblems" in document).toBe(false);
    }
  });

  test("RFC 8555 §6.2: says which algorithms are accepted", () => {
    const algorithms = ["ES256"];
    const document = problemDocument(refuse("acme_bad_signature_algorithm", { algorithms }));
    expect(document.algorithms).toEqual(algorithms);
    expect(told(refuse("acme_bad_signature_algorithm"))).toBe("badSignatureAlgorithm 400");
  });

  test("RFC 8555 §7.3.3: says where the terms are to be agreed to", () => {
    const terms_of_service = "https://ca.example/terms";
    const document = problemDocument(refuse("acme_terms_not_agreed", { terms_of_service }));
    expect(document.instance).toBe(terms_of_service);
  });

  test("says in its sentence what is wrong with the message", () => {
    const { detail } = problemDocument(refuse("acme_malformed", { reason: "it has no url" }));
    expect(detail).toBe("The ACME request is malformed: it has no url.");
    const sentence = problemDocument(refuse("acme_caa", { reason: "Another CA is named." }));
    expect(sentence.detail).toEndWith(": Another CA is named.");
  });

  test("RFC 8555 §6.7.1: names the only identifier of a stored problem in a subproblem", () => {
    const { identifier } = found;
    const stored = { type: "dns", detail: "No answer.", status: 400, identifier } as const;
    expect(documentOf(stored)).toEqual({
      type: `${urn}dns`,
      detail: "No answer.",
      status: 400,
      subproblems: [{ type: `${urn}dns`, detail: "No answer.", identifier }],
    });
  });

  test("of a refusal that was kept is the one that was told", () => {
    const problem = refuse("acme_rejected_identifier", { subproblems: [found] });
    const kept = JSON.parse(JSON.stringify(storedProblem(problem)));
    expect(documentOf(kept)).toEqual(problemDocument(problem));
  });
});
