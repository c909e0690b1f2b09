/** What every store must find of its certificates by who asked for them, and by their digest. */

import { expect, test } from "bun:test";

import { sha256Hex } from "#core/crypto.ts";
import { type CaId, caId, type Serial } from "#core/ids.ts";
import { addSeconds } from "#core/time.ts";
import type { CertificateFilter, CertificateRecord } from "#domain/certificates/store.ts";
import type { Store } from "#domain/store.ts";
import * as make from "#test/support/stores/records.ts";

/** Declares the tests on the store that `given` gives when they run. */
export function lookUpContract(given: () => { readonly store: Store; readonly home: CaId }): void {
  const issued = async (facts: Partial<CertificateRecord> = {}) => {
    const { store, home } = given();
    const certificate = new TextEncoder().encode(crypto.randomUUID());
    const row = make.certificate({ caId: home, certificate, ...facts });
    await make.issue(store, row);
    return row;
  };
  const found = async (filter: Partial<CertificateFilter>) => {
    const { store, home } = given();
    const page = await store.read.certificates.page({ caId: home, now: make.noon, ...filter }, 10);
    expect(page.total).toBe(page.items.length);
    return page.items.map(({ id }) => id);
  };

  test("what somebody asked for is found by the whole of their name, newest first", async () => {
    const [ours, theirs] = [`local:${given().home}`, `token:${given().home}`];
    const first = await issued({ requestedBy: ours });
    const other = await issued({ requestedBy: theirs, notAfter: addSeconds(make.noon, 60) });
    const last = await issued({ requestedBy: ours, notAfter: addSeconds(make.noon, 60) });
    await issued({ requestedBy: ours, kind: "responder" });
    expect(await found({ requestedBy: ours })).toEqual([last.id, first.id]);
    expect(await found({ requestedBy: theirs })).toEqual([other.id]);
    for (const name of [ours.toUpperCase(), ours.slice(0, -1), `${ours}x`, ""]) {
      expect(await found({ requestedBy: name })).toEqual([]);
    }
    const soon = { requestedBy: ours, expiresBefore: addSeconds(make.noon, 61) };
    expect(await found(soon)).toEqual([last.id]);
    expect(await found({ requestedBy: ours, status: "held" })).toEqual([]);
    expect(await found({ requestedBy: ours, serialPrefix: last.serial })).toEqual([last.id]);
    expect(await found({ requestedBy: theirs, serialPrefix: last.serial })).toEqual([]);
  });

  test("a certificate is found by its digest alone, where the rest of the filter fits", async () => {
    const serial = "340282366920938463463374607431768211456" as Serial; // 2^128, in decimal.
    const row = await issued({ serial, commonName: "Zoë" });
    const sha256 = sha256Hex(row.certificate);
    await issued();
    expect(await found({ sha256 })).toEqual([row.id]);
    const { profile, requestedBy } = row;
    const more = { status: "good", text: "zoë", serialPrefix: "34", profile, requestedBy } as const;
    expect(await found({ sha256, ...more })).toEqual([row.id]);
    for (const wrong of [
      { status: "held" as const },
      { profile: "x" },
      { caId: caId("elsewhere") },
    ]) {
      expect(await found({ sha256, ...wrong })).toEqual([]);
    }
    // It begins as the digest of one does, and is that of none.
    const next = sha256.endsWith("0") ? "1" : "0";
    expect(await found({ sha256: sha256.slice(0, 63) + next })).toEqual([]);
    const system = await issued({ kind: "responder" });
    expect(await found({ sha256: sha256Hex(system.certificate) })).toEqual([]);
  });
}
