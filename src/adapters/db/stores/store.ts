/**
 * The store over one engine: reads of the committed state, units of work, the event feed, the
 * access log.
 */

import type { AuditEvent } from "#core/audit/chain.ts";
import type { AccessLogRow } from "#domain/audit/store.ts";
import { rollbackRefusal } from "#domain/rollback.ts";
import type { Reads, Store, Unit } from "#domain/store.ts";
import type { Connection } from "#adapters/db/engine/connection.ts";
import { type Engine, eventChannel } from "#adapters/db/engine/engine.ts";
import { translatedRead } from "#adapters/db/engine/faults.ts";
import { Feed, Listeners } from "#adapters/db/engine/feed.ts";
import { Folding } from "#adapters/db/engine/folding.ts";
import { Memo, ownVersions, type Versions } from "#adapters/db/engine/memo.ts";
import type { Journal } from "#adapters/db/engine/journal.ts";
import { GroupCommit } from "#adapters/db/engine/queue.ts";
import { continueHistory } from "#adapters/db/history/continuation.ts";
import type { RollbackGuard } from "#adapters/db/history/rollback-guard.ts";
import { readCrlNumbers, readSnapshot } from "#adapters/db/history/snapshot.ts";
import { accessReads, accessWrites } from "./access.ts";
import { acmeReads, acmeWrites } from "./acme.ts";
import { AccessLog, type AccessLogTarget } from "./access-log.ts";
import { tableTarget } from "./access-log-targets.ts";
import { approvalReads, approvalWrites } from "./approvals.ts";
import { auditReads } from "./audit.ts";
import { bulkReads, bulkWrites } from "./bulk.ts";
import { bulkRevocationReads, bulkRevocationWrites } from "./bulk-revocations.ts";
import { caReads, caWrites } from "./cas.ts";
import { certificateReads, certificateWrites } from "./certificates.ts";
import { viewing } from "./crl-views.ts";
import { crlReads, crlWrites } from "./crls.ts";
import { envelopeReads, envelopeWrites } from "./envelopes.ts";
import { expiryReads } from "./expiry.ts";
import { keyCheckReads, keyCheckWrites } from "./key-checks.ts";
import { instanceReads, instanceWrites } from "./instance.ts";
import {
  accessWithin,
  casWithin,
  certificatesWithin,
  rememberedAccess,
  rememberedCas,
  rememberedKeys,
  rememberedTenants,
  tenantsWithin,
  touching,
} from "./remembered.ts";
import { presignedReads, presignedWrites } from "./presigned.ts";
import { replacementReads, replacementWrites } from "./replacements.ts";
import { retentionReads, retentionWrites } from "./retention.ts";
import { revocationReads, revocationWrites } from "./revocations.ts";
import { tenantReads, tenantWrites } from "./tenants.ts";
import { transparencyReads, transparencyWrites } from "./transparency.ts";

/** What only start-up, preflight and metrics ask of a store. */
export interface Administration {
  /** The number of migrations the database has had. */
  readonly schemaVersion: number;
  /** Access log rows that were never written, since the start. */
  droppedAccessRows(): number;
  /** Gives back memory that only speed needs. */
  rest(): void;
}

export interface StoreDeps {
  readonly engine: Engine;
  readonly journal: Journal;
  readonly guard: RollbackGuard;
  /** This store's number among the replicas. */
  readonly owner: number;
  /** The last event committed before this store looked. */
  readonly seen: number;
  readonly schemaVersion: number;
  /** Where the access log is; undefined where it is a table of the database. */
  readonly accessLog: AccessLogTarget | undefined;
  /**
   * True while what can wait must not be written; undefined where no rows are indexed behind their
   * commit.
   */
  readonly scarce: (() => boolean) | undefined;
  readonly onFault: (sentence: string, error: unknown) => void;
}

/** Returns the store of an open and verified engine, once it listens to other processes. */
export async function storeOver(deps: StoreDeps): Promise<Store & Administration> {
  const { store, feed, startIndexing } = assembleStore(deps);
  const { compare, stop } = startComparing(deps);
  await deps.engine.listen((seq) => (seq === rollbackNotice ? compare() : feed.wake(seq)));
  startIndexing();
  const close = () => {
    stop();
    return store.close();
  };
  return { ...store, close };
}

/**
 * Follows the commits of other replicas, notices the return of a newer database, and shares a
 * rollback with the other replicas.
 */
function startComparing({ engine, guard }: StoreDeps) {
  if (engine.dialect === "sqlite") return { compare: () => {}, stop: () => {} };
  const { reader } = engine;
  const share = async () => {
    if (!(await guard.share(reader))) return;
    await reader.run("select pg_notify($1, $2)", [eventChannel, String(rollbackNotice)]);
  };
  // The watch of the engine reports its absence.
  const ignore = () => {};
  const compare = () => void guard.check(reader).then(share).catch(ignore);
  guard.onFound(() => void share().catch(ignore));
  const timer = setInterval(compare, betweenComparisonsMs).unref();
  return { compare, stop: () => clearInterval(timer) };
}

const betweenComparisonsMs = 2000;
/** Notification in place of the number of an event: a replica has found a rollback. */
const rollbackNotice = 0;

/** Builds the parts of a store, before it listens to other processes. */
export function assembleStore(deps: StoreDeps) {
  const { engine, journal, guard, onFault } = deps;
  const memo = new Memo(versionsOf(engine, journal));
  const feed = new Feed({
    seen: deps.seen,
    read: guarded(auditReads(engine.reader, deps.owner).eventsAfter),
    onFault,
  });
  const own = new Listeners(onFault);
  const committed = (events: readonly AuditEvent[]) => {
    memo.committed();
    own.tell(events);
    feed.committed(events);
    folding?.committed(events.length);
  };
  feed.subscribe((events) => guard.recordEvents(events));
  guard.onContinued(() => feed.rewind(guard.mark.event.seq - 1));
  const queue = new GroupCommit({ engine, journal, guard, committed, onFault });
  const writer = engine.writerAfter(() => queue.surface());
  const folding = foldingOf(deps, writer, (unit) => queue.run(unit));
  const target =
    deps.accessLog ?? tableTarget({ reader: engine.reader, writer }, (unit) => queue.run(unit));
  const accessLog = new AccessLog({ target, onFault });
  const read = readsOf(deps, memo, target);
  const unit = unitOf(deps, writer, memo);
  const store: Store & Administration = {
    dialect: engine.dialect,
    read,
    schemaVersion: deps.schemaVersion,
    exclusively: (name, work) => guarded(() => engine.exclusively(name, work))(),
    leaseTroubles: () => engine.leaseTroubles,
    databaseClockOffsetMs: () => engine.clockOffsetMs,
    atomically: (work, foreseen) => queue.run(() => work(unit), foreseen),
    rollback: () => guard.rollback,
    acceptRollback: createAcceptance(deps, { queue, writer, memo, tx: unit }),
    recordCrlNumber: (ca, scope, number) => guard.recordCrlNumber(ca, scope, number),
    onRollbackEnd: (listener) => guard.onEnd(listener),
    onEvents: (listener) => feed.subscribe(listener),
    onOwnEvents: (listener) => own.subscribe(listener),
    logAccess: (row: AccessLogRow) => accessLog.add(row),
    pruneAccessLog: (before) => accessLog.prune(before),
    takeAccessLogTrims: () => accessLog.takeTrimCount(),
    droppedAccessRows: () => accessLog.dropped,
    rest: () => {
      engine.rest();
      accessLog.rest();
    },
    ping: (writing = false) => guarded(() => pinged({ engine, queue, writer }, writing))(),
    close: async () => {
      await accessLog.close();
      await folding?.close();
      await queue.close();
      feed.stop();
      await engine.close();
      await guard.close();
    },
  };
  return { store, feed, startIndexing: () => folding?.start() };
}

interface AcceptanceParts {
  readonly queue: GroupCommit;
  readonly writer: Connection;
  readonly memo: Memo;
  readonly tx: Unit;
}

function createAcceptance(
  { engine, journal, guard }: StoreDeps,
  { queue, writer, memo, tx }: AcceptanceParts,
): Store["acceptRollback"] {
  return async (at, record) => {
    const { rollback, mark } = guard;
    if (rollback === undefined) return undefined;
    const accept = async () => {
      const continued = await continueHistory({ writer, journal, mark }, at);
      memo.touch();
      await record(tx, { rollback, ...continued });
    };
    await queue.run(accept, {}, true);
    const snapshot = await readSnapshot(engine.reader, mark);
    guard.accept(snapshot, await readCrlNumbers(engine.reader));
    return rollback;
  };
}

function foldingOf(
  { engine: { reader }, scarce, onFault }: StoreDeps,
  writer: Connection,
  run: <T>(unit: () => Promise<T>) => Promise<T>,
): Folding | undefined {
  return scarce && new Folding({ reader, writer, run, scarce, onFault });
}

/**
 * A database that lately refused a write is asked for one, which changes nothing, before it is
 * called healthy.
 */
async function pinged(
  { engine, queue, writer }: { engine: Engine; queue: GroupCommit; writer: Connection },
  writing: boolean,
): Promise<void> {
  await engine.ping();
  if (!writing && !queue.failing && !engine.stopped) return;
  await queue.run(async () => void (await writer.run(emptyWrite, [])));
}

const emptyWrite = "update heads set id = 1 where id = 1";

function versionsOf({ rowsVersion }: Engine, journal: Journal): Versions {
  if (rowsVersion === undefined) return ownVersions(() => journal.begun);
  return {
    current: rowsVersion,
    begun: () => ({ batch: journal.begun, version: journal.begun.rowsVersion }),
    moved: () => undefined, // The next question tells.
  };
}

function readsOf(deps: StoreDeps, memo: Memo, accessLog: AccessLogTarget): Reads {
  const { engine, owner } = deps;
  const { reader } = engine;
  const sequence = sequenceOf(deps, () => engine.revocationSequence());
  const stamp = sequenceOf(deps, () => engine.revocationStamp());
  return {
    cas: guardedMethods(rememberedCas(memo, caReads(reader))),
    certificates: guardedMethods(certificateReads(reader)),
    revocations: {
      ...guardedMethods(revocationReads(reader, sequence)),
      ...guardedMethods({ ...crlReads(reader), view: viewing(engine) }),
      // The sequence stays as it is: a promise around a number would delay every answer from
      // memory.
      sequence,
      stamp,
    },
    retention: guardedMethods(retentionReads(reader)),
    expiry: guardedMethods(expiryReads(reader)),
    presigned: guardedMethods(presignedReads(reader)),
    bulk: guardedMethods(bulkReads(reader)),
    bulkRevocations: guardedMethods(bulkRevocationReads(reader, owner)),
    keyChecks: guardedMethods(keyCheckReads(reader, rememberedKeys(memo))),
    transparency: guardedMethods(transparencyReads(reader)),
    envelopes: guardedMethods(envelopeReads(reader, owner)),
    tenants: guardedMethods(rememberedTenants(memo, tenantReads(reader))),
    access: guardedMethods(rememberedAccess(memo, accessReads(reader))),
    approvals: guardedMethods(approvalReads(reader, owner)),
    acme: guardedMethods(acmeReads(reader, owner)),
    replacements: guardedMethods(replacementReads(reader)),
    audit: guardedMethods(auditReads(reader, owner)),
    accessLog: guardedMethods(accessLog.reads),
    instance: guardedMethods(instanceReads(reader, owner)),
  };
}

/**
 * `writer` writes first what the journal holds back. What every issue asks for is in none of the
 * tables the journal fills, so it is asked for without that.
 */
function unitOf({ engine, journal, owner }: StoreDeps, writer: Connection, memo: Memo): Unit {
  const unsurfaced = engine.writerAfter(() => {});
  const { status } = caWrites(unsurfaced);
  const { state } = tenantWrites(unsurfaced);
  const certificates = certificateWrites(writer, owner, journal.rows);
  return {
    cas: casWithin(memo, { ...caWrites(writer), status }),
    certificates: certificatesWithin(memo, certificates),
    revocations: {
      ...revocationWrites(writer, () => journal.nextRevocation()),
      ...crlWrites(writer),
    },
    retention: retentionWrites(writer),
    presigned: presignedWrites(writer),
    bulk: bulkWrites(writer),
    bulkRevocations: bulkRevocationWrites(writer, owner),
    keyChecks: touching(memo, keyCheckWrites(writer)),
    transparency: transparencyWrites(writer),
    envelopes: envelopeWrites(writer, owner),
    tenants: tenantsWithin(memo, { ...tenantWrites(writer), state }),
    access: accessWithin(memo, accessWrites(writer)),
    approvals: approvalWrites(writer, owner),
    acme: acmeWrites(writer, owner),
    replacements: replacementWrites(writer),
    audit: journal,
    instance: instanceWrites(writer),
  };
}

/**
 * Returns the sequence that the engine reads. Refuses `storage_unavailable` if it cannot be read,
 * and during a rollback: then a revoked certificate could seem good.
 */
function sequenceOf(
  { engine, guard }: StoreDeps,
  read: Reads["revocations"]["sequence"],
): Reads["revocations"]["sequence"] {
  const current = async (reading: Promise<number>) => {
    const { revocationSequence } = guard.mark;
    const sequence = await reading;
    if (sequence < revocationSequence) await guard.check(engine.reader);
    guard.refuseWhileRolledBack();
    return sequence;
  };
  return () => {
    const sequence = read();
    if (typeof sequence === "number") {
      const { rollback } = guard;
      return rollback === undefined ? sequence : Promise.reject(rollbackRefusal(rollback));
    }
    return current(sequence).catch((error: unknown) => {
      throw translatedRead(error);
    });
  };
}

/** The same methods, refusing `storage_unavailable` when the database is at fault. */
function guardedMethods<T extends object>(reads: T): T {
  const methods = Object.entries(reads).map(([name, method]) => [name, guarded(method)]);
  return Object.fromEntries(methods) as T; // The same names, each with the same signature.
}

function guarded<A extends unknown[], R>(
  method: (...given: A) => Promise<R>,
): (...given: A) => Promise<R> {
  return async (...given) => {
    try {
      return await method(...given);
    } catch (error) {
      throw translatedRead(error);
    }
  };
}
