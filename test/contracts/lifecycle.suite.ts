/** What every store must do for the life of a CA: import, rollover, cross certificates, removal. */

import { expect, test } from "bun:test";

import { caId } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { Store, Unit } from "#domain/store.ts";
import * as make from "#test/support/stores/records.ts";

type Given = () => { readonly store: Store; readonly home: ReturnType<typeof caId> };
const { noon } = make;
const later = (seconds: number) => instant(noon + seconds * 1000);

/** Part of the store contract; `home` is a CA id no other test uses. */
export function lifecycle(given: Given): void {
  test("an imported certificate makes a pending CA active once, and found by its new name", async () => {
    const { store, home } = given();
    const none = { certificate: undefined, serial: undefined, notBefore: undefined };
    const csr = Uint8Array.of(48, 1, 0);
    const row = make.ca({ id: home, ...none, notAfter: undefined, status: "pending", csr });
    await store.atomically((tx) => tx.cas.insert(row));
    const certified = {
      subject: `CN=Ünique ${home}`,
      maxPathLength: 0,
      externalChain: "PEM",
      certificate: Uint8Array.of(48, 2, 5, 0),
      serial: make.newSerial(),
      notBefore: later(0),
      notAfter: later(60),
    };
    const certify = () => store.atomically((tx) => tx.cas.certify(home, "pending", certified));
    expect([await certify(), await certify()]).toEqual([true, false]);
    expect(await store.read.cas.byId(home)).toEqual({ ...row, ...certified, status: "active" });
    const page = await store.read.cas.page({ reach: "platform", text: `ünique ${home}` }, 10);
    expect(page.items.map(({ id }) => id)).toEqual([home]);
    const bare = { ...certified, maxPathLength: undefined, externalChain: undefined };
    await store.atomically((tx) => tx.cas.certify(home, "active", bare));
    expect(await store.read.cas.byId(home)).toMatchObject(bare);
  });

  test("an active CA is superseded once, and a unit sees the status the one before it left", async () => {
    const { store, home } = given();
    const by = caId(crypto.randomUUID());
    await store.atomically((tx) => tx.cas.insert(make.ca({ id: home })));
    const supersede = () => store.atomically((tx) => tx.cas.supersede(home, by, later(5)));
    const status = () => store.atomically((tx) => tx.cas.status(home));
    const order = await Promise.all([status(), supersede(), status(), supersede()]);
    expect(order).toEqual(["active", true, "superseded", false]);
    expect(await store.read.cas.byId(home)).toMatchObject({
      status: "superseded",
      successor: by,
      retireAfter: later(5),
    });
    expect(await store.atomically((tx) => tx.cas.status(by))).toBeUndefined();
  });

  test("a removed CA is gone, children are known, and its label is free again", async () => {
    const { store, home } = given();
    const serial = make.newSerial();
    const row = make.ca({ id: home, serial });
    const child = make.ca({ parent: home });
    for (const ca of [row, child]) await store.atomically((tx) => tx.cas.insert(ca));
    expect(await store.read.cas.hasChildren(home)).toBe(true);
    expect(await store.read.cas.hasChildren(child.id)).toBe(false);
    await make.issue(store, make.certificate({ caId: home, serial, kind: "ca" }));
    const remove = (own?: Parameters<Unit["cas"]["remove"]>[1]) =>
      store.atomically((tx) => tx.cas.remove(home, own));
    expect(await remove({ serial: undefined })).toBe(false);
    expect([await remove({ serial: row.serial }), await remove()]).toEqual([true, false]);
    expect(await store.read.cas.byId(home)).toBeUndefined();
    await store.atomically((tx) => tx.cas.insert(make.ca({ label: row.label })));
  });

  test("outstanding are the unexpired good and held certificates of a key, and those being signed", async () => {
    const { store, home } = given();
    const rows = [
      make.certificate({ caId: home, notAfter: later(10) }),
      make.certificate({ caId: home, notAfter: later(30), status: "held" }),
      make.certificate({ caId: home, notAfter: later(40), status: "revoked" }),
      make.certificate({ caId: home, notAfter: later(50), kind: "responder" }),
      make.certificate({ notAfter: later(50) }),
    ];
    expect(await store.read.certificates.outstanding(home, noon)).toEqual({
      count: 0,
      latestNotAfter: undefined,
    });
    for (const row of rows) await make.issue(store, row);
    const outstanding = (at: number) => store.read.certificates.outstanding(home, later(at));
    expect(await outstanding(10)).toEqual({ count: 2, latestNotAfter: later(30) });
    expect(await outstanding(11)).toEqual({ count: 1, latestNotAfter: later(30) });
    const open = make.intentFor(make.certificate({ caId: home }));
    await store.atomically((tx) => make.intend(tx, open));
    expect((await outstanding(11)).count).toBe(2);
    await store.atomically((tx) => tx.certificates.settle(open.opId, "abandoned"));
    expect((await outstanding(11)).count).toBe(1);
  });

  test("IMP-3: a certificate without an intent is adopted under a serial that nobody has", async () => {
    const { store, home } = given();
    const row = { ...make.certificate({ caId: home }), marker: "imported" };
    const adopt = (one: typeof row) => store.atomically((tx) => tx.certificates.adopt(one));
    expect(await adopt(row)).toBe(true);
    expect(await store.read.certificates.bySerial(home, row.serial)).toEqual(row);
    expect(await adopt(row)).toBe(false);
    const issued = make.certificate({ caId: home });
    await make.issue(store, issued);
    expect(await adopt({ ...row, id: crypto.randomUUID(), serial: issued.serial })).toBe(false);
    const open = make.intentFor(make.certificate({ caId: home }));
    await store.atomically((tx) => make.intend(tx, open));
    expect(await adopt({ ...row, id: crypto.randomUUID(), serial: open.serial })).toBe(false);
    const two = { ...row, id: crypto.randomUUID(), serial: make.newSerial() };
    const both = store.atomically(async (tx) => [
      await tx.certificates.adopt(two),
      await tx.certificates.adopt({ ...two, id: crypto.randomUUID() }),
      await tx.certificates.intend({ ...make.intentFor(two), opId: crypto.randomUUID() }),
    ]);
    expect(await both).toEqual([true, false, false]);
  });

  test("a key has signed beyond its own certificate and that of its responder once it took another serial or CRL number", async () => {
    const { store, home } = given();
    const own = make.certificate({ caId: home, kind: "ca" });
    const beyond = () => store.read.certificates.signedBeyond(home, own.serial);
    await make.issue(store, own);
    const responder = make.certificate({ caId: home, kind: "responder" });
    const intent = { ...make.intentFor(responder), purpose: "responder_certificate" as const };
    await store.atomically((tx) => make.intend(tx, intent));
    expect(await beyond()).toBe(false);
    await store.atomically((tx) =>
      tx.revocations.reserveCrl(home, "full", { at: noon, wanted: noon, believed: true }, 0),
    );
    expect(await beyond()).toBe(true);
    const other = make.certificate();
    await make.issue(store, other);
    expect(await store.read.certificates.signedBeyond(other.caId, undefined)).toBe(true);
  });

  test("a cross certificate is read with its certificate's row, whose revocation shows at once", async () => {
    const { store, home } = given();
    const subjectCa = caId(crypto.randomUUID());
    const facts = (seconds: number) => ({
      id: crypto.randomUUID(),
      issuer: home,
      serial: make.newSerial(),
      subjectCa,
      subjectKeyId: "ab".repeat(20),
      source: "local-ca" as const,
      createdAt: later(seconds),
    });
    const [first, second] = [facts(1), { ...facts(2), subjectCa: undefined }];
    for (const cross of [first, second]) {
      await make.issue(
        store,
        make.certificate({ caId: home, serial: cross.serial, kind: "cross" }),
      );
      await store.atomically((tx) => tx.cas.insertCrossSign(cross));
    }
    const page = await store.read.cas.crossSigns(home, 1);
    expect(page).toMatchObject({ total: 2, items: [{ id: second.id, subjectCa: undefined }] });
    const rest = await store.read.cas.crossSigns(home, 1, page.next);
    expect(rest).toMatchObject({ next: undefined, items: [{ ...first, revoked: false }] });
    expect(await store.read.cas.crossSign(first.id)).toMatchObject(first);
    expect(await store.read.cas.crossSign("none")).toBeUndefined();
    const { serial } = first;
    const revoke = () =>
      store.atomically((tx) =>
        tx.certificates.setStatus(home, serial, "revoked", noon, "superseded"),
      );
    await revoke();
    expect(await store.read.cas.crossSignsOf(subjectCa)).toMatchObject([
      { ...first, revoked: true },
    ]);
  });
}
