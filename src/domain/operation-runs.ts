/**
 * Bulk operations: what names one, and which of them run in this process, each at most once at a
 * time.
 */

import type { CaId } from "#core/ids.ts";
import { refuse } from "#core/problems.ts";

/**
 * What names an operation. Callers choose ids, so each lineage of CAs has its own: nobody meets
 * those of another tenant.
 */
export interface OperationKey {
  readonly lineage: CaId;
  readonly id: string;
}

/** Operations under way; what another process works on, the store knows. */
export class OperationRuns {
  readonly #keys = new Set<string>();

  /** True while this one is under way here. */
  has(key: OperationKey): boolean {
    return this.#keys.has(textOf(key));
  }

  /** Does the work unless it is under way already. Refuses `operation_running`. */
  async run<T>(key: OperationKey, work: () => Promise<T>): Promise<T> {
    if (this.has(key)) throw refuse("operation_running", { operation_id: key.id });
    this.#keys.add(textOf(key));
    try {
      return await work();
    } finally {
      this.#keys.delete(textOf(key));
    }
  }
}

/** Ids of CAs are UUIDs, which are all of one length. */
const textOf = ({ lineage, id }: OperationKey): string => `${lineage}/${id}`;
