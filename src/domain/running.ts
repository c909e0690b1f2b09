/** Bulk operations that run in this process, each id at most once at a time. */

import { refuse } from "#core/problems.ts";

/** Ids at work; what another process works on, the store knows. */
export class RunningOperations {
  readonly #ids = new Set<string>();

  /** True while this id is at work here. */
  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Does the work unless the id is at work already. Refuses `operation_running`. */
  async run<T>(id: string, work: () => Promise<T>): Promise<T> {
    if (this.#ids.has(id)) throw refuse("operation_running", { operation_id: id });
    this.#ids.add(id);
    try {
      return await work();
    } finally {
      this.#ids.delete(id);
    }
  }
}
