/**
 * Four eyes: what waits, who may decide, and that the operation is done once, as its maker,
 * whatever breaks.
 */

import { beforeEach, describe, expect, test } from "bun:test";

import { localPerson, plainPerson } from "#core/access/person.ts";
import type { Principal } from "#core/access/principal.ts";
import { refuse } from "#core/problems.ts";
import { refusal, somebody } from "#test/support/worlds/governed-world.ts";
import { personNamed } from "#test/support/worlds/people.ts";
import {
  alice,
  bob,
  carol,
  type FourEyesWorld,
  fourEyesWorld,
  robert,
  rootBody,
  shell,
} from "#test/support/worlds/four-eyes-world.ts";

let world: FourEyesWorld;
beforeEach(async () => {
  world = await fourEyesWorld();
});

const park = (label = "root", who = alice) =>
  world.ask("ca.init_root", who, { body: rootBody(label) });
const show = (id: string, who = alice) => world.ask("approval.show", who, { path: { id } });
const reject = (id: string, who = bob, body: object = { comment: "no" }) =>
  world.ask("approval.reject", who, { path: { id }, body });
const retry = (id: string, who = bob) => world.ask("approval.retry", who, { path: { id } });
const roots = () => world.memory.listRows("cas").map(({ label }) => label);

describe("a guarded call", () => {
  test("waits, shows everything that would be executed, and does nothing", async () => {
    const parked = await park();
    expect(parked).toMatchObject({
      code: 202,
      status: "pending_approval",
      required_approvals: 1,
      approvals_count: 0,
      approval: {
        operation_class: "ca.create",
        resource_key: "ca:new:root",
        resource_name: "root",
        requested_by: "alice",
        status: "pending",
        tenant_id: "default",
        attempts: 0,
        details: {
          label: "root",
          subject: { cn: "Root" },
          key_type: "ecdsa-p256",
          algorithm: "classical",
          tenant_id: "default",
        },
      },
    });
    expect(parked.headers["x-pki-approval-id"]).toBe(parked.approval_id);
    expect(roots()).toEqual([]);
    expect(world.actions()).toEqual(["ca.create.pending success"]);
  });

  test("is executed by the decision that meets the threshold, as its maker, with the approval in the event", async () => {
    const { approval_id: id } = await park();
    const approved = await world.approve(bob, id);
    expect(approved).toMatchObject({ status: "executed", approvals_count: 1, attempts: 1 });
    expect(approved.result).toMatchObject({ label: "root", status: "active" });
    expect(roots()).toEqual(["root"]);
    const done = world.memory.listEvents().find(({ action }) => action === "ca.init_root");
    expect(done).toMatchObject({
      actor: "alice",
      detail: expect.stringContaining(`approval=${id}`),
    });
    expect(world.actions()).toContain("ca.create.approved success");
  });

  test("asked for again by its maker is the same request, by anybody else another one", async () => {
    const { approval_id: id } = await park();
    expect((await park()).approval_id).toBe(id);
    expect((await park("root", carol)).approval_id).not.toBe(id);
    expect((await park("other")).approval_id).not.toBe(id);
  });

  test("that comes many times at once makes one request", async () => {
    const parked = await Promise.all(Array.from({ length: 8 }, () => park()));
    expect(new Set(parked.map(({ approval_id }) => approval_id)).size).toBe(1);
    expect(world.memory.countRows("approvals")).toBe(1);
  });

  test("repeated after its execution gets the ordinary answer, once; then it is a new call", async () => {
    const { approval_id: id } = await park();
    await world.approve(bob, id);
    expect(await park()).toMatchObject({ code: 201, label: "root" });
    expect((await show(id)).collected_at).toBeDefined();
    expect(await refusal(park())).toMatchObject({ code: "already_exists" });
    const named = { body: rootBody(), named: id };
    for (let time = 0; time < 3; time++) {
      expect(await world.ask("ca.init_root", alice, named)).toMatchObject({ code: 201 });
    }
    const foreign = await refusal(world.ask("ca.init_root", carol, named));
    expect(foreign.code).toBe("not_found");
  });

  test("that names a request is answered from it or refused, and never done anew", async () => {
    world = await fourEyesWorld({ thresholds: { "token.create": 1 }, default_threshold: 0 });
    const named = "apr_00000000-0000-4000-8000-000000000000";
    const asked = world.ask("ca.init_root", alice, { body: rootBody(), named });
    expect((await refusal(asked)).code).toBe("not_found");
    const reader = { name: "ci", roles: ["auditor"] };
    const harmless = world.ask("token.create", alice, { body: reader, named });
    expect((await refusal(harmless)).code).toBe("not_found");
    expect(roots()).toEqual([]);
    expect(world.memory.countRows("tokens")).toBe(0);
  });

  test("that could not be done anyway is refused and not parked", async () => {
    const { approval_id: id } = await park();
    await world.approve(bob, id);
    await park();
    expect((await refusal(park("root", carol))).code).toBe("already_exists");
    const bad = { ...rootBody("b"), algorithm: "pqc" };
    const refused = await refusal(world.ask("ca.init_root", alice, { body: bad }));
    expect(refused.code).toBe("key_type_unsupported");
    expect(world.memory.countRows("approvals")).toBe(1);
  });

  test("is refused while requests cannot be stored, and nothing is done", async () => {
    world.memory.checkWrite = (name) => {
      if (name.startsWith("approvals.")) throw refuse("storage_unavailable", { retry_after: 1 });
    };
    expect((await refusal(park())).code).toBe("storage_unavailable");
    expect(roots()).toEqual([]);
  });
});

describe("a decision", () => {
  test("31: the maker's own API token cannot approve the maker's request, and the attempt is on record", async () => {
    const { approval_id: id } = await park("root", carol);
    const origin = { principal: carol, ip: "", requestId: "" };
    const { apiToken } = await world.apiTokens.create(origin, {
      name: "t",
      description: "",
      roles: ["admin"],
      scope: "platform",
      tenant: undefined,
      expiresAt: undefined,
    });
    const principal = await world.apiTokens.principal(apiToken.id);
    if (principal === undefined) throw new Error("just minted");
    expect((await refusal(world.approve(principal, id))).code).toBe("self_approval");
    expect((await refusal(world.approve(carol, id))).code).toBe("self_approval");
    expect(world.actions().filter((one) => one === "ca.create.approved denied")).toHaveLength(2);
    expect(roots()).toEqual([]);
  });

  test("that somebody may read and not make is on record once a minute, however often it is tried", async () => {
    const reader = somebody("reader", ["auditor"]);
    const ids = [(await park()).approval_id, (await park("other")).approval_id];
    for (let time = 0; time < 20; time++) {
      for (const id of ids) expect((await refusal(reject(id, reader))).code).toBe("forbidden");
    }
    const denied = () =>
      world.memory
        .listEvents()
        .filter(({ action, result }) => action === "ca.create.approved" && result === "denied")
        .map(({ actor, target, detail }) => [actor, target, /reason=.*/.exec(detail)?.[0]]);
    expect(denied()).toEqual([["reader", ids[0], "reason=forbidden"]]);
    await world.refusals.fold(true);
    expect(denied().at(-1)).toEqual(["reader", ids[1], "reason=forbidden count=39"]);
    expect(denied()).toHaveLength(2);
  });

  test("of somebody with the maker's verified address is the maker's, and so is a second shell", async () => {
    const { approval_id: id } = await park("root", bob);
    expect((await refusal(world.approve(robert, id))).code).toBe("self_approval");
    const { approval_id: local } = await park("second", shell);
    const other = somebody("local:other", ["admin"], { person: localPerson, mechanism: "local" });
    expect((await refusal(world.approve(other, local))).code).toBe("self_approval");
  });

  test("of a namesake whom somebody else vouches for is refused, and the request stays the maker's", async () => {
    const { approval_id: id } = await park();
    const namesakes = [
      { ...alice.person, issuer: "https://other.x.test" },
      plainPerson("ldap", "alice"),
      plainPerson("mtls", "alice"),
    ].map((person) => somebody("alice", ["admin"], { person }));
    for (const one of namesakes) {
      expect((await refusal(world.approve(one, id))).code).toBe("self_approval");
    }
    const stranger = { ...(namesakes[1] ?? alice), roles: [] };
    expect((await refusal(show(id, stranger))).code).toBe("not_found");
    expect((await refusal(reject(id, stranger))).code).toBe("forbidden");
    expect((await refusal(retry(id, stranger))).code).toBe("forbidden");
    expect((await show(id)).status).toBe("pending");
  });

  test("of who has the maker's name and address for a subject is a stranger's", async () => {
    const boss = somebody("boss", ["admin"], { person: personNamed("boss", "boss@corp.test") });
    const { approval_id: id } = await park("root", boss);
    const subject = "eve <boss@corp.test>";
    const eve = somebody(subject, [], { person: personNamed(subject) });
    expect((await refusal(show(id, eve))).code).toBe("not_found");
    expect((await refusal(reject(id, eve))).code).toBe("forbidden");
    expect((await world.ask("approval.list", eve)).items).toEqual([]);
    const request = { name: "ci", roles: ["admin"], scope: "platform" };
    const parked = await world.ask("token.create", boss, { body: request });
    const named = { body: request, named: parked.approval_id };
    await world.approve(bob, parked.approval_id);
    const admin = { ...eve, roles: ["admin"] as const };
    expect((await refusal(world.ask("token.create", admin, named))).code).toBe("not_found");
    expect((await world.ask("token.create", boss, named)).secret).toMatch(/^pki_pat_/);
    expect((await world.approve(admin, id)).status).toBe("executed");
  });

  test("is not ended by who means to withdraw a request of somebody else's", async () => {
    const { approval_id: id } = await park();
    const withdraw = (who: Principal) => reject(id, who, { comment: "mine", withdraw: true });
    const told = await refusal(withdraw(bob));
    expect(told).toMatchObject({ code: "forbidden" });
    expect((await show(id)).status).toBe("pending");
    expect((await withdraw(alice)).status).toBe("rejected");
    const { approval_id: again } = await park();
    expect((await reject(again, bob)).status).toBe("rejected");
  });

  test("can be had from enough operators beside the maker, or the request is not stored", async () => {
    const operators = { "ca.create": ["alice", "bob", "b@x.test", "carol"] };
    world = await fourEyesWorld({ thresholds: { "ca.create": 3 }, operators });
    // Bob is listed by his name and by his address: beside him there are two.
    expect(await refusal(park("root", bob))).toMatchObject({
      code: "approval_unreachable",
      facts: { required_approvals: 3, operators: 2 },
    });
    expect(world.actions()).toEqual([]);
    expect((await park("root", alice)).code).toBe(202);
    expect((await park("root", shell)).code).toBe(202);
  });

  test("counts once for a person, whatever it is called", async () => {
    world = await fourEyesWorld({ default_threshold: 2 });
    const { approval_id: id } = await park();
    expect(await world.approve(bob, id)).toMatchObject({ status: "pending", approvals_count: 1 });
    expect((await refusal(world.approve(bob, id))).code).toBe("already_decided");
    expect((await refusal(world.approve(robert, id))).code).toBe("already_decided");
    expect(await world.approve(carol, id)).toMatchObject({ status: "executed" });
  });

  test("of who is not listed for the class does not count", async () => {
    world = await fourEyesWorld({ operators: { "ca.create": ["carol", "b@x.test"] } });
    const dave = somebody("dave", ["admin"]);
    const { approval_id: id } = await park();
    expect((await refusal(world.approve(dave, id))).code).toBe("forbidden");
    expect(await world.approve(robert, id)).toMatchObject({ status: "executed" });
    const forged = somebody("b@x.test", ["admin"]);
    const { approval_id: next } = await park("next");
    expect((await refusal(world.approve(forged, next))).code).toBe("forbidden");
  });

  test("32: that meets the threshold executes the operation, once, whoever races", async () => {
    const { approval_id: id } = await park();
    const racers = [bob, carol, somebody("dave", ["admin"]), somebody("erin", ["admin"])];
    const outcomes = await Promise.all(racers.map((who) => refusal(world.approve(who, id))));
    expect(outcomes.map(({ code }) => code).sort()).toEqual([
      "accepted",
      "approval_not_pending",
      "approval_not_pending",
      "approval_not_pending",
    ]);
    expect(roots()).toEqual(["root"]);
    expect(world.performed).toEqual(["ca.init_root"]);
  });

  test("36: a rejection needs a reason and ends the request; a maker withdraws without any role", async () => {
    const maker = somebody("maker", { web: ["admin"] });
    const parked = await park("root", maker);
    const { approval_id: id } = parked;
    expect((await refusal(reject(id, bob, {}))).code).toBe("missing_field");
    expect((await refusal(reject(id, bob, { comment: "  " }))).code).toBe("invalid_field");
    const reduced = somebody("maker", []);
    expect(await show(id, reduced)).toMatchObject({ status: "pending" });
    expect(await reject(id, reduced, { reason: "changed my mind" })).toMatchObject({
      status: "rejected",
      decisions: [{ approver: "maker", decision: "reject", comment: "changed my mind" }],
    });
    expect((await refusal(world.approve(bob, id))).code).toBe("approval_not_pending");
    const told = world.memory.listEvents().at(-1);
    expect(told).toMatchObject({ action: "ca.create.rejected" });
    expect(told?.detail).toContain("withdrawn=true");
    expect((await park("root", maker)).approval_id).not.toBe(id);
  });

  test("37: a request past its time cannot be approved, sweep or no sweep", async () => {
    const { approval_id: id } = await park();
    world.clock.advance(72 * 3600);
    expect((await refusal(world.approve(bob, id))).code).toBe("approval_expired");
    expect(await show(id)).toMatchObject({ status: "expired" });
    expect((await park()).approval_id).not.toBe(id);
    const { approval_id: other } = await park("other");
    world.clock.advance(72 * 3600);
    await world.approvals.sweep();
    expect((await world.memory.read.approvals.byId(other))?.status).toBe("expired");
  });

  test("9: of a foreign request is refused exactly as of an absent one", async () => {
    const { approval_id: id } = await world.ask("ca.init_root", alice, { body: rootBody() });
    const elsewhere = somebody("eve", { web: ["approver"] });
    const absent = "apr_00000000-0000-4000-8000-000000000000";
    expect(await refusal(world.approve(elsewhere, id))).toEqual(
      await refusal(world.approve(elsewhere, absent)),
    );
    expect(await refusal(show(id, elsewhere))).toEqual(await refusal(show(absent, elsewhere)));
    expect((await world.ask("approval.list", elsewhere)).items).toEqual([]);
    expect((await world.ask("approval.list", alice)).items).toHaveLength(1);
  });
});

describe("an execution", () => {
  test("33: that meets a key store that is away can be repeated without new approvals", async () => {
    const { approval_id: id } = await park();
    world.keys.checkTicket = () => {
      throw refuse("key_unavailable", { retry_after: 2 });
    };
    const failed = await world.approve(bob, id);
    expect(failed).toMatchObject({
      status: "failed",
      failure: { code: "key_unavailable", retryable: true },
    });
    const keysMade = world.keys.held.size;
    world.keys.checkTicket = () => {};
    expect(await retry(id)).toMatchObject({ status: "executed", attempts: 2 });
    expect(world.keys.held.size).toBe(keysMade);
    expect(roots()).toEqual(["root"]);
    expect((await refusal(retry(id))).code).toBe("approval_not_retryable");
  });

  test("that failed for a passing reason is done when its maker asks again", async () => {
    const { approval_id: id } = await park();
    world.keys.checkTicket = () => {
      throw refuse("key_unavailable", { retry_after: 2 });
    };
    await world.approve(bob, id);
    expect((await refusal(park())).code).toBe("key_unavailable");
    world.keys.checkTicket = () => {};
    expect(await park()).toMatchObject({ code: 201, label: "root" });
    expect(roots()).toEqual(["root"]);
  });

  test("APR-2: is the maker's with the roles of now, and is refused to who has lost them", async () => {
    const { approval_id: lost } = await park("lost");
    const { approval_id: gone } = await park("gone");
    world.becoming((then) => ({ ...then, roles: ["auditor"] }));
    expect(await world.approve(bob, lost)).toMatchObject({
      status: "failed",
      failure: { code: "forbidden", retryable: false },
    });
    world.becoming(() => undefined);
    expect(await world.approve(bob, gone)).toMatchObject({ failure: { code: "forbidden" } });
    expect(roots()).toEqual([]);
    expect(world.actions()).toContain("ca.init_root denied");
    world.becoming((then) => then);
    expect((await refusal(retry(lost))).code).toBe("approval_not_retryable");
    const { approval_id: again } = await park("lost");
    expect((await world.approve(bob, again)).status).toBe("executed");
  });

  test("whose state has changed fails for good", async () => {
    const { approval_id: first } = await park("root", alice);
    const { approval_id: second } = await park("root", carol);
    await world.approve(bob, first);
    expect(await world.approve(bob, second)).toMatchObject({
      status: "failed",
      failure: { code: "already_exists", retryable: false },
    });
    expect((await refusal(retry(second))).code).toBe("approval_not_retryable");
  });

  test("for a maker whose token was revoked, or in a suspended tenant, does nothing", async () => {
    const origin = { principal: carol, ip: "", requestId: "" };
    const { apiToken } = await world.apiTokens.create(origin, {
      name: "t",
      description: "",
      roles: ["admin"],
      scope: "platform",
      tenant: undefined,
      expiresAt: undefined,
    });
    const maker = await world.apiTokens.principal(apiToken.id);
    const { approval_id: id } = await park("root", maker);
    await world.apiTokens.revoke(origin, apiToken.id);
    expect(await world.approve(bob, id)).toMatchObject({ failure: { code: "invalid_token" } });
    const body = { ...rootBody("second"), tenant_id: "web" };
    const parked = await world.ask("ca.init_root", alice, { body });
    const web = await world.store.read.tenants.named("web");
    if (web === undefined) throw new Error("made by the world");
    await world.store.atomically((tx) => tx.tenants.update({ ...web, status: "suspended" }));
    expect(await world.approve(bob, parked.approval_id)).toMatchObject({
      failure: { code: "tenant_suspended", retryable: false },
    });
    expect(roots()).toEqual([]);
  });

  test("a second effect of one approval is impossible, and leaves nothing", async () => {
    const { approval_id: id } = await park();
    await world.approve(bob, id);
    const again = world.store.atomically(async (tx) => {
      await tx.instance.setValue("second", "yes");
      const draft = { action: "ca.init_root", result: "success", actor: "alice" } as const;
      await tx.audit.appendEvent({ ...draft, approval: id }, world.clock.now());
    });
    expect((await refusal(again)).code).toBe("approval_not_pending");
    expect(await world.store.read.instance.value("second")).toBeUndefined();
  });

  test("a crash left is done by the sweep, once", async () => {
    const { approval_id: id } = await park();
    const claim = "update approvals set status = 'executing', attempts = 1 where id = ?";
    await world.memory.tamper(claim, id);
    await Promise.all([world.approvals.sweep(), world.approvals.sweep()]);
    expect(await show(id)).toMatchObject({ status: "executed", attempts: 2 });
    await world.approvals.sweep();
    expect(world.performed).toEqual(["ca.init_root"]);
  });

  test("what broke after the effect leaves it executed, and the maker finds what was made", async () => {
    const { approval_id: id } = await park();
    let saves = 0;
    world.memory.checkWrite = (name) => {
      if (name !== "approvals.save") return;
      saves += 1;
      // Claimed, and with the effect; then the answer never gets there.
      if (saves === 3) throw refuse("storage_unavailable", { retry_after: 1 });
    };
    await world.approve(bob, id);
    expect((await world.memory.read.approvals.byId(id))?.status).toBe("executed");
    world.clock.advance(61);
    const answer = await park();
    expect(answer).toMatchObject({ code: 200, status: "executed", action: "ca.init_root" });
  });
});

describe("a token with power", () => {
  const body = { name: "ci", roles: ["issuer"] };
  const mint = (who = alice, more: object = {}) =>
    world.ask("token.create", who, { body: { ...body, ...more } });

  test("34: its secret is shown once, to its maker, never to an approver", async () => {
    const { approval_id: id } = await mint();
    const approved = await world.approve(bob, id);
    expect(approved).toMatchObject({ status: "executed", result: { name: "ci" } });
    expect(approved.result.secret).toBeUndefined();
    expect(world.memory.countRows("sealedValues")).toBe(1);
    const got = await mint();
    expect(got).toMatchObject({ code: 201, name: "ci", created_by: "alice" });
    expect(await world.apiTokens.verify(got.secret, "")).toMatchObject({ person: alice.person });
    expect(world.memory.countRows("sealedValues")).toBe(0);
    const kept = JSON.stringify(world.memory.listRows("approvals"));
    expect(kept).not.toContain(got.secret.slice(20));
    const named = world.ask("token.create", alice, { body, named: id });
    expect((await refusal(named)).code).toBe("secret_already_shown");
  });

  test("of two that fetch the secret at once one gets it", async () => {
    const { approval_id: id } = await mint();
    await world.approve(bob, id);
    const named = () => refusal(world.ask("token.create", alice, { body, named: id }));
    const codes = (await Promise.all([named(), named()])).map(({ code }) => code);
    expect(codes.sort()).toEqual(["accepted", "secret_already_shown"]);
  });

  test("that may only read needs nobody", async () => {
    expect(await mint(alice, { roles: ["auditor"] })).toMatchObject({ code: 201 });
    expect(await mint(alice, { roles: ["auditor"], scope: "platform" })).toMatchObject({
      code: 202,
      approval: { resource_key: "token:new:platform:ci" },
    });
  });
});
