/** Tells listeners of committed events, in order and each once, whichever process appended them. */

import type { AuditEvent } from "#core/audit/chain.ts";

export type EventListener = (events: readonly AuditEvent[]) => void;

/** Who is told of events; a listener's bug reaches nobody else. */
export class Listeners {
  readonly #onFault: (sentence: string, error: unknown) => void;
  readonly #listeners = new Set<EventListener>();

  constructor(onFault: (sentence: string, error: unknown) => void) {
    this.#onFault = onFault;
  }

  /** Gives the unsubscribe. */
  subscribe(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(events: readonly AuditEvent[]): void {
    if (events.length === 0) return;
    for (const listener of this.#listeners) {
      try {
        listener(events);
      } catch (error) {
        // The events are committed: a listener's bug must not reach whoever appended them.
        this.#onFault("a listener of the event feed failed", error);
      }
    }
  }
}

/** The listeners, and the last event they were told of; gaps are filled by reading. */
export class Feed {
  readonly #read: (afterSeq: number, limit: number) => Promise<readonly AuditEvent[]>;
  readonly #onFault: (sentence: string, error: unknown) => void;
  readonly #listeners: Listeners;
  #seen: number;
  #pumping = false;
  #again = false;
  #stopped = false;

  constructor(deps: {
    seen: number;
    read: (afterSeq: number, limit: number) => Promise<readonly AuditEvent[]>;
    onFault: (sentence: string, error: unknown) => void;
  }) {
    this.#seen = deps.seen;
    this.#read = deps.read;
    this.#onFault = deps.onFault;
    this.#listeners = new Listeners(deps.onFault);
  }

  /** Gives the unsubscribe. */
  subscribe(listener: EventListener): () => void {
    return this.#listeners.subscribe(listener);
  }

  /** Takes the events of a batch just committed here. */
  committed(events: readonly AuditEvent[]): void {
    const [first] = events;
    if (first === undefined) return;
    // Another process appended before us, or a read is under way: the rows are read in order
    // instead.
    if (this.#pumping || first.seq !== this.#seen + 1) this.wake();
    else this.#deliver(events);
  }

  /** Reads and delivers nothing more; the database is about to be closed. */
  stop(): void {
    this.#stopped = true;
  }

  /** Continues after an older event, because the database was rolled back. */
  rewind(seq: number): void {
    this.#seen = seq;
    this.wake();
  }

  /**
   * Reads and delivers whatever lies behind the last event seen, unless `seq` has been seen
   * already.
   */
  wake(seq?: number): void {
    if (this.#stopped || (seq !== undefined && seq <= this.#seen)) return;
    this.#again = true;
    if (this.#pumping) return;
    this.#pumping = true;
    this.#pump().catch((error) => {
      // The next commit or notification starts over from the last event delivered.
      if (!this.#stopped) this.#onFault("events could not be read for the feed", error);
    });
  }

  async #pump(): Promise<void> {
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        const page = await this.#read(this.#seen, pageRows);
        if (page.length === pageRows) this.#again = true;
        this.#deliver(page);
      }
    } finally {
      this.#pumping = false;
    }
  }

  #deliver(events: readonly AuditEvent[]): void {
    const last = events.at(-1);
    if (last === undefined) return;
    this.#seen = last.seq;
    this.#listeners.tell(events);
  }
}

const pageRows = 500;
