/** Bulk revocations in memory. */

import type { Serial } from "#core/ids.ts";
import type { SelectableState } from "#core/policy/selection.ts";
import { assert } from "#core/problems.ts";
import type { BulkRun, Candidate, CandidateRange } from "#domain/revocation/bulk-store.ts";
import type { CertificateRecord } from "#domain/certificates/store.ts";
import type { OperationKey } from "#domain/operation-runs.ts";
import type { Reads, Unit } from "#domain/store.ts";
import { type MemoryState, serialKey } from "./state.ts";

/** Runs and candidates; nobody else's store lives beside this one. */
export const bulkRevocationReads = (state: MemoryState): Reads["bulkRevocations"] => ({
  run: async (key) => state.bulkRuns.get(textOf(key)),
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
  const runOf = (key: OperationKey): BulkRun => {
    const run = bulkRuns.get(textOf(key));
    assert(run !== undefined, "serials belong to a run that is stored");
    return run;
  };
  const left = (key: OperationKey) => [...(bulkSerials.get(textOf(key)) ?? [])];
  return {
    ...bulkProgressWrites(state, left, runOf),
    claim: async (facts) => {
      const known = bulkRuns.get(textOf(facts));
      if (known?.state === "finished") return { run: known, mine: false };
      const untouched = { planned: 0, revoked: 0, upgraded: 0, skipped: 0, batches: 0 };
      if (known === undefined || known.state === "selecting") {
        const run: BulkRun = { ...facts, ...untouched, state: "selecting" };
        bulkRuns.set(textOf(run), run);
        bulkSerials.set(textOf(run), []);
        return { run, mine: true };
      }
      bulkRuns.set(textOf(known), { ...known, state: "running", maker: facts.maker });
      return { run: known, mine: true };
    },
    stage: async (key, serials) => {
      bulkSerials.set(textOf(key), [...left(key), ...serials]);
    },
    changeable: async (key, ca, hold) =>
      left(key).filter((serial) => {
        const row = state.certificates.get(serialKey(ca, serial));
        if (row === undefined) return !hold && !state.revocations.has(serialKey(ca, serial));
        return row.status === "good" || (!hold && row.status === "held");
      }).length,
    lastChange: async (ca) => state.counters.get(ca) ?? 0,
    candidates: async (range, limit) => candidates(state, range, limit),
    end: async () => state.certificates.size,
    start: async (key, planned) => {
      bulkRuns.set(textOf(key), { ...runOf(key), state: "running", planned });
    },
    drop: async (key) => {
      bulkRuns.delete(textOf(key));
      bulkSerials.delete(textOf(key));
    },
  };
}

function bulkProgressWrites(
  state: MemoryState,
  left: (key: OperationKey) => Serial[],
  runOf: (key: OperationKey) => BulkRun,
): Pick<Unit["bulkRevocations"], "next" | "advance" | "settle"> {
  const { bulkRuns, bulkSerials } = state;
  return {
    next: async (key, ca, limit) =>
      left(key)
        .sort(numerically)
        .slice(0, limit)
        .map((serial) => ({
          serial,
          certificate: state.certificates.get(serialKey(ca, serial)),
          entry: state.revocations.get(serialKey(ca, serial)),
        })),
    advance: async (key, through, more) => {
      const rest = left(key).filter((serial) => numerically(serial, through) > 0);
      bulkSerials.set(textOf(key), rest);
      const run = runOf(key);
      bulkRuns.set(textOf(key), {
        ...run,
        revoked: run.revoked + more.revoked,
        upgraded: run.upgraded + more.upgraded,
        skipped: run.skipped + more.skipped,
        batches: run.batches + more.batches,
      });
    },
    settle: async (key, to) => {
      bulkRuns.set(textOf(key), { ...runOf(key), state: to });
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
  const { notAfter, createdAt, spkiSha256, revokedAt, reason } = row;
  const named = { serial, kind, status, profile, commonName, sans, spkiSha256 };
  return { ...named, notAfter, createdAt, revokedAt, reason };
}

const numerically = (a: Serial, b: Serial) => Number(BigInt(a) - BigInt(b));

const textOf = ({ lineage, id }: OperationKey): string => `${lineage}/${id}`;
