/** What every store must do for certificate transparency: precertificates, SCTs and heads. */

import { expect, test } from "bun:test";

import { type caId, tenantId } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { Store } from "#domain/store.ts";
import type { InclusionRecord } from "#domain/transparency/store.ts";
import { only } from "#test/support/stores/reach.ts";
import * as make from "#test/support/stores/records.ts";

const { noon } = make;
const later = (seconds: number) => instant(noon + seconds * 1000);

type Given = () => { readonly store: Store; readonly home: ReturnType<typeof caId> };

/** Declares the tests. */
export function transparencyContract(given: Given): void {
  test("a certificate keeps the SCTs of logs, and the absence of it", async () => {
    const { store, home } = given();
    const ct = {
      status: "failed_open" as const,
      sctCount: 1,
      operators: ["A"],
      logs: [{ log: "a", operator: "A", ok: false, error: "timeout" }],
    };
    const rows = [make.certificate({ caId: home, ct }), make.certificate({ caId: home })];
    for (const row of rows) {
      await make.issue(store, row);
      const found = await store.read.certificates.bySerial(home, row.serial);
      expect(found?.ct).toEqual(row.ct);
    }
  });

  test("an unsettled precertificate is lost once its intent came to nothing, until it is settled", async () => {
    const { store, home } = given();
    const [going, abandoned, settled] = [true, true, false].map((unsettled) => ({
      caId: home,
      serial: make.newSerial(),
      unsettled,
      createdAt: noon,
      certificate: Uint8Array.of(48, 9),
    }));
    if (!going || !abandoned || !settled) throw new Error("there are three");
    const intents = [going, abandoned, settled].map(({ serial }) =>
      make.intentFor(make.certificate({ caId: home, serial }), { purpose: "precertificate" }),
    );
    for (const [at, row] of [going, abandoned, settled].entries()) {
      const intent = intents[at];
      if (intent === undefined) throw new Error("there are three");
      await store.atomically(async (tx) => {
        await make.intend(tx, intent);
        await tx.transparency.keep(row);
        if (row !== going) await tx.certificates.settle(intent.opId, "abandoned");
      });
    }
    const lost = async () =>
      (await store.read.transparency.lost(1000)).filter(({ caId }) => caId === home);
    expect(await lost()).toEqual([abandoned]);
    const { transparency } = store.read;
    expect(await transparency.precertificate(home, going.serial)).toEqual(going);
    expect(await transparency.precertificate(home, make.newSerial())).toBeUndefined();
    const { serial } = abandoned;
    await store.atomically((tx) => tx.transparency.settlePrecertificate(home, serial));
    expect(await lost()).toEqual([]);
  });

  test("a precertificate is endless while the entry of its serial has no end, which can be set without moving it", async () => {
    const { store, home } = given();
    const serials = [make.newSerial(), make.newSerial(), make.newSerial()];
    for (const [at, serial] of serials.entries()) {
      const certificate = Uint8Array.of(48, at);
      const kept = { caId: home, serial, certificate, createdAt: noon, unsettled: false };
      const entry = { caId: home, serial, revokedAt: noon, known: false } as const;
      await store.atomically(async (tx) => {
        await tx.transparency.keep(kept);
        const expiresAt = at === 0 ? undefined : noon;
        if (at < 2) await tx.revocations.put({ ...entry, reason: "unspecified", expiresAt });
      });
    }
    const [serial] = serials;
    if (serial === undefined) throw new Error("there are three");
    const endless = async () =>
      (await store.read.transparency.endless(1000)).filter(({ caId }) => caId === home);
    expect((await endless()).map((row) => row.serial)).toEqual([serial]);
    const before = await store.read.revocations.bySerial(home, serial);
    await store.atomically((tx) => tx.revocations.setEnd(home, serial, later(9)));
    expect(await endless()).toEqual([]);
    const after = await store.read.revocations.bySerial(home, serial);
    expect(after).toEqual(before && { ...before, expiresAt: later(9) });
  });

  test("SCTs are listed by page, newest first, filtered by tenant, state, CA and serial, and counted", async () => {
    const { store, home } = given();
    const other = tenantId(crypto.randomUUID());
    const rows = [
      inclusion(home, { sctTimestamp: later(1) }),
      inclusion(home, { sctTimestamp: later(2), status: "included", treeSize: 9, leafIndex: 4 }),
      inclusion(home, { sctTimestamp: later(3), status: "failed", tenant: other, alerted: true }),
    ];
    for (const row of rows) await store.atomically((tx) => tx.transparency.expect(row));
    const { inclusions, counts } = store.read.transparency;
    const all = { reach: "platform", caId: home } as const;
    const first = await inclusions(all, 2);
    expect(first.items).toEqual([...rows].reverse().slice(0, 2));
    expect(first.total).toBe(3);
    expect((await inclusions(all, 2, first.next)).items).toEqual(rows.slice(0, 1));
    expect((await inclusions({ ...all, reach: only([other]) }, 9)).items).toEqual(rows.slice(2));
    expect((await inclusions({ ...all, reach: only([]) }, 9)).items).toEqual([]);
    expect((await inclusions({ ...all, status: "included" }, 9)).items).toEqual(rows.slice(1, 2));
    const serial = rows[0]?.serial;
    expect((await inclusions({ ...all, serial }, 9)).items).toEqual(rows.slice(0, 1));
    const sums = { pending: 1, included: 1, failed: 1, unknown_log: 0 };
    expect(await counts({ ...all, status: "failed" })).toEqual(sums);
    expect(await counts({ ...all, reach: only([other]) })).toEqual({
      ...sums,
      pending: 0,
      included: 0,
    });
  });

  test("what is due comes in the order of its time, and a settled SCT is due no more", async () => {
    const { store, home } = given();
    const rows = [
      inclusion(home, { dueAt: later(-3000) }),
      inclusion(home, { dueAt: later(-4000), status: "unknown_log" }),
      inclusion(home, { dueAt: later(5) }),
      inclusion(home, { dueAt: later(-5000), status: "failed" }),
    ];
    for (const row of rows) await store.atomically((tx) => tx.transparency.expect(row));
    const due = async () =>
      (await store.read.transparency.due(noon, 1000)).filter(({ caId }) => caId === home);
    expect(await due()).toEqual([rows[1], rows[0]].flatMap((row) => row ?? []));
    const [row] = rows;
    if (row === undefined) throw new Error("there is a first");
    const kept: InclusionRecord = {
      ...row,
      status: "included",
      treeSize: 5,
      leafIndex: 2,
      checks: 1,
      includedAt: noon,
      firstCheckedAt: noon,
      lastCheckedAt: noon,
    };
    await store.atomically((tx) => tx.transparency.update(kept));
    expect((await due()).map(({ id }) => id)).toEqual([rows[1]?.id ?? ""]);
    const filter = { reach: "platform", caId: home, status: "included" } as const;
    expect((await store.read.transparency.inclusions(filter, 9)).items).toEqual([kept]);
  });

  test("the last head of a log replaces the one before", async () => {
    const { store } = given();
    const logId = crypto.randomUUID();
    expect(await store.read.transparency.head(logId)).toBeUndefined();
    for (const treeSize of [4, 9]) {
      const head = { logId, treeSize, rootHash: new Uint8Array(32).fill(treeSize) };
      const row = { ...head, timestamp: later(treeSize) };
      await store.atomically((tx) => tx.transparency.setHead(row));
      expect(await store.read.transparency.head(logId)).toEqual(row);
    }
  });
}

function inclusion(
  home: ReturnType<typeof caId>,
  facts: Partial<InclusionRecord>,
): InclusionRecord {
  return {
    id: crypto.randomUUID(),
    caId: home,
    tenant: tenantId("default"),
    checks: 0,
    serial: make.newSerial(),
    logId: "ab".repeat(32),
    logName: "log-a",
    status: "pending",
    sctTimestamp: noon,
    leafHash: "cd".repeat(32),
    sctLeafIndex: 7,
    dueAt: noon,
    treeSize: undefined,
    leafIndex: undefined,
    lastError: "",
    alerted: false,
    firstCheckedAt: undefined,
    lastCheckedAt: undefined,
    includedAt: undefined,
    ...facts,
  };
}
