/** Logins through a directory: refused alike, recorded apart, and never for root. */

import { describe, expect, test } from "bun:test";

import type { Identity } from "#core/access/assignments.ts";
import { type Directory, DirectoryFault } from "#domain/access/directory.ts";
import {
  type AccessWorld,
  accessWorld,
  type AccessOptions,
  basic,
  presenting,
  refusalOf,
  visitor,
  whence,
} from "#test/support/worlds/access.ts";
import { turnWorld } from "#test/support/worlds/turns.ts";

const alice: Identity = {
  voucher: "ldap",
  issuer: "",
  subject: "alice",
  loginName: "alice",
  email: "alice@x.test",
  emailVerified: true,
  groups: ["ops"],
  claims: { groups: ["ops"] },
};
const bob: Identity = { ...alice, subject: "bob", email: "bob@x.test", groups: [], claims: {} };

interface World extends AccessWorld {
  readonly asked: string[];
  readonly failed: string[];
}

function world(requests: AccessOptions = {}, said?: Directory["identify"]): World {
  const asked: string[] = [];
  const failed: string[] = [];
  const identify: Directory["identify"] =
    said ??
    (async (name, password) => {
      asked.push(name);
      if (name === "away") throw new DirectoryFault("the server cannot be reached");
      if (password !== "right") return undefined;
      return name === "bob" ? bob : alice;
    });
  const mapping = { claim: "groups", value: "ops", tenant: undefined, roles: ["issuer"] } as const;
  const made = accessWorld({
    directory: { identify },
    rules: { ldap: { mappings: [mapping], allowZeroRole: false } },
    attempts: {
      attempt: (ip) => {
        failed.push(ip);
        return () => failed.splice(failed.indexOf(ip), 1);
      },
    },
    ...requests,
  });
  return { ...made, asked, failed };
}

const ask = (of: World, name: string, password: string) =>
  of.authenticate(presenting({ authorization: basic(name, password) }), whence);
const open = async (of: World, name: string, password: string) =>
  of.directory?.open(name, password, visitor);
const details = (of: World) => of.store.listEvents().map(({ detail }) => detail);

describe("a login through the directory", () => {
  test("opens a session with the roles of the mappings", async () => {
    const of = world();
    const opened = await open(of, "alice", "right");
    expect(opened?.session).toMatchObject({
      method: "ldap",
      principal: {
        subject: "alice",
        roles: ["issuer"],
        person: { subject: "alice", voucher: "ldap", issuer: "", address: "alice@x.test" },
      },
    });
    expect(of.counted).toEqual(["ldap success"]);
  });

  test("is refused alike for a wrong password and a directory that is away, and recorded apart", async () => {
    const of = world();
    expect(await refusalOf(open(of, "alice", "wrong"))).toBe("invalid_credentials");
    expect(await refusalOf(open(of, "away", "right"))).toBe("invalid_credentials");
    expect(details(of)).toEqual([
      "method=ldap reason=invalid_credentials",
      "method=ldap reason=directory_unavailable",
    ]);
    expect(of.counted).toEqual(["ldap denied", "ldap error"]);
  });

  test("without a password, or with a name that is none, asks nobody", async () => {
    const of = world();
    for (const [name, password] of [
      ["alice", ""],
      ["", "right"],
      ["a\0", "right"],
    ] as const) {
      expect(await refusalOf(open(of, name, password))).toBe("invalid_credentials");
    }
    expect(of.asked).toEqual([]);
  });

  test("by somebody without a role is no access, unless that is allowed", async () => {
    const of = world();
    expect(await refusalOf(open(of, "bob", "right"))).toBe("no_access");
    expect(await refusalOf(ask(of, "bob", "right"))).toBe("no_access");
    expect(details(of)).toEqual([
      "method=ldap reason=no_access",
      "method=ldap reason=no_access channel=basic",
    ]);
    const lax = world({ rules: { ldap: { mappings: [], allowZeroRole: true } } });
    expect(await refusalOf(open(lax, "bob", "right"))).toBe("accepted");
    expect((await ask(lax, "bob", "right"))?.principal.roles).toEqual([]);
  });

  test("waits for nobody of another address, however slowly those are answered", async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { turns } = turnWorld({ atOnce: 64, atOncePerAddress: 8, atOnceStrangers: 48 });
    let asked = 0;
    const of = world({ turns }, async (name) => {
      asked += 1;
      return name === "slow" ? promise : alice;
    });
    const waiting = Array.from({ length: 100 }, (_, n) => refusalOf(open(of, "slow", `no ${n}`)));
    await Bun.sleep(0);
    expect(asked).toBe(8);
    const other = { ...visitor, ip: "198.51.100.9" };
    const opened = of.directory?.open("alice", "right", other);
    expect((await opened)?.session.principal.subject).toBe("alice");
    expect(details(of)).toEqual(["method=ldap"]);
    resolve(undefined);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(["invalid_credentials"]));
  });
});

describe("Basic with a directory", () => {
  test("stands for the person, for this request", async () => {
    const of = world();
    const found = await ask(of, "alice", "right");
    expect(found?.principal).toMatchObject({ subject: "alice", mechanism: "basic", isRoot: false });
    expect(of.sessions.active).toBe(0);
    expect(of.checks()).toBe(0);
  });

  test("never tells the directory what was said as root", async () => {
    const of = world({ rootBasicAllowed: false });
    expect(await refusalOf(ask(of, "root", "correct"))).toBe("invalid_credentials");
    expect(await refusalOf(ask(of, "root", "wrong"))).toBe("invalid_credentials");
    expect(of.asked).toEqual([]);
    expect((await ask(world(), "root", "correct"))?.principal.isRoot).toBe(true);
  });

  test("slows down who guesses", async () => {
    const of = world();
    expect(await refusalOf(ask(of, "alice", "wrong"))).toBe("invalid_credentials");
    expect(of.failed).toEqual([whence.ip]);
    expect(details(of)).toEqual(["method=ldap reason=invalid_credentials channel=basic"]);
    expect(await refusalOf(ask(of, "away", "right"))).toBe("invalid_credentials");
    expect(of.failed).toHaveLength(1);
  });
});
