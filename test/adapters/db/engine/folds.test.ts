/**
 * Answers are the same whether rows have been taken into indexes and counters, or some, or none.
 */

import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";

import { type CaId, caId, type Serial, tenantId } from "#core/ids.ts";
import { instant } from "#core/time.ts";
import type { CertificateFilter, CertificateRecord } from "#domain/certificates/store.ts";
import type { PageKey } from "#domain/page.ts";
import type { Store } from "#domain/store.ts";
import { walkedEnds } from "#test/support/stores/ends.ts";
import { unfoldedStore } from "#test/support/stores/folded.ts";
import {
  fillInventory,
  inventoryFilters,
  inventoryModel,
} from "#test/support/stores/inventory-model.ts";
import * as make from "#test/support/stores/records.ts";
import { createModelReads, type ModelReads } from "#test/support/stores/row-model.ts";
import { connectionOn } from "#test/support/stores/stores.ts";
import { variantless } from "#adapters/db/inventory/inventory-filter.ts";
import { slicedInventory } from "#adapters/db/inventory/sliced-inventory.ts";

setDefaultTimeout(120_000);

const home = caId("home");
const heir = caId("heir");
const stranger = caId("stranger");
const authorities = [
  make.ca({ id: home, lineage: home, tenant: tenantId("t1"), label: "a" }),
  make.ca({ id: heir, lineage: home, tenant: tenantId("t1"), label: "b" }),
  make.ca({ id: stranger, tenant: tenantId("t2"), label: "c" }),
];
type Status = CertificateRecord["status"];
const tenantOf = (ca: CaId) => tenantId(ca === stranger ? "t2" : "t1");
const day = 86_400_000;

const issued = fc.record({
  caId: fc.constantFrom(home, home, heir, stranger),
  kind: fc.constantFrom("leaf", "leaf", "leaf", "serving", "responder"),
  name: fc.constantFrom("One", "Two", "Three"),
  profile: fc.constantFrom("server", "client"),
  key: fc.constantFrom("0", "1"),
  // Within the hour, within the day, and later.
  end: fc.constantFrom(-1000, 1000, 2000, 3_600_000, day, 3 * day),
  begun: fc.constantFrom(0, day, 5 * day),
});
const step = fc.oneof(
  { weight: 6, arbitrary: issued.map((row) => ({ does: "issue", row }) as const) },
  {
    weight: 2,
    arbitrary: fc
      .record({ at: fc.nat(60), status: fc.constantFrom("held", "good", "revoked") })
      .map((change) => ({ does: "change", ...change }) as const),
  },
  { weight: 1, arbitrary: fc.nat(9).map((rows) => ({ does: "fold", rows }) as const) },
);

test("random inventories, folded at random moments, answer as the plain model does", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 45 }), async (steps) => {
      const { store, fold } = await unfoldedStore();
      const rows: CertificateRecord[] = [];
      await store.atomically(async (tx) => {
        for (const ca of authorities) await tx.cas.insert(ca);
      });
      for (const [at, todo] of steps.entries()) {
        if (todo.does === "fold") await fold(todo.rows);
        if (todo.does === "issue") {
          const row = rowOf(todo.row, at);
          await make.issue(store, row);
          rows.push(row);
        }
        const changed = todo.does === "change" ? rows[todo.at % rows.length] : undefined;
        if (todo.does !== "change" || changed === undefined) continue;
        await change(store, changed, todo.status);
        rows[rows.indexOf(changed)] = changeRow(changed, todo.status);
      }
      const events = await store.read.audit.eventsAfter(0, 10_000);
      const model = createModelReads({ cas: authorities, certificates: rows, events });
      const expected = await answers(model, rows);
      expect(await answers(store.read, rows)).toEqual(expected);
      while (await fold(7));
      expect(await answers(store.read, rows)).toEqual(expected);
      await store.close();
    }),
    { numRuns: 40 },
  );
});

test.each([
  ["by index", { few: 5000, indexed: 65_536, scanned: 2048, counted: 20_000 }],
  ["by walk", { few: 0, indexed: 7, scanned: 5, counted: 3 }],
])(
  "%s, a filter finds the rows of the model while more and more of them are folded",
  async (_, limits) => {
    const { store, fold, database } = await unfoldedStore();
    await fillInventory(store);
    const page = slicedInventory(connectionOn(new Database(database.target)), limits);
    for (let more = true; more; more = await fold(13)) {
      await fc.assert(
        fc.asyncProperty(
          inventoryFilters,
          fc.integer({ min: 1, max: 40 }),
          async (filter, limit) => {
            const expected = await inventoryModel.certificates.page(filter, 500);
            const found = await walked((after) => page(filter, limit, after));
            expect(found.ids).toEqual(expected.items.map(({ id }) => id));
            expect(new Set(found.totals)).toEqual(new Set([expected.total]));
          },
        ),
        { numRuns: 60 },
      );
    }
    await store.close();
  },
);

test("a walk that folds overtake between its pages shows every row once", async () => {
  for (const filter of [{}, { text: "host-1" }, { status: "good" }, { profile: "rare" }] as const) {
    const { store, fold, database } = await unfoldedStore();
    await fillInventory(store);
    const asked: CertificateFilter = { caId: home, now: make.noon, ...filter };
    const expected = await inventoryModel.certificates.page(asked, 500);
    const limits = { few: 0, indexed: 7, scanned: 5, counted: 3 };
    const page = slicedInventory(connectionOn(new Database(database.target)), limits);
    const found = await walked(async (after) => {
      await fold(17);
      return await page(asked, 5, after);
    });
    expect(found.ids).toEqual(expected.items.map(({ id }) => id));
    await store.close();
  }
});

test("text is found alike before and after it is folded, in letters of any alphabet", async () => {
  const { store, fold, database } = await unfoldedStore();
  const names = [
    "\u017ftra\u00dfe",
    "\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3",
    "5\u00b5meter",
    "\u212aelvin",
    "Stra\u00dfe",
    "d\u00fcsen",
  ];
  for (const name of names) {
    await make.issue(
      store,
      make.certificate({ caId: home, subject: `CN=${name}`, commonName: name, sans: [] }),
    );
  }
  const page = slicedInventory(connectionOn(new Database(database.target)));
  const texts = [
    ...names,
    "stra\u00df",
    "\u03c3\u03af\u03c3",
    "\u03c6\u03bf\u03c2",
    "\u03c6\u03bf\u03c3",
    "5\u03bcm",
    "kelv",
    "D\u00dcS",
    "dus",
  ];
  const answered = async () => {
    const found: unknown[] = [];
    for (const text of texts) {
      const { items, total } = await page({ caId: home, now: make.noon, text }, 9, undefined);
      found.push([text, total, items.map(({ commonName }) => commonName)]);
    }
    return found;
  };
  const before = await answered();
  await fold(100);
  expect(await answered()).toEqual(before);
  expect(before.map((one) => (one as [string, number])[1]).slice(0, names.length)).toEqual([
    2, 1, 1, 1, 2, 1,
  ]);
  await store.close();
});

test("letters that the text index takes for one are exactly those that comparing does", () => {
  const database = new Database(":memory:");
  database.run("create virtual table texts using fts5(text, tokenize = 'trigram')");
  database.run("create virtual table terms using fts5vocab(texts, 'instance')");
  const insert = database.prepare("insert into texts (rowid, text) values (?, ?)");
  database.transaction(() => {
    for (let point = 1; point <= 0xfffd; point++) {
      const letter = String.fromCodePoint(point);
      const surrogate = point >= 0xd800 && point < 0xe000;
      if (!surrogate && letter.toLowerCase() === letter) insert.run(point, `ab${letter}`);
    }
  })();
  const terms = database.query("select term, doc from terms").all() as {
    term: string;
    doc: number;
  }[];
  expect(terms.length).toBeGreaterThan(60_000);
  const others = terms.filter(
    ({ term, doc }) => variantless(`ab${String.fromCodePoint(doc)}`) !== term,
  );
  expect(others).toEqual([]);
  database.close();
});

test("a fold that is undone leaves rows, mark and counters as they were, and the next one does it", async () => {
  const { store, fold, database } = await unfoldedStore();
  await fillInventory(store);
  const state = async () => [
    await database.query("select name, through from folds order by name"),
    await database.query("select count(*) as n from certificates where folded"),
    await database.query("select count(*) as n from events where folded"),
    await database.query("select coalesce(sum(number), 0) as n from certificate_counts"),
    await database.query("select coalesce(sum(number), 0) as n from tenant_counts"),
    await database.query(
      "select count(*) as n from certificate_search where certificate_search match '\"host\"'",
    ),
  ];
  await fold(10);
  const before = await state();
  await fold(30, undefined, true);
  expect(await state()).toEqual(before);
  while (await fold(30));
  const leaves = await database.query("select count(*) as n from certificates where kind = 'leaf'");
  const after = await state();
  expect(after[3]).toEqual(leaves);
  const named = "kind = 'leaf' and search like '%host%'";
  expect(after[5]).toEqual(
    await database.query(`select count(*) as n from certificates where ${named}`),
  );
  expect(await database.query("select 1 from certificates where not folded")).toEqual([]);
  expect(await database.query("select 1 from events where not folded")).toEqual([]);
  await store.close();
});

test("counters and text index follow changes of folded rows, and removals of any", async () => {
  const { store, fold, database } = await unfoldedStore();
  await fillInventory(store);
  await fold(40);
  await database.tamper("delete from certificates where ordinal in (3, 4, 50, 60)");
  for (const at of [5, 70]) {
    const [row] = await database.query(
      `select ca_id, serial from certificates where ordinal = ${at}`,
    );
    const { ca_id: ca, serial } = row as { ca_id: CaId; serial: Serial };
    await store.atomically((tx) =>
      tx.certificates.setStatus(ca, serial, "revoked", make.noon, "superseded"),
    );
  }
  while (await fold(9));
  const counted =
    "select ca_id, status, day, profile, number from certificate_counts where number > 0";
  const real = `select ca_id, status, not_after / 86400000 as day, profile, count(*) as number
    from certificates where kind = 'leaf' group by 1, 2, 3, 4`;
  expect(await database.query(`${counted} order by 1, 2, 3, 4`)).toEqual(
    await database.query(`${real} order by 1, 2, 3, 4`),
  );
  const worded =
    "select rowid from certificate_search where certificate_search match '\"host\"' order by 1";
  const named =
    "select ordinal as rowid from certificates where kind = 'leaf' and search like '%host%' order by 1";
  expect(await database.query(worded)).toEqual(await database.query(named));
  await store.close();
});

test("no row is given the number of one that was removed, folded or not", async () => {
  const { store, fold, database } = await unfoldedStore();
  const last = async () => {
    await make.issue(store, make.certificate());
    const [row] = await database.query("select max(ordinal) as ordinal from certificates");
    return (row as { ordinal: number }).ordinal;
  };
  await last();
  expect(await last()).toBe(2);
  await database.tamper("delete from certificates where ordinal = 2");
  expect(await last()).toBe(3);
  await fold(100);
  await database.tamper("delete from certificates");
  expect(await last()).toBe(4);
  await database.tamper("delete from certificates where ordinal = 4");
  // Together, so that one statement stores many.
  await Promise.all(Array.from({ length: 7 }, () => make.issue(store, make.certificate())));
  const ordinals = await database.query("select ordinal from certificates order by ordinal");
  expect(ordinals).toEqual(Array.from({ length: 7 }, (_, at) => ({ ordinal: 5 + at })));
  expect((await store.read.certificates.page({ caId: caId("ca"), now: make.noon }, 5)).total).toBe(
    7,
  );
  await store.close();
});

function rowOf(given: typeof issued extends fc.Arbitrary<infer R> ? R : never, at: number) {
  const { name, key, end, begun, ...facts } = given;
  return make.certificate({
    ...facts,
    serial: String(1000 + at * 37) as Serial,
    tenant: tenantOf(given.caId),
    subject: `CN=${name}`,
    commonName: name,
    sans: [`dns:${name}.example`],
    spkiSha256: key.repeat(64),
    notAfter: instant(make.noon + end),
    createdAt: instant(make.noon - begun),
  });
}

const computeChange = (status: Status) =>
  status === "good" ? undefined : instant(make.noon - 2 * day);

/** Returns the row as `change` stores it. */
function changeRow(row: CertificateRecord, status: Status): CertificateRecord {
  if (row.status === "revoked") return row;
  const revokedAt = computeChange(status);
  return { ...row, status, revokedAt, reason: revokedAt && "superseded" };
}

const change = (store: Store, { caId: ca, serial }: CertificateRecord, status: Status) =>
  store.atomically(async (tx) => {
    // What is revoked stays so.
    if ((await tx.certificates.lock(ca, serial))?.status === "revoked") return;
    const at = computeChange(status);
    await tx.certificates.setStatus(ca, serial, status, at, at && "superseded");
  });

/** Everything that is asked of certificates and events by what indexes and counters hold. */
async function answers(read: ModelReads, rows: readonly CertificateRecord[]) {
  const pages: unknown[] = [];
  for (const ca of [home, stranger]) {
    for (const filter of filters) {
      const asked = { caId: ca, now: make.noon, ...filter };
      pages.push(await walked((after) => read.certificates.page(asked, 4, after)));
    }
  }
  const authoritiesSay: unknown[] = [];
  for (const { id } of authorities) {
    const serials = rows.filter((row) => row.caId === id).map((row) => row.serial);
    authoritiesSay.push(
      [...(await read.certificates.superseded(id, serials))].sort(),
      await read.certificates.outstanding(id, make.noon),
      await candidates(read, id),
      await read.expiry.endCounts(id, [make.noon, instant(make.noon + 86_400_000 * 400)]),
      await walkedEnds({ read }, { caId: id, until: undefined, superseded: true }),
    );
  }
  const tenants: unknown[] = [];
  for (const id of [tenantId("t1"), tenantId("t2")]) {
    tenants.push(await read.tenants.used(id, make.noon));
    tenants.push(await read.tenants.usage(id, Math.floor(make.noon / day) - 3, make.noon));
  }
  const seen: boolean[] = [];
  const reaches = [
    "platform",
    { tenants: [tenantId("t2")], cas: [] },
    { tenants: [], cas: [heir] },
  ] as const;
  for (const reach of reaches) {
    for (const profile of ["server", "client", "none"]) {
      seen.push(await read.certificates.profileSeen(profile, reach));
    }
  }
  const keys = [await read.keyChecks.unrevokedWith("0".repeat(64))];
  return { pages, authoritiesSay, tenants, seen, keys, events: await events(read) };
}

async function events(read: ModelReads) {
  const found: unknown[] = [];
  const asked = [
    { reach: "platform" },
    { reach: "platform", caId: home },
    { reach: "platform", tenant: tenantId("t2") },
    { reach: { tenants: [], cas: [heir] } },
    { reach: "platform", actor: make.draft({}).actor },
    { reach: "platform", action: "cert.*" },
    { reach: "platform", from: instant(make.noon - day), to: make.noon },
  ] as const;
  for (const filter of asked) {
    const seqs: number[] = [];
    for (let before: number | undefined; ; ) {
      const { items, next, total } = await read.audit.events(filter, 3, before);
      seqs.push(...items.map(({ seq }) => seq));
      if (next === undefined) {
        found.push({ seqs, total });
        break;
      }
      before = next.at;
    }
  }
  return found;
}

async function candidates({ bulkRevocations }: ModelReads, ca: CaId) {
  const found: string[] = [];
  const upTo = await bulkRevocations.end();
  for (const more of [{}, { profile: "server" }, { spkiSha256: "1".repeat(64) }]) {
    const range = { caId: ca, profile: undefined, spkiSha256: undefined, upTo, ...more };
    for (let after = 0; after < upTo; ) {
      const { items, reached } = await bulkRevocations.candidates({ ...range, after }, 3);
      // A store may leave it to whoever asks to look at profile and key.
      const those = items.filter(
        ({ profile, spkiSha256 }) =>
          (range.profile ?? profile) === profile && (range.spkiSha256 ?? spkiSha256) === spkiSha256,
      );
      found.push(...those.map(({ serial }) => serial));
      after = reached;
    }
  }
  return found;
}

async function walked(
  page: (after: PageKey | undefined) => Promise<{
    readonly items: readonly { readonly id: string }[];
    readonly total: number;
    readonly next?: PageKey | undefined;
  }>,
) {
  const ids: string[] = [];
  const totals: number[] = [];
  let after: PageKey | undefined;
  do {
    const { items, total, next } = await page(after);
    ids.push(...items.map(({ id }) => id));
    totals.push(total);
    after = next;
  } while (after !== undefined);
  return { ids, totals };
}

const filters: readonly Partial<CertificateFilter>[] = [
  {},
  { status: "good" },
  { status: "expired" },
  { status: "held" },
  { status: "revoked" },
  { profile: "client" },
  { profile: "client", status: "good" },
  { text: "two" },
  { text: "o" },
  { text: "ONE.EX", profile: "server" },
  { serialPrefix: "1" },
  { serialPrefix: "0x4" },
  { expiresBefore: instant(make.noon + 3_600_000) },
  { spkiSha256: "0".repeat(64) },
];
