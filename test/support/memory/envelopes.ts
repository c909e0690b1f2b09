/** KEK versions and sealed values in the memory store. */

import type { Reads, Unit } from "#domain/store.ts";
import type { MemoryState } from "./state.ts";

/** Reads over the state. */
export function envelopeReads({ kekVersions, sealedValues }: MemoryState): Reads["envelopes"] {
  return {
    versions: async () => [...kekVersions.values()].sort((a, b) => b.version - a.version),
    at: async (place) => sealedValues.get(place),
    under: async (version, limit, after) =>
      [...sealedValues.values()]
        .filter((value) => value.kekVersion === version && value.place > (after ?? ""))
        .sort((a, b) => (a.place < b.place ? -1 : 1))
        .slice(0, limit),
    count: async () => sealedValues.size,
    unheard: async () => 0,
  };
}

/** Writes of a unit. */
export function envelopeWrites({ kekVersions, sealedValues }: MemoryState): Unit["envelopes"] {
  return {
    begin: async (next, replaced) => {
      const active = [...kekVersions.values()].find(({ status }) => status === "active");
      if (active?.version !== replaced) return false;
      if (active) kekVersions.set(String(replaced), { ...active, status: "retiring" });
      kekVersions.set(String(next.version), next);
      return true;
    },
    put: async (value) => {
      const status = kekVersions.get(String(value.kekVersion))?.status;
      if (status === undefined || status === "retired") return false;
      sealedValues.set(value.place, value);
      return true;
    },
    rewrap: async (from, to) => {
      if (sealedValues.get(from.place)?.envelope !== from.envelope) return false;
      sealedValues.set(from.place, to);
      return true;
    },
    remove: async (place) => {
      sealedValues.delete(place);
    },
    heard: async () => {},
    retire: async (version) => {
      for (const value of sealedValues.values()) if (value.kekVersion === version) return false;
      const row = kekVersions.get(String(version));
      if (row?.status === "retiring")
        kekVersions.set(String(version), { ...row, status: "retired" });
      return true;
    },
  };
}
