/** Blocked keys and own keys in the memory store. */

import type { Reads, Unit } from "#domain/store.ts";
import { type MemoryState, pageOf } from "./memory-state.ts";

/** Reads over the state. */
export function keyCheckReads(state: MemoryState): Reads["keyChecks"] {
  const { blockedKeys, ownKeys, certificates } = state;
  return {
    standing: async ({ spkiSha256, duplicate }) => ({
      blocked: blockedKeys.has(spkiSha256),
      own: ownKeys.has(spkiSha256),
      duplicate:
        duplicate !== undefined &&
        [...certificates.values()].some(
          (row) =>
            row.spkiSha256 === spkiSha256 &&
            row.kind === "leaf" &&
            row.tenant === duplicate.tenant &&
            row.subject !== duplicate.subject &&
            row.notAfter >= duplicate.now,
        ),
    }),
    blocked: async (id) => [...blockedKeys.values()].find((row) => row.id === id),
    page: async ({ text = "", spkiSha256 }, limit, after) =>
      pageOf(
        [...blockedKeys.values()].filter(
          (row) =>
            row.reason.toLowerCase().includes(text.toLowerCase()) &&
            (spkiSha256 === undefined || row.spkiSha256 === spkiSha256),
        ),
        (row) => ({ at: row.createdAt, id: row.id }),
        limit,
        after,
      ),
    unrevokedWith: async (digest) =>
      [...certificates.values()].filter(
        (row) => row.spkiSha256 === digest && row.status !== "revoked",
      ).length,
  };
}

/** Writes of a unit. */
export function keyCheckWrites({ blockedKeys, ownKeys }: MemoryState): Unit["keyChecks"] {
  return {
    block: async (record) => {
      const present = blockedKeys.get(record.spkiSha256);
      if (present === undefined) blockedKeys.set(record.spkiSha256, record);
      return present;
    },
    blockMany: async (records) => {
      const fresh = records.filter(({ spkiSha256 }) => !blockedKeys.has(spkiSha256));
      for (const record of fresh) blockedKeys.set(record.spkiSha256, record);
      return fresh;
    },
    unblock: async (id) => {
      const row = [...blockedKeys.values()].find((candidate) => candidate.id === id);
      if (row !== undefined) blockedKeys.delete(row.spkiSha256);
      return row;
    },
    claim: async (spkiSha256) => {
      ownKeys.set(spkiSha256, true);
    },
  };
}
