/** Detects a database that lacks acknowledged changes, and stops writing to it. */

import type { AuditEvent } from "#core/audit/chain.ts";
import {
  crlScopeKey,
  emptyMark,
  findRollback,
  findRollbackOfHeads,
  formatRollback,
  type HighWaterMark,
  type HistorySnapshot,
  type Rollback,
} from "#core/history/mark.ts";
import { rollbackRefusal } from "#domain/rollback.ts";
import { NothingWritten, type RollbackEnd } from "#domain/store.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";
import type { Heads } from "#adapters/db/engine/journal.ts";
import type { HighWaterStorage } from "./high-water-file.ts";
import { readCrlNumbers, readSnapshot, reportRollback } from "./snapshot.ts";

/** Collaborators of the guard. */
export interface RollbackGuardDeps {
  /** Mark of earlier processes; undefined if this process keeps its mark in memory only. */
  readonly storage: HighWaterStorage | undefined;
  /** Called with a message for the log. */
  readonly reportError: (message: string, error: unknown) => void;
}

/**
 * Keeps the newest state that this process knows to be committed, and compares every batch and
 * every new connection with it. While the database is older, `rollback` is set.
 */
export class RollbackGuard {
  readonly #storage: HighWaterStorage | undefined;
  readonly #reportError: RollbackGuardDeps["reportError"];
  readonly #onContinued = new Set<() => void>();
  #onFound: () => void = () => {};
  #onEnd: ((end: RollbackEnd) => void)[] = [];
  #mark: HighWaterMark;
  /** The numbers of `#mark`. */
  #crlNumbers: Map<string, number>;
  #rollback: Rollback | undefined;
  /** True once the tables exist and were compared. */
  #isOpen = false;
  /** True once this process has seen a database with all of its mark. */
  #wasCurrent = false;

  constructor({ storage, reportError }: RollbackGuardDeps) {
    this.#storage = storage;
    this.#reportError = reportError;
    const stored = storage?.mark ?? emptyMark;
    this.#crlNumbers = new Map(stored.crlNumbers);
    this.#mark = { ...stored, crlNumbers: this.#crlNumbers };
  }

  /** Detected rollback; undefined while the database has everything that was acknowledged. */
  get rollback(): Rollback | undefined {
    return this.#rollback;
  }

  get mark(): HighWaterMark {
    return this.#mark;
  }

  /** Drops the mark of an earlier instance, because a new database was created. */
  reset(): void {
    this.#crlNumbers = new Map();
    this.#mark = { ...emptyMark, crlNumbers: this.#crlNumbers };
    this.#rollback = undefined;
  }

  /** Compares a database that was just opened, including every CRL number. */
  async open(view: Connection): Promise<void> {
    const snapshot = await readSnapshot(view, this.#mark);
    const crlNumbers = await readCrlNumbers(view);
    const isCurrent = this.#compare(this.#mark, { ...snapshot, crlNumbers });
    const found = { ...snapshot, crlNumbers };
    if (isCurrent && !isSameMark(this.#storage?.mark, found))
      this.#replaceMark(snapshot, crlNumbers);
    this.#isOpen = true;
  }

  /** Compares the database behind a new connection, once the store is open. */
  async inspect(connection: Connection): Promise<void> {
    if (this.#isOpen) await this.check(connection);
  }

  /**
   * Compares the database behind the connection. Sets `rollback`, or clears it if the newer
   * database is back or another process has accepted the rollback.
   */
  async check(connection: Connection): Promise<void> {
    const mark = this.#mark;
    const snapshot = await readSnapshot(connection, mark);
    const isContinued = snapshot.epoch > mark.epoch;
    const isThorough = isContinued || this.#rollback !== undefined;
    const crlNumbers = isThorough ? await readCrlNumbers(connection) : undefined;
    if (!this.#compare(mark, { ...snapshot, crlNumbers })) return;
    if (isContinued) this.#continue(snapshot, crlNumbers ?? new Map());
    else this.#advance(snapshot);
  }

  /**
   * Reports a known rollback to the other replicas, whose marks may be older. A process that starts
   * with it reports none: its mark may be of another instance.
   *
   * @returns true if the database had no such report
   */
  async share(connection: Connection): Promise<boolean> {
    if (this.#rollback === undefined || !this.#wasCurrent) return false;
    const mark = this.#mark;
    const snapshot = await readSnapshot(connection, mark);
    const found = findRollback(mark, snapshot);
    const { epoch, reported } = snapshot;
    if (found === undefined || reported?.epoch === epoch) return false;
    await reportRollback(connection, mark, found, epoch);
    return true;
  }

  /**
   * Compares the heads that a batch has locked; costs no query while they continue the mark.
   *
   * @throws {RolledBack} if the database is older
   */
  async assertCurrent(heads: Readonly<Heads>, connection: Connection): Promise<void> {
    const found = findRollbackOfHeads(this.#mark, chainHeads(heads));
    if (found !== undefined) await this.check(connection);
    if (this.#rollback !== undefined) throw new RolledBack(this.#rollback);
  }

  /** @throws {RolledBack} while a rollback is known */
  assertOpen(): void {
    if (this.#rollback !== undefined) throw new RolledBack(this.#rollback);
  }

  /** @throws {Problem} storage_unavailable while a rollback is known */
  refuseWhileRolledBack(): void {
    if (this.#rollback !== undefined) throw new RolledBack(this.#rollback).toProblem();
  }

  /** Records a commit of this process. */
  recordCommit(heads: Readonly<Heads>, events: readonly AuditEvent[]): void {
    if (this.#rollback !== undefined) return;
    const { event, ledger, revocationSequence } = chainHeads(heads);
    const mark = this.#mark;
    const isSame =
      event.seq === mark.event.seq &&
      ledger.seq === mark.ledger.seq &&
      revocationSequence === mark.revocationSequence;
    if (isSame) return;
    const { epoch, crlNumbers } = mark;
    const scopes = this.#raise(events);
    this.#mark = { epoch, event, ledger, revocationSequence, crlNumbers };
    this.#storage?.record(this.#mark, scopes);
  }

  /** Records a reserved CRL number; resolves when the mark is durable. */
  async recordCrlNumber(caId: string, scope: string, number: number): Promise<void> {
    const key = crlScopeKey(caId, scope);
    if (number > (this.#crlNumbers.get(key) ?? 0)) {
      this.#crlNumbers.set(key, number);
      this.#storage?.record(this.#mark, [key]);
    }
    await this.#storage?.flush();
  }

  /** Records events that any process has committed. */
  recordEvents(events: readonly AuditEvent[]): void {
    const last = events.at(-1);
    if (last === undefined || this.#rollback !== undefined) return;
    if (last.seq <= this.#mark.event.seq) return;
    const scopes = this.#raise(events);
    this.#mark = { ...this.#mark, event: { seq: last.seq, hash: last.hash } };
    this.#storage?.record(this.#mark, scopes);
  }

  /** Continues from the database as it is, after its rollback was accepted. */
  accept(
    snapshot: Omit<HistorySnapshot, "crlNumbers">,
    numbers: ReadonlyMap<string, number>,
  ): void {
    this.#continue(snapshot, numbers);
  }

  /** Calls back each time the history was continued from an older database, by any process. */
  onContinued(listener: () => void): void {
    this.#onContinued.add(listener);
  }

  /** Calls back each time a rollback is found. */
  onFound(listener: () => void): void {
    this.#onFound = listener;
  }

  /** Calls back once, when the database is current again or its history was continued. */
  onEnd(listener: (end: RollbackEnd) => void): void {
    this.#onEnd.push(listener);
  }

  async close(): Promise<void> {
    await this.#storage?.close();
  }

  /** Returns true if the database has all of the mark. */
  #compare(mark: HighWaterMark, snapshot: HistorySnapshot): boolean {
    const found = findRollback(mark, snapshot);
    if (found !== undefined) {
      this.#report(found);
      return false;
    }
    this.#wasCurrent = true;
    const isContinued = snapshot.epoch > mark.epoch;
    if (this.#rollback !== undefined && !isContinued) {
      this.#rollback = undefined;
      this.#reportError("the database is the newest one again; writing resumes", undefined);
      this.#end("restored");
    }
    return true;
  }

  #report(found: Rollback): void {
    const isFirst = this.#rollback === undefined;
    this.#rollback = found;
    if (!isFirst) return;
    const message = "the database was rolled back; nothing is written or signed";
    this.#reportError(message, formatRollback(found));
    this.#onFound();
  }

  /** Raises the numbers in place, for there may be thousands of scopes; returns those raised. */
  #raise(events: readonly AuditEvent[]): readonly string[] {
    const scopes: string[] = [];
    for (const event of events) {
      const published = parseCrlPublication(event);
      if (published === undefined) continue;
      const { scope, number } = published;
      if (number <= (this.#crlNumbers.get(scope) ?? 0)) continue;
      this.#crlNumbers.set(scope, number);
      scopes.push(scope);
    }
    return scopes;
  }

  /** Takes over what other processes have committed. */
  #advance(snapshot: Omit<HistorySnapshot, "crlNumbers">): void {
    const { epoch, event, ledger, revocationSequence, crlNumbers } = this.#mark;
    const isNewer = snapshot.event.seq > event.seq || snapshot.ledger.seq > ledger.seq;
    if (!isNewer && snapshot.revocationSequence <= revocationSequence) return;
    this.#mark = {
      epoch,
      event: selectLater(event, snapshot.event),
      ledger: selectLater(ledger, snapshot.ledger),
      revocationSequence: Math.max(revocationSequence, snapshot.revocationSequence),
      crlNumbers,
    };
    this.#storage?.record(this.#mark, []);
  }

  #replaceMark(
    { epoch, event, ledger, revocationSequence }: Omit<HistorySnapshot, "crlNumbers">,
    crlNumbers: ReadonlyMap<string, number>,
  ): void {
    this.#crlNumbers = new Map(crlNumbers);
    this.#mark = { epoch, event, ledger, revocationSequence, crlNumbers: this.#crlNumbers };
    this.#storage?.record(this.#mark, undefined);
  }

  #continue(
    snapshot: Omit<HistorySnapshot, "crlNumbers">,
    crlNumbers: ReadonlyMap<string, number>,
  ): void {
    this.#rollback = undefined;
    this.#replaceMark(snapshot, crlNumbers);
    for (const listener of this.#onContinued) listener();
    this.#end("accepted");
  }

  #end(end: RollbackEnd): void {
    const listeners = this.#onEnd;
    this.#onEnd = [];
    for (const listener of listeners) listener(end);
  }
}

/** Error of a batch that would have continued an older database. */
export class RolledBack extends Error {
  override readonly name = "RolledBack";
  readonly rollback: Rollback;

  constructor(rollback: Rollback) {
    super(rollbackRefusal(rollback).message);
    this.rollback = rollback;
  }

  /** Returns the refusal for the callers of the batch. */
  toProblem() {
    const problem = rollbackRefusal(this.rollback);
    problem.cause = new NothingWritten("nothing was written", { cause: this });
    return problem;
  }
}

const chainHeads = (heads: Readonly<Heads>) => ({
  event: { seq: heads.eventSeq, hash: heads.eventHash },
  ledger: { seq: heads.ledgerNumber, hash: heads.ledgerHash },
  revocationSequence: heads.revocationSequence,
});

const isSameMark = (stored: HighWaterMark | undefined, found: HighWaterMark): boolean =>
  stored !== undefined &&
  stored.epoch === found.epoch &&
  stored.event.seq === found.event.seq &&
  stored.ledger.seq === found.ledger.seq &&
  stored.revocationSequence === found.revocationSequence &&
  stored.crlNumbers.size === found.crlNumbers.size &&
  [...found.crlNumbers].every(([scope, number]) => stored.crlNumbers.get(scope) === number);

const selectLater = <T extends { readonly seq: number }>(one: T, other: T): T =>
  other.seq > one.seq ? other : one;

/** Returns scope and number of a published list; undefined for every other event. */
function parseCrlPublication({ action, result, caId, targetName, detail }: AuditEvent) {
  if (action !== "crl.publish" || result !== "success") return undefined;
  const number = Number(/(?:^| )number=(\d+)/.exec(detail)?.[1] ?? 0);
  return { scope: crlScopeKey(caId, targetName), number };
}
