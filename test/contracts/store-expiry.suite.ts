/** What a store guarantees about the ends of certificates: walkedEnds in order, and counted. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { caId, type Serial } from "#core/ids.ts";
import { addSeconds, type Instant } from "#core/time.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Watched, WatchedFilter } from "#domain/expiry/store.ts";
import type { Store } from "#domain/store.ts";
import { walkedEnds } from "#test/support/stores/ends.ts";
import * as make from "#test/support/stores/records.ts";

const at = (hours: number): Instant => addSeconds(make.noon, hours * 3600);

/** The guarantees, as tests of the store `given` holds. */
export function expiryContract(given: () => { readonly store: Store }): void {
  describe("the ends of certificates", () => {
    test("EXP-1, EXP-2: walks and counts say what the rules say of each row by itself", async () => {
      const { store } = given();
      await fc.assert(
        fc.asyncProperty(fc.array(drawn, { minLength: 1, maxLength: 14 }), async (facts) => {
          const { rows, cas } = await stored(store, facts);
          for (const ca of cas) {
            for (const superseded of [true, false]) {
              for (const until of [undefined, at(2)]) {
                expect(await walkedEnds(store, { caId: ca, until, superseded })).toEqual(
                  expectedWalk(rows, { caId: ca, until, superseded }),
                );
              }
            }
            const ends = [at(0), at(2), at(9)];
            expect(await store.read.expiry.endCounts(ca, ends)).toEqual(
              expectedCounts(rows, ca, ends),
            );
          }
        }),
        { numRuns: 15 },
      );
    });

    test("EXP-1, EXP-2: counts of more than one step takes are those of each row by itself", async () => {
      const { store } = given();
      const facts = Array.from({ length: 430 }, (_, index): Drawn => {
        const ca = index % 43 === 0 ? "next" : "old";
        const status = index % 7 === 0 ? "held" : "good";
        const marker = index % 31 === 0 ? "canary" : "";
        return { ...plain, ca, status, marker, name: `${index % 100}`, hours: index % 12 };
      });
      const { rows, cas } = await stored(store, facts);
      const ends = [at(0), at(2), at(5), at(11)];
      for (const ca of cas) {
        expect(await store.read.expiry.endCounts(ca, ends)).toEqual(expectedCounts(rows, ca, ends));
      }
    });

    test("what has left for the archive or is a tombstone is watched no more", async () => {
      const { store } = given();
      const { rows, cas } = await stored(store, [plain, plain, plain]);
      const [ca = caId("none")] = cas;
      const [archived, pruned, stays] = rows.map(({ serial }) => serial);
      await store.atomically(({ retention }) =>
        retention.archive(ca, [archived].flatMap(present), make.noon),
      );
      await store.atomically(({ retention }) => retention.prune(ca, [pruned].flatMap(present)));
      const found = await walkedEnds(store, { caId: ca, until: undefined, superseded: true });
      expect(found.map(({ serial }) => serial)).toEqual([stays].flatMap(present));
      expect(await store.read.expiry.endCounts(ca, [at(9)])).toEqual([
        { present: 1, superseded: 0 },
      ]);
    });

    test("a walk that begins at a place sees nothing that ends by then", async () => {
      const { store } = given();
      const { rows, cas } = await stored(
        store,
        [1, 2, 2, 3].map((hours) => ({ ...plain, hours, name: String(hours) })),
      );
      const beyond = { notAfter: at(2), ordinal: Number.MAX_SAFE_INTEGER };
      const filter = { caId: cas[0] ?? caId("none"), until: undefined, superseded: true };
      const found = await walkedEnds(store, filter, beyond);
      expect(found.map(({ serial }) => serial)).toEqual([rows[3]?.serial].flatMap(present));
    });
  });
}

/** The facts of a row that the rules look at, with few values each, so that rows meet. */
interface Drawn {
  readonly ca: "old" | "next" | "stranger";
  readonly name: string;
  readonly profile: "server" | "client";
  readonly hours: number;
  readonly status: "good" | "held" | "revoked";
  readonly kind: "leaf" | "serving";
  readonly marker: "" | "canary" | "imported";
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  ca: fc.constantFrom("old", "next", "stranger"),
  name: fc.constantFrom("a", "b"),
  profile: fc.constantFrom("server", "server", "client"),
  hours: fc.integer({ min: -1, max: 4 }),
  status: fc.constantFrom("good", "good", "good", "held", "revoked"),
  kind: fc.constantFrom("leaf", "leaf", "leaf", "serving"),
  marker: fc.constantFrom("", "", "", "canary", "imported"),
});

const plain: Drawn = {
  ca: "old",
  name: "a",
  profile: "server",
  hours: 1,
  status: "good",
  kind: "leaf",
  marker: "",
};

interface Row extends CertificateRecord {
  readonly lineage: string;
}

/** Rows under two members of one lineage, and under a CA of another. */
async function stored(store: Store, facts: readonly Drawn[]) {
  const old = make.ca({ status: "superseded" });
  const next = make.ca({ lineage: old.id });
  const named = { old, next, stranger: make.ca() };
  await store.atomically(async (tx) => {
    for (const ca of Object.values(named)) await tx.cas.insert(ca);
  });
  const run = crypto.randomUUID();
  const rows: Row[] = [];
  for (const { ca, name, hours, ...row } of facts) {
    const { id, lineage } = named[ca];
    const notAfter = at(hours);
    const who = { subject: `CN=${name} ${run}`, commonName: `${name} ${run}` };
    const record = make.certificate({ ...row, ...who, caId: id, notAfter });
    await make.issue(store, record);
    rows.push({ ...record, lineage });
  }
  return { rows, cas: Object.values(named).map(({ id }) => id) };
}

/** The rules, row against row. */
const isWatched = ({ kind, marker, status }: Row): boolean =>
  kind === "leaf" && marker !== "canary" && status !== "revoked";

const isSuperseded = (rows: readonly Row[], row: Row): boolean =>
  rows.some(
    (other) =>
      isWatched(other) &&
      other.status === "good" &&
      other.lineage === row.lineage &&
      other.subject === row.subject &&
      other.profile === row.profile &&
      other.notAfter > row.notAfter,
  );

function expectedWalk(
  rows: readonly Row[],
  { caId: ca, until, superseded }: Omit<WatchedFilter, "status">,
): readonly Watched[] {
  const its = rows.filter((row) => row.caId === ca && isWatched(row));
  const told = its.filter((row) => superseded || !isSuperseded(rows, row));
  const inTime = told.filter(({ notAfter }) => notAfter <= (until ?? notAfter));
  const ofStatus = (status: "good" | "held") =>
    inTime
      .filter((row) => row.status === status)
      .sort((a, b) => a.notAfter - b.notAfter)
      .map((row): Watched => {
        const { serial, commonName, subject, profile, notBefore, notAfter } = row;
        const facts = { serial, commonName, subject, profile, notBefore, notAfter };
        return { ...facts, caId: ca, status, superseded: isSuperseded(rows, row) };
      });
  return [...ofStatus("good"), ...ofStatus("held")];
}

function expectedCounts(rows: readonly Row[], ca: string, ends: readonly Instant[]) {
  const its = rows.filter((row) => row.caId === ca && isWatched(row));
  return ends.map((until, index) => {
    const inside = its.filter(
      ({ notAfter }) => notAfter > (ends[index - 1] ?? -Infinity) && notAfter <= until,
    );
    const superseded = inside.filter((row) => isSuperseded(rows, row)).length;
    return { present: inside.length - superseded, superseded };
  });
}

const present = (serial: Serial | undefined): Serial[] => (serial === undefined ? [] : [serial]);
