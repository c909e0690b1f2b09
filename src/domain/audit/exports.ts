/** Records that a log was handed out as a whole. */

import { type Instant, timestamp } from "#core/time.ts";
import { authorOf, type Origin } from "#domain/actor.ts";
import type { Clock } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";

/** What was handed out. */
export interface Export {
  readonly kind: "events" | "access_log";
  /** The span of time that was asked for; undefined where it has no such end. */
  readonly from?: Instant | undefined;
  readonly to?: Instant | undefined;
  readonly rows: number;
}

/** Resolves when the event `audit.export` is durable. */
export async function recordExport(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  origin: Origin,
  { kind, from, to, rows }: Export,
): Promise<void> {
  const detail = { kind, from: named(from), to: named(to), rows };
  const author = authorOf(origin, undefined);
  const event = { ...author, action: "audit.export", result: "success", detail } as const;
  const now = clock.now();
  await store.atomically(async (tx) => void (await tx.audit.appendEvent(event, now)));
}

const named = (at: Instant | undefined) => (at === undefined ? undefined : timestamp(at));
