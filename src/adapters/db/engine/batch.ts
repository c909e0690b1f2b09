/**
 * One transaction of many units: each is undone alone, and what can be is written for all at once.
 */

import type { Foreseen } from "#domain/store.ts";
import type { Engine } from "./engine.ts";
import { isStorageFault, translated } from "./faults.ts";
import type { Journal, Mark } from "./journal.ts";

/** A unit that ran: what to tell its caller once the batch has committed. */
export type Outcome = { readonly value: unknown } | { readonly error: unknown };

/**
 * A unit that only adds to the journal costs no statement. Before the first statement of its own
 * what earlier units left unwritten is written, then comes a savepoint, then what it has left
 * itself: so its statements see everything, and it is taken back with what it did.
 */
export class Batch {
  readonly #engine: Engine;
  readonly #journal: Journal;
  /** What the unit that runs is taken back to; undefined between units. */
  #mark: Mark | undefined;
  #alone = false;
  /** True from the first statement of the unit that runs. */
  #direct = false;
  #surfacing: Promise<void> | undefined;
  /** Why what earlier units left could not be written: theirs is lost with it. */
  #broken: { readonly cause: unknown } | undefined;

  constructor(deps: { engine: Engine; journal: Journal }) {
    this.#engine = deps.engine;
    this.#journal = deps.journal;
  }

  /**
   * Starts a transaction for units of which this is known. One that is alone is taken back with the
   * transaction: a savepoint would copy every page a large one changes.
   */
  async begin(foreseen: readonly Foreseen[], alone: boolean): Promise<void> {
    this.#alone = alone;
    this.#mark = undefined;
    this.#surfacing = undefined;
    this.#broken = undefined;
    const { rows } = this.#journal;
    rows.begin();
    this.#journal.begin(await this.#engine.begin(() => rows.foresee(foreseen)));
  }

  /**
   * Gives what the unit gave or threw; throws only what ends the whole batch. One that is alone is
   * not undone here.
   */
  async run(unit: () => Promise<unknown>): Promise<Outcome> {
    const mark = this.#journal.mark();
    this.#mark = mark;
    this.#direct = false;
    try {
      const value = await unit();
      if (this.#broken !== undefined) throw this.#broken.cause;
      if (this.#saved) this.#engine.release();
      return { value };
    } catch (error) {
      if (this.#broken !== undefined) throw this.#broken.cause;
      // A full or broken database may have ended the transaction by itself: nothing in this batch
      // is safe then.
      if (isStorageFault(error)) throw error;
      if (this.#saved) await this.#engine.rollbackToSavepoint();
      this.#journal.restore(mark);
      return { error: translated(error) };
    } finally {
      this.#mark = undefined;
    }
  }

  /** Called before each statement of a unit; at once where nothing has to be awaited. */
  surface(): void | Promise<void> {
    if (this.#surfacing !== undefined) return this.#surfacing;
    const mark = this.#mark;
    if (mark === undefined || (this.#direct && !this.#journal.rows.any)) return undefined;
    if (!this.#journal.rows.any) {
      this.#save();
      return undefined;
    }
    this.#surfacing = this.#written(mark).finally(() => {
      this.#surfacing = undefined;
    });
    return this.#surfacing;
  }

  /** Writes what is left; the last thing before the commit. */
  async write(): Promise<void> {
    await this.#engine.ahead(this.#journal.flush());
  }

  async #written(mark: Mark): Promise<void> {
    const { rows } = this.#journal;
    if (!this.#direct) {
      try {
        await this.#engine.ahead(rows.writeBefore(mark.rows));
      } catch (cause) {
        this.#broken = { cause };
        throw cause;
      }
      this.#save();
    }
    await this.#engine.ahead(rows.write());
  }

  #save(): void {
    this.#direct = true;
    if (!this.#alone) this.#engine.savepoint();
  }

  get #saved(): boolean {
    return this.#direct && !this.#alone;
  }
}
