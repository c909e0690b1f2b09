/** Bulk issue in memory. */

import type { Reads, Unit } from "#domain/store.ts";
import type { MemoryState } from "./memory-state.ts";

/** Operations and their items. */
export const bulkReads = ({ bulkOperations, bulkItems }: MemoryState): Reads["bulk"] => ({
  operation: async (id) => bulkOperations.get(id),
  issued: async (operation, limit, after) =>
    [...bulkItems.values()]
      .filter((item) => item.operation === operation && item.position > after)
      .sort((a, b) => a.position - b.position)
      .slice(0, limit)
      .map(({ position, caId, serial }) => ({ position, caId, serial })),
});

/** Bulk writes of a unit. */
export const bulkWrites = ({ bulkOperations, bulkItems }: MemoryState): Unit["bulk"] => ({
  begin: async (operation) => {
    if (bulkOperations.has(operation.id)) return false;
    bulkOperations.set(operation.id, operation);
    return true;
  },
  settle: async (operation, item) => {
    const key = `${operation}/${item.position}`;
    if (bulkItems.has(key)) return false;
    bulkItems.set(key, { operation, ...item });
    return true;
  },
});
