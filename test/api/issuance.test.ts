/** Issue, renew, preview and parse-csr in JSON, through the pipeline. */

import { askJson, openPipeline } from "#test/support/worlds/asking.ts";
import { beforeEach, expect, test } from "bun:test";

import { authorityHandlers } from "#api/authorities.ts";
import { issuanceHandlers } from "#api/issuance.ts";
import type { Principal } from "#core/access/principal.ts";
import type { TenantId } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { csr, issuanceWorld, rootOrigin, type World } from "#test/support/worlds/issuance.ts";
import { personNamed } from "#test/support/worlds/people.ts";

let world: World;
let id: string;
let ask: (operation: Operation, body: object, principal?: Principal) => Promise<Json>;
beforeEach(async () => {
  world = issuanceWorld({ urlBase: "https://pki.example" });
  const handlers = { ...authorityHandlers(world), ...issuanceHandlers(world) };
  const perform = openPipeline({ ...world });
  ask = async (operation, body, principal = rootOrigin.principal) => {
    const call = { operation, origin: { ...rootOrigin, principal }, path: id ? { id } : {} };
    const query = new URLSearchParams();
    const answer = await askJson(
      perform,
      { ...call, query, body: async () => body },
      handlers[operation],
    );
    return { ...JSON.parse(JSON.stringify(answer.body)), headers: answer.headers };
  };
  id = "";
  const root = { label: "root", subject: { cn: "Root" }, key_type: "ecdsa-p256" };
  id = (await ask("ca.init_root", root)).id;
});

type Operation = "ca.init_root" | "cert.issue" | "cert.renew" | "cert.preview" | "csr.parse";
// biome-ignore lint/suspicious/noExplicitAny: answers are read member by member, as a client reads them.
type Json = any;

const refusalOf = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ code: "accepted", facts: {} }),
    (error) => {
      if (!(error instanceof Problem)) throw error;
      return { code: error.code as string, facts: error.facts };
    },
  );
const statuses = (preview: Json) =>
  Object.fromEntries(preview.gates.map(({ name, status }: Json) => [name, status]));
const wholeState = () => JSON.stringify(world.store.readAllTables());

test("renew answers 201 with the new certificate and where to read it", async () => {
  const issued = await ask("cert.issue", { csr: csr() });
  const { headers, ...renewed } = await ask("cert.renew", { serial: issued.serial });
  expect(headers).toEqual({ location: `/api/ca/${id}/certificates/${renewed.serial}` });
  expect(renewed).toMatchObject({ ca_id: id, profile: "server" });
  expect(renewed.serial).not.toBe(issued.serial);
  expect(renewed.chain).toBe(renewed.certificate);
});

test("renew wants a serial in a spelling of serials", async () => {
  expect(await refusalOf(ask("cert.renew", { serial: "-1" }))).toMatchObject({
    code: "bad_serial",
  });
  expect(await refusalOf(ask("cert.renew", {}))).toMatchObject({ code: "missing_field" });
  const unknown = await refusalOf(ask("cert.renew", { serial: "17" }));
  expect(unknown).toMatchObject({ code: "not_found" });
});

test("a preview says what the issue then does, and writes nothing", async () => {
  const before = wholeState();
  const request = csr();
  const { headers: _none, ...preview } = await ask("cert.preview", { csr: request });
  expect(wholeState()).toBe(before);
  expect(preview).toMatchObject({
    ca_id: id,
    ca_label: "root",
    profile: "server",
    decision: "accept",
    would_issue: true,
    would_park: false,
    requires_approval: false,
    subject: "CN=a.example",
    sans: ["dns:a.example"],
    key_usages: ["digitalSignature"],
    validity_days: 397,
    max_validity_days: 397,
    must_staple: false,
    ext_key_usages: ["serverAuth"],
    subject_key_provided: true,
  });
  expect(preview.subject_key_id).toMatch(/^([0-9a-f]{2}:){19}[0-9a-f]{2}$/);
  expect(preview.extensions[0]).toEqual({
    oid: "2.5.29.19",
    name: "basicConstraints",
    critical: true,
  });
  expect(preview).not.toHaveProperty("requested_validity_days");
  const issued = await ask("cert.issue", { csr: request });
  expect(issued).toMatchObject({ not_before: preview.not_before, not_after: preview.not_after });
});

test("GATE-2: the gates of a preview stand in the order of issue", async () => {
  const preview = await ask("cert.preview", { csr: csr() });
  expect(Object.keys(statuses(preview)).filter((name) => name !== "caa")).toEqual([
    "names",
    "certificate_policy",
    "must_staple",
    "lint",
    "name_constraints",
    "keycheck",
    "validity",
    "approval",
  ]);
});

test("PRO-3: whatever issue refuses at a gate, preview rejects at the same gates", async () => {
  const strict = { ...new ProfileSet().named("server"), name: "strict", requireApproval: true };
  world.setProfiles([strict]);
  for (const body of [
    { csr: csr(), validity_days: 398 },
    { csr: csr({ dns: ["-bad-.example"] }) },
    { csr: csr(), must_staple: true },
    { csr: csr(), profile: "email" },
    { csr: csr(), profile: "strict" },
  ]) {
    const preview = await ask("cert.preview", body);
    expect(preview).toMatchObject({ decision: "reject", would_issue: false });
    const refused = await refusalOf(ask("cert.issue", body));
    expect(refused.code).not.toBe("accepted");
    if (refused.code === "gate_refused") {
      // Those that refused, and only those.
      const failed = preview.gates.filter(({ status }: { status: string }) => status === "fail");
      expect(refused.facts).toEqual({ gates: failed });
    }
  }
});

test("without a request, names are enough and the key check is skipped", async () => {
  const preview = await ask("cert.preview", {
    common_name: "a.example",
    dns_names: ["A.example"],
    ip_addresses: ["192.0.2.1"],
  });
  expect(preview).toMatchObject({
    decision: "accept",
    subject_key_provided: false,
    sans: ["dns:a.example", "ip:192.0.2.1"],
  });
  expect(preview).not.toHaveProperty("subject_key_id");
  expect(statuses(preview).keycheck).toBe("skipped");
  const mail = await ask("cert.preview", { email_addresses: ["a@a.example"], profile: "email" });
  expect(mail.decision).toBe("accept");
  const bad = await ask("cert.preview", { dns_names: ["-bad-.example"] });
  expect(statuses(bad)).toMatchObject({ lint: "fail", keycheck: "skipped" });
});

test("a preview is asked with a request or with names, not both and not neither", async () => {
  const both = { csr: csr(), dns_names: ["a.example"] };
  expect(await refusalOf(ask("cert.preview", both))).toMatchObject({ code: "conflicting_fields" });
  expect(await refusalOf(ask("cert.preview", {}))).toMatchObject({ code: "missing_field" });
  const address = { ip_addresses: ["192.0.2"] };
  expect(await refusalOf(ask("cert.preview", address))).toMatchObject({ code: "invalid_field" });
  const unknown = { csr: csr(), profile: "none" };
  expect(await refusalOf(ask("cert.preview", unknown))).toMatchObject({ code: "unknown_profile" });
  const stolen = { csr: csr({ stolen: true }) };
  expect(await refusalOf(ask("cert.preview", stolen))).toMatchObject({ code: "bad_csr" });
});

test("a preview wants the right to issue there", async () => {
  const tenant = "default" as TenantId;
  const auditor: Principal = {
    subject: "ada",
    person: personNamed("ada"),
    isRoot: false,
    roles: [],
    groups: [],
    mechanism: "basic",
    tenantRoles: { [tenant]: ["auditor"] },
  };
  const refused = await refusalOf(ask("cert.preview", { csr: csr() }, auditor));
  expect(refused).toMatchObject({ code: "forbidden" });
});

test("a request over 64 KiB is refused as such", async () => {
  const large = csr().replace("\n", `\n${" ".repeat(65_536)}`);
  const refused = await refusalOf(ask("cert.issue", { csr: large }));
  expect(refused).toEqual({ code: "bad_csr", facts: { reason: "too_large" } });
});

test("parse-csr shows subject, names and key of a request, and refuses one it cannot trust", async () => {
  const pem = csr({
    subject: [
      { type: "C", value: "DE" },
      { type: "O", value: "Org" },
      { type: "serialNumber", value: "17" },
      { type: "CN", value: "a.example" },
    ],
    sans: [
      { kind: "dns", value: "a.example" },
      { kind: "ip", value: "192.0.2.1" },
      { kind: "uri", value: "spiffe://a.example/x" },
    ],
  });
  const { headers: _none, ...parsed } = await ask("csr.parse", { csr: pem });
  expect(parsed).toEqual({
    subject: { C: "DE", O: "Org", CN: "a.example" },
    sans: { dns: ["a.example"], ip: ["192.0.2.1"], email: [], uri: ["spiffe://a.example/x"] },
    public_key_algorithm: "ecdsa-p256",
    public_key_fingerprint: expect.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/),
  });
  const stolen = await refusalOf(ask("csr.parse", { csr: csr({ stolen: true }) }));
  expect(stolen).toMatchObject({ code: "bad_csr" });
  expect(await refusalOf(ask("csr.parse", { csr: "x" }))).toMatchObject({ code: "bad_csr" });
});
