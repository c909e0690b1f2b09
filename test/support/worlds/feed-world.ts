/** The live feed over a store, with a clock and seconds that pass when a test says so. */

import type { Reach } from "#core/access/principal.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import type { AuditEvent } from "#core/audit/chain.ts";
import { EventFeed } from "#domain/audit/feed/feed.ts";
import type { FeedReader, Reading } from "#domain/audit/feed/reader.ts";
import type { Told } from "#domain/audit/feed/told.ts";
import type { Store } from "#domain/store.ts";
import { type MemoryStore, createMemoryStore } from "#test/support/stores/memory-store.ts";
import { type TestClock, testClock } from "#test/support/ports.ts";

export interface FeedWorld<S extends Store = Store> {
  readonly store: S;
  readonly clock: TestClock;
  readonly feed: EventFeed;
  /** Events that readers were not told, and readers that began. */
  readonly counted: { dropped: number; connected: number };
  commit(...drafts: readonly Partial<EventDraft>[]): Promise<void>;
  read(reading?: Partial<Reading>): Promise<FeedReader>;
  /** Lets seconds pass, one by one. */
  pass(seconds: number): void;
}

export const feedWorld = (): FeedWorld<MemoryStore> => feedOver(createMemoryStore());

/** The same over a store that is there. */
export function feedOver<S extends Store>(store: S): FeedWorld<S> {
  const clock = testClock();
  const counted = { dropped: 0, connected: 0 };
  const seconds: (() => void)[] = [];
  const feed = new EventFeed({
    store,
    clock,
    stopwatch: clock.stopwatch,
    // What waits for a second waits for the test; what paces sending does not.
    later: (milliseconds, act) => {
      if (milliseconds === 1000) seconds.push(act);
      else {
        clock.advance(milliseconds / 1000);
        setImmediate(act);
      }
      return () => {};
    },
    told: {
      connected: () => counted.connected++,
      dropped: (events) => {
        counted.dropped += events;
      },
    },
  });
  return {
    store,
    clock,
    feed,
    counted,
    commit: async (...drafts) => {
      await store.atomically(async (tx) => {
        for (const draft of drafts) await tx.audit.appendEvent(draftOf(draft), clock.now());
      });
      // The memory store tells after it has answered.
      await Bun.sleep(0);
    },
    read: (reading = {}) =>
      feed.read({
        filter: { reach: "platform" },
        after: undefined,
        subject: "root",
        session: undefined,
        shown: [],
        until: undefined,
        standing: async () => reading.filter?.reach ?? "platform",
        heartbeatSeconds: 15,
        ...reading,
      }),
    pass: (count) => {
      for (let n = 0; n < count; n++) {
        clock.advance(1);
        for (const act of seconds.splice(0)) act();
      }
    },
  };
}

const draftOf = (draft: Partial<EventDraft>): EventDraft => ({
  action: "auth.step_up",
  result: "success",
  actor: "root",
  ...draft,
});

/** What a reader is told next, beside that it is connected; undefined when that is nothing yet. */
export async function nextTold(reader: FeedReader): Promise<Told | undefined> {
  for (;;) {
    const told = await reader.next();
    if (told?.kind !== "connected") return told;
  }
}

/** Takes all a reader is told, as it comes. */
export function follow(reader: FeedReader) {
  const told: Told[] = [];
  let over = false;
  void (async () => {
    for (let one = await reader.next(); one !== undefined; one = await reader.next()) {
      told.push(one);
    }
    over = true;
  })();
  return {
    told,
    get over() {
      return over;
    },
    get events(): readonly AuditEvent[] {
      return told.flatMap((one) => (one.kind === "events" ? one.events : []));
    },
    get seqs(): readonly number[] {
      return this.events.map(({ seq }) => seq);
    },
    kinds: () => told.map(({ kind }) => kind),
  };
}

/** Somebody whose rights a test changes. */
export function movingRights(reach: Reach | undefined) {
  const rights = { reach, asked: 0 };
  return {
    rights,
    standing: async () => {
      rights.asked++;
      return rights.reach;
    },
  };
}
