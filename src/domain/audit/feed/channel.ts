/**
 * What readers with the same filter and the same scopes share: the newest events that fit, found
 * once for all of them.
 */

import type { AuditEvent } from "#core/audit/chain.ts";
import { fits } from "#domain/audit/event-filter.ts";
import type { EventFilter } from "#domain/audit/store.ts";

/**
 * A ring of the newest events; each reader has a place in it, and nothing else. It holds 256, or
 * as many as were committed together, so that nobody who keeps up loses any of them.
 */
export class Channel {
  readonly #filter: EventFilter;
  readonly #readers = new Set<ChannelReader>();
  readonly #ring: AuditEvent[] = [];
  /** Events that have left the ring, and the number of the last of them. */
  #gone = 0;
  #goneSeq = 0;
  /** The list that was handed out last, for whoever is at the same place. */
  #taken: { readonly from: number; readonly to: number; readonly events: readonly AuditEvent[] } = {
    from: 0,
    to: 0,
    events: [],
  };

  constructor(filter: EventFilter) {
    this.#filter = filter;
  }

  /** The place behind the newest event. */
  get end(): number {
    return this.#gone + this.#ring.length;
  }

  get empty(): boolean {
    return this.#readers.size === 0;
  }

  /** Gives the place where it begins to read. */
  join(reader: ChannelReader): number {
    this.#readers.add(reader);
    return this.end;
  }

  leave(reader: ChannelReader): void {
    this.#readers.delete(reader);
  }

  /** New events, oldest first; readers are woken when any of them fits. */
  push(events: readonly AuditEvent[]): void {
    const fitting = events.filter((event) => fits(this.#filter, event));
    if (fitting.length === 0) return;
    for (const event of fitting) this.#ring.push(event);
    const surplus = this.#ring.length - Math.max(ringMax, fitting.length);
    if (surplus > 0) {
      this.#goneSeq = this.#ring.splice(0, surplus).at(-1)?.seq ?? this.#goneSeq;
      this.#gone += surplus;
    }
    for (const reader of this.#readers) reader.wake();
  }

  /** What has left the ring before a reader at this place came for it. */
  lost(place: number): { readonly dropped: number; readonly lastSeq: number } {
    return { dropped: Math.max(0, this.#gone - place), lastSeq: this.#goneSeq };
  }

  /** Events behind a place that are still in the ring. */
  count(place: number): number {
    return this.end - Math.max(place, this.#gone);
  }

  /** The number of the event at a place of the ring; undefined at its end. */
  seqAt(place: number): number | undefined {
    return this.#ring[place - this.#gone]?.seq;
  }

  /** All from a place of the ring on; the same list for all who take the same. */
  from(place: number): readonly AuditEvent[] {
    const { from, to, events } = this.#taken;
    if (from === place && to === this.end) return events;
    const taken = this.#ring.slice(place - this.#gone);
    this.#taken = { from: place, to: this.end, events: taken };
    return taken;
  }
}

/** Whoever reads a channel. */
export interface ChannelReader {
  wake(): void;
}

const ringMax = 256;
