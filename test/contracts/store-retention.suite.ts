/** What every store must do about certificates that leave the inventory. */

import { describe, expect, test } from "bun:test";

import { sha256Hex } from "#core/crypto.ts";
import type { CaId, Serial } from "#core/ids.ts";
import { addSeconds } from "#core/time.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Expired } from "#domain/retention/store.ts";
import type { Store } from "#domain/store.ts";
import * as make from "#test/support/stores/records.ts";

const { noon } = make;
const day = 86_400;
const before = addSeconds(noon, 500 * day);

/** Declares the tests on the store that `given` gives when they run. */
export function retentionContract(
  given: () => { readonly store: Store; readonly home: CaId },
): void {
  describe("certificates that leave", () => {
    const issued = async (facts: Partial<CertificateRecord> = {}) => {
      const row = make.certificate({ caId: given().home, ...facts });
      await make.issue(given().store, row);
      return row;
    };
    const expired = () => given().store.read.retention.expired(given().home, before, 100);
    const shown = (serial: Serial) =>
      given().store.read.certificates.bySerial(given().home, serial);
    const leave = (what: "archive" | "prune", ...serials: Serial[]) =>
      given().store.atomically(({ retention }) =>
        what === "archive"
          ? retention.archive(given().home, serials, noon)
          : retention.prune(given().home, serials),
      );
    const setStatus = (serial: Serial, status: "revoked" | "held") =>
      given().store.atomically((tx) =>
        tx.certificates.setStatus(given().home, serial, status, noon, "superseded"),
      );

    test("leaves that ended and are not held are walked in a fixed order, page by page", async () => {
      const ends = [30, 10, 20].map((days) => addSeconds(noon, days * day));
      const rows: CertificateRecord[] = [];
      for (const notAfter of ends) rows.push(await issued({ notAfter }));
      const serials = rows.map(({ serial }) => serial);
      const revoked = await issued({ notAfter: ends[0] ?? noon });
      await setStatus(revoked.serial, "revoked");
      const held = await issued({ notAfter: ends[0] ?? noon });
      await setStatus(held.serial, "held");
      await issued({ notAfter: addSeconds(before, day) });
      await issued({ notAfter: ends[0] ?? noon, kind: "responder" });
      const all = (await expired()).items;
      expect(all.map(({ serial }) => String(serial))).toEqual(
        [serials[1], serials[2], serials[0], revoked.serial].map(String),
      );
      expect(all.map(({ status }) => status)).toEqual(["good", "good", "good", "revoked"]);
      const paged: Expired[] = [];
      for (let after: Parameters<Store["read"]["retention"]["expired"]>[3]; ; ) {
        const { expired: page } = given().store.read.retention;
        const { items, next } = await page(given().home, before, 2, after);
        paged.push(...items);
        if (next === undefined) break;
        after = next;
      }
      expect(paged).toEqual([...all]);
    });

    test("one in the archive is shown, listed, found and counted as before", async () => {
      const certificate = new TextEncoder().encode(`archived of ${given().home}`);
      const row = await issued({ notAfter: addSeconds(noon, day), certificate });
      const filter = { caId: given().home, now: noon, spkiSha256: row.spkiSha256 };
      const listed = () => given().store.read.certificates.page(filter, 10);
      const [one, list] = [await shown(row.serial), await listed()];
      expect(await leave("archive", row.serial)).toEqual([
        { serial: row.serial, sha256: sha256Hex(row.certificate) },
      ]);
      expect(await shown(row.serial)).toEqual(one);
      expect(await listed()).toEqual(list);
      expect((await expired()).items.map(({ der }) => der)).toEqual(["archive"]);
      // Again is nothing.
      expect(await leave("archive", row.serial)).toEqual([]);
      const text = { ...filter, spkiSha256: undefined, text: row.commonName };
      expect((await given().store.read.certificates.page(text, 10)).total).toBe(1);
      const digest = { caId: given().home, now: noon, sha256: sha256Hex(row.certificate) };
      expect((await given().store.read.certificates.page(digest, 10)).items).toEqual(list.items);
    });

    test("of one that was pruned key, serial, validity and status are found, and nothing else", async () => {
      for (const first of ["archive", "prune"] as const) {
        const key = first === "archive" ? "a1" : "b2";
        const names = { commonName: `${first}.example`, spkiSha256: key.repeat(32) };
        const certificate = new TextEncoder().encode(`${first} of ${given().home}`);
        const row = await issued({ certificate, notAfter: addSeconds(noon, day), ...names });
        await leave(first, row.serial);
        const left = await leave("prune", row.serial);
        expect(left.length).toBe(first === "archive" ? 1 : 0);
        const { id, caId, tenant, serial, kind, profile, notBefore, notAfter } = row;
        const kept = { id, caId, tenant, serial, kind, profile, notBefore, notAfter };
        const { spkiSha256, status, createdAt } = row;
        const nothing = { subject: "", commonName: "", sans: [], requestedBy: "" };
        const facts = Object.assign({ spkiSha256, status, createdAt }, kept, nothing);
        expect(await shown(serial)).toMatchObject(facts);
        expect((await shown(serial))?.certificate.length).toBe(0);
        const { page } = given().store.read.certificates;
        const about = { caId: given().home, now: noon };
        expect((await page({ ...about, spkiSha256 }, 10)).total).toBe(1);
        expect((await page({ ...about, text: row.commonName }, 10)).total).toBe(0);
        expect((await page({ ...about, sha256: sha256Hex(row.certificate) }, 10)).total).toBe(0);
        expect((await page({ ...about, sha256: sha256Hex(new Uint8Array()) }, 10)).total).toBe(0);
        expect(await leave("prune", serial)).toEqual([]);
      }
    });

    test("REC-1: a serial that left is still taken", async () => {
      const row = await issued({ notAfter: addSeconds(noon, day) });
      await leave("prune", row.serial);
      const again = make.intentFor(make.certificate({ caId: given().home, serial: row.serial }));
      expect(await given().store.atomically((tx) => tx.certificates.intend(again))).toBe(false);
    });

    test("OCSP and revocation see one that left as they see any other", async () => {
      const row = await issued({ notAfter: addSeconds(noon, day) });
      await leave("prune", row.serial);
      const status = () => given().store.read.revocations.certStatus(given().home, row.serial);
      expect(await status()).toMatchObject({ status: "good" });
      const entry = make.revocation({ caId: given().home, serial: row.serial });
      await given().store.atomically(async (tx) => {
        await tx.revocations.put(entry);
        await tx.certificates.setStatus(given().home, row.serial, "revoked", noon, "superseded");
      });
      expect(await status()).toMatchObject({ status: "revoked" });
      expect((await shown(row.serial))?.status).toBe("revoked");
    });

    test("what is held, another CA's or no leaf stays where it is", async () => {
      const held = await issued({ notAfter: addSeconds(noon, day) });
      await setStatus(held.serial, "held");
      const own = await issued({ notAfter: addSeconds(noon, day), kind: "serving" });
      for (const what of ["archive", "prune"] as const) {
        expect(await leave(what, held.serial, own.serial, make.newSerial())).toEqual([]);
      }
      expect((await shown(held.serial))?.certificate).toEqual(held.certificate);
    });

    test("CRL-7: an entry is off the lists when each newest base followed one made after its end", async () => {
      const { retention } = given().store.read;
      const until = () => retention.offListsUntil(given().home, noon);
      expect(await until()).toBe(noon);
      const list = (facts: Partial<ReturnType<typeof make.crl>>) =>
        given().store.atomically((tx) =>
          tx.revocations.publishCrl(make.crl({ caId: given().home, ...facts })),
        );
      const prior = { thisUpdate: addSeconds(noon, -day), sequence: 0 };
      const live = { nextUpdate: addSeconds(noon, day) };
      await list({ number: 1, ...live, prior: undefined });
      expect(await until()).toBeUndefined();
      await list({ number: 2, ...live, prior });
      expect(await until()).toBe(prior.thisUpdate);
      const earlier = { ...prior, thisUpdate: addSeconds(noon, -3 * day) };
      await list({ scope: "shard-1", number: 1, ...live, prior: earlier });
      expect(await until()).toBe(earlier.thisUpdate);
      // What relying parties take no more says nothing.
      await list({
        scope: "shard-2",
        number: 1,
        nextUpdate: addSeconds(noon, -1),
        prior: undefined,
      });
      expect(await until()).toBe(earlier.thisUpdate);
    });
  });
}
