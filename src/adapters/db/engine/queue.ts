/** The group-commit queue: waiting units run in one transaction and resolve after its commit. */

import { type Problem, refuse } from "#core/problems.ts";
import { nextTurn } from "#core/turns.ts";
import type { AuditEvent } from "#core/audit/chain.ts";
import { type Foreseen, NothingWritten } from "#domain/store.ts";
import { RolledBack, type RollbackGuard } from "#adapters/db/history/rollback-guard.ts";
import { Batch, type Outcome } from "./batch.ts";
import type { Engine } from "./engine.ts";
import { unitRefused } from "./faults.ts";
import type { Journal } from "./journal.ts";

/** A unit that waits, and how its caller is answered. */
interface Waiting {
  readonly unit: () => Promise<unknown>;
  readonly foreseen: Foreseen;
  /** True if the write accepts the rollback of the database; it is committed alone. */
  readonly accepts: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Bounded: at most 256 units share a commit; beyond 65,536 waiting ones new units are refused as
 * `overloaded`.
 */
export class GroupCommit {
  readonly #engine: Engine;
  readonly #journal: Journal;
  readonly #batch: Batch;
  readonly #guard: RollbackGuard;
  readonly #committed: (events: readonly AuditEvent[]) => void;
  readonly #onFault: (sentence: string, error: unknown) => void;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #closed = false;
  #failing = false;

  /** `committed` is told the events of every batch, in order, before its callers are. */
  constructor(deps: {
    engine: Engine;
    journal: Journal;
    guard: RollbackGuard;
    committed: (events: readonly AuditEvent[]) => void;
    onFault: (sentence: string, error: unknown) => void;
  }) {
    this.#engine = deps.engine;
    this.#journal = deps.journal;
    this.#batch = new Batch(deps);
    this.#guard = deps.guard;
    this.#committed = deps.committed;
    this.#onFault = deps.onFault;
  }

  /** True from a batch that could not be committed to the next one that was. */
  get failing(): boolean {
    return this.#failing;
  }

  /** Called before each statement of a unit. */
  surface(): void | Promise<void> {
    return this.#batch.surface();
  }

  /**
   * Resolves after the commit; rejects with the unit's own error, or `storage_unavailable` for the
   * whole batch.
   *
   * @param accepts true to write although the database was rolled back
   */
  run<T>(unit: () => Promise<T>, foreseen: Foreseen = {}, accepts = false): Promise<T> {
    if (this.#closed) return Promise.reject(refuse("shutting_down", { retry_after: 2 }));
    if (this.#waiting.length >= waitingMax) {
      return Promise.reject(refuse("overloaded", { retry_after: 1 }));
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // `resolve` is only ever called with what this very unit gave.
    const settle = { resolve: resolve as (value: unknown) => void, reject };
    this.#waiting.push({ unit, foreseen, accepts, ...settle });
    this.#running ??= this.#drain();
    return promise;
  }

  /** Runs what waits, takes nothing new, and resolves when the last batch has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gathered();
      await this.#runBatch(this.#waiting.splice(0, this.#findBatchEnd()));
    }
    this.#running = undefined;
  }

  /** A write that accepts a rollback does not share its batch. */
  #findBatchEnd(): number {
    const at = this.#waiting.findIndex(({ accepts }) => accepts);
    return at === -1 ? batchMax : Math.min(batchMax, Math.max(1, at));
  }

  /**
   * One turn of the event loop lets every request that has already arrived join the batch, and
   * while that brings more, so may the next: what a batch costs is shared by all in it. Where turns
   * are long, because much else is done in them, nobody waits for another.
   */
  async #gathered(): Promise<void> {
    const until = performance.now() + gatheredMs;
    for (let turns = 0; turns < turnsMax; turns++) {
      const before = this.#waiting.length;
      await nextTurn();
      if (this.#waiting.length === before || performance.now() > until) return;
    }
  }

  async #runBatch(batch: readonly Waiting[]): Promise<void> {
    const outcomes: Outcome[] = [];
    const alone = batch.length === 1;
    let committing = false;
    try {
      const foreseen = batch.map((waiting) => waiting.foreseen);
      const accepts = batch.some((waiting) => waiting.accepts);
      if (!accepts) this.#guard.assertOpen();
      await this.#batch.begin(foreseen, alone);
      if (!accepts) await this.#guard.assertCurrent(this.#journal.begun, this.#engine.reader);
      for (const { unit } of batch) outcomes.push(await this.#batch.run(unit));
      if (alone && outcomes.some((outcome) => "error" in outcome)) await this.#engine.rollback();
      else {
        await this.#batch.write();
        committing = true;
        await this.#engine.commit(this.#journal.heads);
        this.#failing = false;
      }
    } catch (error) {
      if (error instanceof RolledBack) {
        await this.#engine.rollback();
        rejectAll(batch, outcomes, error.toProblem());
        return;
      }
      // Told once: while nothing can be written every request ends here.
      if (!this.#failing) this.#onFault("a batch of writes was rolled back", error);
      this.#failing = true;
      const nothing = error instanceof NothingWritten;
      await this.#engine.rollback(nothing ? error.cause : error);
      rejectAll(batch, outcomes, unitRefused(error, !committing || nothing));
      return;
    }
    this.#journal.rows.committed();
    this.#guard.recordCommit(this.#journal.heads, this.#journal.events);
    this.#committed(this.#journal.events);
    for (const [index, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[index];
      if (outcome && "value" in outcome) resolve(outcome.value);
      else reject(outcome?.error);
    }
  }
}

/**
 * Units that failed on their own learn their own reason; to all others the database is unavailable.
 */
function rejectAll(
  batch: readonly Waiting[],
  outcomes: readonly Outcome[],
  refusal: Problem,
): void {
  for (const [index, { reject }] of batch.entries()) {
    const outcome = outcomes[index];
    reject(outcome && "error" in outcome ? outcome.error : refusal);
  }
}

const turnsMax = 8;
const gatheredMs = 10;
const batchMax = 256;
const waitingMax = 65_536;
