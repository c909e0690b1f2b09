/** Nothing is left to wait for other people that would be refused whatever they decide. */

import { beforeEach, expect, test } from "bun:test";

import { defaultTenant } from "#core/ids.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { type OperationName, operations } from "#operations";
import { type FourEyesWorld, alice, fourEyesWorld } from "#test/support/worlds/four-eyes-world.ts";
import { refusal } from "#test/support/worlds/governed-world.ts";
import { caRequest, csr, rootOrigin } from "#test/support/worlds/issuance.ts";

const strict = { ...new ProfileSet().named("server"), name: "strict", requireApproval: true };
let world: FourEyesWorld;
const ids = { root: "", issuing: "", narrow: "", pending: "" };
beforeEach(async () => {
  world = await fourEyesWorld({ profiles: [strict] });
  const { authorities } = world;
  const root = await authorities.initRoot(rootOrigin, defaultTenant, caRequest({ label: "root" }));
  const below = async (label: string, parent: typeof root, maxPathLength?: number) =>
    await authorities.issueIntermediate(rootOrigin, parent, caRequest({ label, maxPathLength }));
  const asked = { label: "outer", subject: { cn: "Outer" }, key_type: "ecdsa-p256" };
  ids.root = root.id;
  ids.issuing = (await below("issuing", root)).id;
  ids.narrow = (await below("narrow", root, 0)).id;
  ids.pending = (await world.ask("ca.csr", alice, { body: asked })).ca.id;
  await world.memory.tamper("delete from approvals");
});

interface Hopeless {
  readonly what: string;
  readonly on?: keyof typeof ids;
  readonly body: object;
  readonly code: string;
}

const ca = { label: "below", subject: { cn: "Below" }, key_type: "ecdsa-p256" };
const request = () => csr({ subject: [{ type: "CN", value: "Elsewhere CA" }] });
const broken = "-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n";
const token = { name: "ci", roles: ["issuer"] };
const past = "2001-01-01T00:00:00Z";

type GuardedName = {
  [N in OperationName]: (typeof operations)[N] extends { readonly takesTwo: unknown } ? N : never;
}[OperationName];

/** Every operation that takes two; one without an entry does not compile. */
const hopeless: Readonly<Record<GuardedName, readonly Hopeless[]>> = {
  "ca.init_root": [
    { what: "a label in use", body: { ...ca, label: "root" }, code: "already_exists" },
    {
      what: "a key type of another algorithm",
      body: { ...ca, algorithm: "pqc" },
      code: "key_type_unsupported",
    },
  ],
  "ca.issue_intermediate": [
    { what: "a label in use", on: "root", body: { ...ca, label: "root" }, code: "already_exists" },
    { what: "a parent that may have none below", on: "narrow", body: ca, code: "ca_constraint" },
    {
      what: "more years than its parent has",
      on: "root",
      body: { ...ca, validity_days: 36_000 },
      code: "validity_exceeds_limit",
    },
    {
      what: "a second key its parent cannot sign for",
      on: "root",
      body: { ...ca, algorithm: "hybrid", alt_key_type: "ml-dsa-44" },
      code: "ca_constraint",
    },
  ],
  "ca.import_cert": [
    {
      what: "no certificate",
      on: "pending",
      body: { certificate_pem: "x" },
      code: "bad_certificate",
    },
    { what: "another CA's certificate", on: "pending", body: {}, code: "import_refused" },
    { what: "a CA that waits for none", on: "issuing", body: {}, code: "ca_not_pending" },
  ],
  "ca.import_finish": [
    { what: "a CA that was made here", on: "issuing", body: {}, code: "ca_not_pending" },
    { what: "a CA that waits for another one", on: "pending", body: {}, code: "ca_not_pending" },
  ],
  "ca.cross_sign": [
    { what: "nobody to vouch for", on: "root", body: {}, code: "missing_field" },
    {
      what: "two to vouch for",
      on: "root",
      body: { csr_pem: request(), subject_ca_id: "root" },
      code: "conflicting_fields",
    },
    {
      what: "a request without days",
      on: "root",
      body: { csr_pem: request() },
      code: "missing_field",
    },
    {
      what: "a broken request",
      on: "root",
      body: { csr_pem: broken, validity_days: 3 },
      code: "bad_csr",
    },
    { what: "itself", on: "root", body: { subject_ca_id: "root" }, code: "ca_constraint" },
  ],
  "ca.rotate": [
    { what: "a root", on: "root", body: {}, code: "not_rotatable" },
    { what: "a label in use", on: "issuing", body: { new_label: "root" }, code: "already_exists" },
    {
      what: "a key type for roots only",
      on: "issuing",
      body: { key_type: "slh-dsa-sha2-128s" },
      code: "key_type_unsupported",
    },
    {
      what: "more years than its parent has",
      on: "issuing",
      body: { validity_days: 36_000 },
      code: "validity_exceeds_limit",
    },
  ],
  "ca.retire": [
    { what: "a CA with nothing to retire", on: "issuing", body: {}, code: "ca_not_superseded" },
    {
      what: "a reason that can be taken back",
      on: "issuing",
      body: { reason: "certificateHold" },
      code: "bad_reason",
    },
  ],
  "cert.revoke_bulk": [
    {
      what: "nothing selected",
      on: "issuing",
      body: { confirm_count: 0 },
      code: "empty_selection",
    },
    { what: "no number", on: "issuing", body: { all: true }, code: "missing_field" },
    {
      what: "a wrong number",
      on: "issuing",
      body: { all: true, confirm_count: 7 },
      code: "confirm_count_mismatch",
    },
    {
      what: "a profile that does not exist",
      on: "issuing",
      body: { filter: { profile: "none" }, confirm_count: 0 },
      code: "invalid_field",
    },
  ],
  "acme.replace.plan": [
    {
      what: "ACME that is switched off",
      on: "issuing",
      body: { within_seconds: 3600, revoke: "superseded" },
      code: "feature_disabled",
    },
  ],
  "kek.rotate": [{ what: "an unknown member", body: { force: true }, code: "unknown_field" }],
  "token.create": [
    {
      what: "two ends",
      body: { ...token, expires_at: past, expires_in_days: 3 },
      code: "conflicting_fields",
    },
    {
      what: "two tenants",
      body: { ...token, scope: "platform", tenant: "web" },
      code: "conflicting_fields",
    },
    { what: "an end that is past", body: { ...token, expires_at: past }, code: "invalid_field" },
  ],
  "webauthn.reset": [
    { what: "passkeys that are switched off", body: { subject: "dora" }, code: "feature_disabled" },
  ],
  "cert.issue": [
    {
      what: "a broken request",
      on: "issuing",
      body: { csr: broken, profile: "strict" },
      code: "bad_csr",
    },
  ],
  "cert.renew": [
    { what: "a serial nobody has", on: "issuing", body: { serial: "77" }, code: "not_found" },
  ],
};

const cases = Object.entries(hopeless).flatMap(([operation, rows]) =>
  rows.map((row) => [operation as OperationName, row.what, row] as const),
);

test.each(cases)("%s with %s is refused, and nothing waits", async (operation, _, row) => {
  const { on, code } = row;
  const path = on === undefined ? {} : { id: ids[on] };
  const body: Record<string, unknown> = { ...row.body };
  if (body.subject_ca_id !== undefined) body.subject_ca_id = ids.root;
  if (operation === "ca.import_cert" && body.certificate_pem === undefined) {
    body.certificate_pem = (
      await world.ask("ca.show", alice, { path: { id: ids.root } })
    ).certificate;
  }
  const refused = await refusal(world.ask(operation, alice, { path, body }));
  expect(refused.code).toBe(code);
  expect(world.memory.countRows("approvals")).toBe(0);
});

test("every operation that takes two is in the table", () => {
  const guarded = Object.entries(operations).filter(([, row]) => "takesTwo" in row);
  expect(Object.keys(hopeless).sort()).toEqual(guarded.map(([name]) => name).sort());
});
