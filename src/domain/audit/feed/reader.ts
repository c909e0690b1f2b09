/** One reader of the live feed: what is stored behind where it left off, and then what comes. */

import type { Reach } from "#core/access/principal.ts";
import type { AuditEvent } from "#core/audit/chain.ts";
import { assert } from "#core/problems.ts";
import type { Instant } from "#core/time.ts";
import type { Turns } from "#core/turns.ts";
import type { AuditReads, EventFilter } from "#domain/audit/store.ts";
import type { Clock, Stopwatch } from "#domain/ports.ts";
import type { Channel } from "./channel.ts";
import type { Pace } from "./pace.ts";
import type { EndCode, Told } from "./told.ts";

/** What somebody wants to read, and who that is. */
export interface Reading {
  readonly filter: EventFilter;
  /** The last event it has seen; undefined begins with what comes. */
  readonly after: number | undefined;
  readonly subject: string;
  /** Tenant of the caller; undefined for a caller of the whole instance. */
  readonly tenant?: string | undefined;
  /** Address of the caller, or the /64 of an IPv6 address; undefined on the admin socket. */
  readonly block?: string | undefined;
  /** Digest of the session that asks. */
  readonly session: string | undefined;
  /** Serials of the certificates that the client showed. */
  readonly shown: readonly string[];
  /** When what it showed runs out; undefined where it does not. */
  readonly until: Instant | undefined;
  /** Where it may read by now; undefined when it may not any more. */
  readonly standing: () => Promise<Reach | undefined>;
  readonly heartbeatSeconds: number;
}

/** What the feed lends to its readers. */
export interface FeedGround {
  readonly audit: Pick<AuditReads, "eventHead" | "eventsWithin" | "newestWithin">;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly pace: Pace;
  /** Turns of those whose rights are looked at. */
  readonly looks: Turns;
  /** The last event that was told to the channels; 0 before the first. */
  readonly seen: () => number;
  readonly channel: (filter: EventFilter) => Channel;
  readonly left: (channel: Channel) => void;
  readonly dropped: (events: number) => void;
  readonly gone: (reader: FeedReader) => void;
}

/**
 * Reads the store by number until it is level with the channel, and the channel from then on; when
 * its rights may have changed it goes back to the store, from the first event it was not told, so
 * that each is told once, in order, and by the rights of that moment. It holds no event itself.
 */
export class FeedReader {
  readonly #ground: FeedGround;
  readonly #reading: Reading;
  #filter: EventFilter;
  /** Nothing that fits is left untold up to this event. */
  #position = 0;
  /** The newest event when it began; what is stored up to there is read. */
  #level = 0;
  #channel: Channel | undefined;
  #place = 0;
  #dropped = 0;
  #opened = false;
  #measured = false;
  #granted = false;
  #doubted = false;
  #beats = false;
  #end: EndCode | undefined;
  #over = false;
  #wake: (() => void) | undefined;
  #cut: () => void = () => {};
  /** Since when it has not come for more; undefined while it waits here. */
  #busySince: number | undefined;
  #beatAt: number;
  #lookedAt: number;

  constructor(ground: FeedGround, reading: Reading) {
    this.#ground = ground;
    this.#reading = reading;
    this.#filter = reading.filter;
    const now = ground.stopwatch.elapsedMs();
    this.#busySince = now;
    this.#beatAt = now;
    this.#lookedAt = now;
  }

  get subject(): string {
    return this.#reading.subject;
  }

  /** True if both callers belong to the same tenant, or both to the whole instance. */
  sharesTenant({ tenant }: Reading): boolean {
    return this.#reading.tenant === tenant;
  }

  /** True if both callers come from the same address. */
  sharesBlock({ block }: Reading): boolean {
    return block !== undefined && this.#reading.block === block;
  }

  get session(): string | undefined {
    return this.#reading.session;
  }

  /** True for one who came in with this certificate. */
  hasShown(serial: string): boolean {
    return this.#reading.shown.includes(serial);
  }

  /** True for one whom roles give everything, whatever becomes of CAs, grants and tenants. */
  get everywhere(): boolean {
    return this.#filter.reach === "platform";
  }

  /** Finds where it begins; what is committed from now on is told. */
  async begin(): Promise<void> {
    const { seq } = await this.#ground.audit.eventHead();
    this.#level = seq;
    // A number nobody has been told is of a chain that was longer, before it was restored.
    this.#position = Math.min(this.#reading.after ?? seq, seq);
  }

  async next(): Promise<Told | undefined> {
    this.#busySince = undefined;
    try {
      const told = await this.#told();
      this.#busySince = this.#ground.stopwatch.elapsedMs();
      return told;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  onCut(cut: () => void): void {
    this.#cut = cut;
  }

  close(): void {
    if (this.#over) return;
    this.#over = true;
    this.#leave();
    this.#ground.gone(this);
    this.wake();
  }

  /** Whatever it waits for may have come. */
  wake(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  /** Its rights may be others now; asked before the events behind that are told to anybody. */
  doubt(): void {
    this.#leave();
    this.#doubted = true;
    this.wake();
  }

  /** Ends with this word, once what is under way has been sent. */
  finish(code: EndCode): void {
    this.#end ??= code;
    this.wake();
  }

  /** Ends without a word. */
  cutOff(): void {
    this.close();
    this.#cut();
  }

  /** Looks whether something is due, every second or so; false for one that takes nothing. */
  look(): boolean {
    const now = this.#ground.stopwatch.elapsedMs();
    if (this.#busySince !== undefined && now - this.#busySince >= stalledMs) return false;
    const { until, heartbeatSeconds } = this.#reading;
    const expired = until !== undefined && this.#ground.clock.now() >= until;
    if (now - this.#lookedAt >= lookedEveryMs || expired) this.doubt();
    if (now - this.#beatAt >= heartbeatSeconds * 1000 - earlyMs) {
      this.#beatAt = now;
      this.#beats = true;
      this.wake();
    }
    return true;
  }

  async #told(): Promise<Told | undefined> {
    for (;;) {
      if (this.#over) return undefined;
      if (this.#end !== undefined) {
        const code = this.#end;
        this.close();
        return { kind: "end", code };
      }
      const told = this.#doubted ? await this.#looked() : await this.#nextTold();
      if (told !== undefined) return told;
    }
  }

  async #nextTold(): Promise<Told | undefined> {
    if (!this.#opened) {
      this.#opened = true;
      this.#join();
      const resumed = this.#reading.after !== undefined;
      const at = this.#ground.clock.now();
      return { kind: "connected", at, lastSeq: this.#position, resumed };
    }
    if (this.#dropped > 0) {
      const dropped = this.#dropped;
      this.#dropped = 0;
      this.#ground.dropped(dropped);
      return { kind: "lag", dropped, lastSeq: this.#position };
    }
    if (this.#beats) {
      this.#beats = false;
      // Level with its channel, it was told all that fits.
      const level = this.#channel?.end === this.#place ? this.#ground.seen() : 0;
      this.#position = Math.max(this.#position, level);
      return { kind: "heartbeat", at: this.#ground.clock.now(), lastSeq: this.#position };
    }
    const channel = this.#channel;
    const events = await (channel === undefined ? this.#stored() : this.#live(channel));
    if (events.length === 0) return undefined;
    return { kind: "events", events };
  }

  /** What the channel has behind its place; none when it has to look again. */
  async #live(channel: Channel): Promise<readonly AuditEvent[]> {
    if (channel.end === this.#place) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      return [];
    }
    // A lag is told on the way to the events behind it, not in their place.
    if (!this.#granted) await this.#ground.pace.mine(() => channel.count(this.#place));
    this.#granted = true;
    if (this.#channel !== channel || this.#interrupted) return [];
    if (this.#missed(channel)) return [];
    this.#granted = false;
    const events = channel.from(this.#place);
    this.#place = channel.end;
    const last = events.at(-1)?.seq ?? 0;
    // The store may have been ahead of the channel when this reader came from there.
    const fresh = (events[0]?.seq ?? 0) > this.#position;
    const untold = fresh ? events : events.filter(({ seq }) => seq > this.#position);
    this.#position = Math.max(this.#position, last);
    return untold;
  }

  /** What the store has behind its position; level with the channel it goes on there. */
  async #stored(): Promise<readonly AuditEvent[]> {
    const { audit, pace, seen } = this.#ground;
    if (this.#join()) return [];
    const through = Math.max(seen(), this.#level);
    await pace.mine(() => Math.min(pageRows, through - this.#position));
    if (this.#interrupted) return [];
    const span = { after: this.#position, through };
    // Once it has begun, it may fall behind as far again before it is told that it has.
    const most = this.#measured ? 2 * replayMax : replayMax;
    if (through - this.#position > most) {
      const { after, before } = await audit.newestWithin(this.#filter, span, replayMax);
      if (this.#interrupted) return [];
      this.#measured = true;
      this.#position = after;
      this.#dropped += before;
      return [];
    }
    this.#measured = true;
    const events = await audit.eventsWithin(this.#filter, span, pageRows);
    if (this.#interrupted) return [];
    this.#position = events.length < pageRows ? through : (events.at(-1)?.seq ?? through);
    this.#join();
    return events;
  }

  /** Goes on in the channel where nothing is left in the store; false where something is. */
  #join(): boolean {
    if (this.#position < Math.max(this.#ground.seen(), this.#level)) return false;
    this.#channel = this.#ground.channel(this.#filter);
    this.#place = this.#channel.join(this);
    return true;
  }

  /** Leaves the channel, to go on in the store with the first event it was not told. */
  #leave(): void {
    const channel = this.#channel;
    if (channel === undefined) return;
    this.#missed(channel);
    const untold = channel.seqAt(this.#place);
    const told = untold === undefined ? this.#ground.seen() : untold - 1;
    this.#position = Math.max(this.#position, told);
    this.#channel = undefined;
    channel.leave(this);
    this.#ground.left(channel);
  }

  /** Notes what has left the ring before it came for it; true when there was any. */
  #missed(channel: Channel): boolean {
    const { dropped, lastSeq } = channel.lost(this.#place);
    if (dropped === 0) return false;
    this.#dropped += dropped;
    this.#place += dropped;
    this.#position = Math.max(this.#position, lastSeq);
    return true;
  }

  async #looked(): Promise<undefined> {
    this.#doubted = false;
    await this.#ground.looks.next();
    const reach = await this.#reading.standing();
    this.#lookedAt = this.#ground.stopwatch.elapsedMs();
    if (reach === undefined) this.finish("forbidden");
    else this.#filter = { ...this.#filter, reach };
    assert(this.#channel === undefined, "whoever is doubted has left the channel");
  }

  get #interrupted(): boolean {
    return this.#doubted || this.#over || this.#end !== undefined;
  }
}

/** Stored events that are replayed at most, and at a time. */
const replayMax = 10_000;
const pageRows = 250;
/** Well within the minute that a lost right may go unnoticed. */
const lookedEveryMs = 45_000;
/** A look comes every second, and never late for a beat. */
const earlyMs = 500;
/** Whoever takes nothing for so long is gone, or as good as gone. */
const stalledMs = 45_000;
