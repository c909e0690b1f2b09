/** Compares a database with its newest acknowledged state, to detect a rollback (RES-6). */

import { type ChainHead, genesis } from "#core/audit/chain.ts";

/** Newest state that a process knows to be committed. */
export interface HighWaterMark {
  /** Number of the history, which a restore or an accepted rollback raises. */
  readonly epoch: number;
  readonly event: ChainHead;
  readonly ledger: ChainHead;
  readonly revocationSequence: number;
  /** Highest known CRL number by scope; the key is from `crlScopeKey`. */
  readonly crlNumbers: ReadonlyMap<string, number>;
}

/** Rollback that another replica has found, as it is stored in the older database. */
export interface ReportedRollback {
  /** Epoch of the older database; an accepted rollback ends the report. */
  readonly epoch: number;
  readonly reason: string;
  readonly acknowledged: Rollback["acknowledged"];
}

/** State of a database, read for a comparison with one mark. */
export interface HistorySnapshot extends Omit<HighWaterMark, "crlNumbers"> {
  readonly reported: ReportedRollback | undefined;
  /** Hash of the event with the number of the mark; undefined if there is no such event. */
  readonly eventAtMark: string | undefined;
  /** Hash of the ledger entry with the number of the mark; undefined if there is no such entry. */
  readonly ledgerAtMark: string | undefined;
  /** Last reserved CRL number by scope; undefined if the numbers were not read. */
  readonly crlNumbers: ReadonlyMap<string, number> | undefined;
}

/** Database that lacks acknowledged changes. */
export interface Rollback {
  /** First difference that was found. */
  readonly reason: string;
  /** Ends of both chains as the database has them. */
  readonly found: { readonly event: number; readonly ledger: number };
  /** Ends of both chains as they were acknowledged. */
  readonly acknowledged: { readonly event: number; readonly ledger: number };
}

/** Returns the key of a CRL scope in `crlNumbers`. */
export const crlScopeKey = (caId: string, scope: string): string => `${caId}/${scope}`;

/** Mark of an empty database. */
export const emptyMark: HighWaterMark = {
  epoch: 0,
  event: genesis,
  ledger: genesis,
  revocationSequence: 0,
  crlNumbers: new Map(),
};

/**
 * Returns the rollback of a database that lacks part of the history of the mark; undefined if the
 * database has the whole history. A replica with a newer mark may have reported the rollback. A
 * higher epoch means that the history was continued on purpose: then only CRL numbers are compared.
 */
export function findRollback(mark: HighWaterMark, snapshot: HistorySnapshot): Rollback | undefined {
  const continued = snapshot.epoch > mark.epoch;
  const difference = continued ? undefined : findLostHistory(mark, snapshot);
  const reason = difference ?? findLostCrlNumber(mark, snapshot);
  if (reason !== undefined) return createRollback(mark, snapshot, reason);
  const { reported, epoch } = snapshot;
  if (reported?.epoch !== epoch) return undefined;
  return {
    ...createRollback(mark, snapshot, reported.reason),
    acknowledged: reported.acknowledged,
  };
}

/** Encodes a report for the database. */
export const encodeReport = ({ epoch, reason, acknowledged }: ReportedRollback): string =>
  [epoch, acknowledged.event, acknowledged.ledger, reason].join(" ");

/** Parses a report; undefined if there is none. */
export function parseReport(text: string | undefined): ReportedRollback | undefined {
  if (text === undefined) return undefined;
  const [epoch, event, ledger, ...reason] = text.split(" ");
  return {
    epoch: Number(epoch),
    reason: reason.join(" "),
    acknowledged: { event: Number(event), ledger: Number(ledger) },
  };
}

/**
 * Compares only the ends, without reading rows. Finds every database that is shorter, and one of
 * the same length with other content.
 */
export function findRollbackOfHeads(
  mark: HighWaterMark,
  heads: Pick<HistorySnapshot, "event" | "ledger" | "revocationSequence">,
): Rollback | undefined {
  const findHash = (marked: ChainHead, head: ChainHead) =>
    head.seq === marked.seq ? head.hash : marked.hash;
  const reason = findLostHistory(mark, {
    ...heads,
    epoch: mark.epoch,
    eventAtMark: findHash(mark.event, heads.event),
    ledgerAtMark: findHash(mark.ledger, heads.ledger),
  });
  return reason === undefined ? undefined : createRollback(mark, heads, reason);
}

/** Returns the message for operators and callers, with the remedy. */
export const formatRollback = ({ reason, found, acknowledged }: Rollback): string =>
  `The database lacks acknowledged changes: ${reason}. Its last event is ${found.event} and its ` +
  `last ledger entry ${found.ledger}; acknowledged were ${acknowledged.event} and ` +
  `${acknowledged.ledger}. Nothing is written or signed. Bring the newer database back, or run ` +
  "`pkid db accept-rollback`.";

function findLostHistory(
  mark: HighWaterMark,
  snapshot: Omit<HistorySnapshot, "crlNumbers" | "reported">,
): string | undefined {
  if (snapshot.epoch < mark.epoch) return "an accepted rollback or restore is missing";
  const events = findLostRows("event", mark.event, snapshot.event, snapshot.eventAtMark);
  if (events !== undefined) return events;
  const entries = findLostRows("ledger entry", mark.ledger, snapshot.ledger, snapshot.ledgerAtMark);
  if (entries !== undefined) return entries;
  if (snapshot.revocationSequence >= mark.revocationSequence) return undefined;
  return `revocation ${mark.revocationSequence} is missing`;
}

function findLostRows(
  name: string,
  marked: ChainHead,
  head: ChainHead,
  hashAtMark: string | undefined,
): string | undefined {
  if (head.seq < marked.seq) return `${name} ${marked.seq} is missing`;
  if (marked.seq === 0 || hashAtMark === marked.hash) return undefined;
  return `${name} ${marked.seq} has other content`;
}

function findLostCrlNumber(
  { crlNumbers }: HighWaterMark,
  snapshot: HistorySnapshot,
): string | undefined {
  if (snapshot.crlNumbers === undefined) return undefined;
  for (const [scope, number] of crlNumbers) {
    const found = snapshot.crlNumbers.get(scope) ?? 0;
    if (found < number) return `CRL number ${number} of ${scope} is missing`;
  }
  return undefined;
}

const createRollback = (
  mark: HighWaterMark,
  { event, ledger }: Pick<HistorySnapshot, "event" | "ledger">,
  reason: string,
): Rollback => ({
  reason,
  found: { event: event.seq, ledger: ledger.seq },
  acknowledged: { event: mark.event.seq, ledger: mark.ledger.seq },
});
