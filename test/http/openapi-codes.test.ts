/** The error codes of every operation, as a whole instance describes them. */

import { describe, expect, test } from "bun:test";

import { parkedShape } from "#api/approval-json.ts";
import { type ProblemCode, problems } from "#core/problems.ts";
import { refusing, text } from "#core/shape.ts";
import { operation } from "#domain/access/operation.ts";
import { theCa } from "#domain/access/targets.ts";
import type { Catalog, Entry } from "#http/catalog.ts";
import { openapiDocument, shapeOf } from "#http/openapi.ts";
import { type OperationName, operations, routesOf } from "#operations";
import { describedCatalog } from "#test/support/worlds/described-catalog.ts";
import { describedCodes, refusedAtTheDoor } from "#test/support/worlds/described-codes.ts";
import type { Json } from "#test/support/worlds/governed-world.ts";
import { stubCatalog } from "#test/support/worlds/stub-server.ts";

const catalog = describedCatalog();
const rows = [...catalog.entries];

/** Codes by operation, as a reader of the document finds them. */
async function toldIn(of: Catalog): Promise<ReadonlyMap<OperationName, readonly ProblemCode[]>> {
  const { paths } = (await openapiDocument(of, "1", parkedShape)) as Json;
  const found = new Map<OperationName, readonly ProblemCode[]>();
  for (const [name, { row }] of of.entries) {
    if (row.local === true) continue;
    const [route = { method: "", path: "" }] = routesOf(row);
    const item = paths[route.path.replace("*}", "}")][route.method.toLowerCase()];
    const refusals = Object.entries<Json>(item.responses).filter(([status]) =>
      /^[45]\d\d$/.test(status),
    );
    const codes = refusals.flatMap(([status, { content }]) => {
      const these: ProblemCode[] = content["application/json"].schema.allOf[1].properties.code.enum;
      expect(these.filter((code) => problems[code][0] !== Number(status))).toEqual([]);
      return these;
    });
    found.set(name, codes);
  }
  return found;
}
const told = await toldIn(catalog);

const withCode = (code: ProblemCode): readonly OperationName[] =>
  rows.filter(([, entry]) => describedCodes(entry).includes(code)).map(([name]) => name);

const where = (holds: (entry: Entry) => boolean): readonly OperationName[] =>
  rows.filter(([, entry]) => holds(entry)).map(([name]) => name);

test("no operation is described with a code twice, and each stands under its status", () => {
  const twice = [...told].filter(([, codes]) => new Set(codes).size < codes.length);
  expect(twice.map(([name]) => name)).toEqual([]);
  for (const [name, entry] of rows) {
    if (entry.row.local === true) continue;
    expect([name, [...(told.get(name) ?? [])].sort()]).toEqual([
      name,
      [...describedCodes(entry)].sort(),
    ]);
  }
});

test("what an operation says of itself has each code once, in the order of the problems", () => {
  const order = Object.keys(problems);
  for (const [name, entry] of rows) {
    const { refuses } = shapeOf(entry);
    const sorted = [...new Set(refuses)].sort((a, b) => order.indexOf(a) - order.indexOf(b));
    expect([name, refuses]).toEqual([name, sorted]);
  }
});

describe("what the gates refuse is told of", () => {
  const isGuarded = ({ row }: Entry) => row.needs !== "pub";
  const changes = ({ row }: Entry) => !row.route.startsWith("GET ");

  test("every operation: a bug, and the end of the process", () => {
    for (const code of ["internal", "shutting_down"] as const) {
      expect(withCode(code)).toEqual(where(() => true));
    }
  });

  test("every operation that wants a credential: each way in which one is not accepted", () => {
    const codes = ["unauthenticated", "invalid_token", "unknown_parameter"] as const;
    for (const code of codes) expect(withCode(code)).toEqual(where(isGuarded));
    const others = ["invalid_credentials", "no_access", "oidc_unavailable"] as const;
    for (const code of others) expectAll(code, where(isGuarded));
    const busy = ["rate_limited", "overloaded", "storage_unavailable"] as const;
    for (const code of busy) expectAll(code, where(isGuarded));
  });

  test("every change but those of devices: a page of another site", () => {
    const kept = where((entry) => changes(entry) && entry.row.speaks === undefined);
    expect(withCode("csrf_failed")).toEqual(kept);
    expect(withCode("unsupported_media_type")).toEqual(kept);
    expect(withCode("body_too_large")).toEqual(where(changes));
  });

  test("exactly the rows with a passkey, four eyes or a suspension: that", () => {
    const own = ["webauthn.register_begin", "webauthn.register"];
    const stepUp = where(({ row }) => row.stepUp !== undefined);
    expect(withCode("step_up_required").filter((name) => !own.includes(name))).toEqual([...stepUp]);
    const suspendable = where(({ row }) => row.suspendable === true);
    expect(withCode("tenant_suspended")).toEqual(suspendable);
    const takeTwo = where(({ row }) => row.takesTwo !== undefined);
    expect(withCode("approval_unreachable")).toEqual(takeTwo);
    const others = ["approval_rejected", "approval_expired", "not_found"] as const;
    for (const code of others) expectAll(code, takeTwo);
  });

  test("every list: its cursor", () => {
    expect(withCode("bad_cursor")).toEqual(where((entry) => "cursor" in shapeOf(entry).query));
  });
});

test("a field with a code of its own brings it wherever it is taken, however deep", async () => {
  expect(withCode("bad_serial")).toEqual([
    "import.check",
    "cert.import",
    "cert.renew",
    "cert.show",
    "dns.tlsa",
    "cert.revoke",
    "cert.suspend",
    "cert.release",
    "cert.revoke_bulk",
    "acme.replace.plan",
    "ct.inclusion",
    "event.list",
  ]);
  expect(withCode("bad_reason")).toEqual([
    "import.check",
    "cert.import",
    "ca.retire",
    "cert.revoke",
    "cert.revoke_bulk",
    "acme.replace.plan",
  ]);
  expect(withCode("bad_fingerprint")).toEqual([
    "cert.list",
    "cert.revoke_bulk",
    "acme.replace.plan",
    "blocked_key.list",
    "key.block",
    "hsm.audit_log",
  ]);
  const show = operation({
    summary: "Shows.",
    target: theCa,
    input: { serial: refusing(text(), "bad_serial") },
    output: text(),
    refuses: ["bad_serial", "ca_in_use"],
    run: async () => "",
  });
  const codes = (await toldIn(stubCatalog({ "cert.show": show }))).get("cert.show") ?? [];
  expect(codes.filter((code) => code === "bad_serial")).toEqual(["bad_serial"]);
  expect(codes).toContain("ca_in_use");
});

test("the contract's codes stand where it has them", () => {
  for (const [name, codes] of Object.entries(contracted)) {
    const described: readonly string[] = codesOf(name);
    const missing = codes.split(" ").filter((code) => !described.includes(code));
    expect([name, missing]).toEqual([name, []]);
  }
});

test("every code is described by an operation, or is none of an operation for a reason", () => {
  const described = new Set(Object.keys(operations).flatMap((name) => codesOf(name)));
  // ACME has words of its own for what it refuses, in documents of its own.
  const ofJson = Object.keys(problems).filter((code) => !code.startsWith("acme_"));
  const undescribed = ofJson.filter((code) => !described.has(code as ProblemCode));
  expect([...described].filter((code) => code.startsWith("acme_"))).toEqual([]);
  expect(undescribed.sort()).toEqual(Object.keys(nobodys).sort());
  for (const code of refusedAtTheDoor) expect(Object.keys(nobodys)).toContain(code);
});

/** At least these are described with the code. */
function expectAll(code: ProblemCode, names: readonly OperationName[]): void {
  const described = withCode(code);
  expect([code, names.filter((name) => !described.includes(name))]).toEqual([code, []]);
}

const codesOf = (name: string): readonly ProblemCode[] =>
  describedCodes(catalog.entry(name as OperationName)); // The table's own keys.

/** Codes no operation is described with, and why. */
const nobodys: Partial<Record<ProblemCode, string>> = {
  bad_header: "refused before an operation is looked for",
  headers_too_large: "refused before an operation is looked for",
  method_not_allowed: "there is no operation under such a method",
  approval_pending: "remote calls have no other word for an answer of 202",
  target_refused: "of webhooks, which nothing sends yet",
  delivery_not_final: "of webhooks, which nothing sends yet",
  delivery_not_dead: "of webhooks, which nothing sends yet",
  subscription_disabled: "of webhooks, which nothing sends yet",
};

/** Codes beyond the common ones by operation, as the contract of the API lists them. */
const contracted: Partial<Record<OperationName, string>> = {
  "auth.login": "feature_disabled",
  "auth.callback":
    "idp_error bad_tx state_mismatch no_code verify_failed nonce_mismatch claims_failed no_access exchange_failed no_id_token",
  "auth.login_password": "invalid_credentials",
  "auth.login_ldap": "invalid_credentials no_access feature_disabled",
  "auth.session": "no_session",
  "webauthn.register_begin": "fresh_login_required step_up_required feature_disabled",
  "webauthn.register": "webauthn_failed feature_disabled",
  "webauthn.step_up_begin": "no_credential feature_disabled",
  "webauthn.step_up": "step_up_failed feature_disabled",
  "webauthn.list": "feature_disabled",
  "webauthn.remove": "feature_disabled",
  "resource.revoke": "config_managed",
  "ca.delete": "ca_in_use",
  "ca.init_root": "key_type_unsupported tenant_suspended already_exists",
  "ca.issue_intermediate":
    "key_type_unsupported ca_constraint validity_exceeds_limit tenant_suspended already_exists ca_not_active",
  "ca.csr": "key_type_unsupported already_exists",
  "ca.import_cert": "bad_certificate import_refused ca_not_pending",
  "ca.cross_sign":
    "conflicting_fields bad_certificate bad_csr ca_constraint validity_exceeds_limit ca_not_active",
  "ca.rotate": "not_rotatable validity_exceeds_limit already_exists ca_not_active",
  "ca.retire": "leaves_outstanding ca_not_superseded",
  "cert.issue":
    "bad_csr unknown_profile unsupported_name key_usage_unsuitable gate_refused ct_policy_unmet validity_exceeds_limit tenant_suspended ca_not_active quota_exceeded key_unavailable",
  "cert.renew":
    "bad_csr unknown_profile unsupported_name key_usage_unsuitable gate_refused ct_policy_unmet validity_exceeds_limit tenant_suspended ca_not_active quota_exceeded key_unavailable bad_serial identity_mismatch not_renewable",
  "cert.preview": "bad_csr unknown_profile",
  "cert.issue_bulk": "confirm_count_mismatch operation_mismatch",
  "cert.lint": "bad_certificate",
  "cert.validate": "bad_certificate",
  "csr.parse": "bad_csr",
  "cert.list": "bad_fingerprint bad_cursor",
  "cert.show": "bad_serial",
  "cert.revoke": "bad_serial bad_reason already_revoked certificate_expired hold_not_permitted",
  "cert.suspend": "bad_serial already_revoked certificate_expired hold_not_permitted",
  "cert.release": "bad_serial not_held",
  "cert.revoke_bulk":
    "empty_selection unknown_serials bad_reason bad_serial bad_fingerprint confirm_count_mismatch operation_mismatch bulk_partial",
  "acme.replace.plan":
    "feature_disabled empty_selection missing_field conflicting_fields replacement_too_fast",
  "crl.read": "not_found crl_unavailable",
  "crl.delta": "not_found crl_unavailable",
  "crl.partition": "not_found crl_unavailable bad_partition",
  "crl.partition_delta": "not_found crl_unavailable bad_partition",
  "ocsp.post": "body_too_large",
  "blocked_key.list": "bad_fingerprint",
  "key.block": "bad_fingerprint bad_certificate bad_csr bad_key",
  "kek.show": "feature_disabled",
  "kek.rotate": "operation_running key_unavailable",
  "hsm.factory_reset": "invalid_field keys_in_use not_supported",
  "dns.tlsa": "bad_query bad_serial not_found unprocessable",
  "tenant.create": "already_exists",
  "tenant.status": "tenant_protected",
  "tenant.delete": "tenant_protected tenant_not_empty",
  "token.create": "lifetime_exceeded conflicting_fields",
  "approval.approve": "self_approval already_decided approval_not_pending approval_expired",
  "approval.reject": "already_decided approval_not_pending approval_expired",
  "approval.retry": "approval_not_retryable approval_expired",
  "approval.certificate": "wrong_class approval_rejected approval_expired approval_failed",
  "event.verify": "chain_broken",
};
