/** The memory store's part for the ends of certificates: the rule itself, row against row. */

import { instant } from "#core/time.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import { identityOf } from "#domain/certificates/identity.ts";
import type { Watched } from "#domain/expiry/store.ts";
import type { Reads } from "#domain/store.ts";

import type { MemoryState } from "./state.ts";

/** Another good leaf of lineage, subject and profile ends strictly later (EXP-2). */
export function isOutlived(state: MemoryState, row: CertificateRecord): boolean {
  const lineageOf = (id: string) => state.cas.get(id)?.lineage;
  const lineage = lineageOf(row.caId);
  // What was pruned has lost its subject with everything else that tells who it was.
  const isSomebody = (one: CertificateRecord) =>
    one.kind === "leaf" && one.marker !== "canary" && (one.subject !== "" || one.sans.length > 0);
  if (!isSomebody(row) || lineage === undefined) return false;
  return [...state.certificates.values()].some(
    (other) =>
      isSomebody(other) &&
      other.status === "good" &&
      other.notAfter > row.notAfter &&
      identityOf(other) === identityOf(row) &&
      lineageOf(other.caId) === lineage,
  );
}

/** Reads over the state. */
export function expiryReads(state: MemoryState): Reads["expiry"] {
  const watched = () =>
    [...state.certificates.values()].flatMap((row, at) => {
      const { caId, serial, commonName, subject, profile, notBefore, notAfter } = row;
      const isLive = row.kind === "leaf" && row.certificate.length > 0 && row.marker !== "canary";
      if (!isLive || row.status === "revoked") return [];
      const { status } = row;
      const facts = { caId, serial, status, commonName, subject, profile, notBefore, notAfter };
      const one: Watched = { ...facts, superseded: isOutlived(state, row) };
      return [{ one, place: { notAfter, ordinal: at + 1 } }];
    });
  return {
    ending: async (filter, after = { notAfter: instant(-8.64e15), ordinal: 0 }) => {
      const found = watched().filter(
        ({ one, place }) =>
          one.caId === filter.caId &&
          one.status === filter.status &&
          (filter.superseded || !one.superseded) &&
          one.notAfter <= (filter.until ?? one.notAfter) &&
          (place.notAfter - after.notAfter || place.ordinal - after.ordinal) > 0,
      );
      found.sort(
        (a, b) => a.place.notAfter - b.place.notAfter || a.place.ordinal - b.place.ordinal,
      );
      const items = found.slice(0, rowsAStep);
      const next = found.length > rowsAStep ? items.at(-1)?.place : undefined;
      return { items: items.map(({ one }) => one), next };
    },
    endCounts: async (ca, ends) =>
      ends.map((until, at) => {
        const from = ends[at - 1] ?? -Infinity;
        const inside = watched().filter(
          ({ one }) => one.caId === ca && one.notAfter > from && one.notAfter <= until,
        );
        const superseded = inside.filter(({ one }) => one.superseded).length;
        return { present: inside.length - superseded, superseded };
      }),
  };
}

/** Few, so that walks have more than one step. */
const rowsAStep = 3;
