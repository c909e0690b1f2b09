/**
 * TEN-1: quotas are reserved before the key is used, given back when nothing came of it, and exact
 * under concurrency.
 */

import { beforeEach, describe, expect, test } from "bun:test";

import { tenantId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";
import { type Instant, instant } from "#core/time.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import type { Quotas } from "#domain/tenants/store.ts";
import { type GovernedWorld, governedWorld, refusal } from "#test/support/worlds/governed-world.ts";
import { csr, leafRequest, rootOrigin } from "#test/support/worlds/issuance.ts";

let world: GovernedWorld;
let ca: CaRecord;
beforeEach(async () => {
  world = await governedWorld();
  ca = await world.ca("web-issuing");
});

const issue = () => world.issuance.issue(rootOrigin, ca, leafRequest());
const limit = (quotas: Partial<Quotas>) =>
  world.store.atomically(async (tx) => {
    const tenant = await tx.tenants.lock(tenantId("web"));
    if (tenant === undefined) throw new Error("the tenant is not there");
    await tx.tenants.update({ ...tenant, quotas: { ...tenant.quotas, ...quotas } });
  });
const at = (text: string): Instant => instant(Date.parse(text));
const signatures = () => world.keys.signed.length;

describe("the daily quota", () => {
  test("admits exactly as many as it says, however many ask at once", async () => {
    await limit({ maxCertsPerDay: 5 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => refusal(issue())));
    expect(answers.filter(({ code }) => code === "accepted")).toHaveLength(5);
    expect(answers.filter(({ code }) => code === "quota_exceeded")).toHaveLength(15);
    expect(await world.store.read.tenants.used(ca.tenant, world.clock.now())).toEqual({
      today: 5,
      active: 5,
    });
  });

  test("names itself and the seconds to UTC midnight, and begins anew there", async () => {
    await limit({ maxCertsPerDay: 1 });
    world.clock.at = at("2026-06-02T23:59:30.250Z");
    await issue();
    expect(await refusal(issue())).toEqual({
      code: "quota_exceeded",
      facts: { quota: "max_certs_per_day", retry_after: 30 },
    });
    world.clock.at = at("2026-06-03T00:00:00Z");
    await issue();
    expect(await refusal(issue())).toMatchObject({ facts: { retry_after: 86_400 } });
  });

  test("counts renewals, and a revocation gives nothing of the day back", async () => {
    await limit({ maxCertsPerDay: 2 });
    const { serial } = await issue();
    await world.issuance.renew(rootOrigin, ca, {
      serial,
      csr: undefined,
      validityDays: undefined,
      caller: "interactive",
    });
    await world.ask("cert.revoke", rootOrigin.principal, { path: { id: ca.id }, body: { serial } });
    expect(await refusal(issue())).toMatchObject({ code: "quota_exceeded" });
  });

  test("is given back when the key provider fails, and was used while it signed", async () => {
    await limit({ maxCertsPerDay: 1 });
    const used = () => world.store.read.tenants.used(ca.tenant, world.clock.now());
    world.keys.checkTicket = async () => {
      expect(await used()).toEqual({ today: 1, active: 1 });
      expect(await refusal(issue())).toMatchObject({ code: "quota_exceeded" });
      throw refuse("key_unavailable", { retry_after: 2 });
    };
    expect(await refusal(issue())).toMatchObject({ code: "key_unavailable" });
    expect(await used()).toEqual({ today: 0, active: 0 });
    world.keys.checkTicket = () => {};
    await issue();
    expect(await refusal(issue())).toMatchObject({ code: "quota_exceeded" });
  });

  test("of another tenant is another's", async () => {
    await limit({ maxCertsPerDay: 1 });
    await issue();
    const lab = await world.ca("lab-issuing");
    await world.issuance.issue(rootOrigin, lab, leafRequest());
    expect(await refusal(issue())).toMatchObject({ code: "quota_exceeded" });
  });
});

describe("the quota of active certificates", () => {
  test("is given back by revocation and by expiry, not by a hold, and has no time to wait for", async () => {
    await limit({ maxActiveCerts: 2 });
    const { serial } = await issue();
    const { record } = await issue();
    const full = { code: "quota_exceeded", facts: { quota: "max_active_certs" } };
    expect(await refusal(issue())).toEqual(full);
    const path = { id: ca.id, serial };
    await world.ask("cert.suspend", rootOrigin.principal, { path });
    expect(await refusal(issue())).toEqual(full);
    await world.ask("cert.revoke", rootOrigin.principal, { path: { id: ca.id }, body: { serial } });
    await issue();
    expect(await refusal(issue())).toEqual(full);
    world.clock.at = instant(record.notAfter + 1);
    await issue();
  });
});

describe("a quota that is used up", () => {
  test("is refused before the key is used, on record, and leaves revocation alone", async () => {
    await limit({ maxCertsPerDay: 1 });
    const { serial } = await issue();
    const before = signatures();
    const events = world.store.countRows("events");
    expect(await refusal(issue())).toMatchObject({ code: "quota_exceeded" });
    expect(signatures()).toBe(before);
    expect(world.store.listEvents().slice(events)).toMatchObject([
      { action: "cert.issue", result: "denied", detail: expect.stringContaining("quota_exceeded") },
    ]);
    const body = { serial };
    const revoked = await world.ask("cert.revoke", rootOrigin.principal, {
      path: { id: ca.id },
      body,
    });
    expect(revoked).toMatchObject({ status: "revoked" });
  });

  test("shows in a preview as a gate behind all others, and the preview reserves nothing", async () => {
    const preview = (more = {}) =>
      world.ask("cert.preview", rootOrigin.principal, {
        path: { id: ca.id },
        body: { csr: csr(), ...more },
      });
    expect((await preview()).gates.at(-1)).toMatchObject({ name: "approval" });
    await limit({ maxCertsPerDay: 1 });
    for (let n = 0; n < 3; n++) {
      expect(await preview()).toMatchObject({ decision: "accept", would_issue: true });
    }
    await issue();
    const refused = await preview();
    expect(refused).toMatchObject({ decision: "reject", would_issue: false });
    expect(refused.gates.at(-1)).toEqual({
      name: "quota",
      status: "fail",
      reason: "max_certs_per_day",
    });
  });

  test("says in a preview what is left of each quota, and nothing of a quota there is not", async () => {
    const quotas = async () => {
      const asked = { path: { id: ca.id }, body: { csr: csr() } };
      return (await world.ask("cert.preview", rootOrigin.principal, asked)).quotas;
    };
    expect(await quotas()).toEqual([]);
    await limit({ maxCertsPerDay: 5 });
    await issue();
    expect(await quotas()).toEqual([{ quota: "max_certs_per_day", limit: 5, left: 4 }]);
    await issue();
    await limit({ maxCertsPerDay: 1, maxActiveCerts: 3 });
    expect(await quotas()).toEqual([
      { quota: "max_certs_per_day", limit: 1, left: 0 },
      { quota: "max_active_certs", limit: 3, left: 1 },
    ]);
  });

  test("refuses also when what is used cannot be read", async () => {
    await limit({ maxCertsPerDay: 100 });
    world.store.checkWrite = (operation) => {
      if (operation === "tenants.used") throw new Error("no counters today");
    };
    const before = signatures();
    await expect(issue()).rejects.toThrow("no counters today");
    expect(signatures()).toBe(before);
  });
});

describe("a suspended tenant", () => {
  test("signs nothing whoever asks, and a preview says so", async () => {
    await world.ask("tenant.status", rootOrigin.principal, {
      path: { id: "web" },
      body: { status: "suspended" },
    });
    expect(await refusal(issue())).toEqual({ code: "tenant_suspended", facts: {} });
    const preview = await world.ask("cert.preview", rootOrigin.principal, {
      path: { id: ca.id },
      body: { csr: csr() },
    });
    expect(preview).toMatchObject({ decision: "reject", would_issue: false });
    expect(preview.gates.at(-1)).toMatchObject({ name: "tenant", status: "fail" });
  });
});
