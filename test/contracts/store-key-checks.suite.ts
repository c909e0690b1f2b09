/** What every store must do about blocked and own keys. */

import { describe, expect, test } from "bun:test";

import { sha256Hex } from "#core/crypto.ts";
import type { Reach } from "#core/access/principal.ts";
import { defaultTenant, type TenantId, tenantId } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { BlockedKeyRecord, KeySubject, KeyQuestion } from "#domain/key-checks/store.ts";
import type { Store } from "#domain/store.ts";
import * as make from "#test/support/stores/records.ts";

/** Declares the tests on the store that `given` gives when they run. */
export function keyCheckContract(
  given: () => { readonly store: Store; readonly home: string },
): void {
  describe("blocked and own keys", () => {
    const keyStatus = (
      spkiSha256: string,
      { tenant = defaultTenant, duplicate }: Partial<KeyQuestion> = {},
    ) => given().store.read.keyChecks.keyStatus({ spkiSha256, tenant, duplicate });
    const clean = { blocked: false, own: false, duplicate: false };

    test("a key is blocked once, found by id and digest, and free again when the row is gone", async () => {
      const { store } = given();
      const row = blockedKey({ reason: "Leaked 50% of it" });
      const again = blockedKey({ spkiSha256: row.spkiSha256, reason: "again" });
      expect(await keyStatus(row.spkiSha256)).toEqual(clean);
      expect(await store.atomically((tx) => tx.keyChecks.block(row))).toBeUndefined();
      expect(await store.atomically((tx) => tx.keyChecks.block(again))).toEqual(row);
      expect(await keyStatus(row.spkiSha256)).toEqual({ ...clean, blocked: true });
      expect(await store.read.keyChecks.blocked(row.id)).toEqual(row);
      expect(await store.read.keyChecks.blocked("none")).toBeUndefined();
      expect(await store.atomically((tx) => tx.keyChecks.unblock(row.id))).toEqual(row);
      expect(await store.atomically((tx) => tx.keyChecks.unblock(row.id))).toBeUndefined();
      expect(await keyStatus(row.spkiSha256)).toEqual(clean);
    });

    test("a key that one tenant blocked is blocked for no other, until it is blocked for all", async () => {
      const { store, home } = given();
      const [own, other] = [tenantId(home), tenantId(`${home}-2`)];
      const { spkiSha256, ...row } = blockedKey({ tenant: own });
      const block = (facts: Partial<BlockedKeyRecord>) =>
        store.atomically((tx) => tx.keyChecks.block(blockedKey({ spkiSha256, ...facts })));
      expect(await block(row)).toBeUndefined();
      const blocked = async (tenant: TenantId) => (await keyStatus(spkiSha256, { tenant })).blocked;
      expect([await blocked(own), await blocked(other)]).toEqual([true, false]);
      expect(await block({ tenant: own })).toMatchObject({ id: row.id });
      const many = (tenant: TenantId | undefined) =>
        store.atomically((tx) => tx.keyChecks.blockMany([blockedKey({ spkiSha256, tenant })]));
      expect(await many(own)).toEqual([]);
      expect(await many(undefined)).toHaveLength(1);
      expect([await blocked(own), await blocked(other)]).toEqual([true, true]);
      expect(await many(other)).toEqual([]);
      expect(await block({ tenant: other })).toMatchObject({ tenant: undefined });
      const { page } = store.read.keyChecks;
      const seen = async (reach: Reach) =>
        (await page(reach, { spkiSha256 }, 9)).items.map(({ tenant }) => tenant);
      expect((await seen("platform")).length).toBe(2);
      expect(await seen({ tenants: [own], cas: [] })).toEqual([own]);
      expect(await seen({ tenants: [other], cas: [] })).toEqual([]);
    });

    test("CAs are found by their key, whatever has become of them", async () => {
      const { store } = given();
      const spki = Uint8Array.of(48, 3, 1, ...crypto.getRandomValues(new Uint8Array(8)));
      const retired = make.ca({ spki, status: "retired" });
      const waiting = make.ca({
        certificate: undefined,
        serial: undefined,
        spki,
        internal: true,
      });
      for (const row of [retired, waiting, make.ca()]) {
        await store.atomically((tx) => tx.cas.insert(row));
      }
      const found = (await store.read.cas.withKey(spki)).map(({ id }) => id);
      expect(found.toSorted()).toEqual([retired.id, waiting.id].toSorted());
      expect(await store.read.cas.withKey(spki.slice(1))).toEqual([]);
    });

    test("blocked keys are listed newest first, by reason without case and by digest", async () => {
      const { store } = given();
      const mark = crypto.randomUUID();
      const rows = [1, 2, 3].map((second) =>
        blockedKey({ reason: `${mark} No_${second}`, createdAt: instant(make.noon + second) }),
      );
      await store.atomically(async (tx) => {
        for (const row of rows) await tx.keyChecks.block(row);
      });
      const { page } = store.read.keyChecks;
      const first = await page("platform", { text: mark.toUpperCase() }, 2);
      expect(first).toMatchObject({ items: [rows[2], rows[1]], total: 3 });
      expect((await page("platform", { text: mark }, 2, first.next)).items).toMatchObject([
        rows[0],
      ]);
      expect((await page("platform", { text: `${mark} no_2` }, 5)).items).toMatchObject([rows[1]]);
      const digest = rows[0]?.spkiSha256;
      expect((await page("platform", { spkiSha256: digest }, 5)).items).toMatchObject([rows[0]]);
    });

    test("keys of CAs, of certificates other than leaves and claimed ones are the instance's own", async () => {
      const { store } = given();
      const [claimed, responder, leaf] = [newDigest(), newDigest(), newDigest()];
      const spki = crypto.getRandomValues(new Uint8Array(40));
      const second = crypto.getRandomValues(new Uint8Array(60));
      const key = { provider: "software" as const, label: "second", id: "bb".repeat(20) };
      const ca = make.ca({ spki, alternative: { key, keyType: "ml-dsa-65", spki: second } });
      await store.atomically(async (tx) => {
        await tx.cas.insert(ca);
        await tx.keyChecks.claim(claimed);
        await tx.keyChecks.claim(claimed);
      });
      await issued(store, { caId: ca.id, kind: "responder", spkiSha256: responder });
      await issued(store, { caId: ca.id, spkiSha256: leaf });
      const digests = [sha256Hex(spki), sha256Hex(second), claimed, responder];
      for (const digest of digests)
        expect(await keyStatus(digest)).toEqual({ ...clean, own: true });
      expect(await keyStatus(leaf)).toEqual(clean);
    });

    test("a duplicate is another subject's unexpired leaf of the tenant", async () => {
      const { store } = given();
      const digest = newDigest();
      const row = await issued(store, { spkiSha256: digest, subject: "CN=first" });
      const asked: KeySubject = { subject: "CN=second", sans: [], now: make.noon };
      const duplicate = async (change: Partial<typeof asked>, tenant = defaultTenant) =>
        (await keyStatus(digest, { tenant, duplicate: { ...asked, ...change } })).duplicate;
      expect(await duplicate({})).toBe(true);
      expect(await duplicate({ subject: "CN=first" })).toBe(false);
      expect(await duplicate({}, tenantId("other"))).toBe(false);
      expect(await duplicate({ now: row.notAfter })).toBe(true);
      expect(await duplicate({ now: instant(row.notAfter + 1) })).toBe(false);
    });

    test("where subjects are empty, the names tell holders of a key apart", async () => {
      const { store } = given();
      const digest = newDigest();
      const sans = ["dns:a.example", 'email:"q"@b.example'];
      await issued(store, { spkiSha256: digest, subject: "", commonName: "", sans });
      const duplicate = async (holder: Omit<KeySubject, "now">) =>
        (await keyStatus(digest, { duplicate: { ...holder, now: make.noon } })).duplicate;
      expect(await duplicate({ subject: "", sans })).toBe(false);
      expect(await duplicate({ subject: "", sans: ["dns:b.example"] })).toBe(true);
      expect(await duplicate({ subject: "CN=second", sans })).toBe(true);
    });

    test("certificates with a key are counted until they are revoked", async () => {
      const { store } = given();
      const digest = newDigest();
      const [one] = [
        await issued(store, { spkiSha256: digest }),
        await issued(store, { spkiSha256: digest }),
      ];
      expect(await store.read.keyChecks.unrevokedWith(digest)).toBe(2);
      const { caId, serial } = one;
      await store.atomically((tx) =>
        tx.certificates.setStatus(caId, serial, "revoked", make.noon, "superseded"),
      );
      expect(await store.read.keyChecks.unrevokedWith(digest)).toBe(1);
    });
  });
}

const newDigest = () => crypto.getRandomValues(new Uint8Array(32)).toHex();

const blockedKey = (facts: Partial<BlockedKeyRecord> = {}): BlockedKeyRecord => ({
  id: crypto.randomUUID(),
  spkiSha256: newDigest(),
  reason: "leaked",
  source: "api",
  createdBy: "root",
  createdAt: make.noon,
  tenant: undefined,
  ...facts,
});

async function issued(store: Store, facts: Partial<ReturnType<typeof make.certificate>>) {
  const row = make.certificate(facts);
  const intent = make.intentFor(row);
  await store.atomically((tx) => tx.certificates.intend(intent));
  await store.atomically((tx) => tx.certificates.activate(intent.opId, row));
  return row;
}
