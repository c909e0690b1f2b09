/**
 * What every store guarantees about tenants, what counts against their quotas, and grants on single
 * CAs.
 */

import { expect, test } from "bun:test";

import type { Reach } from "#core/access/principal.ts";
import { type CaId, caId, type TenantId, tenantId } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { GrantRecord } from "#domain/access/store.ts";
import type { CaRecord } from "#domain/authorities/store.ts";
import { casIn } from "#domain/expiry/report.ts";
import type { Store } from "#domain/store.ts";
import { dayOf } from "#domain/tenants/days.ts";
import { only } from "#test/support/stores/reach.ts";
import * as make from "#test/support/stores/records.ts";

const { noon } = make;
const hour = 3_600_000;
const later = (hours: number) => instant(noon + hours * hour);

/** Registers the suite; `home` is a fresh text per test, so that stores may be shared. */
export function tenantContract(given: () => { store: Store; home: string }): void {
  test("the default tenant exists, and a tenant is made once and found by id or slug", async () => {
    const { store, home } = given();
    expect(await store.read.tenants.named("default")).toMatchObject({
      id: "default",
      slug: "default",
      status: "active",
    });
    const row = make.tenant(home, { slug: `slug-${home}`, name: "A" });
    await store.atomically((tx) => tx.tenants.ensure(row));
    await store.atomically((tx) => tx.tenants.ensure({ ...row, name: "B" }));
    expect(await store.read.tenants.named(home)).toEqual(row);
    expect(await store.read.tenants.named(row.slug)).toEqual(row);
    expect(await store.read.tenants.named("none")).toBeUndefined();
  });

  test("a slug is taken once, also by an id, and the batch of the refused one goes on", async () => {
    const { store, home } = given();
    const row = make.tenant(home, { slug: `slug-${home}` });
    const insert = (one: typeof row) => store.atomically((tx) => tx.tenants.insert(one));
    await insert(row);
    const again = { ...row, id: tenantId(`${home}-2`) };
    const refusal = { code: "already_exists", facts: { field: "slug" } };
    await expect(insert(again)).rejects.toMatchObject(refusal);
    await expect(insert({ ...again, slug: home })).rejects.toMatchObject(refusal);
    await insert({ ...again, slug: `${row.slug}-2` });
    expect(await store.read.tenants.named(`${row.slug}-2`)).toMatchObject({ id: `${home}-2` });
  });

  test("lists hold those whose slug or name has a text, in either letter case", async () => {
    const { store, home } = given();
    const rows = [
      make.tenant(`${home}-c`, { slug: `north-${home}`, name: "Harbour 100%", createdAt: noon }),
      make.tenant(`${home}-d`, { slug: `south-${home}`, name: "Airport", createdAt: later(1) }),
    ] as const;
    for (const row of rows) await store.atomically((tx) => tx.tenants.insert(row));
    const ids = rows.map(({ id }) => id);
    const found = async (text: string) => await store.read.tenants.page({ ids, text }, 9);
    expect(await found("hARBOUR")).toMatchObject({ items: [rows[0]], total: 1 });
    expect(await found("SOUTH-")).toMatchObject({ items: [rows[1]], total: 1 });
    expect(await found("0%")).toMatchObject({ items: [rows[0]], total: 1 });
    // A wildcard of the database is a character like any other.
    expect(await found("n%th")).toMatchObject({ items: [], total: 0 });
    expect(await store.read.tenants.page({ ids: [], text: "air" }, 9)).toMatchObject({ total: 0 });
  });

  test("a name is found in either letter case, whatever its alphabet", async () => {
    const { store, home } = given();
    const names = ["ÄRZTE AG", "Die Öffnung", "ОДЕССА", "Οδός", "MESSE Straße", "Çözüm", "北京"];
    const rows = names.map((name, at) =>
      make.tenant(`${home}-${at}`, { slug: `slug-${at}-${home}`, name }),
    );
    for (const row of rows) await store.atomically((tx) => tx.tenants.insert(row));
    const ids = rows.map(({ id }) => id);
    const found = async (text: string) =>
      (await store.read.tenants.page({ ids, text }, 9)).items.map(({ name }) => name);
    for (const name of names) {
      expect(await found(name)).toEqual([name]);
      expect(await found(name.toLowerCase())).toEqual([name]);
    }
    const turkish = make.tenant(`${home}-i`, { slug: `slug-i-${home}`, name: "İŞ" });
    await store.atomically((tx) => tx.tenants.insert(turkish));
    ids.push(turkish.id);
    // Its small letter is two, one of which is a mark.
    expect(await found("İş")).toEqual(["İŞ"]);
    expect(await found("ärzte")).toEqual(["ÄRZTE AG"]);
    expect(await found("ÖFFNUNG")).toEqual(["Die Öffnung"]);
    expect(await found("Одесса")).toEqual(["ОДЕССА"]);
    expect(await found("ÄRZTE OHG")).toEqual([]);
    // A letter with a mark is another than one without.
    expect(await found("arzte")).toEqual([]);
    // As many letters as one may look for.
    const most = String.fromCodePoint(...Array.from({ length: 200 }, (_, at) => 0x400 + at));
    expect(await found(most)).toEqual([]);
    // No alphabet has so many; letters without a case count for nothing.
    const many = `${String.fromCodePoint(...Array.from({ length: 90 }, (_, at) => 0x4e00 + at))}Я`;
    const long = make.tenant(`${home}-l`, { slug: `slug-l-${home}`, name: many });
    await store.atomically((tx) => tx.tenants.insert(long));
    ids.push(long.id);
    expect(await found(many.toLowerCase())).toEqual([many]);
  });

  test("a tenant is changed and removed, and lists hold those asked for, newest first", async () => {
    const { store, home } = given();
    const [first, second] = [
      make.tenant(`${home}-a`, { createdAt: noon }),
      make.tenant(`${home}-b`, { createdAt: later(1) }),
    ];
    for (const row of [first, second]) await store.atomically((tx) => tx.tenants.insert(row));
    const ids = [first.id, second.id];
    const page = await store.read.tenants.page({ ids }, 1);
    expect(page).toMatchObject({ items: [second], total: 2 });
    expect((await store.read.tenants.page({ ids }, 1, page.next)).items).toEqual([first]);
    expect((await store.read.tenants.page({ ids: [] }, 9)).items).toEqual([]);
    expect((await store.read.tenants.page({ ids: "platform" }, 500)).items.length).toBeGreaterThan(
      2,
    );

    const quotas = { ...first.quotas, maxCertsPerDay: 3, rateLimitBurst: 7 };
    const changed = { ...first, status: "suspended", kekLabel: "k", name: "N", quotas } as const;
    await store.atomically(async (tx) => {
      expect(await tx.tenants.lock(first.id)).toEqual(first);
      await tx.tenants.update(changed);
      expect(await tx.tenants.state(first.id)).toMatchObject({
        status: "suspended",
        maxCertsPerDay: 3,
        maxActiveCerts: 0,
      });
    });
    expect(await store.read.tenants.named(first.id)).toEqual(changed);
    await store.atomically((tx) => tx.tenants.remove(first.id));
    expect(await store.read.tenants.named(first.id)).toBeUndefined();
    expect(await store.atomically((tx) => tx.tenants.state(first.id))).toBeUndefined();
  });

  test("TEN-1: what is used is exact through issue, hold, revocation and expiry", async () => {
    const { store, home } = given();
    const ca = await ownCa(store, home);
    const used = (at = noon) => store.read.tenants.used(ca.tenant, at);
    expect(await used()).toEqual({ today: 0, active: 0 });
    const leaf = (end: number) =>
      make.certificate({ caId: ca.id, tenant: ca.tenant, notAfter: instant(end) });
    const [short, near, far] = [leaf(noon + 10_000), leaf(later(1)), leaf(later(2000))];
    for (const row of [short, near, far]) await make.issue(store, row);
    await make.issue(store, { ...leaf(later(2000)), kind: "serving" });
    expect(await used()).toEqual({ today: 3, active: 3 });
    // notAfter is still inside.
    expect((await used(short.notAfter)).active).toBe(3);
    expect((await used(instant(short.notAfter + 1))).active).toBe(2);
    expect((await used(instant(near.notAfter + 1))).active).toBe(1);

    const set = (row: typeof far, status: "good" | "held" | "revoked") => {
      const at = status === "good" ? undefined : noon;
      const reason = status === "good" ? undefined : "superseded";
      return store.atomically((tx) =>
        tx.certificates.setStatus(ca.id, row.serial, status, at, reason),
      );
    };
    for (const status of ["held", "good", "held"] as const) {
      await set(far, status);
      expect((await used()).active).toBe(3);
    }
    await set(far, "revoked");
    await set(near, "revoked");
    expect(await used()).toEqual({ today: 3, active: 1 });
    // The day before and the day after have other certificates to their name.
    expect((await used(later(24))).today).toBe(0);
    expect((await used(later(-24))).today).toBe(0);
  });

  test("TEN-1: what is being signed counts until it is issued or has come to nothing", async () => {
    const { store, home } = given();
    const ca = await ownCa(store, home);
    const used = () => store.atomically((tx) => tx.tenants.used(ca.tenant, later(13)));
    const open = make.intentFor(make.certificate({ caId: ca.id, tenant: ca.tenant }));
    const yesterday = { ...open, createdAt: noon };
    const today = make.intentFor(make.certificate({ caId: ca.id }), { createdAt: later(12) });
    const other = make.intentFor(make.certificate({ caId: ca.id }), {
      createdAt: later(12),
      purpose: "responder_certificate" as const,
    });
    await store.atomically(async (tx) => {
      for (const intent of [yesterday, today, other]) await tx.certificates.intend(intent);
      expect(await tx.tenants.used(ca.tenant, later(13))).toEqual({ today: 1, active: 2 });
    });
    expect(await used()).toEqual({ today: 1, active: 2 });
    await store.atomically((tx) => tx.certificates.settle(today.opId, "abandoned"));
    await store.atomically((tx) => tx.certificates.settle(yesterday.opId, "orphaned"));
    expect(await used()).toEqual({ today: 0, active: 0 });
    expect((await store.read.tenants.used(tenantId("default"), noon)).today).toBeDefined();
  });

  test("a unit that fails leaves no trace in what is used", async () => {
    const { store, home } = given();
    const ca = await ownCa(store, home);
    const row = make.certificate({ caId: ca.id, tenant: ca.tenant });
    const failing = store.atomically(async (tx) => {
      const intent = make.intentFor(row);
      await tx.certificates.intend(intent);
      await tx.certificates.activate(intent.opId, row);
      expect(await tx.tenants.used(ca.tenant, noon)).toEqual({ today: 1, active: 1 });
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await store.read.tenants.used(ca.tenant, noon)).toEqual({ today: 0, active: 0 });
  });

  test("one that is adopted as revoked is counted as revoked then, and lives on no day", async () => {
    const { store, home } = given();
    const ca = await ownCa(store, home);
    const adopted = make.certificate({
      caId: ca.id,
      tenant: ca.tenant,
      createdAt: noon,
      status: "revoked",
      revokedAt: later(-48),
      reason: "superseded",
    });
    await store.atomically(async (tx) => {
      expect(await tx.certificates.adopt(adopted)).toBe(true);
    });
    const day = dayOf(noon);
    expect(await store.read.tenants.used(ca.tenant, noon)).toMatchObject({ active: 0 });
    expect(await store.read.tenants.usage(ca.tenant, day - 3, noon)).toEqual({
      active: 0,
      issued: 1,
      revoked: 1,
      cas: 1,
      days: [
        { day, issued: 1, revoked: 0 },
        { day: day - 2, issued: 0, revoked: 1 },
      ],
    });
  });

  test("usage tells totals, CAs, and the days on which anything happened", async () => {
    const { store, home } = given();
    const ca = await ownCa(store, home);
    const day = dayOf(noon);
    const row = (hours: number) =>
      make.certificate({ caId: ca.id, tenant: ca.tenant, createdAt: later(hours) });
    const revoked = row(0);
    for (const one of [revoked, row(0), row(24), row(72)]) await make.issue(store, one);
    await store.atomically((tx) =>
      tx.certificates.setStatus(ca.id, revoked.serial, "revoked", later(48), "superseded"),
    );
    expect(await store.read.tenants.usage(ca.tenant, day + 1, later(72))).toEqual({
      active: 3,
      issued: 4,
      revoked: 1,
      cas: 1,
      days: [
        { day: day + 3, issued: 1, revoked: 0 },
        { day: day + 2, issued: 0, revoked: 1 },
        { day: day + 1, issued: 1, revoked: 0 },
      ],
    });
  });

  test("days are of the CAs asked for alone, and follow what is revoked later", async () => {
    const { store, home } = given();
    const [own, sibling, foreign] = [
      await ownCa(store, `${home}-own`),
      await ownCa(store, `${home}-sibling`),
      await ownCa(store, `${home}-foreign`),
    ];
    const day = dayOf(noon);
    const issue = async ({ id, tenant }: CaRecord, hours: number) => {
      const row = make.certificate({ caId: id, tenant, createdAt: later(hours) });
      await make.issue(store, row);
      return row;
    };
    const days = async (cas: readonly CaRecord[], first: number) =>
      [
        ...(await store.read.certificates.days(
          cas.map(({ id }) => id),
          first,
        )),
      ].sort((a, b) => a.day - b.day);
    const before = await issue(own, -24);
    const first = await issue(own, 0);
    await issue(own, 0);
    await make.issue(store, { ...make.certificate({ caId: own.id }), kind: "serving" });
    await issue(sibling, 24);
    const others = [await issue(foreign, 0), await issue(foreign, 24)];
    const revoke = ({ caId, serial }: typeof first, hours: number) =>
      store.atomically((tx) =>
        tx.certificates.setStatus(caId, serial, "revoked", later(hours), "superseded"),
      );
    // Held is not revoked, and a day before the first counts for nothing.
    await store.atomically((tx) =>
      tx.certificates.setStatus(own.id, first.serial, "held", later(24), "certificateHold"),
    );
    for (const other of others) await revoke(other, 48);
    expect(await days([own], day)).toEqual([{ day, issued: 2, revoked: 0 }]);
    await revoke(first, 48);
    await revoke(before, 0);
    expect(await days([own], day)).toEqual([
      { day, issued: 2, revoked: 1 },
      { day: day + 2, issued: 0, revoked: 1 },
    ]);
    expect(await days([own, sibling], day + 1)).toEqual([
      { day: day + 1, issued: 1, revoked: 0 },
      { day: day + 2, issued: 0, revoked: 1 },
    ]);
    expect(await days([own, sibling, foreign], day + 2)).toEqual([
      { day: day + 2, issued: 0, revoked: 3 },
    ]);
    expect(await days([], day)).toEqual([]);
  });

  test("days under the CAs of a reach hold no figure of another tenant", async () => {
    const { store, home } = given();
    const [own, granted, beside, foreign] = [
      await ownCa(store, `${home}-own`),
      await ownCa(store, `${home}-granted`),
      make.ca({ tenant: tenantId(`tenant-${home}-granted`), label: `ca-${home}-beside` }),
      await ownCa(store, `${home}-foreign`),
    ];
    await store.atomically((tx) => tx.cas.insert(beside));
    const counts = new Map([own, granted, beside, foreign].map((ca, at) => [ca, 10 ** at]));
    for (const [{ id, tenant }, count] of counts) {
      for (let n = 0; n < Math.min(count, 30); n++) {
        await make.issue(store, make.certificate({ caId: id, tenant }));
      }
    }
    const issued = async (reach: Reach, tenant?: TenantId) => {
      const ids: CaId[] = [];
      for await (const { id } of casIn(store, { reach, tenant, ca: undefined })) ids.push(id);
      const days = await store.read.certificates.days(ids, dayOf(noon));
      return days.map((one) => one.issued);
    };
    expect(await issued(only([own.tenant], []))).toEqual([1]);
    expect(await issued(only([], [granted.id]))).toEqual([10]);
    expect(await issued(only([own.tenant], [granted.id]))).toEqual([11]);
    expect(await issued(only([own.tenant], [own.id]))).toEqual([1]);
    expect(await issued(only([own.tenant, granted.tenant], []))).toEqual([41]);
    expect(await issued(only([own.tenant], [granted.id]), granted.tenant)).toEqual([10]);
    expect(await issued(only([own.tenant], []), foreign.tenant)).toEqual([]);
    expect(await issued(only([], []))).toEqual([]);
    expect(await issued("platform", foreign.tenant)).toEqual([30]);
  });

  test("counts by status are the totals of the lists of the CAs asked for, to the second", async () => {
    const { store, home } = given();
    const cas = await Promise.all(["a", "b", "c"].map((name) => ownCa(store, `${home}-${name}`)));
    const ends = [-48, -24, -12.5, -12, -1, -0.001, 0, 0.001, 1, 11.999, 12, 24, 48];
    const statuses = ["good", "held", "revoked"] as const;
    for (const [at, { id, tenant }] of cas.entries()) {
      for (const hours of ends.slice(at)) {
        for (const status of statuses) {
          const row = make.certificate({ caId: id, tenant, notAfter: later(hours) });
          await make.issue(store, row);
          if (status === "good") continue;
          const reason = status === "held" ? "certificateHold" : "superseded";
          await store.atomically((tx) =>
            tx.certificates.setStatus(id, row.serial, status, noon, reason),
          );
        }
      }
      const serving = make.certificate({ caId: id, notAfter: later(1) });
      await make.issue(store, { ...serving, kind: "serving" });
    }
    const totals = async (asked: readonly CaRecord[], now: number) => {
      const counts = { good: 0, held: 0, revoked: 0, expired: 0 };
      for (const { id: caId } of asked) {
        for (const status of ["good", "held", "revoked", "expired"] as const) {
          const filter = { caId, status, now: instant(now) };
          counts[status] += (await store.read.certificates.page(filter, 1)).total;
        }
      }
      return counts;
    };
    const counts = (asked: readonly CaRecord[], now: number) =>
      store.read.certificates.statusCounts(
        asked.map(({ id }) => id),
        instant(now),
      );
    for (const hours of [-100, -48, -12, 0, 0.0005, 12, 100]) {
      const now = later(hours);
      for (const asked of [cas, cas.slice(1), cas.slice(0, 1), []]) {
        expect(await counts(asked, now)).toEqual(await totals(asked, now));
      }
    }
    expect(await counts(cas.slice(0, 1), noon)).toEqual({
      good: 7,
      held: 13,
      revoked: 13,
      expired: 6,
    });
  });

  test("counts by status of more CAs than one statement takes are those of all of them", async () => {
    const { store, home } = given();
    const ids = await manyCas(store, home);
    const counts = await store.read.certificates.statusCounts(ids, noon);
    expect(counts).toEqual({ good: 3, held: 0, revoked: 0, expired: 0 });
  });

  test("days of more CAs than one statement takes are those of all of them", async () => {
    const { store, home } = given();
    const ids = await manyCas(store, home);
    const day = dayOf(noon);
    expect(await store.read.certificates.days(ids, day)).toEqual([{ day, issued: 3, revoked: 0 }]);
  });
  grantContract(given);
}

/** More CAs than a statement takes, of which three have a certificate, as has one beside them. */
async function manyCas(store: Store, home: string): Promise<readonly CaId[]> {
  const ids = Array.from({ length: 250 }, (_, at) => caId(`${home}-${at}`));
  for (const id of [ids[0], ids[120], ids[249], caId(`${home}-other`)]) {
    if (id !== undefined) await make.issue(store, make.certificate({ caId: id }));
  }
  return ids;
}

function grantContract(given: () => { store: Store; home: string }): void {
  test("a grant is made once, found by lineage and by grantee, and taken back once", async () => {
    const { store, home } = given();
    const ca = await ownCa(store, home);
    const grant = grantOn(ca, { id: `user-${home}` });
    const group = grantOn(ca, { type: "group", id: `group-${home}`, createdAt: later(1) });
    const add = (one: GrantRecord) => store.atomically((tx) => tx.access.grant(one));
    expect(await add(grant)).toBeUndefined();
    expect(await add({ ...grant, grantId: "other", createdBy: "x" })).toEqual(grant);
    expect(await add(group)).toBeUndefined();
    const { grantsOn, grantsTo } = store.read.access;
    expect(await grantsOn(ca.lineage)).toEqual([grant, group]);
    expect(await grantsTo([grant])).toEqual([grant]);
    expect(await grantsTo([{ ...grant, type: "group" }])).toEqual([]);
    expect(await grantsTo([grant, group, { type: "user", id: "none" }])).toEqual([grant, group]);
    expect(await grantsTo([])).toEqual([]);
    const remove = (one: GrantRecord) => store.atomically((tx) => tx.access.revokeGrant(one));
    expect(await remove({ ...grant, role: "ca-admin" })).toBeUndefined();
    expect(await remove(grant)).toEqual(grant);
    expect(await remove(grant)).toBeUndefined();
    expect(await grantsOn(ca.lineage)).toEqual([group]);
    await store.atomically((tx) => tx.cas.remove(ca.id));
    expect(await grantsOn(ca.lineage)).toEqual([]);
  });

  test("a subtree is every lineage below, and internal CAs are in none", async () => {
    const { store, home } = given();
    const at = (name: string) => caId(`${home}-${name}`);
    const insert = (name: string, facts: Partial<CaRecord>) =>
      store.atomically((tx) =>
        tx.cas.insert(make.ca({ id: at(name), label: at(name), lineage: at(name), ...facts })),
      );
    await insert("root", {});
    await insert("left", { parent: at("root") });
    await insert("left-r2", { parent: at("root"), lineage: at("left") });
    await insert("leaf", { parent: at("left-r2") });
    await insert("right", { parent: at("root") });
    await insert("hidden", { parent: at("root"), internal: true });
    const names = async (self: string[], subtree: string[]) =>
      (await store.read.cas.under(self.map(at), subtree.map(at)))
        .map((id) => id.slice(home.length + 1))
        .sort();
    expect(await names(["left"], [])).toEqual(["left", "left-r2"]);
    expect(await names([], ["left"])).toEqual(["leaf", "left", "left-r2"]);
    expect(await names(["right"], ["left"])).toEqual(["leaf", "left", "left-r2", "right"]);
    expect(await names([], ["root"])).toEqual(["leaf", "left", "left-r2", "right", "root"]);
    expect(await names([], [])).toEqual([]);
    expect(await names(["none"], ["none"])).toEqual([]);
  });

  test("lists reach a CA by its tenant or by itself, and nothing else", async () => {
    const { store, home } = given();
    const [own, granted, foreign] = [
      await ownCa(store, `${home}-own`),
      await ownCa(store, `${home}-granted`),
      await ownCa(store, `${home}-foreign`),
    ];
    for (const ca of [own, granted, foreign]) {
      await store.atomically(async (tx) => {
        const draft = make.draft({ tenant: ca.tenant, caId: ca.id, requestId: home });
        await tx.audit.appendEvent(draft, noon);
      });
    }
    const reach = only([own.tenant], [granted.id]);
    const cas = await store.read.cas.page({ reach, text: home }, 10);
    expect(cas.items.map(({ id }) => id).sort()).toEqual([own.id, granted.id].sort());
    const events = await store.read.audit.events({ reach, requestId: home }, 10);
    expect(events.items.map((event) => event.caId).sort()).toEqual([own.id, granted.id].sort());
    expect((await store.read.cas.page({ reach: only([], []), text: home }, 10)).total).toBe(0);
  });
}

async function ownCa(store: Store, home: string): Promise<CaRecord> {
  const tenant = make.tenant(`tenant-${home}`);
  const ca = make.ca({ tenant: tenant.id, label: `ca-${home}` });
  await store.atomically(async (tx) => {
    await tx.tenants.ensure(tenant);
    await tx.cas.insert(ca);
  });
  return ca;
}

const grantOn = (ca: CaRecord, facts: Partial<GrantRecord>): GrantRecord => ({
  grantId: crypto.randomUUID(),
  ca: ca.id,
  lineage: ca.lineage,
  tenant: ca.tenant,
  type: "user",
  id: "user",
  role: "ca-issuer",
  scope: "self",
  createdBy: "root",
  createdAt: noon,
  ...facts,
});
