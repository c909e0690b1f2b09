/**
 * What a store guarantees about certificates that later ones outlive, and about their ends, whoever
 * keeps it.
 */

import { expect, test } from "bun:test";

import { addSeconds } from "#core/time.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Store } from "#domain/store.ts";
import * as make from "#test/support/stores/records.ts";

import { expiryContract } from "./store-expiry.suite.ts";

/** The guarantees, as tests of the store `given` holds. */
export function supersededContract(given: () => { readonly store: Store }): void {
  const day = 86_400;
  const prepared = async () => {
    const { store } = given();
    const old = make.ca({ status: "superseded" });
    const next = make.ca({ lineage: old.id });
    const stranger = make.ca();
    await store.atomically(async (tx) => {
      for (const ca of [old, next, stranger]) await tx.cas.insert(ca);
    });
    const subject = `CN=${crypto.randomUUID()}`;
    const row = make.certificate({ caId: old.id, subject, notAfter: addSeconds(make.noon, day) });
    await make.issue(store, row);
    const later = (facts: Partial<CertificateRecord> = {}) =>
      make.issue(
        store,
        make.certificate({
          caId: next.id,
          subject,
          notAfter: addSeconds(make.noon, 2 * day),
          ...facts,
        }),
      );
    const outlived = async () =>
      (await store.read.certificates.superseded(old.id, [row.serial])).has(row.serial);
    return { store, old, next, stranger, row, later, outlived };
  };

  test("a later certificate of the same lineage, subject and profile supersedes", async () => {
    const { outlived, later, store, next, row } = await prepared();
    expect(await outlived()).toBe(false);
    await later();
    expect(await outlived()).toBe(true);
    expect(await store.read.certificates.superseded(next.id, [row.serial])).toEqual(new Set());
    expect(await store.read.certificates.superseded(next.id, [])).toEqual(new Set());
  });

  test("nothing else does", async () => {
    const { outlived, later, stranger, row } = await prepared();
    await later({ notAfter: row.notAfter });
    await later({ subject: `${row.subject}x` });
    await later({ profile: "other" });
    await later({ caId: stranger.id });
    await later({ status: "held" });
    await later({ status: "revoked" });
    await later({ kind: "serving" });
    expect(await outlived()).toBe(false);
  });

  test("CAN-1: what a probe was given supersedes nothing and is superseded by nothing", async () => {
    const { outlived, later, store, next, row } = await prepared();
    await later({ marker: "canary" });
    expect(await outlived()).toBe(false);
    const { subject } = row;
    const probed = make.certificate({ caId: next.id, subject, marker: "canary" });
    await make.issue(store, probed);
    await later({ notAfter: addSeconds(probed.notAfter, 1) });
    expect(await store.read.certificates.superseded(next.id, [probed.serial])).toEqual(new Set());
  });

  test("without subject the names say who it is, in whatever order", async () => {
    const { store, old } = await prepared();
    const name = `dns:${crypto.randomUUID()}`;
    const nameless = (sans: readonly string[], days: number) =>
      make.certificate({
        caId: old.id,
        subject: "",
        sans,
        notAfter: addSeconds(make.noon, days * day),
      });
    const [first, other] = [nameless([name, "dns:b"], 1), nameless([name], 1)];
    for (const row of [first, other, nameless(["dns:b", name], 2)]) await make.issue(store, row);
    const serials = [first.serial, other.serial];
    expect(await store.read.certificates.superseded(old.id, serials)).toEqual(
      new Set([first.serial]),
    );
  });

  expiryContract(given);
}
