/**
 * THE ACCESS TABLE: every operation tried by every kind of caller, on its own tenant, another one
 * and an absent id.
 */

import { callOf, mountedAs, openPipeline, stubOf } from "#test/support/worlds/asking.ts";
import { expect, test } from "bun:test";

import type { Principal } from "#core/access/principal.ts";
import { grantRoles, type Role, roles } from "#core/access/roles.ts";
import { caId, defaultTenant, type TenantId, tenantId } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { optional, text } from "#core/shape.ts";
import { parseCertificate } from "#core/x509/certificate.ts";
import { instant } from "#core/time.ts";
import { ClientCertificates } from "#domain/access/client-certificates.ts";
import type { Perform } from "#domain/access/perform.ts";
import { ApiTokens } from "#domain/access/tokens.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { type OperationName, operationOf, operations } from "#operations";
import { clientPaths, somewhere } from "#test/support/worlds/client-paths.ts";
import { OutsideCa } from "#test/support/tls/client-certificates.ts";
import { noRollover, tenant } from "#test/support/stores/records.ts";
import { expectGolden } from "#test/support/golden.ts";
import { type MemoryStore, createMemoryStore } from "#test/support/stores/memory-store.ts";
import { seededRandom, testClock } from "#test/support/ports.ts";
import { personNamed } from "#test/support/worlds/people.ts";

test("the security posture is the one on record", async () => {
  const store = await stocked();
  const perform = performOver(store);
  const callers = [
    ...byRole,
    ...byGrant,
    ...(await byToken(store)),
    ...(await byCertificate(store)),
    ...last,
  ];
  const lines = [`${"operation".padEnd(22)} ${callers.map(([n]) => n.padEnd(17)).join(" ")}`];
  for (const operation of everyOperation) {
    const cells: string[] = [];
    for (const [, principal] of callers) cells.push(await cell(perform, operation, principal));
    lines.push(`${operation.padEnd(22)} ${cells.map((text) => text.padEnd(17)).join(" ")}`);
  }
  expectGolden("access-table.txt", `${legend}\n${lines.map((l) => l.trimEnd()).join("\n")}\n`);
});

test("no operation that needs a credential answers without one", async () => {
  const perform = performOver(await stocked());
  for (const operation of everyOperation) {
    if (operationOf(operation).needs === "pub") continue;
    for (const ca of Object.values(targets)) {
      expect(await outcome(perform, operation, undefined, ca)).toBe("401");
    }
  }
});

test("a foreign id answers exactly as an absent one, to every caller of one tenant", async () => {
  const perform = performOver(await stocked());
  for (const operation of everyOperation) {
    for (const [who, principal] of [...byRole, ...byGrant]) {
      if (principal === undefined || principal.isRoot || principal.roles.length > 0) continue;
      const foreign = await refusalOf(perform, operation, principal, targets.foreign);
      const absent = await refusalOf(perform, operation, principal, targets.absent);
      expect([operation, who, foreign]).toEqual([operation, who, absent]);
    }
  }
});

test("what a refusal says of a foreign object is what it says of an absent one, to the last fact", async () => {
  const perform = performOver(await stocked());
  const admin = caller("admin", [], { [defaultTenant]: ["admin"] });
  expect(await refusalOf(perform, "cert.revoke", admin, targets.foreign)).toEqual({
    code: "forbidden",
    facts: { capability: "issue" },
  });
  expect(await refusalOf(perform, "cert.show", admin, targets.foreign)).toEqual({
    code: "not_found",
    facts: {},
  });
});

test("an attempt on a foreign object is recorded in the caller's tenant and says no more than the caller did", async () => {
  const store = await stocked();
  const perform = performOver(store);
  const admin = caller("admin", [], { [defaultTenant]: ["admin"] });
  const grantee = caller("ca-issuer", [], {});
  await outcome(perform, "cert.revoke", admin, targets.foreign);
  await outcome(perform, "cert.revoke", grantee, targets.foreign);
  await outcome(perform, "ca.rotate", grantee, targets.own);
  const several = caller("several", [], { other: ["auditor"], [defaultTenant]: ["auditor"] });
  await outcome(perform, "token.create", several, targets.own);
  await outcome(perform, "token.create", several, targets.absent);
  await outcome(perform, "ca.init_root", caller("auditor", ["auditor"], {}), targets.foreign);
  const seen = store
    .listEvents()
    .map((event) => [event.actor, event.action, event.tenant, event.caId, event.target]);
  expect(seen).toEqual([
    ["admin", "cert.revoke", "default", "", "foreign"],
    ["ca-issuer", "cert.revoke", "default", "", "foreign"],
    ["ca-issuer", "ca.rotate", "default", "own", "own"],
    ["several", "token.create", "default", "", ""],
    ["several", "token.create", "other", "", "nowhere"],
    ["auditor", "ca.init_root", "other", "", ""],
  ]);
});

test("a refused write is an event of that action, and a refused read is none", async () => {
  const store = await stocked();
  const perform = performOver(store);
  const auditor = caller("auditor", ["auditor"], {});
  await outcome(perform, "cert.revoke", auditor, targets.own);
  await outcome(perform, "token.list", auditor, targets.own);
  const events = store.listEvents();
  expect(events.map((event) => [event.action, event.result, event.actor])).toEqual([
    ["cert.revoke", "denied", "auditor"],
  ]);
});

test("a suspended tenant issues nothing and revokes as ever", async () => {
  const store = await stocked();
  const suspended = tenant("default", { status: "suspended" });
  await store.atomically((tx) => tx.tenants.update(suspended));
  const perform = performOver(store);
  const admin = caller("admin", ["admin"], {});
  const answers: Record<string, string> = {};
  for (const operation of everyOperation) {
    if (operationOf(operation).writes) {
      answers[operation] = await outcome(perform, operation, admin, targets.own);
    }
  }
  expect(answers).toMatchObject({
    "ca.init_root": "403",
    "ca.issue_intermediate": "403",
    "cert.issue": "403",
    "ca.rotate": "403",
    "ca.retire": "ok",
    "cert.revoke": "ok",
    "cert.suspend": "ok",
    "cert.release": "ok",
    "crl.publish": "ok",
  });
});

test("a nearly full disk stops what grows and nothing else", async () => {
  const perform = openPipeline({
    store: await stocked(),
    clock: testClock(),
    hasRoom: () => false,
    onDecision: () => {},
  });
  const refused: string[] = [];
  for (const operation of everyOperation) {
    const answer = await outcome(perform, operation, caller("admin", ["admin"], {}), targets.own);
    if (answer === "503") refused.push(operation);
    else expect(answer).toBe("ok");
  }
  expect(refused).toEqual([
    "ca.init_root",
    "ca.issue_intermediate",
    "ca.csr",
    "ca.import_cert",
    "ca.import",
    "cert.import",
    "ca.import_finish",
    "ca.cross_sign",
    "ca.rotate",
    "cert.issue",
    "cert.renew",
    "cert.issue_bulk",
    "acme.eab.create",
    "acme.replace.plan",
    "canary.run",
    "tenant.create",
    "token.create",
    "resource.grant",
  ]);
});

/** The pipeline on a store with room. */
const performOver = (store: MemoryStore): Perform => openPipeline({ store, clock: testClock() });

/** A word for each target, for operations that name a CA or a tenant; one word for the others. */
async function cell(perform: Perform, operation: OperationName, principal: Principal | undefined) {
  const { on } = operationOf(operation);
  const named = on === "ca" ? 4 : on === "tenant" ? 3 : 1;
  const words: string[] = [];
  for (const target of Object.values(targets).slice(0, named)) {
    words.push(await outcome(perform, operation, principal, target));
  }
  return words.join("/");
}

async function outcome(
  perform: Perform,
  operation: OperationName,
  principal: Principal | undefined,
  target: string,
): Promise<string> {
  const refusal = await refusalOf(perform, operation, principal, target);
  return refusal === undefined ? "ok" : String(new Problem(refusal.code, {}).status);
}

/**
 * Asks with the target as CA in the path, as `resource`, and as tenant of the body; undefined when
 * the handler ran.
 */
async function refusalOf(
  perform: Perform,
  operation: OperationName,
  principal: Principal | undefined,
  target: string,
): Promise<Pick<Problem, "code" | "facts"> | undefined> {
  const origin =
    principal === undefined ? undefined : { principal, ip: "192.0.2.1", requestId: "r" };
  const { by, on, in: where } = operationOf(operation);
  const named = { tenant_id: optional(text({ max: 64 })), resource: optional(text({ max: 64 })) };
  const members = on === "tenant" ? { tenant_id: tenants[target] ?? target } : {};
  const mounted = mountedAs(
    operation,
    stubOf(operation, async () => ({}), named),
  );
  const resource = { resource: `ca/${target}` };
  const asksByIt = by === "resource" && Object.hasOwn(mounted.query, "resource");
  const asked = new URLSearchParams(asksByIt ? resource : where === "query" ? members : {});
  const said = where === "query" ? {} : members;
  try {
    await perform(
      callOf(mounted, {
        origin,
        path: { id: target },
        query: asked,
        body: async () => ({ ...said, ...(by ? resource : {}) }),
      }),
    );
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return { code: error.code, facts: error.facts };
    throw error;
  }
}

async function stocked(): Promise<MemoryStore> {
  const store = createMemoryStore();
  await store.atomically(async (tx) => {
    await tx.tenants.ensure(tenant("default"));
    await tx.tenants.ensure(tenant("other"));
    await tx.cas.insert(ca("own", defaultTenant, false));
    await tx.cas.insert(ca("foreign", tenantId("other"), false));
    await tx.cas.insert(ca("internal", defaultTenant, true));
    for (const role of grantRoles) {
      await tx.access.grant({
        grantId: role,
        ca: caId("own"),
        lineage: caId("own"),
        tenant: defaultTenant,
        role,
        type: "user",
        id: role,
        scope: "self",
        createdBy: "root",
        createdAt: instant(0),
      });
    }
  });
  return store;
}

function ca(id: string, owner: TenantId, internal: boolean): CaRecord {
  const clock = testClock();
  return {
    id: caId(id),
    tenant: owner,
    label: id,
    parent: undefined,
    lineage: caId(id),
    internal,
    status: "active",
    key: { provider: "software", label: id, id },
    keyType: "ecdsa-p256",
    spki: new Uint8Array(),
    certificate: undefined,
    serial: undefined,
    subject: `CN=${id}`,
    notBefore: undefined,
    notAfter: undefined,
    maxPathLength: undefined,
    createdAt: clock.now(),
    ...noRollover,
  };
}

function caller(
  subject: string,
  platform: readonly Role[],
  tenantRoles: Readonly<Record<string, readonly Role[]>>,
): Principal {
  return {
    subject,
    person: personNamed(subject),
    isRoot: subject === "root",
    roles: platform,
    tenantRoles,
    groups: [],
    mechanism: "token",
  };
}

const targets = { own: "own", foreign: "foreign", absent: "nowhere", internal: "internal" };

/** Tenants of the targets; any other names none. */
const tenants: Readonly<Record<string, string>> = { own: "default", foreign: "other" };

const everyOperation = Object.keys(operations) as OperationName[]; // Keys of the table.

type Caller = readonly [string, Principal | undefined];
const byRole: readonly Caller[] = [
  ["nobody", undefined],
  ["root", caller("root", [], {})],
  ...roles.map((role) => [role, caller(role, [role], {})] as const),
  ...roles.map((role) => [`${role}@own`, caller(role, [], { [defaultTenant]: [role] })] as const),
];
/** Nobody anywhere, but for one grant on the first CA. */
const byGrant: readonly Caller[] = grantRoles.map((role) => [role, caller(role, [], {})]);
const last: readonly Caller[] = [["roleless", caller("roleless", [], {})]];

/** The principals of tokens as they are minted and verified. */
async function byToken(store: MemoryStore): Promise<readonly Caller[]> {
  const apiTokens = new ApiTokens({
    store,
    clock: testClock(),
    random: seededRandom(),
    maxLifetimeDays: 0,
    onVerified: () => {},
  });
  const origin = { principal: caller("root", [], {}), ip: "", requestId: "" };
  const minted = async (tenant: TenantId | undefined, role: Role): Promise<Principal> => {
    const scope = tenant === undefined ? "platform" : "tenant";
    const request = {
      name: "t",
      description: "",
      roles: [role],
      scope,
      expiresAt: undefined,
    } as const;
    const { secret } = await apiTokens.create(origin, { ...request, tenant });
    return await apiTokens.verify(secret, "192.0.2.1");
  };
  return [
    ["token issuer", await minted(undefined, "issuer")],
    ["token issuer@own", await minted(defaultTenant, "issuer")],
    ["token admin@other", await minted(tenantId("other"), "admin")],
  ];
}

/** The principals of client certificates as they are bound. */
async function byCertificate(store: MemoryStore): Promise<readonly Caller[]> {
  const root = OutsideCa.root("Outside");
  const certified = async (
    roles: readonly Role[],
    tenantRoles: Readonly<Record<string, readonly Role[]>>,
  ): Promise<Principal | undefined> => {
    const binding = { name: undefined, selectors: { subjectCn: "robot" }, subject: "robot" };
    const anchors = [parseCertificate(root.der)];
    const clients = new ClientCertificates({
      store,
      clock: { now: () => instant(Date.now()) },
      onLogin: () => {},
      log: { write: () => {} },
      paths: clientPaths(),
      trust: () => ({ anchors, bindings: [{ ...binding, roles, tenantRoles }] }),
    });
    return await clients.principal(root.client(), somewhere);
  };
  return [
    ["mtls issuer", await certified(["issuer"], {})],
    ["mtls issuer@own", await certified([], { [defaultTenant]: ["issuer"] })],
    ["mtls admin@other", await certified([], { other: ["admin"] })],
  ];
}

const legend = `# Status of every operation for every kind of caller; own/foreign/absent/internal where it names a CA, own/foreign/absent
# where it names a tenant. "ok" means the handler ran. "@own" callers hold the role only in the tenant that owns the first CA,
# "ca-…" callers nothing but a grant on it. What handlers decide themselves is in tenant-walls.test.ts.
`;
