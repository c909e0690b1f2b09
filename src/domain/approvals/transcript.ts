/** The record of who asked, who decided and what was done, signed by the ledger key (MON-1). */

import type { AuditEvent } from "#core/audit/chain.ts";
import { framedTexts } from "#core/audit/ledger-export.ts";
import { refuse } from "#core/problems.ts";
import { timestamp } from "#core/time.ts";
import type { EventFilter } from "#domain/audit/store.ts";
import { signDocument } from "#domain/signing/document.ts";
import type { Keys } from "#domain/keys.ts";
import type { Clock, Random } from "#domain/ports.ts";
import type { Store } from "#domain/store.ts";
import type { ApprovalRecord } from "./store.ts";

export interface TranscriptDeps {
  readonly store: Store;
  readonly keys: Pick<Keys, "sign">;
  readonly clock: Clock;
  readonly random: Pick<Random, "uuid">;
}

/**
 * The events of a request: those about it, oldest first, and the one of the operation it led to.
 */
export async function eventsOf(
  store: Store,
  approval: ApprovalRecord,
): Promise<readonly AuditEvent[]> {
  const { id, operationClass, effect, createdAt } = approval;
  const about = { reach: "platform", from: createdAt } as const;
  const told = await eventsMeeting(
    store,
    { ...about, action: `${operationClass}.*` },
    (event) => event.target === id,
  );
  if (effect === undefined || effect.action === "") return told;
  const done = { ...about, action: effect.action };
  const made = await eventsMeeting(store, done, ({ detail }) =>
    detail.split(" ").includes(`approval=${id}`),
  );
  const both = new Map([...told, ...made].map((event) => [event.seq, event]));
  return [...both.values()].toSorted((a, b) => a.seq - b.seq);
}

/**
 * Signs the texts exactly as they are sent: Ed25519 over `pkid/transcript/1`, a zero octet, and the
 * three texts, each behind its length in 32 bits. Refuses `key_unavailable`.
 */
export async function signTranscript(
  deps: TranscriptDeps,
  texts: { readonly approval: string; readonly events: string },
) {
  const exportedAt = timestamp(deps.clock.now());
  const message = transcriptMessage([texts.approval, texts.events, exportedAt]);
  const signature = await signDocument(deps, message);
  return { exportedAt, algorithm: "ed25519", signature: signature.toBase64() };
}

/** What is signed. */
export const transcriptMessage = (texts: readonly string[]): Uint8Array =>
  framedTexts("pkid/transcript/1", texts);

async function eventsMeeting(
  store: Store,
  filter: EventFilter,
  wanted: (event: AuditEvent) => boolean,
): Promise<readonly AuditEvent[]> {
  const found: AuditEvent[] = [];
  let before: number | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const { items, next } = await store.read.audit.events(filter, pageRows, before);
    found.push(...items.filter(wanted));
    if (next === undefined) return found.toReversed();
    before = next.at;
  }
  // A transcript with gaps would be worse than none.
  throw refuse("overloaded", { retry_after: 60 });
}

const pageRows = 500;
const pagesMax = 200;
