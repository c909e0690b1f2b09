/**
 * What a batch appends to the audit chain, the sign ledger and the revocation sequence, until it is
 * flushed as one.
 */

import { type AuditEvent, eventHash } from "#core/audit/chain.ts";
import { clippedDraft, detailText, type EventDraft } from "#core/audit/actions.ts";
import { type LedgerDraft, type LedgerEntry, ledgerHash } from "#core/audit/ledger.ts";
import { assert } from "#core/problems.ts";
import { type Instant, timestamp } from "#core/time.ts";
import type { AuditWrites } from "#domain/audit/store.ts";
import { bulkInserter, inOrder, placeholder, refuseNul, type Connection } from "./connection.ts";
import { Unwritten, type UnwrittenMark } from "./unwritten.ts";

/** Where both chains and the revocation sequence end; the one row of `heads`. */
export interface Heads {
  eventSeq: number;
  eventHash: string;
  ledgerNumber: number;
  ledgerHash: string;
  revocationSequence: number;
  /** Of the rows that are remembered; nothing here moves it (`memo.ts`). */
  rowsVersion: number;
}

/** A point a batch can be taken back to, when one of its units fails. */
export interface Mark {
  readonly heads: Readonly<Heads>;
  readonly events: number;
  readonly entries: number;
  readonly rows: UnwrittenMark;
}

/**
 * Appends in memory, so that the heads are known without a query and a batch writes each table
 * once; a unit that fails is cut off again with `mark` and `restore`. Hashes: AUD-2, LED-1.
 */
export class Journal implements AuditWrites {
  /** What the batch does to intents and certificates. */
  readonly rows: Unwritten;
  readonly #connection: Connection;
  readonly #uuid: () => string;
  readonly #moveText: string;
  readonly #insertEvents: (rows: EventRow[]) => Promise<void>;
  readonly #insertEntries: (rows: LedgerEntry[]) => Promise<void>;
  #heads: Heads = {
    eventSeq: 0,
    eventHash: "",
    ledgerNumber: 0,
    ledgerHash: "",
    revocationSequence: 0,
    rowsVersion: 0,
  };
  #before: Readonly<Heads> = this.#heads;
  #events: AuditEvent[] = [];
  #instants: Instant[] = [];
  #entries: LedgerEntry[] = [];

  constructor(deps: { connection: Connection; owner: number; uuid: () => string }) {
    this.#connection = deps.connection;
    this.rows = new Unwritten(deps.connection, deps.owner);
    this.#uuid = deps.uuid;
    this.#moveText = moveText(deps.connection);
    this.#insertEvents = bulkInserter(deps.connection, deps.connection.t.events);
    this.#insertEntries = bulkInserter(deps.connection, deps.connection.t.ledger);
  }

  /** Starts a batch behind the committed heads, which the transaction has locked. */
  begin(heads: Readonly<Heads>): void {
    this.#before = heads;
    this.#heads = { ...heads };
    this.#events = [];
    this.#instants = [];
    this.#entries = [];
  }

  /** The heads as the batch found them, an object of its own for each. */
  get begun(): Readonly<Heads> {
    return this.#before;
  }

  /** The heads as they will be once the batch commits. */
  get heads(): Readonly<Heads> {
    return this.#heads;
  }

  /** The events of the batch, in order. */
  get events(): readonly AuditEvent[] {
    return this.#events;
  }

  mark(): Mark {
    const { length: events } = this.#events;
    const heads = { ...this.#heads };
    return { heads, events, entries: this.#entries.length, rows: this.rows.mark() };
  }

  restore(mark: Mark): void {
    this.#heads = { ...mark.heads };
    this.#events.length = mark.events;
    this.#instants.length = mark.events;
    this.#entries.length = mark.entries;
    this.rows.restore(mark.rows);
  }

  async appendEvent(given: EventDraft, at: Instant): Promise<AuditEvent> {
    const draft = clippedDraft(given);
    const unhashed = {
      seq: this.#heads.eventSeq + 1,
      id: this.#uuid(),
      timestamp: timestamp(at),
      actor: draft.actor,
      actorName: draft.actorName ?? "",
      actorRoles: draft.actorRoles ?? "",
      action: draft.action,
      result: draft.result,
      tenant: draft.tenant ?? "",
      caId: draft.caId ?? "",
      serial: draft.serial ?? "",
      target: draft.target ?? "",
      targetName: draft.targetName ?? "",
      detail: detailText(draft),
      ip: draft.ip ?? "",
      requestId: draft.requestId ?? "",
      prevHash: this.#heads.eventHash,
    };
    assertStorable(unhashed);
    assert(draft.actor.length <= actorMax, "an actor's name is short");
    const event: AuditEvent = { ...unhashed, hash: eventHash(unhashed) };
    this.#events.push(event);
    this.#instants.push(at);
    this.#heads.eventSeq = event.seq;
    this.#heads.eventHash = event.hash;
    return event;
  }

  async appendLedger(draft: LedgerDraft): Promise<LedgerEntry> {
    const { ledgerNumber, ledgerHash: prevHash } = this.#heads;
    const unhashed = { ...emptyEntry, ...draft, number: ledgerNumber + 1, prevHash };
    assertStorable(unhashed);
    const entry: LedgerEntry = { ...unhashed, hash: ledgerHash(unhashed) };
    this.#entries.push(entry);
    this.#heads.ledgerNumber = entry.number;
    this.#heads.ledgerHash = entry.hash;
    if (entry.kind === "intent") this.rows.opened(entry.opId, entry.number);
    if (entry.kind === "outcome") this.rows.closed(entry.opId);
    return entry;
  }

  /** The next number of the one store-wide revocation sequence. */
  nextRevocation(): number {
    this.#heads.revocationSequence += 1;
    return this.#heads.revocationSequence;
  }

  /** Raises the revocation sequence, so that no number of a lost history is used again. */
  raiseRevocations(sequence: number): void {
    this.#heads.revocationSequence = Math.max(this.#heads.revocationSequence, sequence);
  }

  /**
   * Writes everything appended and moves the head row; the last thing before the batch commits. On
   * PostgreSQL all of it is sent before this returns.
   */
  async flush(): Promise<void> {
    const { eventSeq, ledgerNumber, revocationSequence } = this.#before;
    const moved =
      this.#heads.eventSeq !== eventSeq ||
      this.#heads.ledgerNumber !== ledgerNumber ||
      this.#heads.revocationSequence !== revocationSequence;
    const rows = this.#events.map((event, index) => this.#eventRow(event, index));
    const steps = [
      () => this.#insertEvents(rows),
      () => this.#insertEntries(this.#entries),
      () => this.rows.write(),
      ...(moved ? [() => this.#moveHeads()] : []),
    ];
    await inOrder(this.#connection, steps);
  }

  #eventRow(event: AuditEvent, index: number): EventRow {
    const at = this.#instants[index];
    assert(at !== undefined, "every event has its instant");
    return { ...event, at };
  }

  async #moveHeads(): Promise<void> {
    const { eventSeq, eventHash: hash, ledgerNumber, ledgerHash: last } = this.#heads;
    const values = [eventSeq, hash, ledgerNumber, last, this.#heads.revocationSequence];
    const changed = await this.#connection.run(this.#moveText, values);
    assert(changed === 1, "there is one head row");
  }
}

/**
 * PostgreSQL's text holds no NUL and its index no long key; a batch must not fail for one unit's
 * text at its flush.
 */
function assertStorable(texts: Readonly<Record<string, string | number>>): void {
  for (const name in texts) refuseNul(texts[name]);
}

type EventRow = AuditEvent & { readonly at: number };

function moveText(connection: Connection): string {
  const sets = headColumns.map((name, at) => `${name} = ${placeholder(connection, at + 1)}`);
  return `update heads set ${sets.join(", ")} where id = 1`;
}

const actorMax = 600;
const headColumns = [
  "event_seq",
  "event_hash",
  "ledger_number",
  "ledger_hash",
  "revocation_sequence",
];
const emptyEntry: Omit<LedgerEntry, "number" | "timestamp" | "kind" | "prevHash" | "hash"> = {
  opId: "",
  provider: "",
  deviceSerial: "",
  keyLabel: "",
  signerFingerprint: "",
  role: "",
  operation: "",
  algorithm: "",
  digest: "",
  purpose: "",
  caId: "",
  artifact: "",
  result: "",
  signatureSha256: "",
  error: "",
  count: "",
  total: "",
};
