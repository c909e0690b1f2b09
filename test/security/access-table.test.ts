/** THE ACCESS TABLE: every operation tried by every kind of caller, on its own tenant, another one and an absent id. */

import { expect, test } from "bun:test";

import type { Principal } from "#core/access/principal.ts";
import { type Role, roles } from "#core/access/roles.ts";
import { caId, defaultTenant, type TenantId, tenantId } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { handler, ok } from "#domain/access/call.ts";
import { type Perform, pipeline } from "#domain/access/perform.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { type OperationName, operationOf, operations } from "#operations";
import { noRollover } from "#test/support/records.ts";
import { expectGolden } from "#test/support/golden.ts";
import { type MemoryStore, openMemoryStore } from "#test/support/memory-store.ts";
import { testClock } from "#test/support/ports.ts";

test("the security posture is the one on record", async () => {
  const store = await stocked();
  const perform = performOver(store);
  const lines = [`${"operation".padEnd(22)} ${callers.map(([n]) => n.padEnd(17)).join(" ")}`];
  for (const operation of Object.keys(operations) as OperationName[]) {
    const cells: string[] = [];
    for (const [, principal] of callers) cells.push(await cell(perform, operation, principal));
    lines.push(`${operation.padEnd(22)} ${cells.map((text) => text.padEnd(17)).join(" ")}`);
  }
  expectGolden("access-table.txt", `${legend}\n${lines.map((l) => l.trimEnd()).join("\n")}\n`);
});

test("no operation that needs a credential answers without one", async () => {
  const perform = performOver(await stocked());
  for (const operation of Object.keys(operations) as OperationName[]) {
    if (operationOf(operation).needs === "pub") continue;
    for (const ca of Object.values(targets)) {
      expect(await outcome(perform, operation, undefined, ca)).toBe("401");
    }
  }
});

test("a foreign id answers exactly as an absent one, to every caller of one tenant", async () => {
  const perform = performOver(await stocked());
  for (const operation of Object.keys(operations) as OperationName[]) {
    if (operationOf(operation).on !== "ca") continue;
    for (const role of roles) {
      const principal = caller(`${role}`, [], { [defaultTenant]: [role] });
      expect(await outcome(perform, operation, principal, targets.foreign)).toBe(
        await outcome(perform, operation, principal, targets.absent),
      );
    }
  }
});

test("a refused write is an event of that action, and a refused read is none", async () => {
  const store = await stocked();
  const perform = performOver(store);
  const auditor = caller("auditor", ["auditor"], {});
  await outcome(perform, "cert.revoke", auditor, targets.own);
  await outcome(perform, "token.list", auditor, targets.own);
  const events = [...store.state.events.values()];
  expect(events.map((event) => [event.action, event.result, event.actor])).toEqual([
    ["cert.revoke", "denied", "auditor"],
  ]);
});

test("a suspended tenant issues nothing and revokes as ever", async () => {
  const store = await stocked();
  store.state.tenants.set("default", { ...tenant("default"), status: "suspended" });
  const perform = performOver(store);
  const admin = caller("admin", ["admin"], {});
  const answers: Record<string, string> = {};
  for (const operation of Object.keys(operations) as OperationName[]) {
    if (operationOf(operation).writes) {
      answers[operation] = await outcome(perform, operation, admin, targets.own);
    }
  }
  expect(answers).toMatchObject({
    ...{ "ca.init_root": "403", "ca.issue_intermediate": "403", "cert.issue": "403" },
    ...{ "ca.rotate": "403", "ca.retire": "ok" },
    ...{ "cert.revoke": "ok", "cert.suspend": "ok", "cert.release": "ok", "crl.publish": "ok" },
  });
});

test("a nearly full disk stops what grows and nothing else", async () => {
  const perform = pipeline({
    ...{ store: await stocked(), clock: testClock(), hasRoom: () => false, onDecision: () => {} },
  });
  const refused: string[] = [];
  for (const operation of Object.keys(operations) as OperationName[]) {
    const answer = await outcome(perform, operation, caller("admin", ["admin"], {}), targets.own);
    if (answer === "503") refused.push(operation);
    else expect(answer).toBe("ok");
  }
  expect(refused).toEqual([
    "ca.init_root",
    "ca.issue_intermediate",
    "ca.csr",
    "ca.import_cert",
    "ca.cross_sign",
    "ca.rotate",
    "cert.issue",
    "cert.renew",
    "cert.issue_bulk",
    "token.create",
  ]);
});

/** The pipeline on a store with room. */
const performOver = (store: MemoryStore): Perform =>
  pipeline({ store, clock: testClock(), hasRoom: () => true, onDecision: () => {} });

/** `own/foreign/absent` for operations on a CA of the path, one word for the others. */
async function cell(perform: Perform, operation: OperationName, principal: Principal | undefined) {
  if (operationOf(operation).on !== "ca")
    return outcome(perform, operation, principal, targets.own);
  const words: string[] = [];
  for (const ca of Object.values(targets)) {
    words.push(await outcome(perform, operation, principal, ca));
  }
  return words.join("/");
}

async function outcome(
  perform: Perform,
  operation: OperationName,
  principal: Principal | undefined,
  ca: string,
): Promise<string> {
  const origin =
    principal === undefined ? undefined : { principal, ip: "192.0.2.1", requestId: "r" };
  try {
    await perform(
      { operation, origin, path: { id: ca }, query: new URLSearchParams(), body: async () => ({}) },
      handler({ summary: "", run: async () => ok({}) }),
    );
    return "ok";
  } catch (error) {
    if (error instanceof Problem) return String(error.status);
    throw error;
  }
}

async function stocked(): Promise<MemoryStore> {
  const store = openMemoryStore();
  await store.atomically(async (tx) => {
    await tx.access.ensureTenant(tenant("default"));
    await tx.access.ensureTenant(tenant("other"));
    await tx.cas.insert(ca("own", defaultTenant, false));
    await tx.cas.insert(ca("foreign", tenantId("other"), false));
    await tx.cas.insert(ca("internal", defaultTenant, true));
  });
  return store;
}

function ca(id: string, owner: TenantId, internal: boolean): CaRecord {
  const clock = testClock();
  return {
    ...{ id: caId(id), tenant: owner, label: id, parent: undefined, lineage: caId(id), internal },
    ...{ status: "active", key: { provider: "software", label: id, id }, keyType: "ecdsa-p256" },
    ...{ spki: new Uint8Array(), certificate: undefined, serial: undefined, subject: `CN=${id}` },
    ...{ notBefore: undefined, notAfter: undefined, maxPathLength: undefined },
    ...{ createdAt: clock.now(), ...noRollover },
  };
}

function tenant(id: string) {
  const createdAt = testClock().now();
  return { id: tenantId(id), slug: id, name: id, status: "active" as const, createdAt };
}

function caller(
  subject: string,
  platform: readonly Role[],
  tenantRoles: Readonly<Record<string, readonly Role[]>>,
): Principal {
  return {
    ...{ subject, person: subject, isRoot: subject === "root", roles: platform, tenantRoles },
    ...{ groups: [], mechanism: "token" },
  };
}

const targets = { own: "own", foreign: "foreign", absent: "nowhere", internal: "internal" };

const callers: readonly (readonly [string, Principal | undefined])[] = [
  ["nobody", undefined],
  ["root", caller("root", [], {})],
  ...roles.map((role) => [role, caller(role, [role], {})] as const),
  ...roles.map((role) => [`${role}@own`, caller(role, [], { [defaultTenant]: [role] })] as const),
  ["roleless", caller("roleless", [], {})],
];

const legend = `# Status of every operation for every kind of caller; own/foreign/absent/internal CA where the path names one.
# "ok" means the handler ran. "@own" callers hold the role only in the tenant that owns the first CA.
`;
