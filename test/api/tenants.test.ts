/** Tenants in JSON: made, limited, suspended, used, deleted. */

import { beforeEach, describe, expect, test } from "bun:test";

import {
  admin,
  type GovernedWorld,
  governedWorld,
  refusal,
  somebody,
} from "#test/support/worlds/governed-world.ts";
import { leafRequest, rootOrigin } from "#test/support/worlds/issuance.ts";

let world: GovernedWorld;
let ask: GovernedWorld["ask"];
beforeEach(async () => {
  world = await governedWorld();
  ask = world.ask;
});

const created_at = expect.stringMatching(/Z$/);
const noQuotas = {
  max_certs_per_day: 0,
  max_active_certs: 0,
  rate_limit_per_second: 0,
  rate_limit_burst: 0,
};
const web = { path: { id: "web" } };
const recorded = () =>
  world.store
    .listEvents()
    .filter(({ action }) => action.startsWith("tenant.") || action.startsWith("token."))
    .map(({ action, result, tenant, targetName, detail }) => ({
      action,
      result,
      tenant,
      targetName,
      detail,
    }));

describe("a tenant", () => {
  test("is made with a slug of its own, and read back by id or slug", async () => {
    const made = await ask("tenant.create", admin, { body: { slug: "ops", kek_label: "ops-kek" } });
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/);
    const tenant = {
      id,
      slug: "ops",
      name: "ops",
      status: "active",
      kek_label: "ops-kek",
      quotas: noQuotas,
      created_at,
    };
    expect(made).toEqual({ ...tenant, status: expect.anything() });
    for (const reference of ["ops", made.id]) {
      const shown = await ask("tenant.show", admin, { path: { id: reference } });
      expect(shown).toMatchObject({ slug: "ops", id: made.id });
    }
    expect(recorded()).toEqual([
      {
        action: "tenant.create",
        result: "success",
        tenant: made.id,
        targetName: "ops",
        detail: "slug=ops name=ops kek_label=ops-kek",
      },
    ]);
  });

  test("is refused with a slug that is taken, or is none", async () => {
    expect(await refusal(ask("tenant.create", admin, { body: { slug: "web" } }))).toEqual({
      code: "already_exists",
      facts: { field: "slug" },
    });
    for (const slug of ["", "Web", "-a", "a_b", "a".repeat(64), 7, null]) {
      expect(await refusal(ask("tenant.create", admin, { body: { slug } }))).toMatchObject({
        code: "invalid_field",
        facts: { field: "slug" },
      });
    }
  });

  test("has its quotas replaced as a whole, and nothing is recorded that did not change", async () => {
    const put = (body: object) => ask("tenant.update", admin, { ...web, body });
    await put({ quotas: { max_certs_per_day: 9, rate_limit_burst: 3 }, name: "Web platform" });
    const changed = await put({ quotas: { max_active_certs: 4 } });
    expect(changed).toMatchObject({
      name: "Web platform",
      quotas: { ...noQuotas, max_active_certs: 4 },
    });
    await put({ quotas: { max_active_certs: 4 } });
    await put({});
    expect(recorded().map(({ action, detail }) => [action, detail])).toEqual([
      ["tenant.update", `name="Web platform"`],
      ["tenant.quota", "max_certs_per_day=9 rate_limit_burst=3"],
      ["tenant.quota", "max_certs_per_day=0 max_active_certs=4 rate_limit_burst=0"],
    ]);
    for (const quotas of [{ max_certs_per_day: -1 }, { max_certs_per_day: 1.5 }, { other: 1 }, 7]) {
      expect((await refusal(put({ quotas }))).code).toMatch(/^(invalid|unknown)_field$/);
    }
  });

  test("is suspended and active again by one call each, which a repeat does not record", async () => {
    const set = (status: string) => ask("tenant.status", admin, { ...web, body: { status } });
    expect(await set("suspended")).toMatchObject({ slug: "web", status: "suspended" });
    await set("suspended");
    const ca = await world.ca("web-issuing");
    const issue = () => world.issuance.issue(rootOrigin, ca, leafRequest());
    expect(await refusal(issue())).toMatchObject({ code: "tenant_suspended" });
    await set("active");
    await issue();
    expect(recorded().map(({ detail }) => detail)).toEqual(["status=suspended", "status=active"]);
    expect(await refusal(set("away"))).toMatchObject({ code: "invalid_field" });
  });

  test("changes only where it is said to: a rename and a suspension at once leave both", async () => {
    await Promise.all([
      ask("tenant.status", admin, { ...web, body: { status: "suspended" } }),
      ask("tenant.update", admin, { ...web, body: { name: "W" } }),
      ask("tenant.update", admin, { ...web, body: { kek_label: "k" } }),
    ]);
    expect(await world.store.read.tenants.named("web")).toMatchObject({
      name: "W",
      kekLabel: "k",
      status: "suspended",
    });
  });

  test("is deleted when it owns no CA, and its tokens end with it", async () => {
    expect(await refusal(ask("tenant.delete", admin, web))).toEqual({
      code: "tenant_not_empty",
      facts: { cas: 2 },
    });
    const { id } = await ask("tenant.create", admin, { body: { slug: "ops" } });
    const token = await ask("token.create", admin, {
      body: { name: "ci", roles: ["issuer"], tenant_id: "ops" },
    });
    await world.apiTokens.verify(token.secret, "192.0.2.1");
    const gone = await ask("tenant.delete", admin, { path: { id: "ops" } });
    expect(gone.status).toBe("deleted");
    expect(await refusal(world.apiTokens.verify(token.secret, "192.0.2.1"))).toMatchObject({
      code: "invalid_token",
    });
    expect(await refusal(ask("tenant.show", admin, { path: { id } }))).toMatchObject({
      code: "not_found",
    });
    expect(recorded().slice(-2)).toMatchObject([
      { action: "token.revoke", targetName: "ci", tenant: id },
      { action: "tenant.delete", targetName: "ops", detail: "tokens=1" },
    ]);
  });

  test("that is the default one can be neither suspended nor deleted", async () => {
    const path = { id: "default" };
    const suspend = ask("tenant.status", admin, { path, body: { status: "suspended" } });
    expect(await refusal(suspend)).toMatchObject({ code: "tenant_protected" });
    expect(await refusal(ask("tenant.delete", admin, { path }))).toMatchObject({
      code: "tenant_protected",
    });
    await ask("tenant.status", admin, { path, body: { status: "active" } });
  });
});

describe("usage", () => {
  test("tells today, the days before, and what counts against the quotas", async () => {
    const ca = await world.ca("web-issuing");
    await world.issuance.issue(rootOrigin, ca, leafRequest());
    world.clock.step(86_400);
    const issued = await world.issuance.issue(rootOrigin, ca, leafRequest());
    await ask("cert.revoke", admin, { path: { id: ca.id }, body: { serial: issued.serial } });
    const usage = await ask("tenant.usage", admin, { ...web, query: { days: "3" } });
    const day = (text: string, certs_issued: number, certs_revoked: number) => ({
      day: text,
      certs_issued,
      certs_revoked,
    });
    expect(usage).toEqual({
      tenant_id: "web",
      slug: "web",
      active_certs: 1,
      total_issued: 2,
      total_revoked: 1,
      cas: 2,
      status: "active",
      today: day("2026-06-02", 1, 1),
      quotas: noQuotas,
      days: [day("2026-06-02", 1, 1), day("2026-06-01", 1, 0), day("2026-05-31", 0, 0)],
      generated_at: created_at,
    });
    for (const days of ["0", "91", "x"]) {
      expect(await refusal(ask("tenant.usage", admin, { ...web, query: { days } }))).toMatchObject({
        code: "bad_query",
      });
    }
  });
});

describe("members", () => {
  const slugs = (list: { items: { slug: string }[] }) => list.items.map(({ slug }) => slug).sort();

  test("see the tenants they have a role in, and of others not even that they exist", async () => {
    const member = somebody("m", { web: ["approver"] });
    expect(slugs(await ask("tenant.list", member))).toEqual(["web"]);
    expect(await ask("tenant.show", member, web)).toMatchObject({ slug: "web" });
    expect(await ask("tenant.usage", member, web)).toMatchObject({ slug: "web" });
    const foreign = await refusal(ask("tenant.show", member, { path: { id: "lab" } }));
    const absent = await refusal(ask("tenant.show", member, { path: { id: "none" } }));
    expect(foreign).toEqual(absent);
    expect(foreign).toEqual({ code: "not_found", facts: {} });
    expect(await refusal(ask("tenant.usage", member, { path: { id: "lab" } }))).toEqual(absent);
    expect(slugs(await ask("tenant.list", somebody("nobody")))).toEqual([]);
  });

  test("find tenants by slug or name, and none that they may not see", async () => {
    const found = async (q: string, caller: Parameters<typeof ask>[1]) =>
      slugs(await ask("tenant.list", caller, { query: { q } }));
    expect(await found("WEB", somebody("a", ["auditor"]))).toEqual(["web"]);
    expect(await found("lab", somebody("m", { web: ["approver"] }))).toEqual([]);
    const empty = await refusal(
      ask("tenant.list", somebody("a", ["auditor"]), { query: { q: "" } }),
    );
    expect(empty).toMatchObject({ code: "bad_query" });
  });

  test("platform-wide are members everywhere, and only admins among them change anything", async () => {
    const auditor = somebody("a", ["auditor"]);
    expect(slugs(await ask("tenant.list", auditor))).toEqual(["default", "lab", "web"]);
    expect(await refusal(ask("tenant.update", auditor, { ...web, body: {} }))).toMatchObject({
      code: "forbidden",
      facts: { capability: "tenant:manage" },
    });
    const tenantAdmin = somebody("t", { web: ["admin"] });
    expect(await refusal(ask("tenant.status", tenantAdmin, { ...web, body: {} }))).toMatchObject({
      code: "forbidden",
      facts: { capability: "tenant:manage" },
    });
    expect(recorded()).toMatchObject([
      { action: "tenant.update", result: "denied", tenant: "" },
      { action: "tenant.update", result: "denied", tenant: "web" },
    ]);
  });
});
