/** API tokens in JSON: every form of asking, what is shown of them, and whose they may be. */

import { beforeEach, describe, expect, test } from "bun:test";

import { type Instant, timestamp } from "#core/time.ts";
import {
  admin,
  type GovernedWorld,
  governedWorld,
  type Json,
  refusal,
  somebody,
} from "#test/support/worlds/governed-world.ts";
import { personNamed } from "#test/support/worlds/people.ts";

let world: GovernedWorld;
let ask: GovernedWorld["ask"];
beforeEach(async () => {
  world = await governedWorld();
  ask = world.ask;
});

const day = 86_400_000;
const ahead = (milliseconds: number) => timestamp((world.clock.now() + milliseconds) as Instant);
const mint = (more: object = {}, who = admin) =>
  ask("token.create", who, { body: { name: "ci", roles: ["issuer"], ...more } });

describe("a token", () => {
  test("is answered whole, with its secret once, and listed without it for good", async () => {
    const { secret, status, ...token } = await mint({ description: "pipeline", tenant: "web" });
    expect([status, secret]).toEqual([201, expect.stringMatching(/^pki_pat_[A-Za-z0-9_-]{43}$/)]);
    expect(token).toEqual({
      id: expect.any(String),
      tenant_id: "web",
      name: "ci",
      description: "pipeline",
      prefix: secret.slice(0, 14),
      roles: ["issuer"],
      scope: "tenant",
      revoked: false,
      created_by: "admin",
      created_at: timestamp(world.clock.now()),
    });
    const { items } = await ask("token.list", admin, { query: { tenant: "web" } });
    expect(items).toEqual([token]);
    const stored = JSON.stringify(world.store.listRows("tokens"));
    const events = JSON.stringify(world.store.listEvents());
    expect(stored + events).not.toContain(secret.slice(14));
  });

  test("ends when it is said to, in any of the three forms, or never", async () => {
    const at = ahead(3 * day);
    for (const more of [{ expires_at: at }, { expiry: at }, { expires_in_days: 3 }]) {
      expect((await mint(more)).expires_at).toBe(at);
    }
    expect(await mint()).not.toHaveProperty("expires_at");
    expect((await mint({ expires_at: "2027-01-01T02:00:00+02:00" })).expires_at).toBe(
      "2027-01-01T00:00:00.000000Z",
    );
  });

  test.each<readonly [object, string, object]>([
    [{ expires_in_days: 0 }, "invalid_field", { field: "expires_in_days" }],
    [{ expires_in_days: "3" }, "invalid_field", { field: "expires_in_days" }],
    [{ expires_at: "2020-01-01T00:00:00Z" }, "invalid_field", { field: "expires_at" }],
    [{ expires_at: "tomorrow" }, "invalid_field", { field: "expires_at" }],
    [{ name: "" }, "invalid_field", { field: "name" }],
    [{ name: "a".repeat(101) }, "invalid_field", { field: "name" }],
    [{ roles: [] }, "invalid_field", { field: "roles" }],
    [{ roles: ["owner"] }, "invalid_field", { field: "roles" }],
    [{ roles: null }, "invalid_field", { field: "roles" }],
    [{ scope: "all" }, "invalid_field", { field: "scope" }],
    [{ secret: "mine" }, "unknown_field", { field: "secret" }],
    [
      { tenant: "web", tenant_id: "web" },
      "conflicting_fields",
      { fields: ["tenant_id", "tenant"] },
    ],
    [
      { scope: "platform", tenant_id: "web" },
      "conflicting_fields",
      { fields: ["scope", "tenant_id"] },
    ],
    [
      { expires_in_days: 1, expiry: "2027-01-01T00:00:00Z" },
      "conflicting_fields",
      { fields: ["expiry", "expires_in_days"] },
    ],
    [{ tenant_id: "none" }, "not_found", {}],
  ])("asked for with %j is refused as %s", async (more, code, facts) => {
    const refused = await refusal(mint(more));
    expect(refused).toMatchObject({ code, facts });
    expect(world.store.countRows("tokens")).toBe(0);
  });

  test("of platform scope holds in every tenant and belongs to none", async () => {
    const { secret, ...token } = await mint({ scope: "platform", roles: ["auditor", "auditor"] });
    expect(token).toMatchObject({ scope: "platform", roles: ["auditor"] });
    expect(token).not.toHaveProperty("tenant_id");
    const principal = await world.apiTokens.verify(secret, "192.0.2.1");
    const labels = (await ask("ca.list", principal)).items.map(({ label }: Json) => label);
    expect(labels.sort()).toEqual(["lab-issuing", "lab-root", "web-issuing", "web-root"]);
    const own = await ask("token.list", somebody("t", { web: ["admin"] }));
    expect(own.items).toEqual([]);
  });

  test("shows when and from where it was used last, to the minute", async () => {
    const { id, secret } = await mint();
    const used = async () =>
      (await ask("token.list", admin)).items.find((one: Json) => one.id === id);
    await world.apiTokens.verify(secret, "192.0.2.1");
    const first = timestamp(world.clock.now());
    expect(await used()).toMatchObject({ last_used_at: first, last_used_ip: "192.0.2.1" });
    world.clock.step(59);
    await world.apiTokens.verify(secret, "192.0.2.2");
    expect(await used()).toMatchObject({ last_used_at: first, last_used_ip: "192.0.2.1" });
    world.clock.step(1);
    await world.apiTokens.verify(secret, "192.0.2.2");
    expect(await used()).toMatchObject({ last_used_ip: "192.0.2.2" });
  });

  test("is revoked once, by who manages its tenant or by itself, and says so ever after", async () => {
    const { id, secret } = await mint({ tenant_id: "web" });
    const itself = await world.apiTokens.verify(secret, "192.0.2.1");
    const revoke = (who: Parameters<typeof ask>[1]) =>
      ask("token.revoke", who, { path: { id } }).then(({ status }) => status);
    const stranger = await refusal(revoke(somebody("s", { lab: ["admin"] })));
    expect(stranger).toEqual({ code: "forbidden", facts: { capability: "token:manage" } });
    expect(await revoke(itself)).toBe("revoked");
    expect(await revoke(somebody("w", { web: ["admin"] }))).toBe("already_revoked");
    const [listed] = (await ask("token.list", admin, { query: { tenant: "web" } })).items;
    expect(listed).toMatchObject({ revoked: true, revoked_by: `token:${id}` });
    expect(await refusal(world.apiTokens.verify(secret, ""))).toMatchObject({
      code: "invalid_token",
    });
  });

  test("acts as the person who minted it, also one minted by another token", async () => {
    const person = personNamed("alice", "alice@example.com");
    const maker = somebody("alice", { web: ["admin"] }, { person });
    const first = await mint({ roles: ["admin"] }, maker);
    const second = await mint({}, await world.apiTokens.verify(first.secret, ""));
    const principal = await world.apiTokens.verify(second.secret, "");
    expect(principal).toMatchObject({
      person,
      tenantRoles: { web: ["issuer"] },
    });
    expect(second.created_by).toBe(`token:${first.id}`);
  });
});
