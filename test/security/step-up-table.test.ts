/**
 * No end that weighs is reached unconfirmed by another door: every operation says what it is for,
 * and a session must confirm it.
 */

import { askJson, openPipeline, stubOf } from "#test/support/worlds/asking.ts";
import { describe, expect, test } from "bun:test";

import { ownPerson } from "#core/access/person.ts";
import { fixedStepUps, usualStepUps } from "#core/access/step-up.ts";
import { defaultTenant } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import { instant } from "#core/time.ts";
import type { Origin } from "#domain/actor.ts";
import type { Session } from "#domain/actor.ts";
import { stepUpGate } from "#domain/access/step-up.ts";
import type { PasskeyRecord } from "#domain/access/store.ts";
import { type OperationName, operationOf, operations, routeOf } from "#operations";
import { initRoot, issuanceWorld } from "#test/support/worlds/issuance.ts";

/**
 * What a writing operation is for. `revokes`: what certificates stand for is taken away or given
 * back. `mints`: a credential outlives the session. `grants`: rights on a CA. `ca`: a CA
 * certificate is signed, replaced or deleted. `executes`: an approved operation is done.
 * `passkeys`: asked for by the service of passkeys itself. `other`: none of them.
 */
type End = "revokes" | "mints" | "grants" | "ca" | "kek" | "executes" | "passkeys" | "other";

type Writing = {
  [N in OperationName]: (typeof operations)[N] extends { readonly writes: true } ? N : never;
}[OperationName];

/** Exhaustive: a writing operation without an end does not compile. */
const ends: Readonly<Record<Writing, End>> = {
  "cert.revoke": "revokes",
  "cert.suspend": "revokes",
  "cert.release": "revokes",
  "cert.revoke_bulk": "revokes",
  "acme.replace.plan": "revokes",
  "crl.import": "revokes",
  "ca.retire": "revokes",
  "token.create": "mints",
  "resource.grant": "grants",
  "resource.revoke": "grants",
  "ca.init_root": "ca",
  "ca.issue_intermediate": "ca",
  "ca.cross_sign": "ca",
  "ca.rotate": "ca",
  "ca.delete": "ca",
  "kek.rotate": "kek",
  "hsm.factory_reset": "kek",
  "approval.approve": "executes",
  "approval.retry": "executes",
  "webauthn.register_begin": "passkeys",
  "webauthn.register": "passkeys",
  "webauthn.step_up": "passkeys",
  "webauthn.remove": "passkeys",
  // Guarded as removing one's own, which always is.
  "webauthn.reset": "mints",
  // Ends nothing and opens nothing: a request and a key, and a certificate somebody else has
  // signed.
  "ca.csr": "other",
  "ca.import_cert": "other",
  // By the local administrator alone, who is no person in a session.
  "ca.import": "other",
  "ca.import_finish": "other",
  "cert.import": "other",
  "cert.issue": "other",
  "cert.renew": "other",
  "cert.issue_bulk": "other",
  "crl.publish": "other",
  "publish.run": "other",
  "ocsp.presign": "other",
  "backup.run": "other",
  "retention.run": "other",
  "canary.run": "other",
  "backup.make": "other",
  "backup.drilled": "other",
  "monitor.clock_accept": "other",
  "db.accept_rollback": "other",
  "tenant.create": "other",
  "tenant.update": "other",
  "tenant.status": "other",
  "tenant.delete": "other",
  "session.end": "other",
  "token.revoke": "other",
  "approval.reject": "other",
  "key.block": "other",
  "key.unblock": "other",
  // A key that opens an account, which proves every name by itself.
  "acme.eab.create": "other",
  "acme.eab.revoke": "other",
  "acme.account.deactivate": "other",
  "acme.replace.cancel": "other",
  "acme.authz.deactivate": "other",
  "acme.order.deactivate": "other",
};
const guarded = (Object.keys(ends) as Writing[]).filter(
  (name) => !["other", "passkeys"].includes(ends[name]), // Keys of the table.
);

describe("by default", () => {
  test("exactly what is listed is confirmed", () => {
    expect([...usualStepUps].sort()).toEqual([
      "approval.approve",
      "ca.cross_sign",
      "ca.init_root",
      "ca.issue_intermediate",
      "ca.manage",
      "ca.retire",
      "ca.rotate",
      "cert.revoke",
      "cert.revoke_bulk",
      "grant.change",
      "hsm.factory_reset",
      "kek.rotate",
      "token.create",
    ]);
    expect([...fixedStepUps].sort()).toEqual(["webauthn.register", "webauthn.remove"]);
  });

  test("whatever writes under another name than a writing operation only reads, asks or logs in", () => {
    const names = Object.keys(operations) as OperationName[]; // Keys of the table.
    const unmarked = names.filter(
      (name) =>
        routeOf(name).method !== "GET" &&
        operationOf(name).writes !== true &&
        // Devices prove themselves in each message, and no session gets in there.
        operationOf(name).speaks !== "acme",
    );
    expect(unmarked.sort()).toEqual([
      "auth.login_ldap",
      "auth.login_password",
      "auth.logout",
      "cert.lint",
      "cert.preview",
      "cert.validate",
      "csr.parse",
      "ct.verify",
      "import.check",
      "kek.try",
      "ocsp.post",
      "preflight.run",
      "webauthn.step_up_begin",
    ] as OperationName[]);
  });

  for (const name of guarded) {
    test(`${name} is refused to a session that has not confirmed, and done for one that has`, async () => {
      const world = issuanceWorld();
      const id = (await initRoot(world)).id;
      const perform = openPipeline({
        ...world,
        hasRoom: () => true,
        onDecision: () => {},
        stepUp: stepUpGate(world, usualStepUps),
      });
      let done = 0;
      const counting = async () => {
        done += 1;
        return {};
      };
      const anything = stubOf(name, counting);
      const call = (stepUpUntil: number | undefined) => ({
        operation: name,
        origin: inSession(stepUpUntil),
        path: { id },
        query: new URLSearchParams(),
        body: async () => (operationOf(name).by === undefined ? {} : { resource: `ca/${id}` }),
      });
      const refused = await askJson(perform, call(undefined), anything).catch(thrown);
      expect(refused).toBeInstanceOf(Problem);
      expect(refused).toMatchObject({ code: "step_up_required" });
      expect(done).toBe(0);
      const confirmed = call(world.clock.now() + 1000);
      // Not with a passkey that is gone.
      const gone = await askJson(perform, confirmed, anything).catch(thrown);
      expect(gone).toMatchObject({ code: "step_up_required" });
      await world.store.atomically(async (tx) => {
        await tx.access.insertPasskey(passkeyOfRoot);
      });
      await askJson(perform, confirmed, anything);
      expect(done).toBe(1);
    });
  }
});

const passkeyOfRoot: PasskeyRecord = {
  id: "key",
  owner: ownPerson("root"),
  name: "key",
  publicKey: new Uint8Array(77),
  signCount: 0,
  createdAt: instant(0),
  lastUsedAt: undefined,
};

const thrown = (error: unknown) => error;

/** Root in a session, confirmed until then. */
function inSession(stepUpUntil: number | undefined): Origin {
  const principal = {
    subject: "root",
    person: ownPerson("root"),
    isRoot: true,
    groups: [],
    roles: [],
    tenantRoles: { [defaultTenant]: [] },
    mechanism: "session" as const,
  };
  // The gate looks at nothing else of a session.
  const confirmed = { stepUpUntil, stepUpBy: passkeyOfRoot.id };
  const session = { principal, digest: "0".repeat(32), ...confirmed } as unknown as Session;
  return { principal, session, ip: "192.0.2.1", requestId: "r" };
}
