/**
 * Who asked earlier, as that principal is now: roles, tokens, bindings and providers that were
 * taken away are gone.
 */

import { describe, expect, test } from "bun:test";

import type { Identity } from "#core/access/assignments.ts";
import type { Binding } from "#core/access/client-bindings.ts";
import { type Principal, systemPrincipal } from "#core/access/principal.ts";
import type { Role } from "#core/access/roles.ts";
import { instant } from "#core/time.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { localPrincipal } from "#domain/access/authenticate.ts";
import { ClientCertificates, type ClientTrust } from "#domain/access/client-certificates.ts";
import { AttemptKeys } from "#domain/access/login-attempt.ts";
import { type PrincipalNowDeps, principalNow } from "#domain/access/principal-now.ts";
import { RootAccount } from "#domain/access/root-account.ts";
import {
  accessWorld,
  type AccessOptions,
  freshMemory,
  visitor,
  unhurried,
} from "#test/support/worlds/access.ts";
import { clientPaths, somewhere } from "#test/support/worlds/client-paths.ts";
import { OutsideCa } from "#test/support/tls/client-certificates.ts";
import { somebody } from "#test/support/worlds/governed-world.ts";
import { seededRandom, testClock } from "#test/support/ports.ts";

const alice: Identity = {
  voucher: "oidc",
  issuer: "https://id.x.test",
  subject: "alice",
  loginName: "alice",
  emailVerified: false,
  groups: ["ops"],
  claims: { groups: ["ops"] },
};

/** What came of the round trip of a stored request. */
const stored = (principal: Principal): Principal => JSON.parse(JSON.stringify(principal));

function world(requests: AccessOptions = {}, more: Partial<PrincipalNowDeps> = {}) {
  const access = accessWorld(requests);
  const root = new RootAccount({
    username: "root",
    passwordHash: "",
    checkPassword: async () => false,
    turns: unhurried(),
    attempts: new AttemptKeys(seededRandom()),
    memory: freshMemory(),
  });
  const { apiTokens, logins } = access;
  const vouching = () => ({ method: "oidc" as const });
  const now = principalNow({ apiTokens, logins, root, vouching, client: undefined, ...more });
  return { ...access, now: (then: Principal) => now(stored(then)) };
}

describe("somebody whom a provider vouched for", () => {
  const mapping = { claim: "groups", value: "ops", tenant: undefined };
  const mapped = (...roles: readonly Role[]): NonNullable<AccessOptions["rules"]> => ({
    oidc: { mappings: [{ ...mapping, roles }], allowZeroRole: false },
  });

  test("has the roles of the assignments of now", async () => {
    const subjects: Record<string, readonly Role[]> = { alice: ["admin"] };
    const of = world({ assignments: () => ({ subjects, groups: {} }) });
    const { principal } = (await of.logins.vouched("oidc", alice, visitor)).session;
    expect((await of.now(principal))?.roles).toEqual(["admin"]);
    subjects.alice = ["auditor"];
    expect((await of.now(principal))?.roles).toEqual(["auditor"]);
    delete subjects.alice;
    expect(await of.now(principal)).toMatchObject({ subject: "alice", roles: [], tenantRoles: {} });
  });

  test("has the roles of the mappings of now, also after a restart", async () => {
    const before = world({ rules: mapped("admin") });
    const { principal } = (await before.logins.vouched("oidc", alice, visitor)).session;
    expect((await before.now(principal))?.roles).toEqual(["admin"]);
    expect((await world({ rules: mapped("approver") }).now(principal))?.roles).toEqual([
      "approver",
    ]);
    expect((await world().now(principal))?.roles).toEqual([]);
  });

  test("is nobody once nobody asks the provider, and with nothing that says what it was", async () => {
    const of = world({ rules: mapped("admin") }, { vouching: () => undefined });
    const principal = await of.logins.principalOf("oidc", alice, "bearer");
    expect(await of.now(principal)).toBeUndefined();
    expect(await world().now(somebody("alice", ["admin"]))).toBeUndefined();
  });
});

describe("a client certificate", () => {
  const inYear = {
    notBefore: instant(Date.parse("2026-01-01T00:00:00Z")),
    notAfter: instant(Date.parse("2027-01-01T00:00:00Z")),
  };
  const ca = OutsideCa.root("Outside", inYear);
  const bound = (change: Partial<Binding> = {}): ClientTrust => ({
    anchors: [parseCertificate(ca.der)],
    bindings: [
      {
        name: "robots",
        selectors: { subjectCn: "robot" },
        subject: "robot",
        roles: ["admin"],
        tenantRoles: {},
        ...change,
      },
    ],
  });

  async function shown() {
    const clock = testClock("2026-03-01T00:00:00Z");
    const { store } = accessWorld();
    const trusted = { now: bound() };
    const counted: string[] = [];
    const clients = new ClientCertificates({
      store,
      clock,
      trust: () => trusted.now,
      paths: clientPaths(),
      log: { write: () => {} },
      onLogin: (result) => counted.push(result),
    });
    const principal = await clients.principal(ca.client(inYear), somewhere);
    if (principal === undefined) throw new Error("the certificate stands for nobody");
    const of = world({}, { client: clients.principalAgain });
    return { clock, trusted, counted, now: () => of.now(principal) };
  }

  test("stands for the roles of its binding of now, and is counted once", async () => {
    const { trusted, counted, now } = await shown();
    expect(await now()).toMatchObject({ subject: "robot", roles: ["admin"], mechanism: "mtls" });
    trusted.now = bound({ roles: ["auditor"] });
    expect((await now())?.roles).toEqual(["auditor"]);
    expect(counted).toEqual(["success"]);
  });

  test("stands for nobody once its binding, its CA or its time is over, or it is somebody else's", async () => {
    const { clock, trusted, now } = await shown();
    for (const gone of [
      { ...bound(), bindings: [] },
      { ...bound(), anchors: [] },
      bound({ subject: "another" }),
    ]) {
      trusted.now = gone;
      expect(await now()).toBeUndefined();
    }
    trusted.now = bound();
    expect(await now()).toBeDefined();
    clock.at = instant(inYear.notAfter + 1);
    expect(await now()).toBeUndefined();
  });

  test("stands for nobody where certificates prove nothing", async () => {
    const robot = somebody("robot", ["admin"], { mechanism: "mtls" });
    expect(await world().now(robot)).toBeUndefined();
  });
});

test("a token counts while it is in force, and root, a shell and pkid itself do whatever was stored", async () => {
  const of = world();
  const origin = { principal: somebody("alice", ["admin"]), ip: "", requestId: "" };
  const request = { name: "ci", description: "", scope: "platform", tenant: undefined } as const;
  const { apiToken, secret } = await of.apiTokens.create(origin, {
    ...request,
    roles: ["issuer"],
    expiresAt: undefined,
  });
  const robot = await of.apiTokens.verify(secret, "");
  expect((await of.now({ ...robot, roles: ["admin"] }))?.roles).toEqual(["issuer"]);
  await of.apiTokens.revoke(origin, apiToken.id);
  expect(await of.now(robot)).toBeUndefined();
  const root = somebody("root", [], { isRoot: true, mechanism: "basic" });
  expect(await of.now(root)).toMatchObject({ subject: "root", isRoot: true, mechanism: "basic" });
  const shell = { ...localPrincipal("ops"), roles: [] };
  expect(await of.now(shell)).toEqual(localPrincipal("ops"));
  expect(await of.now(systemPrincipal("monitor"))).toEqual(systemPrincipal("monitor"));
});
