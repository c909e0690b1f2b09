/** Bulk revocations in memory. */

import type { Serial } from "#core/ids.ts";
import type { SelectableState } from "#core/policy/selection.ts";
import { assert } from "#core/problems.ts";
import type { BulkRun, Candidate, CandidateRange } from "#domain/revocation/bulk-store.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { Reads, Unit } from "#domain/store.ts";
import { type MemoryState, serialKey } from "./memory-state.ts";

/** Runs and candidates; nobody else's store lives beside this one. */
export const bulkRevocationReads = (state: MemoryState): Reads["bulkRevocations"] => ({
  run: async (id) => state.bulkRuns.get(id),
  abandoned: async (own) =>
    [...state.bulkRuns.values()].filter(
      (run) => own && (run.state === "selecting" || run.state === "running"),
    ),
  active: async () =>
    new Set(
      [...state.bulkRuns.values()].flatMap((run) => (run.state === "running" ? [run.caId] : [])),
    ),
  end: async () => state.certificates.size,
  candidates: async (range, limit) => candidates(state, range, limit),
  named: async (ca, serials) =>
    serials.flatMap((serial) => {
      const row = state.certificates.get(serialKey(ca, serial));
      return row === undefined ? [] : [candidate(row)];
    }),
  bare: async (ca, serials) => {
    const found = new Map<Serial, SelectableState>();
    for (const serial of serials) {
      const entry = state.revocations.get(serialKey(ca, serial));
      if (entry === undefined || entry.known) continue;
      found.set(serial, entry.reason === "certificateHold" ? "held" : "revoked");
    }
    return found;
  },
});

/** Bulk revocation writes of a unit. */
export function bulkRevocationWrites(state: MemoryState): Unit["bulkRevocations"] {
  const { bulkRuns, bulkSerials } = state;
  const runOf = (id: string): BulkRun => {
    const run = bulkRuns.get(id);
    assert(run !== undefined, "serials belong to a run that is stored");
    return run;
  };
  const left = (id: string) => [...(bulkSerials.get(id) ?? [])];
  return {
    ...bulkProgressWrites(state, left, runOf),
    claim: async (facts) => {
      const known = bulkRuns.get(facts.id);
      if (known?.state === "finished") return { run: known, mine: false };
      const untouched = { planned: 0, revoked: 0, upgraded: 0, skipped: 0, batches: 0 };
      if (known === undefined || known.state === "selecting") {
        const run: BulkRun = { ...facts, ...untouched, state: "selecting" };
        bulkRuns.set(run.id, run);
        bulkSerials.set(run.id, []);
        return { run, mine: true };
      }
      bulkRuns.set(known.id, { ...known, state: "running", maker: facts.maker });
      return { run: known, mine: true };
    },
    stage: async (id, serials) => {
      bulkSerials.set(id, [...left(id), ...serials]);
    },
    changeable: async (id, ca, hold) =>
      left(id).filter((serial) => {
        const row = state.certificates.get(serialKey(ca, serial));
        if (row === undefined) return !hold && !state.revocations.has(serialKey(ca, serial));
        return row.status === "good" || (!hold && row.status === "held");
      }).length,
    lastChange: async (ca) => state.counters.get(ca) ?? 0,
    candidates: async (range, limit) => candidates(state, range, limit),
    end: async () => state.certificates.size,
    start: async (id, planned) => {
      bulkRuns.set(id, { ...runOf(id), state: "running", planned });
    },
    drop: async (id) => {
      bulkRuns.delete(id);
      bulkSerials.delete(id);
    },
  };
}

function bulkProgressWrites(
  state: MemoryState,
  left: (id: string) => Serial[],
  runOf: (id: string) => BulkRun,
): Pick<Unit["bulkRevocations"], "next" | "advance" | "settle"> {
  const { bulkRuns, bulkSerials } = state;
  return {
    next: async (id, ca, limit) =>
      left(id)
        .sort(numerically)
        .slice(0, limit)
        .map((serial) => ({
          serial,
          certificate: state.certificates.get(serialKey(ca, serial)),
          entry: state.revocations.get(serialKey(ca, serial)),
        })),
    advance: async (id, through, more) => {
      const rest = left(id).filter((serial) => numerically(serial, through) > 0);
      bulkSerials.set(id, rest);
      const run = runOf(id);
      bulkRuns.set(id, {
        ...run,
        ...{ revoked: run.revoked + more.revoked, upgraded: run.upgraded + more.upgraded },
        ...{ skipped: run.skipped + more.skipped, batches: run.batches + more.batches },
      });
    },
    settle: async (id, to) => {
      bulkRuns.set(id, { ...runOf(id), state: to });
    },
  };
}

function candidates(state: MemoryState, range: CandidateRange, limit: number) {
  const rows = [...state.certificates.values()]
    .map((row, index) => ({ row, place: index + 1 }))
    .filter(({ row, place }) => {
      if (row.caId !== range.caId || row.kind !== "leaf") return false;
      if (range.profile !== undefined && row.profile !== range.profile) return false;
      return place > range.after && place <= range.upTo;
    })
    .slice(0, limit);
  const reached = rows.length < limit ? range.upTo : (rows.at(-1)?.place ?? range.upTo);
  return { items: rows.map(({ row }) => candidate(row)), reached };
}

function candidate(row: CertificateRecord): Candidate {
  const { serial, kind, status, profile, commonName, sans } = row;
  const { notAfter, createdAt, spkiSha256 } = row;
  return { serial, kind, status, profile, commonName, sans, notAfter, createdAt, spkiSha256 };
}

const numerically = (a: Serial, b: Serial) => Number(BigInt(a) - BigInt(b));
