/** What every store must do, whatever holds the rows: the ports' guarantees, one test each. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";

import { caId, defaultTenant, type Serial, tenantId } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { Page, PageKey } from "#domain/page.ts";
import type { Store } from "#domain/store.ts";
import { acmeContract } from "./store-acme.suite.ts";
import { bulkContract } from "./store-bulk.suite.ts";
import { bulkRevocationContract } from "./store-bulk-revocations.suite.ts";
import { crlContract } from "./store-crls.suite.ts";
import { envelopeContract } from "./store-envelopes.suite.ts";
import { eventSpanContract } from "./store-event-spans.suite.ts";
import { keyCheckContract } from "./store-key-checks.suite.ts";
import { passkeyContract } from "./store-passkeys.suite.ts";
import { presignedContract } from "./store-presigned.suite.ts";
import { replacementContract } from "./store-replacements.suite.ts";
import { responderContract } from "./store-responders.suite.ts";
import { lookUpContract } from "./store-look-ups.suite.ts";
import { retentionContract } from "./store-retention.suite.ts";
import { supersededContract } from "./store-superseded.suite.ts";
import { approvalContract } from "./store-approvals.suite.ts";
import { tenantContract } from "./store-tenants.suite.ts";
import { transparencyContract } from "./store-transparency.suite.ts";
import * as make from "#test/support/stores/records.ts";
import { lifecycle } from "./lifecycle.suite.ts";
import { only } from "#test/support/stores/reach.ts";
import { expectRefusal } from "#test/support/expect-refusal.ts";
import { until } from "#test/support/until.ts";

const { noon } = make;
const later = (seconds: number) => instant(noon + seconds * 1000);

/** Declares the suite for one implementation; `open` gives an empty store. */
export function storeContract(name: string, open: () => Promise<Store>): void {
  describe(`Store on ${name}`, () => {
    let store: Store;
    let home: ReturnType<typeof caId>;
    beforeAll(async () => {
      store = await open();
    });
    beforeEach(() => {
      home = caId(crypto.randomUUID());
    });
    afterAll(() => store.close());
    const given = () => ({ store, home });
    authorities(given);
    lifecycle(given);
    certificates(given);
    search(given);
    revocations(given);
    responderContract(given);
    crlContract(given);
    access(given);
    keyCheckContract(given);
    eventSpanContract(given);
    bulkContract(given);
    bulkRevocationContract(given);
    supersededContract(given);
    transparencyContract(given);
    envelopeContract(given);
    tenantContract(given);
    approvalContract(given);
    passkeyContract(given);
    presignedContract(given);
    lookUpContract(given);
    retentionContract(given);
    acmeContract(given);
    replacementContract(given);
    audit(given);
    units(given);
  });
}

type Given = () => { readonly store: Store; readonly home: ReturnType<typeof caId> };

function authorities(given: Given): void {
  test("a CA is found by id and by label, with every field as it was stored", async () => {
    const { store } = given();
    const root = make.ca({ maxPathLength: 0 });
    const bare = { certificate: undefined, serial: undefined, notBefore: undefined };
    const hybrid = make.ca({
      alternative: {
        key: { provider: "software", label: "second", id: "bb".repeat(20) },
        keyType: "ml-dsa-65",
        spki: Uint8Array.of(48, 2, 254, 0),
      },
    });
    const waiting = make.ca({ ...bare, notAfter: undefined, status: "pending", parent: root.id });
    for (const row of [root, hybrid, waiting]) await store.atomically((tx) => tx.cas.insert(row));
    expect(await store.read.cas.byId(root.id)).toEqual(root);
    expect(await store.read.cas.byId(hybrid.id)).toEqual(hybrid);
    expect(await store.read.cas.byLabel(waiting.label)).toEqual(waiting);
    expect(await store.read.cas.byId(caId("none"))).toBeUndefined();
    const signing = (await store.read.cas.signing()).map(({ id }) => id);
    expect(signing).toContain(root.id);
    expect(signing).not.toContain(waiting.id);
  });

  test("a label is taken once, and the unit may go on after the refusal", async () => {
    const { store, home } = given();
    const label = `taken ${home}`;
    await store.atomically((tx) => tx.cas.insert(make.ca({ label })));
    const second = store.atomically((tx) => tx.cas.insert(make.ca({ label })));
    await expectRefusal(second, "already_exists", { field: "label" });
    const other = make.ca();
    await store.atomically(async (tx) => {
      await tx.cas.insert(make.ca({ label })).catch(() => {});
      await tx.cas.insert(other);
    });
    expect(await store.read.cas.byId(other.id)).toEqual(other);
  });

  test("CA lists are newest first, without internal ones, and keep to tenant, status, parent and text", async () => {
    const { store, home } = given();
    const tenant = tenantId(`tenant ${home}`);
    const subject = `CN=Straße ${home}`;
    const first = make.ca({ tenant, createdAt: later(1), subject });
    const second = make.ca({ tenant, createdAt: later(2), parent: home, status: "retired" });
    const hidden = make.ca({ tenant, createdAt: later(3), internal: true });
    for (const row of [second, hidden, first]) await store.atomically((tx) => tx.cas.insert(row));
    const ids = async (filter: object) =>
      (await store.read.cas.page({ reach: only([tenant]), ...filter }, 10)).items.map(
        ({ id }) => id,
      );
    expect(await ids({})).toEqual([second.id, first.id]);
    expect(await ids({ status: "retired" })).toEqual([second.id]);
    expect(await ids({ parent: home })).toEqual([second.id]);
    expect(await ids({ text: `sTRASSE ${home}`.replace("SS", "ß") })).toEqual([first.id]);
    expect(await ids({ text: "%" })).toEqual([]);
    expect(await ids({ reach: only([]) })).toEqual([]);
    expect(await ids({ reach: "platform", tenant })).toEqual([second.id, first.id]);
  });

  test("a lineage is listed oldest first, and a subject CA is retired once", async () => {
    const { store, home } = given();
    const old = make.ca({ id: home, parent: caId(`parent ${home}`) });
    const successor = make.ca({ lineage: home, createdAt: later(5) });
    for (const row of [successor, old]) await store.atomically((tx) => tx.cas.insert(row));
    expect((await store.read.cas.lineage(home)).map(({ id }) => id)).toEqual([home, successor.id]);
    // Set by `ca`.
    const { parent, serial } = { parent: caId(`parent ${home}`), serial: old.serial as Serial };
    const retire = () => store.atomically((tx) => tx.cas.retireSubject(parent, serial));
    expect(await retire()).toBe(home);
    expect(await retire()).toBeUndefined();
    expect((await store.read.cas.byId(home))?.status).toBe("retired");
  });
}

function certificates(given: Given): void {
  test("an issued certificate is found by serial, with every field as it was stored", async () => {
    const { store, home } = given();
    const row = make.certificate({ caId: home, marker: "canary" });
    await make.issue(store, row);
    expect(await store.read.certificates.bySerial(home, row.serial)).toEqual(row);
    expect(await store.read.certificates.bySerial(caId("other"), row.serial)).toBeUndefined();
  });

  test("REC-1: a serial is used once per CA key, and another CA may use it too", async () => {
    const { store, home } = given();
    const row = make.certificate({ caId: home });
    const intend = (at: typeof home) =>
      store.atomically((tx) => tx.certificates.intend(make.intentFor({ ...row, caId: at })));
    expect(await intend(home)).toBe(true);
    expect(await intend(home)).toBe(false);
    expect(await intend(caId(`${home}-b`))).toBe(true);
    const together = await Promise.all(Array.from({ length: 8 }, () => intend(caId(`${home}-c`))));
    expect(together.filter((taken) => taken)).toHaveLength(1);
  });

  test("an intent is settled once, and only with its own serial", async () => {
    const { store, home } = given();
    const row = make.certificate({ caId: home });
    const intent = make.intentFor(row);
    await store.atomically((tx) => tx.certificates.intend(intent));
    const activate = (serial: Serial) =>
      store.atomically((tx) => tx.certificates.activate(intent.opId, { ...row, serial }));
    await expect(activate(make.newSerial())).rejects.toThrow("assertion failed");
    await activate(row.serial);
    await expect(activate(row.serial)).rejects.toThrow("assertion failed");
    const settle = store.atomically((tx) => tx.certificates.settle(intent.opId, "abandoned"));
    await expect(settle).rejects.toThrow("assertion failed");
  });

  test("open intents become orphans at start, and are listed newest first", async () => {
    const { store, home } = given();
    const intents = [1, 2, 3].map((second) =>
      make.intentFor(make.certificate({ caId: home }), { createdAt: later(second) }),
    );
    for (const intent of intents) await store.atomically((tx) => tx.certificates.intend(intent));
    const [first, second, third] = intents.map(({ opId }) => opId);
    await store.atomically((tx) => tx.certificates.settle(String(second), "abandoned"));
    const orphaned = await store.atomically((tx) => tx.certificates.orphanOpenIntents());
    const ours = orphaned.filter((intent) => intent.caId === home);
    expect(new Set(ours.map(({ opId }) => opId))).toEqual(new Set([first, third].map(String)));
    expect(ours.every(({ state }) => state === "orphaned")).toBe(true);
    const listed = await store.read.certificates.orphans(home, 10);
    expect(listed.items.map(({ opId }) => opId)).toEqual([String(third), String(first)]);
    expect([listed.total, listed.next]).toEqual([2, undefined]);
    const page = await store.read.certificates.orphans(home, 1);
    expect([page.items.length, page.total]).toEqual([1, 2]);
    const rest = await store.read.certificates.orphans(home, 1, page.next);
    expect(rest.items.map(({ opId }) => opId)).toEqual([String(first)]);
    expect([rest.total, rest.next]).toEqual([2, undefined]);
    expect(await store.atomically((tx) => tx.certificates.orphanOpenIntents())).toEqual([]);
  });

  test("a status change is seen, and undone with its revocation facts", async () => {
    const { store, home } = given();
    const row = make.certificate({ caId: home });
    await make.issue(store, row);
    const set = (status: "held" | "good", reason: "certificateHold" | undefined) =>
      store.atomically(async (tx) => {
        expect(await tx.certificates.lock(home, row.serial)).toBeDefined();
        const at = reason && later(9);
        await tx.certificates.setStatus(home, row.serial, status, at, reason);
        return tx.certificates.lock(home, row.serial);
      });
    const held = {
      ...row,
      status: "held",
      revokedAt: later(9),
      reason: "certificateHold",
    } as const;
    expect(await set("held", "certificateHold")).toEqual(held);
    expect(await store.read.certificates.bySerial(home, row.serial)).toEqual(held);
    expect(await set("good", undefined)).toEqual(row);
    const nowhere = store.atomically((tx) =>
      tx.certificates.setStatus(home, make.newSerial(), "good", undefined, undefined),
    );
    await expect(nowhere).rejects.toThrow("assertion failed");
  });
}

function search(given: Given): void {
  test("the inventory is searched by each filter, leaves only", async () => {
    const { store, home } = given();
    const plain = make.certificate({ caId: home, createdAt: later(1), notAfter: later(60) });
    const serial = "340282366920938463463374607431768211455" as Serial; // 2^128 − 1, in decimal.
    const other = make.certificate({
      caId: home,
      createdAt: later(2),
      serial,
      profile: `profile ${home}`,
      subject: "CN=Zoë 100%_!",
      commonName: "Zoë",
      sans: ["email:Z@B.example"],
      spkiSha256: "00".repeat(32),
    });
    const held = make.certificate({ caId: home, createdAt: later(3), notAfter: later(60) });
    const system = make.certificate({ caId: home, kind: "responder" });
    for (const row of [plain, other, held, system]) await make.issue(store, row);
    await store.atomically((tx) =>
      tx.certificates.setStatus(home, held.serial, "held", noon, "certificateHold"),
    );
    const found = async (filter: object) => {
      const page = await store.read.certificates.page({ caId: home, now: noon, ...filter }, 10);
      expect(page.total).toBe(page.items.length);
      return page.items.map(({ id }) => [plain.id, other.id, held.id].indexOf(id));
    };
    expect(await found({})).toEqual([2, 1, 0]);
    expect(await found({ status: "good" })).toEqual([1, 0]);
    expect(await found({ status: "good", now: later(60) })).toEqual([1, 0]);
    expect(await found({ status: "good", now: later(61) })).toEqual([1]);
    expect(await found({ status: "expired", now: later(61) })).toEqual([0]);
    expect(await found({ status: "held", now: later(61) })).toEqual([2]);
    expect(await found({ profile: `profile ${home}` })).toEqual([1]);
    expect(await found({ text: "ZOË 100%_!" })).toEqual([1]);
    expect(await found({ text: "z@b.EXAMPLE" })).toEqual([1]);
    expect(await found({ text: "100%x" })).toEqual([]);
    expect(await found({ text: `0x${"f".repeat(32)}` })).toEqual([1]);
    expect(await found({ text: serial })).toEqual([1]);
    expect(await found({ text: serial.slice(0, -1) })).toEqual([]);
    expect(await found({ serialPrefix: "34028236692" })).toEqual([1]);
    expect(await found({ serialPrefix: "0xfff" })).toEqual([1]);
    expect(await found({ serialPrefix: "%" })).toEqual([]);
    expect(await found({ expiresBefore: later(61) })).toEqual([2, 0]);
    expect(await found({ expiresBefore: later(60) })).toEqual([]);
    expect(await found({ spkiSha256: "00".repeat(32) })).toEqual([1]);
  });

  test("a profile is seen where a certificate of a readable CA names it", async () => {
    const { store } = given();
    const ca = make.ca({ tenant: tenantId(`tenant ${crypto.randomUUID()}`) });
    await store.atomically((tx) => tx.cas.insert(ca));
    const row = make.certificate({ caId: ca.id, tenant: ca.tenant, profile: `profile ${ca.id}` });
    await make.issue(store, row);
    const { profileSeen } = store.read.certificates;
    expect(await profileSeen(row.profile, "platform")).toBe(true);
    expect(await profileSeen(row.profile, only([defaultTenant, ca.tenant]))).toBe(true);
    expect(await profileSeen(row.profile, only([defaultTenant]))).toBe(false);
    expect(await profileSeen(row.profile, only([]))).toBe(false);
    expect(await profileSeen(`no ${row.profile}`, "platform")).toBe(false);
  });

  test("a page never shifts under the reader", async () => {
    const { store, home } = given();
    const rows = Array.from({ length: 7 }, (_, index) =>
      make.certificate({ caId: home, createdAt: later(index < 4 ? 1 : 2) }),
    );
    for (const row of rows) await make.issue(store, row);
    const page = (limit: number, after?: PageKey) =>
      store.read.certificates.page({ caId: home, now: noon }, limit, after);
    const all = await page(10);
    expect(all.next).toBeUndefined();
    const first = await page(3);
    expect(first.total).toBe(7);
    await make.issue(store, make.certificate({ caId: home, createdAt: later(3) }));
    const walked = await walk(first, (after) => page(3, after));
    expect(walked.map(({ id }) => id)).toEqual(all.items.map(({ id }) => id));
  });
}

async function walk<T>(first: Page<T>, next: (after: PageKey) => Promise<Page<T>>): Promise<T[]> {
  const seen = [...first.items];
  for (let page = first; page.next !== undefined; ) {
    page = await next(page.next);
    seen.push(...page.items);
  }
  return seen;
}

function revocations(given: Given): void {
  test("each put and remove takes the next number of one store-wide sequence", async () => {
    const { store, home } = given();
    const before = await store.read.revocations.sequence();
    const entry = make.revocation({ caId: home, known: false, expiresAt: undefined });
    const { serial } = entry;
    const put = () => store.atomically((tx) => tx.revocations.put(entry));
    expect(await put()).toBe(before + 1);
    expect(await store.read.revocations.sequence()).toBe(before + 1);
    const other = caId(`${home}-b`);
    await store.atomically((tx) => tx.revocations.put(make.revocation({ caId: other })));
    expect(await store.read.revocations.lastChange(home)).toBe(before + 1);
    expect(await put()).toBe(before + 3);
    const stored = { ...entry, sequence: before + 3 };
    expect(await store.read.revocations.bySerial(home, serial)).toEqual(stored);
    expect(await store.atomically((tx) => tx.revocations.lock(home, serial))).toEqual(stored);
    expect(await store.atomically((tx) => tx.revocations.remove(home, serial))).toBe(before + 4);
    expect(await store.read.revocations.bySerial(home, serial)).toBeUndefined();
    expect(await store.read.revocations.lastChange(home)).toBe(before + 4);
    expect(await store.read.revocations.lastChange(caId("none"))).toBe(0);
  });

  test("a unit that fails gives its sequence number back", async () => {
    const { store, home } = given();
    const before = await store.read.revocations.sequence();
    const failing = store.atomically(async (tx) => {
      await tx.revocations.put(make.revocation({ caId: home }));
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    const put = store.atomically((tx) => tx.revocations.put(make.revocation({ caId: home })));
    expect(await put).toBe(before + 1);
  });

  test("the status of a serial: unknown, intended, good, revoked, bare", async () => {
    const { store, home } = given();
    const row = make.certificate({ caId: home });
    const certStatus = (serial: Serial) => store.read.revocations.certStatus(home, serial);
    expect(await certStatus(row.serial)).toEqual({ status: "unknown" });
    const intent = make.intentFor(row);
    await store.atomically((tx) => make.intend(tx, intent));
    expect(await certStatus(row.serial)).toEqual({ status: "unknown" });
    await store.atomically((tx) => make.activate(tx, intent, row));
    expect(await certStatus(row.serial)).toEqual({ status: "good", profile: row.profile });
    const entries = [
      make.revocation({ caId: home, serial: row.serial }),
      make.revocation({ caId: home, known: false, expiresAt: undefined }),
    ];
    for (const entry of entries) await store.atomically((tx) => tx.revocations.put(entry));
    const revoked = { status: "revoked", at: noon, reason: "keyCompromise" } as const;
    for (const { serial, known } of entries) {
      const profile = known ? row.profile : undefined;
      expect(await certStatus(serial)).toEqual({ ...revoked, profile });
    }
  });

  test("revocations are listed newest first", async () => {
    const { store, home } = given();
    const serials = ["77001", "77002", "88001"] as Serial[]; // Decimal, no leading zeros.
    for (const serial of serials) {
      await store.atomically((tx) => tx.revocations.put(make.revocation({ caId: home, serial })));
    }
    const page = (limit: number, after?: PageKey, serialPrefix?: string) =>
      store.read.revocations.page({ caId: home, serialPrefix }, limit, after);
    const walked = await walk(await page(2), (after) => page(2, after));
    expect(walked.map(({ serial }) => serial)).toEqual(serials.toReversed());
    const prefixed = await page(5, undefined, "77");
    expect([prefixed.total, prefixed.next]).toEqual([2, undefined]);
  });
}

function access(given: Given): void {
  test("a token is found by hash and id, listed by tenant, touched, and revoked once", async () => {
    const { store, home } = given();
    const tenant = tenantId(`tenant ${home}`);
    const before = await store.read.access.activeApiTokens(noon);
    const first = make.token({ tenant, createdAt: later(1), expiresAt: later(60) });
    const second = make.token({ scope: "platform", tenant: undefined, createdAt: later(2) });
    for (const row of [first, second])
      await store.atomically((tx) => tx.access.insertApiToken(row));
    expect(await store.read.access.apiTokenByHash(first.tokenHash)).toEqual(first);
    expect(await store.read.access.apiTokenById(second.id)).toEqual(second);
    expect(await store.read.access.activeApiTokens(noon)).toBe(before + 2);
    expect(await store.read.access.activeApiTokens(later(60))).toBe(before + 1);
    const listed = async (tenants: "platform" | (typeof tenant)[], named?: typeof tenant) =>
      (
        await store.read.access.tokens(tenants === "platform" ? tenants : only(tenants), named, 100)
      ).items.map(({ id }) => id);
    expect(await listed([tenant])).toEqual([first.id]);
    expect(await listed("platform", tenant)).toEqual([first.id]);
    expect((await listed("platform")).slice(0, 2)).toEqual([second.id, first.id]);
    await store.atomically((tx) => tx.access.touchApiToken(first.id, later(3), "192.0.2.9"));
    const revoke = () =>
      store.atomically((tx) => tx.access.revokeApiToken(first.id, later(4), "root"));
    expect(await revoke()).toBe(true);
    expect(await revoke()).toBe(false);
    const touched = { lastUsedAt: later(3), lastUsedIp: "192.0.2.9" };
    const revoked = { revokedAt: later(4), revokedBy: "root" };
    expect(await store.read.access.apiTokenById(first.id)).toEqual({
      ...first,
      ...touched,
      ...revoked,
    });
    expect(await store.read.access.activeApiTokens(noon)).toBe(before + 1);
  });

  test("an instance value is set, replaced and read", async () => {
    const { store, home } = given();
    expect(await store.read.instance.value(home)).toBeUndefined();
    for (const value of ["a", "b"])
      await store.atomically((tx) => tx.instance.setValue(home, value));
    expect(await store.read.instance.value(home)).toBe("b");
  });
}

function audit(given: Given): void {
  test("events are filtered by each member and paged newest first", async () => {
    const { store, home } = given();
    const requestId = `request ${home}`;
    const tenant = tenantId(`tenant ${home}`);
    const drafts = [
      make.draft({ requestId, tenant, caId: home, serial: "5" as Serial, actor: "ann" }),
      make.draft({ requestId, action: "cert.revoke", result: "denied", detail: { reason: "a b" } }),
      make.draft({ requestId, action: "crl.publish", ip: "192.0.2.1", targetName: "full" }),
    ];
    for (const [index, draft] of drafts.entries()) {
      await store.atomically((tx) => tx.audit.appendEvent(draft, later(index)));
    }
    const page = (filter: object, limit = 10, before?: number) =>
      store.read.audit.events({ reach: "platform", requestId, ...filter }, limit, before);
    const actions = async (filter: object) =>
      (await page(filter)).items.map(({ action }) => action);
    expect(await actions({})).toEqual(["crl.publish", "cert.revoke", "cert.issue"]);
    expect(await actions({ action: "cert.*" })).toEqual(["cert.revoke", "cert.issue"]);
    expect(await actions({ action: "cert.issue" })).toEqual(["cert.issue"]);
    expect(await actions({ actor: "ann" })).toEqual(["cert.issue"]);
    expect(await actions({ result: "denied" })).toEqual(["cert.revoke"]);
    expect(await actions({ caId: home, serial: "5" })).toEqual(["cert.issue"]);
    expect(await actions({ tenant })).toEqual(["cert.issue"]);
    expect(await actions({ reach: only([tenant]) })).toEqual(["cert.issue"]);
    expect(await actions({ reach: only([]) })).toEqual([]);
    expect(await actions({ from: later(1), to: later(2) })).toEqual(["cert.revoke"]);
    const first = await page({}, 2);
    expect([first.total, first.items.length]).toEqual([3, 2]);
    expect((await page({}, 2, first.next?.at)).items.map(({ action }) => action)).toEqual([
      "cert.issue",
    ]);
    expect((await page({ action: "cert.revoke" })).items[0]?.detail).toBe('reason="a b"');
  });

  test("the ledger links, and knows which intents have no outcome", async () => {
    const { store } = given();
    const before = await store.read.audit.ledgerHead();
    const [open, closed, both] = [1, 2, 3].map(() => crypto.randomUUID()) as [
      string,
      string,
      string,
    ]; // Three.
    const append = (kind: "intent" | "outcome", opId: string) =>
      store.atomically((tx) => tx.audit.appendLedger(make.ledgerDraft(kind, opId)));
    await append("intent", open);
    await append("intent", closed);
    await append("outcome", closed);
    await store.atomically(async (tx) => {
      await tx.audit.appendLedger(make.ledgerDraft("intent", both));
      await tx.audit.appendLedger(make.ledgerDraft("outcome", both));
    });
    const entries = await store.read.audit.ledgerAfter(before.seq, 100);
    expect(entries.map(({ number }) => number - before.seq)).toEqual([1, 2, 3, 4, 5]);
    expect(entries[0]?.prevHash).toBe(before.hash);
    const waiting = (await store.read.audit.openLedgerIntents(1000)).map(({ opId }) => opId);
    expect(waiting).toContain(open);
    expect(waiting).not.toContain(closed);
    expect(waiting).not.toContain(both);
    await append("outcome", open);
  });
}

function units(given: Given): void {
  test("a unit that throws vanishes alone, with its events and ledger entries", async () => {
    const { store, home } = given();
    const [head, ledger] = [
      await store.read.audit.eventHead(),
      await store.read.audit.ledgerHead(),
    ];
    const rows = Array.from({ length: 6 }, () => make.certificate({ caId: home }));
    const results = await Promise.allSettled(
      rows.map((row, index) =>
        store.atomically(async (tx) => {
          await make.intend(tx, make.intentFor(row));
          await tx.instance.setValue(`${home} ${index}`, "kept");
          await tx.audit.appendEvent(make.draft({ requestId: home }), noon);
          if (index % 2 === 1) throw new Error(`unit ${index}`);
        }),
      ),
    );
    expect(results.map(({ status }) => status === "fulfilled")).toEqual([
      true,
      false,
      true,
      false,
      true,
      false,
    ]);
    const values = rows.map((_, index) => store.read.instance.value(`${home} ${index}`));
    expect(await Promise.all(values)).toEqual([
      "kept",
      undefined,
      "kept",
      undefined,
      "kept",
      undefined,
    ]);
    expect((await store.read.audit.eventHead()).seq).toBe(head.seq + 3);
    expect((await store.read.audit.ledgerHead()).seq).toBe(ledger.seq + 3);
  });

  test("a unit that throws in a batch of its own leaves nothing, and the next one goes on", async () => {
    const { store, home } = given();
    const { seq } = await store.read.audit.eventHead();
    const unit = (fails: boolean) =>
      store.atomically(async (tx) => {
        await tx.instance.setValue(home, fails ? "lost" : "kept");
        await tx.audit.appendEvent(make.draft({ requestId: home }), noon);
        if (fails) throw new Error("no");
      });
    await expect(unit(true)).rejects.toThrow("no");
    expect(await store.read.instance.value(home)).toBeUndefined();
    expect((await store.read.audit.eventHead()).seq).toBe(seq);
    await unit(false);
    expect(await store.read.instance.value(home)).toBe("kept");
    expect((await store.read.audit.eventHead()).seq).toBe(seq + 1);
  });

  test("a unit appends any number of events, in order", async () => {
    const { store } = given();
    for (const count of [1, 2, 63, 64, 65, 131]) {
      const { seq } = await store.read.audit.eventHead();
      const targets = Array.from({ length: count }, (_, at) => `${at + 1}`);
      await store.atomically(async ({ audit }) => {
        for (const target of targets) await audit.appendEvent(make.draft({ target }), noon);
      });
      const stored = await store.read.audit.eventsAfter(seq, 200);
      expect(stored.map(({ target }) => target)).toEqual(targets);
    }
  });

  test("listeners hear committed events in order, once, and nothing of failed units", async () => {
    const { store, home } = given();
    const { seq } = await store.read.audit.eventHead();
    const heard: number[] = [];
    const stop = store.onEvents((events) => {
      heard.push(...events.map((event) => event.seq));
    });
    const append = (fails: boolean) =>
      store.atomically(async (tx) => {
        await tx.audit.appendEvent(make.draft({ requestId: home }), noon);
        if (fails) throw new Error("no");
      });
    await Promise.allSettled([false, true, false, false].map(append));
    await until(() => heard.length >= 3);
    expect(heard).toEqual([1, 2, 3].map((step) => seq + step));
    stop();
    await append(false);
    expect(heard).toHaveLength(3);
  });

  test("a store that lives answers a ping", async () => {
    await given().store.ping();
  });
}
