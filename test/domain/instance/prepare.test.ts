/** The first start of an instance, and every later one. */

import { expect, test } from "bun:test";

import { refuse } from "#core/problems.ts";
import { spkiSha256 as digestOf } from "#core/x509/public-keys.ts";
import { type InstanceDeps, prepareInstance, type RootSettings } from "#domain/instance/prepare.ts";
import { type MemoryKeys, openMemoryKeys } from "#test/support/keys/memory-keys.ts";
import { type MemoryStore, createMemoryStore } from "#test/support/stores/memory-store.ts";
import { seededRandom, testClock } from "#test/support/ports.ts";
import { defaultTenant } from "#core/ids.ts";

test("the first start makes ids, tenant, ledger and a root password shown once; the second changes nothing", async () => {
  const deps = startDeps();
  const first = await prepareInstance(deps, generated);
  expect(deps.kept).toEqual([expect.stringMatching(/^([A-Za-z0-9]{4}-){6}[A-Za-z0-9]{4}$/)]);
  expect(await prepareInstance(deps, generated)).toEqual(first);
  expect(deps.kept.length).toBe(1);
  expect(deps.store.countRows("ledger")).toBe(1);
});

test("why the first start failed is said also when the ledger key cannot be destroyed again", async () => {
  const deps = startDeps();
  deps.store.checkWrite = (operation) => {
    if (operation === "audit.appendLedger") throw refuse("storage_unavailable");
  };
  deps.keys.destroy = () => Promise.reject(refuse("key_unavailable"));
  await expect(prepareInstance(deps, generated)).rejects.toMatchObject({
    code: "storage_unavailable",
  });
});

test("the ledger begins with the fingerprint of its own key", async () => {
  const deps = startDeps();
  await prepareInstance(deps, generated);
  const genesis = deps.store.listLedger()[0];
  expect(genesis).toMatchObject({ kind: "genesis", role: "ledger", provider: "software" });
  expect(genesis?.signerFingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
});

test("KCK-2: the ledger key is the instance's own, also when an earlier release began the ledger", async () => {
  const deps = startDeps();
  await prepareInstance(deps, generated);
  const [key] = deps.keys.held.values();
  const spkiSha256 = digestOf(key?.spki ?? new Uint8Array());
  const keyStatus = () =>
    deps.store.read.keyChecks.keyStatus({
      spkiSha256,
      tenant: defaultTenant,
      duplicate: undefined,
    });
  expect((await keyStatus()).own).toBe(true);
  await deps.store.tamper("delete from own_keys");
  await prepareInstance(deps, generated);
  expect((await keyStatus()).own).toBe(true);
});

test("the password itself is never stored", async () => {
  const deps = startDeps();
  await prepareInstance(deps, generated);
  expect(JSON.stringify(deps.store.listRows("instance"))).not.toContain(String(deps.kept[0]));
});

test("a configured password or hash is used and nothing is made up", async () => {
  const deps = startDeps();
  const password = await prepareInstance(deps, { ...generated, password: "secret" });
  expect(password).toMatchObject({ rootPasswordHash: "argon2(6)" });
  const hash = await prepareInstance(deps, { ...generated, passwordHash: "$argon2id$x" });
  expect(hash).toMatchObject({ rootPasswordHash: "$argon2id$x" });
  expect(deps.kept).toEqual([]);
});

test("the password is kept before its hash is stored, so that no crash makes it unknown", async () => {
  const failing = startDeps();
  failing.store.checkWrite = (operation) => {
    if (operation === "instance.setValue" && failing.kept.length > 0) throw new Error("disk");
  };
  await expect(prepareInstance(failing, generated)).rejects.toThrow("disk");
  expect(failing.kept.length).toBe(1);
});

test("a replica that loses the race for the first ledger entry goes on with the winner's", async () => {
  const deps = startDeps();
  const winner = startDeps(deps);
  const read = { ...deps.store.read };
  const { ledgerHead } = deps.store.read.audit;
  let asked = 0;
  const audit = {
    ...deps.store.read.audit,
    // The loser looks before the winner has written, and the winner writes before the loser does.
    ledgerHead: async () => {
      asked += 1;
      if (asked > 1) return ledgerHead();
      const before = await ledgerHead();
      await prepareInstance(winner, generated);
      return before;
    },
  };
  const loser = { ...deps, store: { ...deps.store, read: { ...read, audit } } };
  await prepareInstance(loser, generated);
  expect(deps.store.countRows("ledger")).toBe(1);
});

test("a ledger whose beginning was committed, though the answer was lost, keeps its key", async () => {
  const deps = startDeps();
  const { atomically } = deps.store;
  Object.assign(deps.store, {
    atomically: async (unit: Parameters<typeof atomically>[0]) => {
      const before = deps.store.countRows("ledger");
      const result = await atomically(unit);
      if (deps.store.countRows("ledger") > before) throw refuse("storage_unavailable");
      return result;
    },
  });
  await prepareInstance(deps, generated).catch(() => {});
  Object.assign(deps.store, { atomically });
  await prepareInstance(deps, generated);
  expect(deps.store.countRows("ledger")).toBe(1);
  const ledgerKey = await deps.store.read.instance.value("ledger_key_id");
  expect([...deps.keys.held.keys()]).toEqual([ledgerKey ?? ""]);
});

function startDeps(shared?: { store: MemoryStore; keys: MemoryKeys }) {
  const kept: string[] = [];
  return {
    kept,
    instanceId: `of ${shared === undefined ? "first" : "second"}`,
    keepRootPassword: (password: string) => void kept.push(password),
    store: shared?.store ?? createMemoryStore(),
    keys: shared?.keys ?? openMemoryKeys(),
    clock: testClock(),
    random: seededRandom(shared === undefined ? "first" : "second"),
    hashPassword: async (password: string) => `argon2(${password.length})`,
  } satisfies InstanceDeps & { kept: string[] };
}

const generated: RootSettings = { password: undefined, passwordHash: undefined };
