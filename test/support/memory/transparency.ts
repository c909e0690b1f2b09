/** The memory store's part for certificate transparency. */

import { coversCa } from "#core/access/principal.ts";
import type { InclusionFilter, InclusionRecord } from "#domain/transparency/store.ts";
import type { Reads, Unit } from "#domain/store.ts";
import { assert } from "#core/problems.ts";
import { type MemoryState, pageOf, serialKey } from "./state.ts";

/** Reads over the state. */
export function transparencyReads(state: MemoryState): Reads["transparency"] {
  const all = () => [...state.inclusions.values()];
  const stateOf = (ca: string, serial: string) =>
    [...state.intents.values()].find((one) => one.caId === ca && one.serial === serial)?.state;
  return {
    precertificate: async (ca, serial) => state.precertificates.get(serialKey(ca, serial)),
    lost: async (limit) =>
      [...state.precertificates.values()]
        .filter(({ caId, serial, unsettled }) => {
          const intent = stateOf(caId, serial);
          return unsettled && (intent === "abandoned" || intent === "orphaned");
        })
        .slice(0, limit),
    endless: async (limit) =>
      [...state.precertificates.values()]
        .filter(({ caId, serial }) => {
          const entry = state.revocations.get(serialKey(caId, serial));
          return entry !== undefined && entry.expiresAt === undefined;
        })
        .slice(0, limit),
    inclusions: async (filter, limit, after) =>
      pageOf(
        all().filter((row) => matches(filter, row)),
        (row) => ({ at: row.sctTimestamp, id: row.id }),
        limit,
        after,
      ),
    counts: async (filter) => {
      const of = (status: InclusionRecord["status"]) =>
        all().filter((row) => matches({ ...filter, status }, row)).length;
      return {
        pending: of("pending"),
        included: of("included"),
        failed: of("failed"),
        unknown_log: of("unknown_log"),
      };
    },
    due: async (now, limit) =>
      all()
        .filter(({ status, dueAt }) => /pending|unknown_log/.test(status) && dueAt <= now)
        .sort((a, b) => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1))
        .slice(0, limit),
    head: async (logId) => state.logHeads.get(logId),
  };
}

/** Writes to the state. */
export function transparencyWrites(state: MemoryState): Unit["transparency"] {
  return {
    keep: async (row) => {
      state.precertificates.set(serialKey(row.caId, row.serial), row);
    },
    kept: async (ca, serial) => state.precertificates.get(serialKey(ca, serial)),
    settlePrecertificate: async (ca, serial) => {
      const row = state.precertificates.get(serialKey(ca, serial));
      if (row) state.precertificates.set(serialKey(ca, serial), { ...row, unsettled: false });
    },
    expect: async (row) => {
      state.inclusions.set(row.id, row);
    },
    update: async (row) => {
      assert(state.inclusions.has(row.id), "an SCT is updated where it is");
      state.inclusions.set(row.id, row);
    },
    setHead: async (row) => {
      state.logHeads.set(row.logId, row);
    },
  };
}

function matches(filter: InclusionFilter, row: InclusionRecord): boolean {
  const { reach, status, caId, serial } = filter;
  return (
    coversCa(reach, { id: row.caId, tenant: row.tenant }) &&
    (status === undefined || row.status === status) &&
    (caId === undefined || row.caId === caId) &&
    (serial === undefined || row.serial === serial)
  );
}
