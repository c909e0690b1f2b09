/** Grants on single CAs: given, taken back, in force on exactly what they name (AUTH-7). */

import { beforeEach, describe, expect, test } from "bun:test";

import type { Principal } from "#core/access/principal.ts";
import {
  admin,
  type GovernedWorld,
  governedWorld,
  refusal,
  somebody,
} from "#test/support/worlds/governed-world.ts";
import { csr, rootOrigin } from "#test/support/worlds/issuance.ts";

let world: GovernedWorld;
let ask: GovernedWorld["ask"];
let root: string;
let issuing: string;
beforeEach(async () => {
  world = await governedWorld();
  ask = world.ask;
  root = (await world.ca("web-root")).id;
  issuing = (await world.ca("web-issuing")).id;
});

const alice = somebody("alice");
const request = (ca: string, role: string, more: object = {}) => ({
  resource: `ca/${ca}`,
  entity_type: "user",
  entity_id: "alice",
  role,
  ...more,
});
const grant = (ca: string, role: string, more: object = {}, who: Principal = admin) =>
  ask("resource.grant", who, { body: request(ca, role, more) });
const issue = (ca: string, who: Principal = alice) =>
  ask("cert.issue", who, { path: { id: ca }, body: { csr: csr() } });
const labels = async (who: Principal) =>
  (await ask("ca.list", who)).items.map(({ label }: { label: string }) => label).sort();
const grantEvents = () =>
  world.store.listEvents().filter(({ action }) => action.startsWith("resource."));

describe("a grant", () => {
  test("gives its role on the CA it names and nowhere else", async () => {
    expect(await refusal(issue(issuing))).toMatchObject({ code: "forbidden" });
    expect(await refusal(ask("ca.list", alice))).toMatchObject({ code: "forbidden" });
    const created_at = expect.stringMatching(/Z$/);
    expect(await grant(issuing, "ca-issuer")).toEqual({
      id: expect.any(String),
      resource: `ca/${issuing}`,
      tenant_id: "web",
      status: 201,
      entity_type: "user",
      entity_id: "alice",
      role: "ca-issuer",
      scope: "self",
      source: "database",
      created_by: "admin",
      created_at,
    });
    expect(await issue(issuing)).toMatchObject({ ca_id: issuing });
    expect(await labels(alice)).toEqual(["web-issuing"]);
    expect(await refusal(issue(root))).toMatchObject({ code: "forbidden" });
    expect(await refusal(ask("ca.show", alice, { path: { id: root } }))).toEqual({
      code: "not_found",
      facts: {},
    });
    const rotate = ask("ca.rotate", alice, { path: { id: issuing } });
    expect(await refusal(rotate)).toMatchObject({ facts: { capability: "ca:manage" } });
  });

  test("with subtree reaches what stands below, whenever it was made", async () => {
    await grant(root, "ca-manager", { scope: "subtree" });
    expect(await labels(alice)).toEqual(["web-issuing", "web-root"]);
    const rotated = await ask("ca.rotate", alice, { path: { id: issuing } });
    expect(await issue(rotated.new_ca.id)).toMatchObject({ ca_id: rotated.new_ca.id });
    expect(await labels(alice)).toContain("web-issuing-r2");
    expect(await refusal(issue((await world.ca("lab-issuing")).id))).toMatchObject({
      code: "forbidden",
    });
  });

  test("without subtree covers the rollover lineage, before and after", async () => {
    await grant(issuing, "ca-issuer");
    const rotated = await ask("ca.rotate", admin, { path: { id: issuing } });
    expect(await issue(rotated.new_ca.id)).toMatchObject({ ca_id: rotated.new_ca.id });
    expect(await labels(alice)).toEqual(["web-issuing", "web-issuing-r2"]);
    const listed = await ask("grant.list", admin, {
      query: { resource: `ca/${rotated.new_ca.id}` },
    });
    expect(listed).toMatchObject({ total: 1, items: [{ resource: `ca/${issuing}` }] });
  });

  test("reaches a group, a verified e-mail address, and nobody else", async () => {
    await grant(issuing, "ca-auditor", { entity_type: "group", entity_id: "ops" });
    await grant(issuing, "ca-auditor", { entity_id: "bob@example.com" });
    const email = { email: "bob@example.com", emailVerified: true };
    expect(await labels(somebody("u1", [], { groups: ["ops"] }))).toEqual(["web-issuing"]);
    expect(await labels(somebody("u2", [], email))).toEqual(["web-issuing"]);
    for (const stranger of [
      somebody("ops"),
      somebody("u3", [], { groups: ["bob@example.com"] }),
      somebody("u4", [], { ...email, emailVerified: false }),
      alice,
    ]) {
      expect(await refusal(labels(stranger))).toMatchObject({ code: "forbidden" });
    }
  });

  test("reaches a group of a directory however its name is written, and is taken back so too", async () => {
    const written = { entity_type: "group", entity_id: "CN=Ops, OU=Groups, DC=example" };
    await grant(issuing, "ca-auditor", written);
    const member = somebody("u1", [], { groups: ["cn=ops,ou=groups,dc=example"] });
    expect(await labels(member)).toEqual(["web-issuing"]);
    const again = { ...written, entity_id: "cn=ops,ou=groups,dc=Example" };
    expect(await grant(issuing, "ca-auditor", again)).toMatchObject({ status: 200 });
    const stranger = somebody("u2", [], { groups: ["cn=ops,ou=group,dc=example"] });
    expect(await refusal(labels(stranger))).toMatchObject({ code: "forbidden" });
  });

  test("adds to roles and never takes from them", async () => {
    const issuer = somebody("alice", { lab: ["issuer"] });
    await grant(issuing, "ca-auditor");
    expect(await labels(issuer)).toEqual(["lab-issuing", "lab-root", "web-issuing"]);
    expect(await issue((await world.ca("lab-issuing")).id, issuer)).toBeDefined();
    expect(await refusal(issue(issuing, issuer))).toMatchObject({ code: "forbidden" });
  });

  test("of a person is not one of the tokens that person made", async () => {
    await grant(issuing, "ca-issuer");
    const maker = somebody("alice", { lab: ["admin"] });
    const body = { name: "t", roles: ["issuer"], tenant_id: "lab" };
    const { secret, id } = await ask("token.create", maker, { body });
    const token = await world.apiTokens.verify(secret, "192.0.2.1");
    expect(await refusal(issue(issuing, token))).toMatchObject({ code: "forbidden" });
    await grant(issuing, "ca-issuer", { entity_id: `token:${id}` });
    await issue(issuing, token);
  });

  test("is the same when made again, and is gone once it is taken back", async () => {
    const first = await grant(issuing, "ca-issuer");
    expect(await grant(issuing, "ca-issuer")).toEqual({ ...first, status: 200 });
    const revoke = () =>
      ask("resource.revoke", admin, { body: request(issuing, "ca-issuer", { scope: "self" }) });
    expect(await revoke()).toMatchObject({ status: "deleted" });
    expect(await refusal(revoke())).toEqual({ code: "not_found", facts: {} });
    expect(await refusal(issue(issuing))).toMatchObject({ code: "forbidden" });
    expect(grantEvents().map((event) => [event.action, event.target, event.detail])).toEqual([
      ["resource.grant", `ca/${issuing}`, "role=ca-issuer scope=self"],
      ["resource.revoke", `ca/${issuing}`, "role=ca-issuer scope=self"],
    ]);
    expect(grantEvents()[0]).toMatchObject({
      targetName: "user:alice",
      tenant: "web",
      caId: issuing,
      actor: "admin",
    });
  });

  test("shows in the roles of the events it lets happen", async () => {
    await grant(issuing, "ca-issuer");
    const { serial } = await issue(issuing);
    const events = world.store.listEvents();
    expect(events.find((event) => event.serial === serial)).toMatchObject({
      actor: "alice",
      actorRoles: "ca-issuer",
    });
  });

  test("wants a CA, a grantee and a role that are such", async () => {
    for (const [members, code] of [
      [{ resource: undefined }, "missing_field"],
      [{ resource: issuing }, "invalid_field"],
      [{ resource: 7 }, "invalid_field"],
      [{ resource: "ca/none" }, "not_found"],
      [{ role: "admin" }, "invalid_field"],
      [{ entity_type: "token" }, "invalid_field"],
      [{ entity_id: "" }, "invalid_field"],
      [{ scope: "tree" }, "invalid_field"],
      [{ more: 1 }, "unknown_field"],
    ] as const) {
      const refused = await refusal(grant(issuing, "ca-issuer", members));
      expect([members, refused.code]).toEqual([members, code]);
    }
  });
});

describe("a granter", () => {
  test("holds every capability it grants, on all of what it grants them on", async () => {
    await grant(issuing, "ca-admin");
    await grant(issuing, "ca-issuer", { entity_id: "bob" }, alice);
    const wider = grant(issuing, "ca-issuer", { entity_id: "bob", scope: "subtree" }, alice);
    expect(await refusal(wider)).toMatchObject({ code: "forbidden" });
    const above = grant(root, "ca-auditor", { entity_id: "bob" }, alice);
    expect(await refusal(above)).toMatchObject({ code: "forbidden" });
    await grant(root, "ca-admin", { scope: "subtree" });
    await grant(issuing, "ca-admin", { entity_id: "bob", scope: "subtree" }, alice);
    const carol = somebody("carol");
    await grant(issuing, "ca-manager", { entity_id: "carol" });
    const refused = grant(issuing, "ca-auditor", { entity_id: "dave" }, carol);
    expect(await refusal(refused)).toMatchObject({ facts: { capability: "grant:manage" } });
  });

  test("of another tenant learns nothing: foreign and absent CAs answer alike, and the attempt is its own", async () => {
    const other = somebody("other", { lab: ["admin"] });
    const foreign = await refusal(grant(issuing, "ca-issuer", {}, other));
    world.clock.advance(61); // Repeats within a minute are one event.
    const absent = await refusal(grant(crypto.randomUUID(), "ca-issuer", {}, other));
    expect(foreign).toEqual(absent);
    expect(foreign).toMatchObject({ code: "forbidden" });
    const read = (id: string) =>
      refusal(ask("grant.list", other, { query: { resource: `ca/${id}` } }));
    expect(await read(issuing)).toEqual(await read(crypto.randomUUID()));
    expect(grantEvents()).toMatchObject([
      { action: "resource.grant", result: "denied", tenant: "lab", caId: "" },
      { action: "resource.grant", result: "denied", tenant: "lab", caId: "" },
    ]);
  });
});

describe("a grant of the configuration", () => {
  const declared = (resource: string) =>
    world.configure([{ resource, role: "ca-issuer", scope: "self", type: "user", id: "alice" }]);

  test("is in force like any other, and is changed only there", async () => {
    declared("ca/web-issuing");
    await issue(issuing);
    const { items } = await ask("grant.list", admin, { query: { resource: `ca/${issuing}` } });
    expect(items).toMatchObject([{ source: "config", entity_id: "alice", role: "ca-issuer" }]);
    expect(await grant(issuing, "ca-issuer")).toMatchObject({ source: "config", status: 200 });
    const revoke = ask("resource.revoke", admin, { body: request(issuing, "ca-issuer") });
    expect(await refusal(revoke)).toEqual({ code: "config_managed", facts: {} });
    declared("ca/none");
    expect(await refusal(issue(issuing))).toMatchObject({ code: "forbidden" });
  });
});

describe("effective", () => {
  const effective = (who: Principal, ca: string, subject?: string) =>
    ask("grant.effective", who, { query: { resource: `ca/${ca}`, ...(subject && { subject }) } });

  test("tells oneself roles, grants and capabilities on one CA", async () => {
    await grant(root, "ca-manager", { scope: "subtree" });
    expect(await effective(alice, issuing)).toMatchObject({
      resource: `ca/${issuing}`,
      subject: "alice",
      tenant_id: "web",
      is_root: false,
      platform_roles: [],
      tenant_roles: [],
      resource_roles: ["ca-manager"],
      capabilities: ["read", "audit:read", "issue", "ca:manage"],
      grants: [{ resource: `ca/${root}`, scope: "subtree" }],
    });
    const member = somebody("m", { web: ["issuer"], lab: ["admin"] });
    expect(await effective(member, issuing)).toMatchObject({
      tenant_roles: ["issuer"],
      capabilities: ["read", "audit:read", "issue"],
      grants: [],
    });
    expect((await effective(rootOrigin.principal, issuing)).capabilities).toHaveLength(13);
  });

  test("tells another only to who manages grants there", async () => {
    await grant(issuing, "ca-issuer");
    expect(await effective(admin, issuing, "alice")).toMatchObject({
      subject: "alice",
      resource_roles: ["ca-issuer"],
    });
    const body = { name: "t", roles: ["auditor"], tenant_id: "web" };
    const { id } = await ask("token.create", admin, { body });
    expect(await effective(admin, issuing, `token:${id}`)).toMatchObject({
      tenant_roles: ["auditor"],
      capabilities: ["read", "audit:read", "approval:read"],
    });
    expect(await effective(admin, issuing, "carol")).toMatchObject({
      platform_roles: ["auditor"],
      capabilities: ["read", "audit:read", "approval:read"],
    });
    expect(await refusal(effective(alice, issuing, "bob"))).toMatchObject({
      code: "forbidden",
      facts: { capability: "grant:manage" },
    });
    const stranger = somebody("x", { lab: ["admin"] });
    const foreign = await refusal(effective(stranger, issuing));
    expect(foreign).toEqual(await refusal(effective(stranger, crypto.randomUUID())));
    expect(foreign).toEqual(await refusal(effective(stranger, issuing, "alice")));
  });
});
