/** The expiry report, held against the rules applied to each certificate by itself. */

import { expect, test } from "bun:test";
import fc from "fast-check";

import { type Severity, severities, severityOf } from "#core/expiry/severity.ts";
import { caId } from "#core/ids.ts";
import { addSeconds, instant } from "#core/time.ts";
import { type Listing, type Report, Reports } from "#domain/expiry/report.ts";
import { createMemoryStore } from "#test/support/stores/memory-store.ts";
import { testClock } from "#test/support/ports.ts";
import { only } from "#test/support/stores/reach.ts";
import * as make from "#test/support/stores/records.ts";

const day = 86_400;
const thresholds = { warningDays: 4, criticalDays: 2 };
const everything: Listing = {
  days: undefined,
  severity: undefined,
  superseded: false,
  limit: 1000,
};
const platform = { reach: "platform", ca: undefined } as const;

interface Drawn {
  readonly ca: number;
  readonly name: string;
  readonly halfDays: number;
  readonly held: boolean;
}

const rows = fc.array(
  fc.record<Drawn>({
    ca: fc.integer({ min: 0, max: 2 }),
    name: fc.constantFrom("a", "b", "c"),
    halfDays: fc.integer({ min: -3, max: 12 }),
    held: fc.constantFrom(false, false, true),
  }),
  { maxLength: 25 },
);
const listings = fc.record<Listing>({
  days: fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined }),
  severity: fc.constantFrom(undefined, ...severities),
  superseded: fc.boolean(),
  limit: fc.integer({ min: 1, max: 8 }),
});

async function stored(drawn: readonly Drawn[]) {
  const store = createMemoryStore();
  const cas = ["one", "two", "three"].map((label) => make.ca({ id: caId(label), label }));
  await store.atomically(async (tx) => {
    for (const ca of cas) await tx.cas.insert(ca);
  });
  const made: ReturnType<typeof make.certificate>[] = [];
  for (const { ca, name, halfDays, held } of drawn) {
    const row = make.certificate({
      caId: cas[ca]?.id ?? caId("one"),
      subject: `CN=${name}`,
      notAfter: addSeconds(make.noon, (halfDays * day) / 2),
      status: held ? "held" : "good",
    });
    await make.issue(store, row);
    made.push(row);
  }
  const reports = new Reports({ store, clock: testClock(), thresholds: () => thresholds });
  return { store, made, reports };
}

test("EXP-1, EXP-2: counts hold everything, and the most urgent are listed, first first", async () => {
  await fc.assert(
    fc.asyncProperty(rows, listings, async (drawn, listing) => {
      const { made, reports } = await stored(drawn);
      const report = await reports.report(platform, listing);
      const isOutlived = (row: (typeof made)[number]) =>
        made.some(
          (other) =>
            other.status === "good" &&
            other.caId === row.caId &&
            other.subject === row.subject &&
            other.notAfter > row.notAfter,
        );
      const counts: Record<Severity, number> = { ok: 0, warning: 0, critical: 0, expired: 0 };
      for (const row of made) {
        if (!isOutlived(row)) counts[severityOf(row.notAfter, make.noon, thresholds)] += 1;
      }
      expect(report.counts).toEqual(counts);
      const selected = made
        .filter((row) => listing.superseded || !isOutlived(row))
        .filter(({ notAfter }) => {
          const severity = severityOf(notAfter, make.noon, thresholds);
          return severities.indexOf(severity) >= severities.indexOf(listing.severity ?? "ok");
        })
        .filter(({ notAfter }) => notAfter <= addSeconds(make.noon, (listing.days ?? 999) * day))
        .sort((a, b) => a.notAfter - b.notAfter || (a.serial < b.serial ? -1 : 1));
      expect(report.total).toBe(selected.length);
      expect(report.entries.map(({ serial }) => serial)).toEqual(
        selected.slice(0, listing.limit).map(({ serial }) => serial),
      );
    }),
    { numRuns: 60 },
  );
});

test("a report holds the CAs in reach, or the one that is named, and no other", async () => {
  const drawn = [0, 1, 2].map((ca) => ({ ca, name: "a", halfDays: 1, held: false }));
  const { reports, store } = await stored(drawn);
  const labels = ({ entries }: Report) => entries.map(({ caLabel }) => caLabel).sort();
  expect(labels(await reports.report(platform, everything))).toEqual(["one", "three", "two"]);
  const reach = { tenants: [], cas: [caId("two")] };
  expect(labels(await reports.report({ reach, ca: undefined }, everything))).toEqual(["two"]);
  const named = { ...platform, ca: caId("three") };
  expect(labels(await reports.report(named, everything))).toEqual(["three"]);
  const nowhere = await reports.report({ reach: only([]), ca: undefined }, everything);
  expect([nowhere.total, nowhere.counts.critical]).toEqual([0, 0]);
  await store.close();
});

test("who asks for the same while a report is made gets one that was begun afterwards", async () => {
  const { store } = await stored([]);
  const { promise: held, resolve: goOn } = Promise.withResolvers<void>();
  const { read } = store;
  const endCounts: typeof read.expiry.endCounts = async (...asked) => {
    await held;
    return await read.expiry.endCounts(...asked);
  };
  const slow = { read: { ...read, expiry: { ...read.expiry, endCounts } } };
  const reports = new Reports({ store: slow, clock: testClock(), thresholds: () => thresholds });
  const first = reports.report(platform, everything);
  await store.atomically((tx) => tx.cas.insert(make.ca({ id: caId("late"), label: "late" })));
  await make.issue(
    store,
    make.certificate({ caId: caId("late"), notAfter: instant(make.noon + 1) }),
  );
  const second = reports.report(platform, everything);
  const third = reports.report(platform, everything);
  goOn();
  await first;
  expect((await second).total).toBe(1);
  expect(await third).toBe(await second);
});

test("counts that took long are repeated for a while, and entries are listed again", async () => {
  const { store } = await stored([{ ca: 0, name: "a", halfDays: 1, held: false }]);
  const clock = testClock(new Date(make.noon).toISOString());
  let counted = 0;
  let seconds = 1;
  const { expiry } = store.read;
  const slow: typeof expiry = {
    ...expiry,
    endCounts: async (ca, ends) => {
      if (ca === caId("one")) {
        counted++;
        clock.advance(seconds);
      }
      return await expiry.endCounts(ca, ends);
    },
  };
  const deps = { store: { read: { ...store.read, expiry: slow } }, clock };
  const reports = new Reports({ ...deps, thresholds: () => thresholds });
  const report = (listing: Partial<Listing> = {}) =>
    reports.report(platform, { ...everything, ...listing });
  await report();
  const expiresAt = addSeconds(make.noon, day / 4);
  await make.issue(store, make.certificate({ caId: caId("one"), notAfter: expiresAt }));
  const repeated = await report({ limit: 50 });
  expect([counted, repeated.counts.critical, repeated.entries.length]).toEqual([1, 1, 2]);
  // Another listing has other spans.
  await report({ days: 3 });
  expect(counted).toBe(2);
  clock.advance(20);
  expect((await report()).counts.critical).toBe(2);
  expect(counted).toBe(3);
  // Fast counts are repeated each time.
  seconds = 0;
  clock.advance(60);
  await report();
  await report();
  expect(counted).toBe(5);
});
