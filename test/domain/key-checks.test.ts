/**
 * Keys that must not be certified: blocked, weak, the instance's own, and another subject's; a
 * lookup that fails refuses.
 */

import { describe, expect, test } from "bun:test";

import { encodePem } from "#core/asn1/pem.ts";
import { digest } from "#core/crypto.ts";
import { tenantId } from "#core/ids.ts";
import { Problem } from "#core/problems.ts";
import type { Profile } from "#core/policy/profile.ts";
import { ProfileSet } from "#core/policy/profiles.ts";
import { keyDigests, spkiSha256 } from "#core/x509/public-keys.ts";
import { CrossSigning } from "#domain/hierarchy/cross-sign.ts";
import { BlockedKeys } from "#domain/key-checks/block.ts";
import type { Store } from "#domain/store.ts";
import { somebody } from "#test/support/worlds/governed-world.ts";
import {
  caRequest,
  csr,
  initRoot,
  issuanceWorld,
  leafRequest,
  newKey,
  rootOrigin,
  spkiOf,
  type World,
} from "#test/support/worlds/issuance.ts";
import { tenant } from "#test/support/stores/records.ts";
import {
  primeNumbers,
  type RsaNumbers,
  requestWith,
  rsaNumbers,
  spkiWith,
} from "#test/support/encodings/rsa-numbers.ts";
import { revokingWorld } from "#test/support/worlds/revoking-world.ts";
import { smallCa } from "#test/support/worlds/small-ca.ts";

const key = newKey("ecdsa-p256");
const keyDigest = spkiSha256(spkiOf(key.publicKey));

/** Returns all blocked keys. */
const listBlockedKeys = async ({ read }: Pick<Store, "read">) =>
  (await read.keyChecks.page("platform", {}, 100)).items;

/** `issued`, or the key checks that refused. */
async function outcome(
  world: World,
  issueRequest: Parameters<typeof leafRequest>[0] = {},
): Promise<string> {
  const ca = (await world.store.read.cas.byLabel("root")) ?? (await initRoot(world));
  try {
    await world.issuance.issue(rootOrigin, ca, leafRequest({ csr: csr({ key }), ...issueRequest }));
    return "issued";
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "gate_refused") throw error;
    return [...JSON.stringify(error.facts).matchAll(/"code":"(\w+)"/g)].map(([, c]) => c).join();
  }
}

test("a blocked key is refused under every name until it is unblocked", async () => {
  const world = issuanceWorld();
  const blocked = new BlockedKeys(world);
  const { record } = await blocked.add(rootOrigin, [keyDigest], "leaked");
  expect(await outcome(world)).toBe("blocked_key");
  expect(await outcome(world, { csr: csr({ key, dns: ["b.example"] }) })).toBe("blocked_key");
  expect(world.store.listSerials().length).toBe(1);
  await blocked.remove(rootOrigin, record.id);
  expect(await outcome(world)).toBe("issued");
});

test("a refused key is an event of its gate and one of the issuance", async () => {
  const world = issuanceWorld();
  await initRoot(world);
  await new BlockedKeys(world).add(rootOrigin, [keyDigest], "leaked");
  await outcome(world);
  const events = world.store.listEvents().slice(-2);
  expect(events.map(({ action, result, detail }) => `${action} ${result} ${detail}`)).toEqual([
    "cert.keycheck denied profile=server findings=blocked_key",
    "cert.issue denied profile=server requester=root reasons=keycheck",
  ]);
});

test("a key of a blocklist is refused, in a profile that only warns it is issued", async () => {
  const weakKeys = new Set([digest("sha1", spkiOf(key.publicKey)).toHex()]);
  const server = new ProfileSet().named("server");
  const keyChecks = { ...server.keyChecks, mode: "warn" as const };
  const lenient: Profile = { ...server, name: "lenient", keyChecks };
  const world = issuanceWorld({ weakKeys, profiles: [lenient] });
  expect(await outcome(world)).toBe("debian_weak_key");
  expect(await outcome(world, { profile: "lenient" })).toBe("issued");
});

test("the key of a CA is never a leaf's", async () => {
  const world = issuanceWorld();
  await initRoot(world);
  const spki = world.store.listRows("cas")[0]?.spki ?? new Uint8Array();
  await world.store.atomically((tx) => tx.keyChecks.claim(keyDigest));
  const ownKeys = world.store.listRows("ownKeys").map((row) => row.spkiSha256);
  expect(ownKeys).toContain(spkiSha256(spki));
  expect(await outcome(world)).toBe("own_key");
});

test("another subject's key is refused only where the profile asks", async () => {
  const server = new ProfileSet().named("server");
  const keyChecks = { ...server.keyChecks, detectDuplicates: true };
  const world = issuanceWorld({ profiles: [{ ...server, name: "strict", keyChecks }] });
  const other = csr({ key, subject: [{ type: "CN", value: "b.example" }], dns: ["b.example"] });
  expect(await outcome(world)).toBe("issued");
  expect(await outcome(world, { csr: other })).toBe("issued");
  expect(await outcome(world, { profile: "strict" })).toBe("duplicate_key");
  world.clock.advance(400 * 86_400);
  expect(await outcome(world, { csr: other, profile: "strict" })).toBe("issued");
  expect(await outcome(world, { csr: other, profile: "strict" })).toBe("issued");
});

test("where the subject is empty, another name is another holder of the key", async () => {
  const server = new ProfileSet().named("server");
  const keyChecks = { ...server.keyChecks, detectDuplicates: true };
  const world = issuanceWorld({ profiles: [{ ...server, name: "strict", keyChecks }] });
  const named = (dns: string) => ({
    csr: csr({ key, subject: [], dns: [dns] }),
    profile: "strict",
  });
  expect(await outcome(world, named("a.example"))).toBe("issued");
  expect(await outcome(world, named("a.example"))).toBe("issued");
  expect(await outcome(world, named("b.example"))).toBe("duplicate_key");
});

test("an RSA modulus that is a prime is refused, for everybody knows the private key", async () => {
  const request = requestWith(primeNumbers(), [{ type: "CN", value: "A leaf" }]);
  expect(await outcome(issuanceWorld(), { csr: request })).toBe("small_factor");
});

test("a blocked RSA key stays blocked with another exponent", async () => {
  const [usual, odd, other] = rsaNumbers(65_537n, 65_539n, 65_543n);
  if (usual === undefined || odd === undefined || other === undefined)
    throw new Error("three keys");
  const subject = [{ type: "CN", value: "A leaf" }];
  const tried = async (blocked: RsaNumbers, asked: RsaNumbers) => {
    const world = issuanceWorld();
    const digests = keyDigests(spkiWith(blocked));
    await new BlockedKeys(world).add(rootOrigin, digests, "leaked");
    return await outcome(world, { csr: requestWith(asked, subject) });
  };
  expect(await tried(usual, odd)).toBe("blocked_key");
  expect(await tried(odd, usual)).toBe("blocked_key");
  expect(await tried(odd, other)).toBe("blocked_key");
  const [stranger] = rsaNumbers(65_537n);
  if (stranger === undefined) throw new Error("a key");
  expect(await tried(odd, stranger)).toBe("issued");
});

test("a revocation for keyCompromise blocks the modulus, one alone and many at once", async () => {
  const [odd, other] = rsaNumbers(65_539n, 65_543n);
  if (odd === undefined || other === undefined) throw new Error("two keys");
  const subject = [{ type: "CN", value: "A leaf" }];
  for (const many of [false, true]) {
    const world = revokingWorld();
    const ca = await initRoot(world);
    const issueRequest = leafRequest({ csr: requestWith(odd, subject) });
    const { serial } = await world.issuance.issue(rootOrigin, ca, issueRequest);
    const request = { ca, serial, origin: rootOrigin, mayManageCa: true };
    const order = {
      operationId: undefined,
      reason: "keyCompromise",
      all: true,
      batchSize: 500,
      selection: { includeExpired: false },
      confirmed: undefined,
    } as const;
    if (many) await world.bulk.execute(rootOrigin, ca, order);
    else await world.revoker.revoke(request, "keyCompromise");
    expect(await outcome(world, { csr: requestWith(other, subject) })).toBe("blocked_key");
    const reasons = world.store.listRows("blockedKeys").map(({ reason }) => reason);
    const said = `serial ${serial} was revoked`;
    expect(reasons).toEqual([said, `${said} (same modulus)`]);
  }
});

test("when the store cannot say, nothing is signed", async () => {
  const world = issuanceWorld();
  await initRoot(world);
  const before = world.store.listSerials().length;
  const { keyChecks } = world.store.read;
  keyChecks.keyStatus = async () => {
    throw new Error("the table is gone");
  };
  expect(outcome(world)).rejects.toThrow("the table is gone");
  expect(world.store.listSerials().length).toBe(before);
});

test("a revocation for keyCompromise blocks the key in the same unit; other reasons do not", async () => {
  const small = await smallCa();
  const [leaked, replaced] = [await small.issue(), await small.issue()];
  const request = (serial: typeof leaked.serial) => ({
    ca: small.ca,
    serial,
    origin: rootOrigin,
    mayManageCa: true,
  });
  await small.revoker.revoke(request(replaced.serial), "superseded");
  expect(small.store.countRows("blockedKeys")).toBe(0);
  await small.revoker.revoke(request(leaked.serial), "keyCompromise");
  expect(await listBlockedKeys(small.store)).toMatchObject([
    { spkiSha256: leaked.spkiSha256, source: "revocation", createdBy: "root", tenant: undefined },
  ]);
  const actions = small.store
    .listEvents()
    .slice(-2)
    .map(({ action }) => action);
  expect(actions).toEqual(["cert.revoke", "key.block"]);
  small.store.checkWrite = (operation) => {
    if (operation === "keyChecks.block") throw new Error("no");
  };
  const third = await small.issue();
  expect(small.revoker.revoke(request(third.serial), "keyCompromise")).rejects.toThrow("no");
  expect((await small.store.read.certificates.bySerial(small.ca.id, third.serial))?.status).toBe(
    "good",
  );
});

describe("a tenant that has got hold of another one's request", () => {
  const eve = somebody("eve", { web: ["admin"] });
  const origin = { ...rootOrigin, principal: eve };
  const web = tenantId("web");

  async function theirs() {
    const world = revokingWorld();
    await world.store.atomically((tx) => tx.tenants.insert(tenant("web")));
    const victim = await initRoot(world);
    const ca = await world.authorities.initRoot(origin, web, caRequest({ label: "eves" }));
    const issue = (under: typeof ca) =>
      world.issuance.issue(rootOrigin, under, leafRequest({ csr: csr({ key }) }));
    const asked = { ca, origin, mayManageCa: true };
    return { world, victim, ca, issue, asked };
  }

  test("blocks its key in its own CAs only, by one revocation or by many", async () => {
    for (const many of [false, true]) {
      const { world, victim, ca, issue, asked } = await theirs();
      const { serial } = (await issue(ca)).record;
      const order = {
        operationId: undefined,
        reason: "keyCompromise",
        all: true,
        batchSize: 500,
        selection: { includeExpired: false },
        confirmed: undefined,
      } as const;
      if (many) await world.bulk.execute(origin, ca, order);
      else await world.revoker.revoke({ ...asked, serial }, "keyCompromise");
      const blocked = world.store.listRows("blockedKeys");
      expect(blocked).toMatchObject([{ tenant: "web", spkiSha256: keyDigest, createdBy: "eve" }]);
      const told = world.store.listEvents().filter((one) => one.action === "key.block");
      expect(told).toMatchObject([{ tenant: "web", actor: "eve" }]);
      expect(await refusalCode(issue(ca))).toBe("gate_refused");
      expect((await issue(victim)).record.caId).toBe(victim.id);
    }
  });

  test("blocks it for all with a proof that it holds the key, and so does who answers for all tenants", async () => {
    for (const more of [{ keyProven: true }, { origin: rootOrigin }]) {
      const { world, victim, ca, issue, asked } = await theirs();
      const { serial } = (await issue(ca)).record;
      await world.revoker.revoke({ ...asked, ...more, serial }, "keyCompromise");
      expect(await listBlockedKeys(world.store)).toMatchObject([{ tenant: undefined }]);
      expect(await refusalCode(issue(victim))).toBe("gate_refused");
    }
  });

  test("neither blocks nor claims what it vouches for with a cross certificate", async () => {
    const { world, victim, ca, issue, asked } = await theirs();
    const crossSigning = new CrossSigning(world);
    const issueRequest = { validityDays: 30, maxPathLength: undefined };
    const request = { source: "csr" as const, pem: csr({ key, dns: [] }) };
    const cross = await crossSigning.sign(origin, ca, { ...issueRequest, subject: request });
    expect((await issue(victim)).record.caId).toBe(victim.id);
    const pem = encodePem("CERTIFICATE", victim.certificate ?? new Uint8Array());
    const certificate = { source: "certificate" as const, pem };
    const vouched = await crossSigning.sign(origin, ca, { ...issueRequest, subject: certificate });
    for (const { serial } of [cross, vouched]) {
      await world.revoker.revoke({ ...asked, serial }, "keyCompromise");
    }
    expect(world.store.countRows("blockedKeys")).toBe(0);
    expect((await issue(victim)).record.caId).toBe(victim.id);
    expect((await issue(ca)).record.caId).toBe(ca.id);
  });
});

const refusalCode = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "accepted",
    (error) => (error instanceof Problem ? error.code : String(error)),
  );
