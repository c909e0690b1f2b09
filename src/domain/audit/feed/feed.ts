/**
 * The live feed: tells its readers what was committed, whoever committed it, each event once and
 * in order (FEED-1), for as long as they may read it (FEED-2). A projection of the audit chain: it
 * writes nothing, and what a reader was not told while it was away is in the store.
 */

import type { AuditEvent } from "#core/audit/chain.ts";
import { assert, refuse } from "#core/problems.ts";
import { Turns } from "#core/turns.ts";
import type { EventFilter } from "#domain/audit/store.ts";
import type { Clock, Later, Stopwatch } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import { Channel } from "./channel.ts";
import { Pace } from "./pace.ts";
import { FeedReader, type FeedGround, type Reading } from "./reader.ts";

export interface EventFeedDeps {
  readonly store: Pick<Store, "read" | "onEvents">;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly later: Later;
  /** Told what happens; metrics are its only use. */
  readonly told: {
    readonly connected: () => void;
    readonly dropped: (events: number) => void;
  };
}

/** All readers of this process. */
export class EventFeed {
  readonly #deps: EventFeedDeps;
  readonly #readers = new Set<FeedReader>();
  readonly #channels = new Map<string, Channel>();
  readonly #keys = new Map<Channel, string>();
  readonly #ground: FeedGround;
  #seen = 0;
  #looking = false;
  #stopped = false;

  constructor(deps: EventFeedDeps) {
    this.#deps = deps;
    const { store, clock, stopwatch, later, told } = deps;
    this.#ground = {
      audit: store.read.audit,
      clock,
      stopwatch,
      pace: new Pace({ stopwatch, later }),
      looks: new Turns(),
      seen: () => this.#seen,
      channel: (filter) => this.#channel(filter),
      left: (channel) => this.#left(channel),
      dropped: told.dropped,
      gone: (reader) => this.#readers.delete(reader),
    };
    store.onEvents((events) => this.#committed(events));
  }

  /** Readers now. */
  get size(): number {
    return this.#readers.size;
  }

  /**
   * Begins to read; whatever is committed from now on is told. Refuses `overloaded` when too many
   * read, `rate_limited` when this caller, its tenant or its address has too many readers, and
   * `shutting_down`.
   */
  async read(reading: Reading): Promise<FeedReader> {
    if (this.#stopped) throw refuse("shutting_down", { retry_after: 5 });
    if (this.#readers.size >= readersMax) {
      throw refuse("overloaded", { retry_after: 30 }, "Too many readers follow the events.");
    }
    const own = [...this.#readers].filter(({ subject }) => subject === reading.subject);
    if (own.length >= readersOfOneMax) {
      throw refuse("rate_limited", { retry_after: 30 }, "You follow the events too often.");
    }
    this.#refuseUnfairShare(reading);
    const reader = new FeedReader(this.#ground, reading);
    this.#readers.add(reader);
    try {
      await reader.begin();
    } catch (error) {
      reader.close();
      throw error;
    }
    this.#deps.told.connected();
    this.#lookLater();
    return reader;
  }

  /**
   * Limits a tenant to as many readers as are free, and an address to as many as its tenant may
   * still have. A tenant creates any number of API tokens, so that these do not count.
   */
  #refuseUnfairShare(reading: Reading): void {
    const left = readersMax - this.#readers.size;
    const sameTenant = [...this.#readers].filter((reader) => reader.sharesTenant(reading));
    const ofTenant = reading.tenant !== undefined;
    if (ofTenant && sameTenant.length >= Math.min(readersOfTenantMax, left)) {
      const message = "Too many readers of this tenant follow the events.";
      throw refuse("rate_limited", { tier: "per_tenant", retry_after: 30 }, message);
    }
    const leftOfTenant = ofTenant ? readersOfTenantMax - sameTenant.length : left;
    if (sameTenant.filter((reader) => reader.sharesBlock(reading)).length >= leftOfTenant) {
      const message = "Too many readers at this address follow the events.";
      throw refuse("rate_limited", { tier: "per_ip", retry_after: 30 }, message);
    }
  }

  /** What everybody may do can be something else now. */
  doubt(): void {
    for (const reader of this.#readers) reader.doubt();
  }

  /** Ends every reader, with a word where it takes one. */
  stop(): void {
    this.#stopped = true;
    for (const reader of this.#readers) reader.finish("shutting_down");
    this.#deps.later(farewellMs, () => {
      for (const reader of this.#readers) reader.cutOff();
    });
  }

  #committed(events: readonly AuditEvent[]): void {
    const last = events.at(-1);
    if (last === undefined) return;
    if (this.#readers.size > 0) {
      // Before anybody is told: what they may read from then on is asked anew.
      for (const event of events) this.#doubtAfter(event);
      for (const channel of this.#channels.values()) channel.push(events);
    }
    this.#seen = last.seq;
  }

  #doubtAfter({ action, result, target, serial }: AuditEvent): void {
    if (result !== "success") return;
    if (action === "token.revoke" || action === "auth.logout") {
      for (const reader of this.#readers) {
        if (reader.subject === `token:${target}` || reader.session === target) reader.doubt();
      }
    } else if (serial !== undefined && endsCertificates.has(action)) {
      for (const reader of this.#readers) if (reader.hasShown(serial)) reader.doubt();
    } else if (movesScopes.test(action)) {
      for (const reader of this.#readers) if (!reader.everywhere) reader.doubt();
    }
  }

  #channel(filter: EventFilter): Channel {
    const key = keyOf(filter);
    const known = this.#channels.get(key);
    if (known !== undefined) return known;
    const fresh = new Channel(filter);
    this.#channels.set(key, fresh);
    this.#keys.set(fresh, key);
    return fresh;
  }

  #left(channel: Channel): void {
    if (!channel.empty) return;
    const key = this.#keys.get(channel);
    assert(key !== undefined, "a channel that is left was made here");
    this.#channels.delete(key);
    this.#keys.delete(channel);
  }

  /** Every second while there is a reader. */
  #lookLater(): void {
    if (this.#looking) return;
    this.#looking = true;
    this.#deps.later(lookedEveryMs, () => {
      this.#looking = false;
      for (const reader of this.#readers) if (!reader.look()) reader.cutOff();
      if (this.#readers.size > 0) this.#lookLater();
    });
  }
}

/** Scopes in one order, so that the same filter is the same text. */
function keyOf({ reach, ...filter }: EventFilter): string {
  const scopes = reach === "platform" ? reach : [[...reach.tenants].sort(), [...reach.cas].sort()];
  return JSON.stringify([scopes, filter]);
}

/** After which a certificate proves nothing any more. */
const endsCertificates: ReadonlySet<string> = new Set(["cert.revoke", "cert.suspend"]);
/** What changes on which CAs and tenants somebody holds what: grants reach whole trees of CAs. */
const movesScopes = /^(resource|tenant|ca)\./;
/** A connection takes memory and a descriptor. */
const readersMax = 1000;
const readersOfTenantMax = 500;
const readersOfOneMax = 50;
const lookedEveryMs = 1000;
/** To send the last word; whoever takes nothing is not waited for. */
const farewellMs = 1000;
