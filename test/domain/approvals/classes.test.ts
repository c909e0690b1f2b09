/**
 * Every class of what takes two: what waits, what approvers see, and what is done with their
 * approval.
 */

import { afterAll, beforeEach, describe, expect, test } from "bun:test";

import { caId, defaultTenant } from "#core/ids.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { refuse } from "#core/problems.ts";
import { externalRoot } from "#test/support/worlds/external-root.ts";
import { refusal, somebody } from "#test/support/worlds/governed-world.ts";
import {
  alice,
  bob,
  carol,
  type FourEyesWorld,
  fourEyesWorld,
} from "#test/support/worlds/four-eyes-world.ts";
import { caRequest, csr, leafRequest, newKey, rootOrigin } from "#test/support/worlds/issuance.ts";

const elsewhere = externalRoot();
afterAll(() => elsewhere[Symbol.dispose]());

const strict = { ...new ProfileSet().named("server"), name: "strict", requireApproval: true };
let world: FourEyesWorld;
let root: string;
let issuing: string;
const opened = async (...given: Parameters<typeof fourEyesWorld>) => {
  world = await fourEyesWorld(...given);
  const { authorities } = world;
  const above = await authorities.initRoot(rootOrigin, defaultTenant, caRequest({ label: "root" }));
  const below = caRequest({ label: "issuing" });
  root = above.id;
  issuing = (await authorities.issueIntermediate(rootOrigin, above, below)).id;
};
beforeEach(() => opened({ profiles: [strict] }));

const leaves = () => world.memory.listRows("certificates").filter(({ kind }) => kind === "leaf");
const eventOf = (action: string) =>
  world.memory.listEvents().findLast((event) => event.action === action);

describe("CAs", () => {
  test("below another, rotated and retired wait under their own classes", async () => {
    const body = { label: "second", subject: { cn: "Second" }, key_type: "ecdsa-p256" };
    const below = await world.ask("ca.issue_intermediate", alice, { path: { id: root }, body });
    expect(below.approval).toMatchObject({
      operation_class: "ca.create",
      resource_key: "ca:new:second",
      details: { ca_id: root, ca_label: "root", label: "second" },
    });
    expect(await world.approve(bob, below.approval_id)).toMatchObject({ status: "executed" });

    const rotating = await world.ask("ca.rotate", alice, { path: { id: issuing } });
    expect(rotating.approval).toMatchObject({
      operation_class: "ca.rotate",
      resource_key: `ca:${issuing}`,
    });
    const rotated = await world.approve(bob, rotating.approval_id);
    expect(rotated.result).toMatchObject({ old_ca: { status: "superseded" } });
    expect(eventOf("ca.rotate")?.detail).toContain(`approval=${rotating.approval_id}`);

    const retiring = await world.ask("ca.retire", alice, { path: { id: issuing } });
    expect(retiring.approval).toMatchObject({ operation_class: "ca.retire" });
    expect(await world.approve(bob, retiring.approval_id)).toMatchObject({
      status: "executed",
      result: { retired_ca: { status: "retired" } },
    });
    expect(eventOf("ca.retire")?.detail).toContain(`approval=${retiring.approval_id}`);
  });

  test("are vouched for only when another person agrees, who sees for whom", async () => {
    const csr_pem = csr({ subject: [{ type: "CN", value: "Elsewhere CA" }] });
    const body = { csr_pem, validity_days: 30 };
    const parked = await world.ask("ca.cross_sign", alice, { path: { id: root }, body });
    expect(parked.approval).toMatchObject({
      operation_class: "ca.create",
      resource_key: `ca:${root}`,
      details: { csr_pem: { subject: "CN=Elsewhere CA" }, validity_days: 30 },
    });
    expect(JSON.stringify(parked.approval)).not.toContain("BEGIN CERTIFICATE REQUEST");
    expect(await world.approve(bob, parked.approval_id)).toMatchObject({ status: "executed" });
  });

  test("certified elsewhere take their certificate only when another person agrees, who reads it", async () => {
    world.clock.at = elsewhere.soon;
    const asked = { label: "outer", subject: { cn: "Outer" }, key_type: "ecdsa-p256" };
    // Making key and request is not guarded; what makes the CA one is.
    const { ca, csr_pem: csrPem } = await world.ask("ca.csr", alice, { body: asked });
    const certificate_pem = elsewhere.certify({ csrPem });
    const chain_pem = elsewhere.upperPem + elsewhere.rootPem;
    const body = { certificate_pem, chain_pem };
    const parked = await world.ask("ca.import_cert", alice, { path: { id: ca.id }, body });
    expect(parked.approval).toMatchObject({
      operation_class: "ca.create",
      resource_key: `ca:${ca.id}`,
      details: { certificate_pem: { subject: "CN=Outer" }, replace: false },
    });
    expect(parked.approval.details.chain_pem).toHaveLength(2);
    expect(await world.approve(bob, parked.approval_id)).toMatchObject({
      status: "executed",
      result: { ca: { status: "active" } },
    });
    const again = { path: { id: ca.id }, body };
    expect(await world.ask("ca.import_cert", alice, again)).toMatchObject({ code: 200 });
    const refused = await refusal(world.ask("ca.import_cert", alice, again));
    expect(refused.code).toBe("ca_not_pending");
  });

  test("that cannot be rotated or retired are refused, and nothing waits", async () => {
    const refused = async (operation: "ca.rotate" | "ca.retire", id: string) =>
      (await refusal(world.ask(operation, alice, { path: { id } }))).code;
    expect(await refused("ca.rotate", root)).toBe("not_rotatable");
    expect(await refused("ca.retire", issuing)).toBe("ca_not_superseded");
    expect(world.memory.countRows("approvals")).toBe(0);
  });

  test("MON-1: rotation by M of N named people counts nobody else", async () => {
    await opened({ thresholds: { "ca.rotate": 2 }, operators: { "ca.rotate": ["bob", "carol"] } });
    const { approval_id: id } = await world.ask("ca.rotate", alice, { path: { id: issuing } });
    const stranger = somebody("dave", ["admin"]);
    expect((await refusal(world.approve(stranger, id))).code).toBe("forbidden");
    expect(await world.approve(bob, id)).toMatchObject({ status: "pending" });
    expect(await world.approve(carol, id)).toMatchObject({ status: "executed" });
  });
});

describe("a bulk revocation", () => {
  const revoke = (body: object, named?: string) =>
    world.ask("cert.revoke_bulk", alice, {
      path: { id: issuing },
      body: { all: true, reason: "superseded", ...body },
      ...(named === undefined ? {} : { named }),
    });
  const issue = async () => {
    const ca = await world.store.read.cas.byLabel("issuing");
    if (ca === undefined) throw new Error("made before");
    await world.issuance.issue(rootOrigin, ca, leafRequest());
  };

  test("waits when it is to be carried out, and not when it is only planned", async () => {
    await issue();
    expect(await revoke({ dry_run: true })).toMatchObject({ code: 200, total: 1 });
    const { approval_id: id, approval } = await revoke({ confirm_count: 1 });
    expect(approval).toMatchObject({
      operation_class: "revocation.bulk",
      details: { all: true, confirm_count: 1 },
    });
    expect(await world.approve(bob, id)).toMatchObject({ result: { planned: 1, revoked: 1 } });
    expect(eventOf("cert.revoke_bulk")?.detail).toContain(`approval=${id}`);
    expect(leaves().map(({ status }) => status)).toEqual(["revoked"]);
  });

  test("APR-7: that finds another count than was approved fails for good and changes nothing", async () => {
    await issue();
    expect((await refusal(revoke({ confirm_count: 2 }))).code).toBe("confirm_count_mismatch");
    const { approval_id: id } = await revoke({ confirm_count: 1 });
    await issue();
    expect(await world.approve(bob, id)).toMatchObject({
      status: "failed",
      failure: {
        code: "confirm_count_mismatch",
        retryable: false,
        error: expect.stringContaining("Make a new request"),
      },
    });
    expect(leaves().map(({ status }) => status)).toEqual(["good", "good"]);
  });

  test("runs in a suspended tenant too", async () => {
    await issue();
    const { approval_id: id } = await revoke({ confirm_count: 1 });
    const home = await world.store.read.tenants.named("default");
    if (home === undefined) throw new Error("always there");
    await world.store.atomically((tx) => tx.tenants.update({ ...home, status: "suspended" }));
    expect(await world.approve(bob, id)).toMatchObject({ status: "executed" });
  });
});

test("the key-encryption key is rotated once, by an approval", async () => {
  await world.keks.active();
  const parked = await world.ask("kek.rotate", alice);
  expect(parked.approval).toMatchObject({ operation_class: "kek.rotate", resource_key: "kek" });
  expect(parked.approval.tenant_id).toBeUndefined();
  const tenantAdmin = somebody("eve", { default: ["admin"] });
  const refused = await refusal(world.approve(tenantAdmin, parked.approval_id));
  expect(refused.code).toBe("forbidden");
  expect(await world.approve(bob, parked.approval_id)).toMatchObject({
    result: { old_version: 1, new_version: 2 },
  });
  expect(eventOf("kek.rotate")?.detail).toContain(`approval=${parked.approval_id}`);
});

describe("parked issuance", () => {
  const request = csr();
  const issue = (body: object = {}, who = alice, named?: string) =>
    world.ask("cert.issue", who, {
      path: { id: issuing },
      body: { csr: request, profile: "strict", ...body },
      ...(named === undefined ? {} : { named }),
    });
  const certificate = (id: string, who = alice) =>
    world.ask("approval.certificate", who, { path: { id } });

  test("says when it is collected what had cut its validity short", async () => {
    const ca = await world.store.read.cas.byId(caId(issuing));
    world.clock.advance(((ca?.notAfter ?? 0) - world.clock.now()) / 1000 - 10 * 86_400);
    const { approval_id: id } = await issue();
    await world.approve(bob, id);
    expect(await certificate(id)).toMatchObject({ code: 200, validity_clamped: "ca" });
    expect(await certificate(id, bob)).toMatchObject({ code: 200, validity_clamped: "ca" });
    expect(await issue({}, alice, id)).toMatchObject({ code: 201, validity_clamped: "ca" });
  });

  test("shows whose key it is, issues once approved, and is read at its own address", async () => {
    const parked = await issue();
    const { approval_id: id } = parked;
    expect(parked).toMatchObject({
      code: 202,
      certificate_url: `/api/approvals/${id}/certificate`,
      approval: {
        operation_class: "cert.issue",
        resource_key: `ca:${issuing}:profile:strict`,
        details: {
          ca_label: "issuing",
          profile: "strict",
          csr: {
            subject: "CN=a.example",
            sans: ["dns:a.example"],
            public_key_fingerprint: expect.stringMatching(/^SHA256:/),
          },
        },
      },
    });
    expect(JSON.stringify(parked.approval)).not.toContain("BEGIN");
    const waiting = await certificate(id);
    expect(waiting).toMatchObject({ code: 202, headers: { "retry-after": "5" } });
    expect(leaves()).toEqual([]);
    await world.approve(bob, id);
    expect(leaves()).toHaveLength(1);
    expect(eventOf("cert.issue")).toMatchObject({
      actor: "alice",
      detail: expect.stringContaining(`approval=${id}`),
    });
    const got = await certificate(id);
    expect(got).toMatchObject({ code: 200, serial: leaves()[0]?.serial, profile: "strict" });
    expect((await world.memory.read.approvals.byId(id))?.collectedAt).toBeDefined();
    const bystander = somebody("eve", { web: ["admin"] });
    expect((await refusal(certificate(id, bystander))).code).toBe("not_found");
    expect(await certificate(id, somebody("ivy", ["issuer"]))).toMatchObject({ code: 200 });
  });

  test("says what shortened the validity, however and whenever it is collected", async () => {
    world.clock.advance(1700 * 86_400);
    const { approval_id: id } = await issue();
    const approved = await world.approve(bob, id);
    const kept = { code: 200, validity_clamped: "ca" };
    expect(await certificate(id)).toMatchObject(kept);
    expect(await certificate(id, somebody("ivy", ["issuer"]))).toMatchObject(kept);
    // As after a crash between the certificate and the answer to its issue.
    const approval = world.memory.listRows("approvals").find((row) => row.id === id);
    if (approval === undefined) throw new Error("it was parked");
    await world.memory.tamper("update approvals set answer = null where id = ?", id);
    expect(await certificate(id)).toMatchObject(kept);
    expect(approved).toMatchObject({ status: "executed" });
    await world.memory.tamper("update approvals set answer = ? where id = ?", approval.answer, id);
    expect(await issue({}, alice, id)).toMatchObject({ code: 201, validity_clamped: "ca" });
  });

  test("35: two requests that differ only in the key are two", async () => {
    const [one, other] = [await issue(), await issue({ csr: csr() })];
    expect(one.approval_id).not.toBe(other.approval_id);
    expect(one.approval.fingerprint).not.toBe(other.approval.fingerprint);
    expect((await issue()).approval_id).toBe(one.approval_id);
  });

  test("of a renewal keeps the profile's word, and answers a certificate that replaces the old one", async () => {
    const { approval_id: first } = await issue();
    await world.approve(bob, first);
    const serial = leaves()[0]?.serial;
    const parked = await world.ask("cert.renew", alice, {
      path: { id: issuing },
      body: { serial },
    });
    expect(parked.approval.details).toMatchObject({
      serial,
      renews: { subject: "CN=a.example", profile: "strict" },
    });
    await world.approve(bob, parked.approval_id);
    expect(leaves()).toHaveLength(2);
    expect(eventOf("cert.renew")?.detail).toContain(`renewed_from=${serial}`);
  });

  test("that gates refuse is refused at once, on record, and parks nothing", async () => {
    const weak = csr({ stolen: true });
    expect((await refusal(issue({ csr: weak }))).code).toBe("bad_csr");
    const long = await refusal(issue({ validity_days: 36_500 }));
    expect(long.code).toBe("validity_exceeds_limit");
    expect(eventOf("cert.issue")).toMatchObject({ result: "denied" });
    expect(world.memory.countRows("approvals")).toBe(0);
  });

  test("of a profile that wants no approval does not wait", async () => {
    expect(await issue({ profile: "server" })).toMatchObject({ code: 201 });
  });

  test("is refused, not parked, where approvals do not guard it", async () => {
    await opened({ profiles: [strict], thresholds: { "ca.create": 1 }, default_threshold: 0 });
    expect((await refusal(issue())).code).toBe("gate_refused");
  });

  test("is judged again when it is approved", async () => {
    const { approval_id: id } = await issue();
    world.setProfiles([{ ...strict, maxValiditySeconds: 60, defaultValiditySeconds: 60 }]);
    const body = { csr: csr({ key: newKey("ecdsa-p256") }), validity_days: 10 };
    const early = await refusal(issue(body));
    expect(early.code).toBe("validity_exceeds_limit");
    world.setProfiles([]);
    expect(await world.approve(bob, id)).toMatchObject({
      status: "failed",
      failure: { code: "unknown_profile", retryable: false },
    });
    expect((await refusal(certificate(id))).code).toBe("approval_failed");
  });

  test("33: never signs twice when the key store was away in between", async () => {
    const { approval_id: id } = await issue();
    world.keys.checkTicket = () => {
      throw refuse("key_unavailable", { retry_after: 1 });
    };
    await world.approve(bob, id);
    world.keys.checkTicket = () => {};
    await Promise.all([issue(), issue(), world.approvals.sweep()].map((one) => refusal(one)));
    expect(leaves()).toHaveLength(1);
  });

  test("says in a preview that it would wait", async () => {
    const body = { csr: csr(), profile: "strict" };
    const preview = await world.ask("cert.preview", alice, { path: { id: issuing }, body });
    expect(preview).toMatchObject({
      decision: "park",
      would_issue: false,
      would_park: true,
      requires_approval: true,
    });
  });

  test("of some items of a bulk leaves the others alone, and a repetition gets what was approved", async () => {
    const items = [
      { csr: csr(), profile: "server" },
      { csr: csr(), profile: "strict" },
    ];
    const body = { items, confirm_count: 2, operation_id: "op" };
    const run = () => world.ask("cert.issue_bulk", alice, { path: { id: issuing }, body });
    const first = await run();
    expect(first).toMatchObject({ issued: 1, pending: 1, failed: 0 });
    const { approval_id: id } = first.items[1];
    expect((await run()).items[1]).toMatchObject({ status: "pending", approval_id: id });
    await world.approve(bob, id);
    const second = await run();
    expect(second).toMatchObject({ issued: 2, pending: 0, failed: 0 });
    const third = await run();
    expect(third.items.map(({ serial }: { serial: string }) => serial)).toEqual(
      second.items.map(({ serial }: { serial: string }) => serial),
    );
    expect(leaves()).toHaveLength(2);
    expect(world.memory.countRows("approvals")).toBe(1);
  });
});
