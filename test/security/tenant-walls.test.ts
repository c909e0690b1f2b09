/**
 * TENANTS ARE WALLS: what the handlers themselves decide — lists, reports, filters and objects
 * named outside the path of a CA.
 */

import { beforeAll, describe, expect, test } from "bun:test";

import { instant } from "#core/time.ts";
import type { Principal } from "#core/access/principal.ts";
import { type OperationName, operationOf, operations } from "#operations";
import {
  admin,
  type GovernedWorld,
  governedWorld,
  type Question,
  refusal,
  somebody,
} from "#test/support/worlds/governed-world.ts";
import { csr, leafRequest, rootOrigin } from "#test/support/worlds/issuance.ts";
import { noon } from "#test/support/stores/records.ts";

let world: GovernedWorld;
let ask: GovernedWorld["ask"];
let lab: { root: string; issuing: string; serial: string; token: string; pem: string };
let web: { root: string; issuing: string; serial: string };

beforeAll(async () => {
  world = await governedWorld();
  ask = world.ask;
  const stocked = async (name: string) => {
    const root = (await world.ca(`${name}-root`)).id;
    const ca = await world.ca(`${name}-issuing`);
    const body = { csr: csr(), profile: "server" };
    const { serial, certificate } = await ask("cert.issue", admin, { path: { id: ca.id }, body });
    const token = await ask("token.create", admin, {
      body: { name: `${name}-token`, roles: ["issuer"], tenant_id: name },
    });
    await ask("ca.rotate", admin, { path: { id: ca.id } });
    await world.store.atomically(
      (tx) =>
        tx.transparency.expect({
          id: crypto.randomUUID(),
          caId: ca.id,
          tenant: ca.tenant,
          serial,
          logId: "l",
          logName: name,
          sctTimestamp: noon,
          status: "pending",
          treeSize: undefined,
          leafIndex: undefined,
          checks: 0,
          lastError: "",
          firstCheckedAt: undefined,
          lastCheckedAt: undefined,
          includedAt: undefined,
          alerted: false,
          dueAt: instant(0),
          leafHash: new Uint8Array(32),
          deadline: noon,
        } as never), // As much of a record as its list shows.
    );
    return { root, issuing: ca.id, serial, token: token.id, pem: certificate };
  };
  web = await stocked("web");
  lab = await stocked("lab");
  await ask("key.block", admin, { body: { public_key_sha256: "ab".repeat(32), reason: "lab" } });
});

const auditor = somebody("auditor", { web: ["auditor"] });
const tenantAdmin = somebody("admin@web", { web: ["admin"] });
/** By a client certificate. */
const machine = somebody("machine", { web: ["admin"] }, { mechanism: "mtls" });
/** Nothing but a grant on one CA of `web`. */
const grantee = async () => {
  await ask("resource.grant", admin, {
    body: {
      resource: `ca/${web.issuing}`,
      entity_type: "user",
      entity_id: "grantee",
      role: "ca-auditor",
    },
  });
  return somebody("grantee");
};

/** Operations that answer what belongs to tenants, narrowed to the caller's. */
const lists: readonly OperationName[] = [
  "ca.list",
  "ca.rotations",
  "crl.list",
  "ct.inclusion",
  "event.list",
  "token.list",
  "tenant.list",
  "blocked_key.list",
];
/** Operations in any scope that answer about what they are given, or about the instance. */
const unscoped: readonly OperationName[] = ["cert.lint", "csr.parse", "hsm.info"];
/** Tried below, by the object they name. */
const naming: readonly OperationName[] = ["cert.validate"];
/** No collections; tried in `api/monitor.test.ts`. */
const reported: readonly OperationName[] = [
  "monitor.expiring",
  "inventory.certificates",
  "inventory.days",
];
/** Tried where there are accounts, in `api/acme.test.ts`. */
const enrolled: readonly OperationName[] = [
  "acme.directory.list",
  "acme.eab.list",
  "acme.account.list",
  "acme.order.list",
  "acme.authz.list",
];
/** Told as it happens; tried in `api/event-stream.test.ts`. */
const told: readonly OperationName[] = ["event.stream"];
/** Tried in `api/acme-replacements.test.ts`. */
const replaced: readonly OperationName[] = ["acme.replace.list"];
/** Tried where there are requests for approval, in `domain/approvals/four-eyes.test.ts`. */
const deciding: readonly OperationName[] = ["approval.approve", "approval.transcript"];

test("every operation in any scope is known here, so that none comes to be without its wall", () => {
  const inAnyScope = Object.keys(operations).filter(
    (name) => operationOf(name as OperationName).on === "any", // A key of the table.
  );
  const known = new Set<string>([
    ...lists,
    ...unscoped,
    ...naming,
    ...reported,
    ...enrolled,
    ...told,
    ...replaced,
    ...deciding,
  ]);
  expect(inAnyScope.filter((name) => !known.has(name))).toEqual([]);
});

describe("every list", () => {
  test("of one tenant's caller holds no row of another", async () => {
    for (const operation of lists) {
      const all = await ask(operation, admin);
      expect([operation, foreignIn(all).length > 0]).toEqual([operation, true]);
      for (const who of [tenantAdmin, machine]) {
        const own = await ask(operation, who);
        expect([operation, foreignIn(own)]).toEqual([operation, []]);
        expect([operation, own.total]).toEqual([operation, own.items.length]);
      }
    }
  });

  test("of somebody with a grant alone holds what concerns that CA and nothing else", async () => {
    const who = await grantee();
    const concerned = [
      "ca.list",
      "ca.rotations",
      "crl.list",
      "ct.inclusion",
      "event.list",
    ] as const;
    for (const operation of concerned) {
      const { items } = await ask(operation, who);
      expect([operation, items.length > 0]).toEqual([operation, true]);
      expect([operation, foreignIn(items)]).toEqual([operation, []]);
    }
    const { items } = await ask("event.list", who);
    const rotated = (await world.ca("web-issuing-r2")).id;
    for (const event of items) expect([web.issuing, rotated]).toContain(event.ca_id);
    const query = { ca: "web-issuing" };
    expect((await ask("event.list", who, { query })).total).toBeGreaterThan(0);
    expect(await refusal(ask("token.list", who))).toMatchObject({ code: "forbidden" });
  });

  test("beside its rows counts only what it shows", async () => {
    const { counts } = await ask("ct.inclusion", auditor);
    expect(counts).toMatchObject({ pending: 1 });
    expect((await ask("ct.inclusion", admin)).counts).toMatchObject({ pending: 2 });
  });
});

describe("every filter that names another tenant's object is refused as one that names none", () => {
  const filters: readonly (readonly [OperationName, string, () => string])[] = [
    ["ca.list", "tenant", () => "lab"],
    ["crl.list", "tenant", () => "lab"],
    ["event.list", "tenant", () => "lab"],
    ["token.list", "tenant", () => "lab"],
    ["event.list", "ca", () => lab.issuing],
    ["event.list", "ca", () => "lab-issuing"],
    ["ct.inclusion", "ca", () => lab.issuing],
    ["ct.inclusion", "ca", () => "lab-root"],
  ];
  test.each(filters)("%s by %s", async (operation, parameter, value) => {
    const by = (named: string) =>
      refusal(ask(operation, tenantAdmin, { query: { [parameter]: named } }));
    const foreign = await by(value());
    expect(foreign).toEqual(await by("none"));
    expect(foreign).toMatchObject({ code: "bad_query", facts: { parameter } });
  });

  test("a profile known only from another tenant's inventory is unknown", async () => {
    const { issuing } = web;
    const row = { ...leafRequest(), profile: "server" };
    await world.issuance.issue(rootOrigin, await world.ca("lab-root"), row);
    const { record } = await world.issuance.issue(rootOrigin, await world.ca("lab-root"), row);
    const rename = "update certificates set profile = 'old' where serial = ?";
    await world.store.tamper(rename, record.serial);
    const by = (who: Principal) =>
      refusal(ask("cert.list", who, { path: { id: issuing }, query: { profile: "old" } }));
    expect(await by(admin)).toMatchObject({ code: "accepted" });
    expect(await by(auditor)).toMatchObject({ facts: { parameter: "profile" } });
  });

  test("a cursor of a wider reach is none", async () => {
    const { next_cursor } = await ask("event.list", admin, { query: { limit: "1" } });
    const query = { limit: "1", cursor: next_cursor };
    expect(await refusal(ask("event.list", auditor, { query }))).toMatchObject({
      code: "bad_cursor",
    });
  });
});

describe("an object of another tenant answers as an absent one", () => {
  const cases: readonly (readonly [OperationName, (id: string) => Question, () => string])[] = [
    ["tenant.show", (id) => ({ path: { id } }), () => "lab"],
    ["tenant.usage", (id) => ({ path: { id } }), () => "lab"],
    ["token.revoke", (id) => ({ path: { id } }), () => lab.token],
    ["cert.validate", (ca) => ({ body: { ca, certificate: lab.pem } }), () => lab.issuing],
    ["cert.validate", (ca) => ({ body: { ca, certificate: lab.pem } }), () => "lab-issuing"],
    ["grant.list", (id) => ({ query: { resource: `ca/${id}` } }), () => lab.issuing],
    ["grant.effective", (id) => ({ query: { resource: `ca/${id}` } }), () => lab.issuing],
    ["ca.init_root", (id) => ({ body: { tenant_id: id } }), () => "lab"],
    ["token.create", (id) => ({ body: { tenant_id: id } }), () => "lab"],
    ["token.create", (id) => ({ body: { tenant: id } }), () => "lab"],
    [
      "ca.cross_sign",
      (id) => ({ path: { id: web.root }, body: { subject_ca_id: id } }),
      () => lab.root,
    ],
  ];
  test.each(cases)("%s", async (operation, question, id) => {
    const foreign = await refusal(ask(operation, tenantAdmin, question(id())));
    const absent = await refusal(ask(operation, tenantAdmin, question(crypto.randomUUID())));
    expect(foreign).toEqual(absent);
    expect(["forbidden", "not_found"]).toContain(foreign.code);
  });

  test("and a platform-wide caller learns which", async () => {
    const revoke = (id: string) => refusal(ask("token.revoke", admin, { path: { id } }));
    expect(await revoke(crypto.randomUUID())).toMatchObject({ code: "not_found" });
    expect(await revoke(lab.token)).toMatchObject({ code: "accepted" });
  });
});

describe("SCOPE-2: a tenant admin", () => {
  test("cannot mint a platform token, and the attempt is recorded in its tenant", async () => {
    const body = { name: "p", roles: ["auditor"], scope: "platform" };
    world.clock.advance(61); // Repeats of other tests' attempts within a minute would be one event.
    expect(await refusal(ask("token.create", tenantAdmin, { body }))).toEqual({
      code: "forbidden",
      facts: { capability: "token:manage" },
    });
    const denied = world.store.listEvents().at(-1);
    expect(denied).toMatchObject({ action: "token.create", result: "denied", tenant: "web" });
  });

  test.each([
    "key.block",
    "key.unblock",
    "event.verify",
    "tenant.create",
    "tenant.update",
    "tenant.status",
    "tenant.delete",
  ])("cannot reach %s", async (operation) => {
    const question = { path: { id: "web" }, body: {} };
    expect(await refusal(ask(operation, tenantAdmin, question))).toMatchObject({
      code: "forbidden",
    });
  });
});

describe("SCOPE-3: the default tenant", () => {
  test("is the caller's only one, `default` platform-wide, and must be named by holders in several", async () => {
    const mint = async (who: Principal) =>
      (await ask("token.create", who, { body: { name: "t", roles: ["auditor"] } })).tenant_id;
    expect(await mint(tenantAdmin)).toBe("web");
    expect(await mint(admin)).toBe("default");
    const both = somebody("both", { web: ["admin"], lab: ["admin"] });
    expect(await refusal(mint(both))).toEqual({
      code: "missing_field",
      facts: { field: "tenant_id" },
    });
    expect(await refusal(mint(await grantee()))).toMatchObject({ code: "forbidden" });
  });

  test("does not become another's by a role of another kind there", async () => {
    const mixed = somebody("mixed", { web: ["admin"], lab: ["auditor"] });
    const body = { name: "t", roles: ["auditor"] };
    expect((await ask("token.create", mixed, { body })).tenant_id).toBe("web");
    const elsewhere = ask("token.create", mixed, { body: { ...body, tenant_id: "lab" } });
    expect(await refusal(elsewhere)).toMatchObject({ code: "forbidden" });
  });
});

/** Texts that only another tenant's rows can have. */
function foreignIn(answer: unknown): readonly string[] {
  const text = JSON.stringify(answer);
  const { root, issuing, serial, token } = lab;
  return ['"lab"', "lab-", root, issuing, serial, token].filter((mark) => text.includes(mark));
}
