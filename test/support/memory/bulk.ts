/** Bulk issue in memory. */

import type { OperationKey } from "#domain/operation-runs.ts";
import type { Reads, Unit } from "#domain/store.ts";
import type { MemoryState } from "./state.ts";

/** Operations and their items. */
export const bulkReads = ({ bulkOperations, bulkItems }: MemoryState): Reads["bulk"] => ({
  operation: async (key) => bulkOperations.get(textOf(key)),
  issued: async (operation, limit, after) =>
    [...bulkItems.values()]
      .filter((item) => item.operation === textOf(operation) && item.position > after)
      .sort((a, b) => a.position - b.position)
      .slice(0, limit)
      .map(({ position, caId, serial }) => ({ position, caId, serial })),
});

/** Bulk writes of a unit. */
export const bulkWrites = ({ bulkOperations, bulkItems }: MemoryState): Unit["bulk"] => ({
  begin: async (operation) => {
    if (bulkOperations.has(textOf(operation))) return false;
    bulkOperations.set(textOf(operation), operation);
    return true;
  },
  settle: async (operation, item) => {
    const key = `${textOf(operation)}/${item.position}`;
    if (bulkItems.has(key)) return false;
    bulkItems.set(key, { operation: textOf(operation), ...item });
    return true;
  },
});

const textOf = ({ lineage, id }: OperationKey): string => `${lineage}/${id}`;
