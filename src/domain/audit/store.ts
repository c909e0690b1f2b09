/** How events, the sign ledger and the access log are remembered. */

import type { Reach } from "#core/access/principal.ts";
import type { AuditEvent, ChainHead } from "#core/audit/chain.ts";
import type { EventDraft } from "#core/audit/actions.ts";
import type { LedgerDraft, LedgerEntry, LedgerKind } from "#core/audit/ledger.ts";
import type { CaId, Serial, TenantId } from "#core/ids.ts";
import type { Instant } from "#core/time.ts";
import type { Page, PageKey } from "#domain/page.ts";

export interface EventFilter {
  readonly reach: Reach;
  /** Exact, or `<group>.*`. */
  readonly action?: string | undefined;
  readonly actor?: string | undefined;
  readonly result?: string | undefined;
  readonly caId?: CaId | undefined;
  readonly serial?: Serial | undefined;
  readonly requestId?: string | undefined;
  readonly tenant?: TenantId | undefined;
  readonly from?: Instant | undefined;
  readonly to?: Instant | undefined;
}

/** Events behind one number, up to and with another. */
export interface SeqSpan {
  readonly after: number;
  readonly through: number;
}

/** Which entries of the sign ledger; both numbers are inclusive. */
export interface LedgerFilter {
  readonly kind?: LedgerKind | undefined;
  readonly signerFingerprint?: string | undefined;
  readonly fromNumber?: number | undefined;
  readonly toNumber?: number | undefined;
}

export interface AuditReads {
  /** Newest first; `beforeSeq` is the last row seen. */
  events(filter: EventFilter, limit: number, beforeSeq?: number): Promise<Page<AuditEvent>>;
  /** Oldest first from `afterSeq`, at most `limit`; for verify and projections. */
  eventsAfter(afterSeq: number, limit: number): Promise<readonly AuditEvent[]>;
  /** Those of a span that fit, oldest first, at most `limit`. */
  eventsWithin(filter: EventFilter, span: SeqSpan, limit: number): Promise<readonly AuditEvent[]>;
  /**
   * Behind which event of a span its newest `most` that fit begin, and how many that fit come
   * before them.
   */
  newestWithin(
    filter: EventFilter,
    span: SeqSpan,
    most: number,
  ): Promise<{ readonly after: number; readonly before: number }>;
  /** The stored head row, which must equal the last event. */
  eventHead(): Promise<ChainHead>;
  /** Newest first; `beforeNumber` is the last entry seen. */
  ledger(filter: LedgerFilter, limit: number, beforeNumber?: number): Promise<Page<LedgerEntry>>;
  ledgerAfter(afterNumber: number, limit: number): Promise<readonly LedgerEntry[]>;
  ledgerHead(): Promise<ChainHead>;
  /** Intents without outcome, oldest first; what another living replica holds open is left out. */
  openLedgerIntents(limit: number): Promise<readonly LedgerEntry[]>;
}

export interface AuditWrites {
  /** Appends to the chain inside this unit; commits or vanishes with it. */
  appendEvent(draft: EventDraft, at: Instant): Promise<AuditEvent>;
  appendLedger(draft: LedgerDraft): Promise<LedgerEntry>;
}

export interface AccessLogFilter {
  /** Exact; empty for requests nobody was authenticated for. */
  readonly subject?: string | undefined;
  readonly status?: number | undefined;
  /** The path begins with exactly this. */
  readonly pathPrefix?: string | undefined;
  readonly from?: Instant | undefined;
  readonly to?: Instant | undefined;
}

/** A request as the access log has it, with its number there. */
export type LoggedRequest = AccessLogRow & { readonly id: number };

export interface AccessLogReads {
  /** Newest first; the total is that of the walk's first page. */
  page(filter: AccessLogFilter, limit: number, after?: PageKey): Promise<Page<LoggedRequest>>;
}

/** One request, also an unauthenticated one. */
export interface AccessLogRow {
  readonly at: Instant;
  readonly requestId: string;
  readonly subject: string;
  readonly method: string;
  readonly route: string;
  readonly path: string;
  readonly status: number;
  /** Whole milliseconds. */
  readonly durationMs: number;
  readonly bytesOut: number;
  readonly ip: string;
  readonly userAgent: string;
}
