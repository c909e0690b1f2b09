/** Blocked keys and own keys in the memory store. */

import { coversTenant } from "#core/access/principal.ts";
import type { BlockedKeyRecord } from "#domain/key-checks/store.ts";
import type { Reads, Unit } from "#domain/store.ts";
import { type MemoryState, pageOf } from "./state.ts";

/** Reads over the state. */
export function keyCheckReads(state: MemoryState): Reads["keyChecks"] {
  const { blockedKeys, ownKeys, certificates } = state;
  return {
    keyStatus: async ({ spkiSha256, tenant, duplicate }) => ({
      blocked: blocking(blockedKeys, spkiSha256, tenant) !== undefined,
      own: ownKeys.has(spkiSha256),
      duplicate:
        duplicate !== undefined &&
        [...certificates.values()].some(
          (row) =>
            row.spkiSha256 === spkiSha256 &&
            row.kind === "leaf" &&
            row.tenant === tenant &&
            (row.subject !== duplicate.subject ||
              (row.subject === "" && row.sans.join() !== duplicate.sans.join())) &&
            row.notAfter >= duplicate.now,
        ),
    }),
    blocked: async (id) => blockedKeys.get(id),
    page: async (reach, { text = "", spkiSha256 }, limit, after) =>
      pageOf(
        [...blockedKeys.values()].filter(
          (row) =>
            coversTenant(reach, row.tenant) &&
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
      const present = blocking(blockedKeys, record.spkiSha256, record.tenant);
      if (present === undefined) blockedKeys.set(record.id, record);
      return present;
    },
    blockMany: async (records) => {
      const fresh = records.filter(
        ({ spkiSha256, tenant }) => blocking(blockedKeys, spkiSha256, tenant) === undefined,
      );
      for (const record of fresh) blockedKeys.set(record.id, record);
      return fresh;
    },
    unblock: async (id) => {
      const row = blockedKeys.get(id);
      blockedKeys.delete(id);
      return row;
    },
    claim: async (spkiSha256) => {
      ownKeys.set(spkiSha256, true);
    },
  };
}

/** The row that keeps CAs of the tenant from certifying the key. */
const blocking = (
  rows: MemoryState["blockedKeys"],
  spkiSha256: string,
  tenant: BlockedKeyRecord["tenant"],
) =>
  [...rows.values()].find(
    (row) => row.spkiSha256 === spkiSha256 && (row.tenant === undefined || row.tenant === tenant),
  );
