/** Credentials of external account binding: made once, listed without their keys, ended. */

import { beforeEach, describe, expect, test } from "bun:test";

import { tenantId } from "#core/ids.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { addSeconds } from "#core/time.ts";
import type { CredentialFilter, CredentialRequest } from "#domain/acme/credentials.ts";
import { placeOf } from "#domain/envelopes/places.ts";
import type { PageKey } from "#domain/page.ts";
import { expectRefusal } from "#test/support/expect-refusal.ts";
import { account, type BindingWorld, bindingWorld } from "#test/support/worlds/binding.ts";
import { rootOrigin } from "#test/support/worlds/issuance.ts";

const careful = { ...new ProfileSet().named("server"), name: "careful", requireApproval: true };
const configured = { "by-file": Buffer.alloc(32, 1), another: Buffer.alloc(32, 2) };

let world: BindingWorld;
beforeEach(async () => {
  world = await bindingWorld({ profiles: [careful], configured });
});

const make = async (facts: Partial<CredentialRequest> = {}, directory = "default") =>
  (await world.credentials.create(rootOrigin, await world.request(facts, directory))).credential;
const refusal = async (facts: Partial<CredentialRequest>) =>
  world.credentials.create(rootOrigin, await world.request(facts));

describe("EAB-1: making one", () => {
  test("gives no key with a hyphen in front, which clients would take for a flag", async () => {
    const request = await world.request();
    for (let n = 0; n < 400; n++) {
      const { hmacKey } = await world.credentials.create(rootOrigin, request);
      expect(hmacKey).not.toStartWith("-");
    }
  });

  test("gives a kid of 128 random bits and a key of 32 octets, which is kept sealed only", async () => {
    const { credential, hmacKey } = await world.credentials.create(
      rootOrigin,
      await world.request(),
    );
    expect(credential.id).toMatch(/^eab_[A-Za-z0-9_-]{22}$/);
    expect(Buffer.from(hmacKey, "base64url")).toHaveLength(32);
    const sealed = await world.store.read.envelopes.at(placeOf("eab", credential.id));
    if (sealed === undefined) throw new Error("nothing is sealed at its place");
    expect(keyText(await world.envelopes.open(sealed))).toBe(hmacKey);
    const kept = JSON.stringify([...world.store.listEvents(), sealed, credential]);
    expect(kept).not.toContain(hmacKey);
    expect((await world.credentials.create(rootOrigin, await world.request())).hmacKey).not.toBe(
      hmacKey,
    );
  });

  test("is an event with its limits, in the tenant of the directory's CA", async () => {
    const expiresAt = addSeconds(world.clock.now(), 86_400);
    const facts = { name: "Mesh 1", ipRanges: ["10.0.0.0/8"], maxUses: 0, expiresAt };
    const { id } = await make(facts, "lab");
    expect(world.events().at(-1)).toMatchObject({
      action: "acme.eab.create",
      result: "success",
      actor: "root",
      tenant: "lab",
      caId: "l1",
      target: id,
      targetName: "Mesh 1",
      detail:
        "directory=lab dns_suffixes=example.test ip_ranges=10.0.0.0/8 allow_wildcards=false any_identifier=false max_uses=0 expires_at=2026-06-02T12:00:00.000000Z",
    });
  });

  test("is refused for what would permit nothing, has ended, or opens a guarded profile", async () => {
    const nothing = { dnsSuffixes: [], ipRanges: [] };
    await expectRefusal(refusal(nothing), "missing_field", { field: "dns_suffixes" });
    expect(await make({ ...nothing, anyIdentifier: true })).toMatchObject({ anyIdentifier: true });
    expect(await make({ ...nothing, ipRanges: ["::/0"] })).toMatchObject({ ipRanges: ["::/0"] });
    const ended = { expiresAt: world.clock.now() };
    await expectRefusal(refusal(ended), "invalid_field", { field: "expires_at" });
    await expectRefusal(refusal({ profile: "none" }), "unknown_profile", { profile: "none" });
    const guarded = { profile: "careful" };
    await expectRefusal(refusal(guarded), "profile_requires_approval", guarded);
    expect(await make({ profile: "client" })).toMatchObject({ profile: "client" });
  });
});

describe("the list", () => {
  const everything: CredentialFilter = { reach: "platform", status: undefined };
  const page = (limit: number, filter = everything, after?: PageKey) =>
    world.credentials.page(filter, limit, after);

  test("has those of the configuration among the others, each once over all pages", async () => {
    world.clock.step(-60);
    const older = await make({ name: "older" });
    world.clock.step(120);
    const [one, two] = [await make({ name: "one" }), await make({ name: "two" })];
    const seen: string[] = [];
    for (let after: PageKey | undefined; ; ) {
      const { items, next, total } = await page(2, everything, after);
      expect(total).toBe(5);
      seen.push(...items.map(({ id }) => id));
      if (next === undefined) break;
      after = next;
    }
    expect(seen.slice(0, 2).sort()).toEqual([one.id, two.id].sort());
    expect(seen.slice(2, 4).sort()).toEqual(["another", "by-file"]);
    expect(seen.slice(4)).toEqual([older.id]);
  });

  test("says whose those of the configuration are, and how many accounts they have bound", async () => {
    const bound = account({ eabId: "by-file" });
    await world.store.atomically((tx) => tx.acme.addAccount(bound));
    expect(await world.credentials.named("by-file")).toMatchObject({
      source: "config",
      directory: "default",
      caId: "i1",
      tenant: "default",
      uses: 1,
      maxUses: 0,
      createdBy: "system:config",
    });
    world.current.acme = { ...world.current.acme, ca_label: "later" };
    expect(await world.credentials.named("by-file")).toBeUndefined();
    expect((await page(10)).total).toBe(0);
  });

  test("is narrowed to tenants and to what credentials still do", async () => {
    await make();
    await make({}, "lab");
    const lab: CredentialFilter["reach"] = { tenants: [tenantId("lab")], cas: [] };
    const own = await page(10, { reach: lab, status: undefined });
    expect(own.items.map(({ tenant }) => tenant)).toEqual([tenantId("lab")]);
    const revoked = await make();
    await world.credentials.revoke(rootOrigin, revoked);
    const those = await page(10, { ...everything, status: "revoked" });
    expect(those).toMatchObject({ items: [{ id: revoked.id }], total: 1 });
    expect((await page(10, { ...everything, status: "active" })).total).toBe(4);
  });
});

describe("revoking one", () => {
  test("happens once, is one event, and leaves no key behind", async () => {
    const credential = await make();
    expect(await world.credentials.revoke(rootOrigin, credential)).toBe(true);
    expect(await world.credentials.revoke(rootOrigin, credential)).toBe(false);
    const events = world.events().filter(({ action }) => action === "acme.eab.revoke");
    expect(events).toMatchObject([{ target: credential.id, targetName: "web", caId: "i1" }]);
    const place = placeOf("eab", credential.id);
    expect(await world.store.read.envelopes.at(place)).toBeUndefined();
    expect(await world.credentials.named(credential.id)).toMatchObject({
      revokedAt: world.clock.now(),
      revokedBy: "root",
    });
  });

  test("is refused for one of the configuration", async () => {
    const one = await world.credentials.named("by-file");
    if (one === undefined) throw new Error("configured above");
    await expectRefusal(world.credentials.revoke(rootOrigin, one), "config_managed", {});
  });
});

describe("ending its accounts", () => {
  const bind = async (count: number, eabId: string) => {
    const accounts = Array.from({ length: count }, () => account({ eabId }));
    await world.store.atomically(async (tx) => {
      for (const one of accounts) await tx.acme.addAccount(one);
    });
    return accounts.map(({ id }) => id);
  };
  const ended = () => world.events().filter(({ action }) => action === "acme.account.deactivate");

  test("ends all that are valid, however many, with one event each, and nobody else's", async () => {
    const [credential, other] = [await make(), await make()];
    const own = await bind(120, credential.id);
    const [stays] = await bind(1, other.id);
    expect(await world.credentials.boundAccounts(credential.id)).toBe(120);
    expect(await world.credentials.deactivateAccounts(rootOrigin, credential)).toBe(120);
    expect(
      ended()
        .map(({ target }) => target)
        .sort(),
    ).toEqual([...own].sort());
    expect(ended()[0]).toMatchObject({ actor: "root", detail: `eab=${credential.id}` });
    expect(await world.credentials.boundAccounts(credential.id)).toBe(0);
    expect((await world.store.read.acme.account(stays ?? ""))?.status).toBe("valid");
    expect(await world.credentials.deactivateAccounts(rootOrigin, credential)).toBe(0);
    expect(ended()).toHaveLength(120);
  });

  test("goes on where a failure has stopped it", async () => {
    const credential = await make();
    await bind(120, credential.id);
    const { atomically } = world.store;
    let units = 0;
    world.store.atomically = async (unit) => {
      if (++units === 2) throw new Error("the database is gone");
      return await atomically(unit);
    };
    const first = world.credentials.deactivateAccounts(rootOrigin, credential);
    await expect(first).rejects.toThrow("gone");
    const before = ended().length;
    expect(before).toBeGreaterThan(0);
    world.store.atomically = atomically;
    const rest = await world.credentials.deactivateAccounts(rootOrigin, credential);
    expect(before + rest).toBe(120);
    expect(new Set(ended().map(({ target }) => target)).size).toBe(120);
  });
});

const keyText = (octets: Uint8Array): string => Buffer.from(octets).toString("base64url");
