/** Sessions: opened at login, known by a digest that opens nothing, ended by everybody who may. */

import { describe, expect, test } from "bun:test";

import type { Identity } from "#core/access/assignments.ts";
import { isSamePerson, mayBeSamePerson, ownPerson } from "#core/access/person.ts";
import type { Role } from "#core/access/roles.ts";
import { type NewSession, Sessions } from "#domain/access/sessions.ts";
import {
  accessWorld,
  presenting,
  refusalOf,
  visitor,
  whence,
} from "#test/support/worlds/access.ts";
import { seededRandom, testClock } from "#test/support/ports.ts";
import { tenant } from "#test/support/stores/records.ts";
import { personNamed } from "#test/support/worlds/people.ts";

const alice: Identity = {
  voucher: "oidc",
  issuer: "https://id.x.test",
  subject: "alice-1",
  loginName: "alice",
  email: "a@x.test",
  emailVerified: true,
  groups: ["ops"],
  claims: { groups: ["ops"] },
};

describe("a session", () => {
  test("is new at every login, so that an id planted before means nothing", async () => {
    const world = accessWorld();
    const first = await world.logins.password("root", "correct", visitor);
    const second = await world.logins.password("root", "correct", visitor);
    expect(first.id).not.toBe(second.id);
    expect(first.session.csrfToken).not.toBe(second.session.csrfToken);
    for (const { id } of [first, second]) expect(id).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  test("ends when its time is over, however much it was used", async () => {
    const world = accessWorld();
    const { id } = await world.logins.password("root", "correct", visitor);
    for (let minute = 0; minute < 59; minute++) {
      world.clock.advance(60);
      expect(world.sessions.find(id)?.lastSeenAt).toBe(world.clock.now());
    }
    world.clock.advance(60);
    expect(world.sessions.find(id)).toBeUndefined();
    expect(world.sessions.active).toBe(0);
  });

  test("is not opened by its digest", async () => {
    const world = accessWorld();
    const { session } = await world.logins.password("root", "correct", visitor);
    const digest = session.digest;
    for (const cookie of [digest, digest.padEnd(43, "0"), digest.padEnd(64, "0")]) {
      expect(await world.authenticate(presenting({ cookie }), whence)).toBeUndefined();
    }
  });

  test("is written down with its digest, and never with its id", async () => {
    const world = accessWorld();
    const { id, session } = await world.logins.password("root", "correct", visitor);
    await world.logins.logout(session, whence);
    const events = world.store.listEvents();
    expect(events.map(({ action, target, detail }) => [action, target, detail])).toEqual([
      ["auth.login", session.digest, "method=password"],
      ["auth.logout", session.digest, "ended_by=self"],
    ]);
    expect(JSON.stringify(events)).not.toContain(id);
    expect(JSON.stringify(session)).not.toContain(id);
    expect(world.sessions.find(id)).toBeUndefined();
    expect(world.counted).toEqual(["password success", "logout"]);
  });

  test("is not opened when the login cannot be written down", async () => {
    const world = accessWorld();
    world.store.checkWrite = () => {
      throw new Error("disk");
    };
    expect(await refusalOf(world.logins.password("root", "correct", visitor))).not.toBe("accepted");
    expect(world.sessions.active).toBe(0);
    expect(world.counted).toEqual(["password error"]);
  });

  test("is ended by an admin by its digest, once", async () => {
    const world = accessWorld();
    const { id, session } = await world.logins.password("root", "correct", visitor);
    const origin = { principal: session.principal, ...whence };
    await world.logins.end(session.digest, origin);
    expect(world.sessions.find(id)).toBeUndefined();
    expect(await refusalOf(world.logins.end(session.digest, origin))).toBe("not_found");
    const last = world.store.listEvents().at(-1);
    expect([last?.action, last?.detail]).toEqual(["auth.logout", "ended_by=admin"]);
  });
});

describe("many sessions", () => {
  const sessions = () =>
    new Sessions({ clock: testClock(), random: seededRandom(), ttlSeconds: 60, max: 100 });
  const login = (subject: string): NewSession => ({
    method: "password",
    identity: undefined,
    loginName: subject,
    ip: "",
    userAgent: "",
    principal: {
      subject,
      person: personNamed(subject),
      isRoot: false,
      roles: [],
      tenantRoles: {},
      groups: [],
      mechanism: "session",
    },
  });

  test("of one person displace each other and nobody else's", () => {
    const live = sessions();
    const other = live.open(login("bob"));
    const first = live.open(login("alice"));
    for (let n = 0; n < 50; n++) live.open(login("alice"));
    expect(live.find(first.id)).toBeUndefined();
    expect(live.find(other.id)).toBeDefined();
    expect(live.active).toBe(51);
  });

  test("are bounded in all", () => {
    const live = sessions();
    for (let n = 0; n < 110; n++) live.open(login(`p${n}`));
    expect(live.active).toBe(100);
  });

  test("are listed newest first, page by page, none twice", () => {
    const live = sessions();
    for (let n = 0; n < 7; n++) live.open(login(`p${n}`));
    const seen: string[] = [];
    let page = live.page(3);
    seen.push(...page.items.map(({ digest }) => digest));
    while (page.next !== undefined) {
      page = live.page(3, page.next);
      seen.push(...page.items.map(({ digest }) => digest));
    }
    expect(new Set(seen).size).toBe(7);
    expect([page.total, seen.length]).toEqual([7, 7]);
  });
});

describe("roles", () => {
  const rules = { oidc: { mappings: [], allowZeroRole: false } };

  test("change with rbac in live sessions, and one left without role ends", async () => {
    let subjects: Readonly<Record<string, readonly Role[]>> = { "a@x.test": ["auditor"] };
    const assignments = () => ({ subjects, groups: {} });
    const world = accessWorld({ assignments, rules });
    const { id } = await world.logins.vouched("oidc", alice, visitor);
    expect(world.sessions.find(id)?.principal.roles).toEqual(["auditor"]);
    subjects = { "a@x.test": ["issuer"] };
    expect(await world.logins.resolveAgain()).toEqual([]);
    expect(world.sessions.find(id)?.principal.roles).toEqual(["issuer"]);
    subjects = {};
    expect(await world.logins.resolveAgain()).toHaveLength(1);
    expect(world.sessions.find(id)).toBeUndefined();
  });

  test("none at all lets nobody in, unless that is allowed", async () => {
    const strict = accessWorld({ rules });
    expect(await refusalOf(strict.logins.vouched("oidc", alice, visitor))).toBe("no_access");
    const [failed] = strict.store.listEvents();
    expect(failed?.detail).toBe("method=oidc reason=no_access");
    const lax = accessWorld({ rules: { oidc: { mappings: [], allowZeroRole: true } } });
    const { session } = await lax.logins.vouched("oidc", alice, visitor);
    expect(session.principal.roles).toEqual([]);
    expect(await lax.logins.resolveAgain()).toEqual([]);
  });

  test("mapped to a tenant hold there by its id; to one that does not exist, nowhere", async () => {
    const mapping = { claim: "groups", value: "ops", roles: ["issuer"] as const };
    const mappings = [
      { ...mapping, tenant: "web" },
      { ...mapping, tenant: "nowhere" },
    ];
    const world = accessWorld({ rules: { oidc: { mappings, allowZeroRole: false } } });
    await world.store.atomically((tx) => tx.tenants.ensure(tenant("t-1", { slug: "web" })));
    const { session } = await world.logins.vouched("oidc", alice, visitor);
    expect(session.principal).toMatchObject({ roles: [], tenantRoles: { "t-1": ["issuer"] } });
  });

  test("two subjects with one verified address are one person", async () => {
    const allow = { oidc: { mappings: [], allowZeroRole: true } };
    const world = accessWorld({ rules: allow });
    const person = async (change: Partial<Identity>) => {
      const identity = { ...alice, ...change };
      return (await world.logins.vouched("oidc", identity, visitor)).session.principal.person;
    };
    const one = await person({});
    expect(isSamePerson(one, await person({ subject: "alice-2", email: "A@x.test" }))).toBe(true);
    expect(isSamePerson(one, await person({ email: "b@x.test" }))).toBe(true);
    expect(isSamePerson(one, await person({ subject: "x", emailVerified: false }))).toBe(false);
    expect(isSamePerson(one, personNamed("alice-1"))).toBe(true);
    expect(mayBeSamePerson(one, ownPerson("root"))).toBe(false);
  });
});
