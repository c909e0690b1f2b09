/**
 * Authentication: the evaluation order, its fall-through, and refusals that say nothing about why.
 */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { refuse } from "#core/problems.ts";
import type { Authorization, Presented } from "#domain/access/presented.ts";
import {
  type AccessWorld,
  accessWorld,
  basic,
  presenting,
  refusalOf,
  visitor,
  whence,
} from "#test/support/worlds/access.ts";
import { personNamed } from "#test/support/worlds/people.ts";

/** One that stands for `robot`. */
const certificate = { chain: [] };
const client = async () => ({
  subject: "robot",
  person: personNamed("robot"),
  isRoot: false,
  roles: ["issuer" as const],
  tenantRoles: {},
  groups: [],
  mechanism: "mtls" as const,
});

const ask = (world: AccessWorld, authorization: Authorization) =>
  world.authenticate(presenting({ authorization }), whence);

describe("Basic", () => {
  test("root with the right password is a platform admin", async () => {
    const found = await ask(accessWorld(), basic("root", "correct"));
    expect(found?.principal).toMatchObject({ isRoot: true, subject: "root", mechanism: "basic" });
  });

  test("a wrong name and a wrong password are one refusal and take one slow hash each", async () => {
    const world = accessWorld();
    await ask(world, basic("root", "correct"));
    for (const [name, password] of [
      ["root", "wrong"],
      ["admin", "correct"],
      ["admin", "wrong"],
    ] as const) {
      const before = world.checks();
      expect(await refusalOf(ask(world, basic(name, password)))).toBe("invalid_credentials");
      expect(world.checks() - before).toBe(1);
    }
  });

  test("a password login costs the same slow hash, and says the same, whatever is wrong", async () => {
    const world = accessWorld();
    for (const [name, password] of [
      ["root", "wrong"],
      ["admin", "correct"],
      ["admin", "wrong"],
    ] as const) {
      const before = world.checks();
      const login = world.logins.password(name, password, visitor);
      expect(await refusalOf(login)).toBe("invalid_credentials");
      expect(world.checks() - before).toBe(1);
    }
    expect(world.sessions.active).toBe(0);
  });

  test("an empty password is refused before it is checked", async () => {
    const world = accessWorld();
    expect(await refusalOf(ask(world, basic("root", "")))).toBe("invalid_credentials");
    expect(world.checks()).toBe(0);
  });

  test("root's right password costs and says the same as a wrong one while Basic is off for root", async () => {
    const world = accessWorld({ rootBasicAllowed: false });
    expect(await refusalOf(ask(world, basic("root", "correct")))).toBe("invalid_credentials");
    expect(await refusalOf(ask(world, basic("root", "wrong")))).toBe("invalid_credentials");
    expect(world.checks()).toBe(2);
    expect((await world.logins.password("root", "correct", visitor)).session.method).toBe(
      "password",
    );
  });

  test("the slow hash runs once for a name and password that passed", async () => {
    const world = accessWorld();
    await ask(world, basic("root", "correct"));
    await ask(world, basic("root", "correct"));
    expect(world.checks()).toBe(1);
  });

  test("every attempt is counted by its result", async () => {
    const world = accessWorld();
    await ask(world, basic("root", "correct"));
    await refusalOf(ask(world, basic("root", "wrong")));
    expect(world.counted).toEqual(["basic success", "basic denied"]);
  });
});

describe("failed logins", () => {
  const events = (world: AccessWorld) => world.store.listEvents();

  test("from one address fold into one event a minute, and none is lost", async () => {
    const world = accessWorld();
    for (let i = 0; i < 5; i++) await refusalOf(ask(world, basic("root", `wrong-${i}`)));
    expect(events(world).length).toBe(1);
    expect(events(world)[0]).toMatchObject({
      action: "auth.login_failed",
      result: "denied",
      actor: "anonymous",
      ip: "192.0.2.7",
      targetName: "root",
      detail: expect.stringContaining("channel=basic"),
    });
    world.clock.advance(60);
    await refusalOf(ask(world, basic("root", "wrong")));
    expect(events(world)[1]?.detail).toContain("count=5");
    expect(events(world).length).toBe(2);
  });

  test("that nobody repeats are told when their minute is over", async () => {
    const world = accessWorld();
    for (let i = 0; i < 3; i++) await refusalOf(ask(world, basic("root", "wrong")));
    await world.failures.fold();
    expect(events(world).length).toBe(1);
    world.clock.advance(60);
    await world.failures.fold();
    expect(events(world)[1]?.detail).toContain("count=2");
    world.clock.advance(60);
    await world.failures.fold();
    expect(events(world).length).toBe(2);
  });

  test("are told before the process ends", async () => {
    const world = accessWorld();
    for (let i = 0; i < 3; i++) await refusalOf(ask(world, basic("root", "wrong")));
    await world.failures.fold(true);
    expect(events(world)[1]?.detail).toContain("count=2");
  });

  test("never hold the password, and hold a name a database can keep", async () => {
    const world = accessWorld();
    await refusalOf(ask(world, basic(`a\0\ud800${"x".repeat(200)}`, "hunter2-hunter2")));
    expect(JSON.stringify(events(world))).not.toContain("hunter2");
    expect(events(world)[0]?.targetName).toBe(`a\ufffd\ufffd${"x".repeat(125)}`);
  });

  test("from ever new addresses cannot fill the memory", async () => {
    const world = accessWorld();
    for (let n = 0; n < 150; n++) {
      const failure = { method: "password", reason: "invalid_credentials" } as const;
      await world.failures.record({ ...failure, loginName: "x", ip: `${n}`, requestId: "r" });
    }
    expect(events(world).length).toBe(101);
  });
});

describe("the evaluation order", () => {
  test("a bad Authorization is final, even beside a valid session and a bound certificate", async () => {
    const world = accessWorld({ client });
    const { id: cookie } = await world.logins.password("root", "correct", visitor);
    for (const [authorization, code] of [
      [basic("root", "wrong"), "invalid_credentials"],
      [{ kind: "token", secret: "pki_pat_x" }, "invalid_token"],
      [{ kind: "bearer", token: "x" }, "invalid_token"],
      [{ kind: "malformed", scheme: "bearer" }, "invalid_token"],
      [{ kind: "malformed", scheme: "basic" }, "invalid_credentials"],
    ] as const) {
      const presented = presenting({ authorization, cookie, certificate, localUser: "alice" });
      expect(await refusalOf(world.authenticate(presented, whence))).toBe(code);
    }
  });

  test("a stale cookie falls through to what comes after it", async () => {
    const world = accessWorld();
    const { id: cookie } = await world.logins.password("root", "correct", visitor);
    world.clock.advance(3600);
    for (const stale of [cookie, "x".repeat(43), "nonsense"]) {
      expect(await world.authenticate(presenting({ cookie: stale }), whence)).toBeUndefined();
      const presented = presenting({ cookie: stale, localUser: "alice" });
      const found = await world.authenticate(presented, whence);
      expect(found?.principal.subject).toBe("local:alice");
    }
  });

  test("a live cookie goes before the local socket, and a bearer before both", async () => {
    const bearer = async () => {
      throw refuse("oidc_unavailable", { retry_after: 5 });
    };
    const world = accessWorld({ bearer });
    const { id: cookie } = await world.logins.password("root", "correct", visitor);
    const found = await world.authenticate(presenting({ cookie, localUser: "alice" }), whence);
    expect([found?.principal.subject, found?.session?.method]).toEqual(["root", "password"]);
    const authorization = { kind: "bearer", token: "x" } as const;
    const presented = presenting({ authorization, cookie, certificate, localUser: "alice" });
    expect(await refusalOf(world.authenticate(presented, whence))).toBe("oidc_unavailable");
  });

  test("a bound certificate goes after a live cookie and before the local socket; a stale cookie leads to it", async () => {
    const world = accessWorld({ client });
    const { id: cookie } = await world.logins.password("root", "correct", visitor);
    const subject = async (presented: Partial<Presented>) =>
      (await world.authenticate(presenting(presented), whence))?.principal.subject;
    expect(await subject({ cookie, certificate })).toBe("root");
    expect(await subject({ cookie: "stale", certificate, localUser: "alice" })).toBe("robot");
    expect(await subject({ certificate })).toBe("robot");
  });

  test("a certificate that binds nobody, or where none can, falls through", async () => {
    for (const world of [accessWorld({ client: async () => undefined }), accessWorld()]) {
      expect(await world.authenticate(presenting({ certificate }), whence)).toBeUndefined();
      const presented = presenting({ certificate, localUser: "alice" });
      const found = await world.authenticate(presented, whence);
      expect(found?.principal.subject).toBe("local:alice");
    }
  });

  test("nothing presented is nobody, and the local socket is one person whoever calls", async () => {
    const world = accessWorld();
    expect(await world.authenticate(presenting({}), whence)).toBeUndefined();
    const alice = await world.authenticate(presenting({ localUser: "alice" }), whence);
    const bob = await world.authenticate(presenting({ localUser: "bob" }), whence);
    expect(alice?.principal.subject).toBe("local:alice");
    expect(alice?.principal.person).toEqual(bob?.principal.person ?? personNamed("nobody"));
  });

  test("whatever is presented, nobody comes in who did not prove anything", async () => {
    const world = accessWorld();
    const authorization = fc.oneof(
      fc.constant(undefined),
      fc.record({ kind: fc.constant("basic" as const), name: fc.string(), password: fc.string() }),
      fc.record({ kind: fc.constant("token" as const), secret: fc.string() }),
      fc.record({ kind: fc.constant("bearer" as const), token: fc.string() }),
    );
    const cookie = fc.option(fc.string({ unit: "binary" }), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(authorization, cookie, async (given, presentedCookie) => {
        fc.pre(given?.kind !== "basic" || given.password !== "correct");
        const presented = presenting({ authorization: given, cookie: presentedCookie });
        const outcome = await refusalOf(
          world.authenticate(presented, whence).then((found) => expect(found).toBeUndefined()),
        );
        expect(["accepted", "invalid_credentials", "invalid_token"]).toContain(outcome);
        expect(outcome === "accepted").toBe(given === undefined);
      }),
      { numRuns: 300 },
    );
  });
});
