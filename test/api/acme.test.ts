/** What operators see and do of ACME in JSON, and whose they may see. */

import { beforeEach, describe, expect, test } from "bun:test";

import { acmeOverview } from "#api/acme.ts";
import { acmeCredentialHandlers } from "#api/acme-credentials.ts";
import { acmeDirectoryHandlers } from "#api/acme-directories.ts";
import type { Principal } from "#core/access/principal.ts";
import { caId, defaultTenant, type Serial, tenantId } from "#core/ids.ts";
import { addSeconds, instant, timestamp } from "#core/time.ts";
import { Accounts } from "#domain/acme/accounts.ts";
import { Orders } from "#domain/acme/orders.ts";
import type { AuthorizationRecord, OrderRecord } from "#domain/acme/store.ts";
import { noon, tenant } from "#test/support/stores/records.ts";
import { openPipeline } from "#test/support/worlds/asking.ts";
import { account, type BindingWorld, bindingWorld } from "#test/support/worlds/binding.ts";
import { admin, asker, refusal, somebody } from "#test/support/worlds/governed-world.ts";

const webAdmin = somebody("carol", { default: ["admin"] });
const webAuditor = somebody("erin", { default: ["auditor"] });
const labAdmin = somebody("dave", { lab: ["admin"] });
const issuer = somebody("ivan", ["issuer"]);

let world: BindingWorld;
let ask: ReturnType<typeof operatorsOf>;
beforeEach(async () => {
  world = await bindingWorld({ configured: { "by-file": Buffer.alloc(32, 1) } });
  ask = operatorsOf(world);
});

/** What operators ask of it. */
function operatorsOf(of: BindingWorld) {
  const deps = {
    ...of,
    // Ending asks for store and clock alone.
    accounts: new Accounts(of as never),
    orders: new Orders(of as never),
  };
  const config = () => ({ acme: { challenge_types: ["dns-01"], terms_of_service: undefined } });
  const served = { directories: of.directories, config };
  return asker(
    openPipeline(of),
    { ...acmeOverview(deps), ...acmeCredentialHandlers(deps), ...acmeDirectoryHandlers(served) },
    "http",
  );
}

const body = { name: "web", dns_suffixes: ["example.test"] };
const create = (more: object = {}, who = webAdmin) =>
  ask("acme.eab.create", who, { body: { ...body, ...more } });
const revoke = (id: string, query = {}, who = webAdmin) =>
  ask("acme.eab.revoke", who, { path: { id }, query });

describe("the directories", () => {
  test("are told with their CAs, and to nobody of another tenant", async () => {
    const { items } = await ask("acme.directory.list", webAuditor);
    expect(items).toContainEqual(
      expect.objectContaining({
        name: "default",
        directory_url: "https://pki.test/acme/directory",
        ca_id: "i1",
        tenant_id: "default",
        challenge_types: ["dns-01"],
      }),
    );
    expect((await ask("acme.directory.list", admin)).items.length).toBeGreaterThan(0);
    const own = await ask("acme.directory.list", labAdmin);
    expect(own.items.map(({ tenant_id }: { tenant_id: string }) => tenant_id)).toEqual(["lab"]);
  });
});

describe("a credential", () => {
  test("is answered whole with its key once, and listed without it for good", async () => {
    const { http, hmac_key, directory_url, ...credential } = await create({ max_uses: 3 });
    expect(http).toBe(201);
    expect(hmac_key).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(directory_url).toBe("https://pki.test/acme/directory");
    expect(credential).toEqual({
      id: expect.stringMatching(/^eab_/),
      directory: "default",
      ca_id: "i1",
      tenant_id: "default",
      name: "web",
      dns_suffixes: ["example.test"],
      ip_ranges: [],
      allow_wildcards: false,
      any_identifier: false,
      max_uses: 3,
      uses: 0,
      status: "active",
      source: "api",
      created_by: "carol",
      created_at: timestamp(world.clock.now()),
    });
    const { items } = await ask("acme.eab.list", webAdmin, { query: { status: "active" } });
    expect(items).toContainEqual(credential);
    expect(JSON.stringify([items, world.events()])).not.toContain(hmac_key);
  });

  test("binds one account unless told otherwise, and names are kept in their one spelling", async () => {
    const names = ["EXAMPLE.Test", "example.test", "bücher.test"];
    const made = await create({ dns_suffixes: names, expires_in_days: 2 });
    expect(made).toMatchObject({
      max_uses: 1,
      dns_suffixes: ["example.test", "xn--bcher-kva.test"],
      expires_at: timestamp(addSeconds(world.clock.now(), 2 * 86_400)),
    });
  });

  test("is refused for what is no limit, or two ends", async () => {
    const refused = async (more: object) => await refusal(create(more));
    for (const wrong of ["*.a.test", "a..test", ".a.test", "10.0.0.1", "", "a b"]) {
      const answer = await refused({ dns_suffixes: [wrong] });
      expect([wrong, answer.code]).toEqual([wrong, "invalid_field"]);
    }
    for (const ip_ranges of [["10.0.0.0/33"], ["10.0.0.0"], ["a/8"]]) {
      expect(await refused({ ip_ranges })).toMatchObject({ code: "invalid_field" });
    }
    for (const max_uses of [-1, 1.5, "1"]) {
      expect(await refused({ max_uses })).toMatchObject({ code: "invalid_field" });
    }
    const twice = { expires_in_days: 1, expires_at: "2027-01-01T00:00:00Z" };
    expect(await refused(twice)).toMatchObject({ code: "conflicting_fields" });
    expect(await refused({ dns_suffixes: [] })).toMatchObject({ code: "missing_field" });
    expect(await refused({ expires_at: "2020-01-01T00:00:00Z" })).toMatchObject({
      code: "invalid_field",
    });
    expect(await refused({ profile: "none" })).toMatchObject({ code: "unknown_profile" });
  });

  test("is made for a directory of the caller's tenant, and foreign ones look absent", async () => {
    const made = await create({ directory: "lab" }, labAdmin);
    expect(made).toMatchObject({ tenant_id: "lab", ca_id: "l1" });
    expect(made.directory_url).toBe("https://pki.test/acme-lab/directory");
    const foreign = await refusal(create({ directory: "lab" }));
    expect(foreign).toEqual(await refusal(create({ directory: "none" })));
    expect(foreign).toEqual({ code: "forbidden", facts: { capability: "ca:manage" } });
    expect(await refusal(create({ directory: "none" }, admin))).toMatchObject({
      code: "not_found",
    });
  });

  test("waits for the CA to exist, of which nobody but its tenant learns", async () => {
    world.current.acme = { ...world.current.acme, ca_label: "later" };
    expect(await refusal(create({}, admin))).toMatchObject({ code: "ca_not_active" });
    expect(await refusal(create())).toMatchObject({ code: "forbidden" });
  });

  test("is not made in a suspended tenant, and is revoked there", async () => {
    const { id } = await create();
    const suspended = tenant("default", { status: "suspended" });
    await world.store.atomically((tx) => tx.tenants.update(suspended));
    expect(await refusal(create())).toMatchObject({ code: "tenant_suspended" });
    expect(await revoke(id)).toMatchObject({ status: "revoked" });
  });
});

describe("revoking a credential", () => {
  const bind = (eabId: string) =>
    world.store.atomically((tx) => tx.acme.addAccount(account({ eabId })));

  test("counts its accounts, and ends them only when told to, also the second time", async () => {
    const { id } = await create();
    await bind(id);
    await bind(id);
    expect(await revoke(id)).toEqual({ http: 200, status: "revoked", bound_accounts: 2 });
    const again = { status: "already_revoked", bound_accounts: 2 };
    expect(await revoke(id)).toMatchObject(again);
    const end = { accounts: "deactivate" };
    expect(await revoke(id, end)).toMatchObject({ ...again, deactivated_accounts: 2 });
    expect(await revoke(id, end)).toMatchObject({ bound_accounts: 0, deactivated_accounts: 0 });
    expect(await refusal(revoke(id, { accounts: "keep" }))).toMatchObject({ code: "bad_query" });
  });

  test("leaves those of the configuration to the configuration", async () => {
    expect(await refusal(revoke("by-file"))).toMatchObject({ code: "config_managed" });
    expect(await refusal(revoke("by-file", {}, labAdmin))).toMatchObject({ code: "forbidden" });
  });

  test("of another tenant answers as of none, and a platform administrator learns which", async () => {
    const { id } = await create();
    const foreign = await refusal(revoke(id, {}, labAdmin));
    for (const absent of [`eab_${"A".repeat(22)}`, "x".repeat(5000)]) {
      expect(await refusal(revoke(absent, {}, labAdmin))).toEqual(foreign);
    }
    expect(foreign).toEqual({ code: "forbidden", facts: { capability: "ca:manage" } });
    expect(await refusal(revoke("none", {}, admin))).toMatchObject({ code: "not_found" });
    expect(world.events().at(-1)).toMatchObject({ action: "acme.eab.revoke", result: "denied" });
  });
});

/** An account with an order and its authorization. */
async function enrolled(
  whose = defaultTenant,
  directory = "default",
  proved: Partial<AuthorizationRecord> = {},
  ordered: Partial<OrderRecord> = {},
) {
  const owner = account({ tenant: whose, directory, contacts: ["mailto:a@example.test"] });
  const proof: AuthorizationRecord = {
    id: crypto.randomUUID(),
    account: owner.id,
    directory,
    identifier: { type: "dns", value: "a.test" },
    wildcard: false,
    status: "pending",
    createdAt: noon,
    expiresAt: addSeconds(noon, 3600),
    method: undefined,
    challenges: [challenge()],
    ...proved,
  };
  const order: OrderRecord = {
    id: crypto.randomUUID(),
    account: owner.id,
    directory,
    tenant: whose,
    caId: caId(whose === defaultTenant ? "i1" : "l1"),
    status: "pending",
    identifiers: [{ type: "dns", value: "a.test" }],
    authorizations: [proof.id],
    profile: "server",
    replaces: { caId: caId("i1"), serial: "7" as Serial },
    createdAt: noon,
    expiresAt: addSeconds(noon, 7200),
    error: undefined,
    certificate: undefined,
    ...ordered,
  };
  await world.store.atomically(async (tx) => {
    await tx.acme.addAccount(owner);
    await tx.acme.addOrder(order, [proof].map(withOwn));
  });
  return { owner, proof, order };
}
const challenge = () => ({
  id: crypto.randomUUID(),
  authorization: "",
  type: "http-01" as const,
  token: "a-token",
  status: "pending" as const,
  validatedAt: undefined,
  error: undefined,
  attempts: 0,
});
const withOwn = (proof: AuthorizationRecord): AuthorizationRecord => ({
  ...proof,
  challenges: proof.challenges.map((one) => ({ ...one, authorization: proof.id })),
});

describe("who has enrolled", () => {
  test("is shown with what they asked for and proved, and no token of a challenge", async () => {
    const { owner, proof, order } = await enrolled();
    const accounts = await ask("acme.account.list", webAuditor);
    expect(accounts.items).toEqual([
      {
        id: owner.id,
        directory: "default",
        tenant_id: "default",
        status: "valid",
        contacts: ["mailto:a@example.test"],
        key_thumbprint: owner.thumbprint,
        created_at: timestamp(noon),
      },
    ]);
    const orders = await ask("acme.order.list", webAuditor, { query: { account: owner.id } });
    expect(orders.items).toEqual([
      {
        id: order.id,
        account_id: owner.id,
        directory: "default",
        tenant_id: "default",
        ca_id: "i1",
        status: "pending",
        identifiers: [{ type: "dns", value: "a.test" }],
        expires: timestamp(order.expiresAt),
        replaces: "7",
        profile: "server",
        created_at: timestamp(noon),
      },
    ]);
    const proofs = await ask("acme.authz.list", webAuditor, { query: { account: owner.id } });
    expect(proofs.items).toMatchObject([
      {
        id: proof.id,
        status: "pending",
        identifier: { type: "dns", value: "a.test" },
        wildcard: false,
        challenges: [{ type: "http-01", status: "pending", attempts: 0 }],
      },
    ]);
    expect(JSON.stringify(proofs)).not.toContain("a-token");
  });

  test("is found by its id, by those who may read it, and as the other filters say", async () => {
    const { owner, order } = await enrolled();
    const { id: kid } = await create();
    const ids = async (
      list: "acme.account.list" | "acme.order.list" | "acme.eab.list",
      query: Readonly<Record<string, string>>,
      who: Principal = webAdmin,
    ) => (await ask(list, who, { query })).items.map(({ id }: { readonly id: string }) => id);
    expect(await ids("acme.account.list", { id: owner.id })).toEqual([owner.id]);
    expect(await ids("acme.account.list", { id: owner.id, status: "revoked" })).toEqual([]);
    expect(await ids("acme.account.list", { id: "nobody" })).toEqual([]);
    expect(await ids("acme.account.list", { id: owner.id }, labAdmin)).toEqual([]);
    expect(await ids("acme.order.list", { id: order.id, account: owner.id })).toEqual([order.id]);
    expect(await ids("acme.order.list", { id: order.id, status: "valid" })).toEqual([]);
    expect(await ids("acme.order.list", { id: order.id }, labAdmin)).toEqual([]);
    expect(await ids("acme.eab.list", { id: kid })).toEqual([kid]);
    expect(await ids("acme.eab.list", { id: kid, status: "revoked" })).toEqual([]);
    expect(await ids("acme.eab.list", { id: kid }, labAdmin)).toEqual([]);
    expect(await ids("acme.eab.list", { id: "by-file" }, admin)).toEqual(["by-file"]);
  });

  test("is told as it is at the moment: what has passed its end is over", async () => {
    const { owner } = await enrolled();
    world.clock.at = instant(noon + 8_000_000);
    const query = { account: owner.id };
    const [order] = (await ask("acme.order.list", webAdmin, { query })).items;
    expect(order).toMatchObject({ status: "invalid", error: { detail: "The order has expired." } });
    const [proof] = (await ask("acme.authz.list", webAdmin, { query })).items;
    expect(proof.status).toBe("expired");
    const invalid = await ask("acme.order.list", webAdmin, { query: { status: "invalid" } });
    expect(invalid.total).toBe(1);
  });

  test("is listed page by page, by status, and a cursor belongs to its question", async () => {
    for (let at = 0; at < 3; at++) await enrolled();
    const first = await ask("acme.account.list", webAdmin, { query: { limit: "2" } });
    expect([first.items.length, first.total, first.has_more]).toEqual([2, 3, true]);
    const cursor = first.next_cursor;
    const rest = await ask("acme.account.list", webAdmin, { query: { limit: "2", cursor } });
    expect([rest.items.length, rest.next_cursor]).toEqual([1, ""]);
    const other = ask("acme.account.list", webAdmin, { query: { cursor, status: "valid" } });
    expect(await refusal(other)).toMatchObject({ code: "bad_cursor" });
    const none = await ask("acme.account.list", webAdmin, { query: { status: "revoked" } });
    expect(none.items).toEqual([]);
    const wrong = ask("acme.account.list", webAdmin, { query: { status: "good" } });
    expect(await refusal(wrong)).toMatchObject({ code: "bad_query" });
  });
});

describe("tenants are walls", () => {
  const lab = tenantId("lab");

  test("every list of one tenant's caller holds no row of another", async () => {
    const foreign = await enrolled(lab, "lab");
    await create({ directory: "lab" }, labAdmin);
    for (const operation of ["acme.account.list", "acme.order.list", "acme.eab.list"] as const) {
      const own = await ask(operation, webAdmin);
      expect([operation, JSON.stringify(own.items)]).toEqual([
        operation,
        expect.not.stringContaining('"lab"'),
      ]);
      expect(own.total).toBe(own.items.length);
      expect((await ask(operation, admin)).total).toBe(own.total + 1);
    }
    for (const operation of ["acme.order.list", "acme.authz.list"] as const) {
      const by = (who: Principal, id: string) =>
        refusal(ask(operation, who, { query: { account: id } }));
      const told = await by(webAdmin, foreign.owner.id);
      expect(told).toEqual(await by(webAdmin, crypto.randomUUID()));
      expect(told).toMatchObject({ code: "bad_query", facts: { parameter: "account" } });
      expect(await by(labAdmin, foreign.owner.id)).toMatchObject({ code: "accepted" });
    }
  });

  test("ending what is another's answers as ending nothing", async () => {
    const { owner, proof, order } = await enrolled(lab, "lab");
    for (const [operation, id] of [
      ["acme.account.deactivate", owner.id],
      ["acme.order.deactivate", order.id],
      ["acme.authz.deactivate", proof.id],
    ] as const) {
      const by = (who: Principal, named: string) =>
        refusal(ask(operation, who, { path: { id: named } }));
      const foreign = await by(webAdmin, id);
      expect(foreign).toEqual(await by(webAdmin, crypto.randomUUID()));
      expect(foreign).toMatchObject({ code: "forbidden" });
      expect(await by(admin, crypto.randomUUID())).toMatchObject({ code: "not_found" });
      expect(await by(issuer, id)).toMatchObject({ code: "forbidden" });
    }
    expect((await world.store.read.acme.account(owner.id))?.status).toBe("valid");
  });
});

describe("ending", () => {
  test("an account ends its proofs and open orders, once, as revoked by whoever runs this", async () => {
    const { owner, proof, order } = await enrolled();
    const end = () => ask("acme.account.deactivate", webAdmin, { path: { id: owner.id } });
    expect(await end()).toMatchObject({ status: "deactivated" });
    expect(await end()).toMatchObject({ status: "already_deactivated" });
    const { acme } = world.store.read;
    expect((await acme.account(owner.id))?.status).toBe("revoked");
    expect((await acme.authorization(proof.id))?.status).toBe("deactivated");
    expect((await acme.order(order.id))?.status).toBe("invalid");
    const events = world.events().filter(({ action }) => action === "acme.account.deactivate");
    expect(events).toMatchObject([{ actor: "carol", target: owner.id, tenant: "default" }]);
  });

  test("an authorization leaves the account, and happens once", async () => {
    const { owner, proof } = await enrolled();
    const end = () => ask("acme.authz.deactivate", webAdmin, { path: { id: proof.id } });
    expect(await end()).toMatchObject({ status: "deactivated" });
    expect(await end()).toMatchObject({ status: "already_deactivated" });
    expect((await world.store.read.acme.account(owner.id))?.status).toBe("valid");
    const { acme } = world.store.read;
    expect((await acme.authorization(proof.id))?.status).toBe("deactivated");
    const events = world.events().filter(({ action }) => action === "acme.authz.deactivate");
    const told = { actor: "carol", target: owner.id, targetName: proof.id };
    expect(events).toMatchObject([{ ...told, detail: "identifiers=dns:a.test" }]);
  });

  test("ORD-6: an authorization that was proved is revoked by whoever runs this", async () => {
    const { proof } = await enrolled(defaultTenant, "default", { status: "valid", wildcard: true });
    const end = () => ask("acme.authz.deactivate", webAdmin, { path: { id: proof.id } });
    expect(await end()).toMatchObject({ status: "deactivated" });
    expect(await end()).toMatchObject({ status: "already_deactivated" });
    expect((await world.store.read.acme.authorization(proof.id))?.status).toBe("revoked");
    const events = world.events().filter(({ action }) => action === "acme.authz.deactivate");
    expect(events).toMatchObject([{ detail: "identifiers=dns:*.a.test" }]);
  });

  test("an order tells its client why, happens once, and leaves account and proofs", async () => {
    const { owner, proof, order } = await enrolled();
    const end = () => ask("acme.order.deactivate", webAdmin, { path: { id: order.id } });
    expect(await end()).toMatchObject({ status: "deactivated" });
    expect(await end()).toMatchObject({ status: "already_over" });
    const { acme } = world.store.read;
    expect(await acme.order(order.id)).toMatchObject({
      status: "invalid",
      error: { type: "unauthorized", detail: "Whoever runs the server has ended the order." },
    });
    expect((await acme.account(owner.id))?.status).toBe("valid");
    expect((await acme.authorization(proof.id))?.status).toBe("pending");
    const events = world.events().filter(({ action }) => action === "acme.order.deactivate");
    const told = { actor: "carol", target: order.id, tenant: "default" };
    expect(events).toMatchObject([{ ...told, detail: "identifiers=dns:a.test profile=server" }]);
  });

  test("no order that is being finalized, valid, or past its end", async () => {
    for (const [status, answer] of [
      ["processing", "processing"],
      ["valid", "already_over"],
      ["invalid", "already_over"],
    ] as const) {
      const { order } = await enrolled(defaultTenant, "default", {}, { status });
      const path = { id: order.id };
      const ended = await ask("acme.order.deactivate", webAdmin, { path });
      expect([status, ended.status]).toEqual([status, answer]);
      expect(await world.store.read.acme.order(order.id)).toEqual(order);
    }
    const { order } = await enrolled();
    world.clock.at = instant(noon + 8_000_000);
    const path = { id: order.id };
    const late = await ask("acme.order.deactivate", webAdmin, { path });
    expect(late).toMatchObject({ status: "already_over" });
    const events = world.events().filter(({ action }) => action === "acme.order.deactivate");
    expect(events).toEqual([]);
  });
});

test("everything answers that ACME is off while it is, to those who might ask", async () => {
  world.current.acme = { ...world.current.acme, enabled: false };
  const question = { path: { id: "x" }, query: {}, body };
  for (const operation of [
    "acme.eab.list",
    "acme.eab.create",
    "acme.eab.revoke",
    "acme.account.list",
    "acme.account.deactivate",
    "acme.order.list",
    "acme.order.deactivate",
    "acme.authz.deactivate",
  ] as const) {
    expect(await refusal(ask(operation, admin, question))).toEqual({
      code: "feature_disabled",
      facts: { feature: "acme" },
    });
  }
  const query = { account: "x" };
  expect(await refusal(ask("acme.authz.list", admin, { query }))).toMatchObject({
    code: "feature_disabled",
  });
});
