/**
 * What the units of a batch have done to intents and certificates, until it is written as one: open
 * rows, what became of them, certificates.
 */

import { type CaId, caId as idOfCa, type Serial } from "#core/ids.ts";
import { assert } from "#core/problems.ts";
import type { IntentRecord, SettledState } from "#domain/certificates/store.ts";
import type { Foreseen } from "#domain/store.ts";

import { type BulkWriter, bulkWriter, type Connection, inOrder } from "./connection.ts";
import { ordinals } from "./folds.ts";
import { type OpenRow, OpenRows } from "./open-rows.ts";
import { NetChange, operationOf, type Unsaved } from "./net-change.ts";

/** A point the units can be taken back to. */
export interface UnwrittenMark {
  readonly changes: number;
  readonly taken: number;
  readonly writes: number;
}

/**
 * Answers what a unit must know at once from memory and from the rows looked up ahead, and asks the
 * database only where neither says: it holds the head row, so nobody else changes anything
 * meanwhile. A unit that fails is cut off again with `mark` and `restore`.
 */
export class Unwritten {
  readonly #connection: Connection;
  readonly #rows: OpenRows;
  readonly #owner: number;
  readonly #certificates: BulkWriter<Connection["t"]["certificates"]>;
  readonly #intents: BulkWriter<Connection["t"]["intents"]>;
  readonly #open: BulkWriter<Connection["t"]["openIntents"]>;
  #changes: Unsaved[] = [];
  #net: NetChange;
  /** Serials that units of this batch took, written or not. */
  #taken: (readonly [CaId, Serial])[] = [];
  #writes = 0;
  /** Rows this batch has written and not taken back since. */
  #written: OpenRow[] = [];

  constructor(connection: Connection, owner: number) {
    this.#connection = connection;
    this.#owner = owner;
    this.#rows = new OpenRows(connection);
    this.#certificates = bulkWriter(connection, connection.t.certificates, ordinals);
    this.#intents = bulkWriter(connection, connection.t.intents);
    this.#open = bulkWriter(connection, connection.t.openIntents);
    this.#net = new NetChange(owner);
  }

  /** Starts a batch. */
  begin(): void {
    this.#changes = [];
    this.#net = new NetChange(this.#owner);
    this.#taken = [];
    this.#written = [];
    this.#rows.forget();
  }

  /** The batch has been committed. */
  committed(): void {
    this.#rows.keep(this.#written);
  }

  /** Looks up what units will ask for; on PostgreSQL it is sent before this returns. */
  foresee(foreseen: readonly Foreseen[]): Promise<void> {
    return this.#rows.foresee(foreseen);
  }

  mark(): UnwrittenMark {
    const { length: changes } = this.#changes;
    return { changes, taken: this.#taken.length, writes: this.#writes };
  }

  /** Drops what came after the mark. What was written since then, the caller has undone. */
  restore(mark: UnwrittenMark): void {
    this.#replay(mark.writes === this.#writes ? this.#changes.slice(0, mark.changes) : []);
    this.#taken.length = mark.taken;
    // Some of them may be stored all the same; those are looked up.
    if (mark.writes !== this.#writes) this.#written = [];
  }

  /** As the port's `intend`. */
  async take({ state: _state, ...intent }: IntentRecord): Promise<boolean> {
    const { caId, serial } = intent;
    const row = { ...intent, number: null, owner: this.#owner };
    // Refused here, and not when the batch is written.
    this.#open.bound(row);
    if (this.#taken.some(([ca, taken]) => taken === serial && ca === caId)) return false;
    if (!(await this.#rows.free(caId, serial))) return false;
    this.#taken.push([caId, serial]);
    this.#add({ kind: "taken", row });
    return true;
  }

  /** The row of an operation whose serial came to neither a certificate nor nothing. */
  async open(opId: string, serial?: Serial): Promise<OpenRow | undefined> {
    return (
      this.#net.open(opId) ??
      (this.#net.left(opId) ? undefined : await this.#rows.row(opId, serial))
    );
  }

  /** The serial of an open row came to this certificate. */
  certified(row: OpenRow, certificate: Connection["t"]["certificates"]["$inferInsert"]): void {
    // PostgreSQL's index holds no long key; a batch must not fail for one unit's text.
    assert(certificate.profile.length <= indexedMax, "the name of a profile is short");
    this.#add({ kind: "left", row, certificate: this.#certificates.bound(certificate) });
  }

  /** As the port's `adopt`. */
  async adopt(certificate: Connection["t"]["certificates"]["$inferInsert"]): Promise<boolean> {
    const caId = idOfCa(certificate.caId);
    const serial = certificate.serial as Serial; // The column of one.
    assert(certificate.profile.length <= indexedMax, "the name of a profile is short");
    const bound = this.#certificates.bound(certificate);
    if (this.#taken.some(([ca, taken]) => taken === serial && ca === caId)) return false;
    if (!(await this.#rows.free(caId, serial))) return false;
    this.#taken.push([caId, serial]);
    this.#add({ kind: "adopted", certificate: bound });
    return true;
  }

  /** The serial of an open row came to nothing. */
  failed(row: OpenRow, state: SettledState): void {
    const { number: _number, owner: _owner, ...intent } = row;
    this.#add({ kind: "left", row, intent: this.#intents.bound({ ...intent, state }) });
  }

  /** The ledger has the intent of an operation under this number. */
  opened(opId: string, number: number): void {
    this.#add({ kind: "opened", opId, number });
  }

  /** The ledger has its outcome. */
  closed(opId: string): void {
    this.#add({ kind: "closed", opId });
  }

  /** True when something waits to be written. */
  get any(): boolean {
    return this.#changes.length > 0;
  }

  /** Writes what units did before the mark; what came after it waits on. */
  async writeBefore(mark: UnwrittenMark): Promise<void> {
    const later = this.#changes.slice(mark.changes);
    this.#replay(this.#changes.slice(0, mark.changes));
    const net = this.#emptied(later);
    await this.#write(net);
  }

  /** Writes everything; on PostgreSQL it is sent before this returns. */
  async write(): Promise<void> {
    await this.#write(this.#emptied([]));
  }

  async #write(net: NetChange): Promise<void> {
    const { gone, closed, inserted, intents, certificates } = net;
    const steps = [
      ...this.#rows.removing(gone),
      ...this.#rows.closing(closed),
      () => this.#open.insert(inserted.map(this.#open.bound)),
      () => this.#intents.insert(intents),
      () => this.#certificates.insert(certificates),
    ];
    await inOrder(this.#connection, steps);
    const past = new Set([...gone.map(({ opId }) => opId), ...closed]);
    this.#written = [...this.#written.filter(({ opId }) => !past.has(opId)), ...inserted];
  }

  /** What is to be written now; `later` is what waits from here on. */
  #emptied(later: readonly Unsaved[]): NetChange {
    const net = this.#net;
    for (const change of this.#changes) {
      const operation = operationOf(change);
      if (operation !== undefined) this.#rows.forget(operation);
    }
    this.#replay(later);
    this.#writes += 1;
    return net;
  }

  #add(change: Unsaved): void {
    this.#changes.push(change);
    this.#net.add(change);
  }

  #replay(changes: readonly Unsaved[]): void {
    this.#changes = [...changes];
    this.#net = new NetChange(this.#owner);
    for (const change of changes) this.#net.add(change);
  }
}

const indexedMax = 600;
